import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ExecutionContext } from 'ava';
import { sampleFile, type SampleLanguage } from '../../server/offline/guide-files.ts';
import { temporaryFolder } from './folder.ts';

/** Where the samples of the guides are. */
export const samples = join(import.meta.dirname, '../../server/pages/guides/samples');

const JACKSON = ['core', 'databind', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`);

/** How samples in a language are run: what must be there, and what it is called in Debian. */
interface Runtime {
  check: readonly string[];
  files?: readonly string[];
  packages: string;
  /** The command for a file; what has to be built is built in the folder. */
  command(file: string, folder: string, env: Environment): readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const RUNTIMES: Readonly<Record<SampleLanguage, Runtime>> = {
  node: {
    check: [process.execPath, '--version'],
    packages: 'node',
    command: (file) => [process.execPath, file],
  },
  python: {
    check: ['python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 9))'],
    packages: 'python3',
    command: (file) => ['python3', file],
  },
  php: {
    check: ['php', '-r', 'exit(PHP_VERSION_ID >= 80100 ? 0 : 1);'],
    packages: 'php-cli',
    command: (file, _folder, env) =>
      env['PORT'] === undefined ? ['php', file] : ['php', '-S', `127.0.0.1:${env['PORT']}`, file],
  },
  java: {
    check: ['javac', '-version'],
    files: JACKSON,
    packages: 'openjdk-17-jdk-headless libjackson2-databind-java',
    command: (file) => ['java', '-cp', JACKSON.join(':'), file],
  },
  go: {
    check: ['go', 'version'],
    packages: 'golang-go',
    command(file, folder, env) {
      const program = join(folder, 'sample');
      const { status, stderr } = spawnSync('go', ['build', '-o', program, file], { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(stderr);
      return [program];
    },
  },
};

/** Whether the machine can run samples in a language; the test says so when it cannot. */
export function canRun(t: ExecutionContext, language: SampleLanguage): boolean {
  const { check, files = [], packages } = RUNTIMES[language];
  const [program = '', ...words] = check;
  if (spawnSync(program, words).status === 0 && files.every((file) => existsSync(file))) return true;
  t.log(`Not run: this machine cannot run samples in ${language}. Debian: apt install ${packages}`);
  t.pass();
  return false;
}

/** A sample that runs. */
export interface RunningSample {
  child: ChildProcess;
  /** What it has printed until now, on both streams. */
  printed(): string;
  /** Resolves with its exit code. */
  ended: Promise<number | null>;
}

/** Starts a sample; it ends with the test at the latest. */
export function runSample(
  t: ExecutionContext,
  name: string,
  language: SampleLanguage,
  more: Environment = {},
): RunningSample {
  const folder = temporaryFolder(t);
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, TMPDIR: folder, GO111MODULE: 'off', ...more };
  const [program = '', ...words] = RUNTIMES[language].command(join(samples, sampleFile(name, language)), folder, env);
  const child = spawn(program, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, printed: () => text, ended };
}
