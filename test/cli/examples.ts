import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Command } from 'commander';
import { buildWholeProgram } from '../../cli/program.ts';
import { createTerminal } from '../../cli/terminal.ts';
import { writeCertFiles } from './cert-files.ts';
import { collector, makePlace, scripted, type Place, type Result, type RunOptions, splitWords } from './payctl.ts';
import { fakeOffline } from './fakes/offline.ts';
import { signedCode } from './fakes/rows.ts';

const terminal = createTerminal({
  stdin: process.stdin,
  stdout: collector().stream,
  stderr: collector().stream,
  env: {},
  cwd: '/',
});
/** The complete command tree. */
export const program = await buildWholeProgram(terminal.out);

/** Returns the commands without subcommands. */
export function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

const CODE = signedCode({ outTradeNo: 'X202611210558007K2MQX9WBT', exp: 1_900_000_000 });

const FILES: Record<string, string> = {
  'skillhub.pem': '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n',
  'alipay.toml': 'mode = "simulator"\nappId = "2021"\n',
  'code.txt': `${CODE}\n`,
  'receipt.txt': `${CODE}\n`,
  'receipt.pdf': '%PDF-1.7',
  'photo.jpg': 'a photo',
  'wechat.csv': 'a bill',
  'alipay.zip': 'a bill',
  'alice.password': 'correct horse battery\n',
  'bob.password': 'correct horse battery\n',
  'master.key': `${Buffer.alloc(32, 7).toString('base64')}\n`,
  'alice.totp': '6BI5AKOPL4EUFKR5HPTB4G5OG3SYI2SY\n',
  'shop.secret.in': 'pays_0123456789abcdef0123456789abcdef\n',
  'bootstrap.toml':
    '[admin]\nusername = "alice"\npassword_file = "alice.password"\n[[project]]\ncode = "default"\nname = "Blue Door"\n[[app]]\nname = "shop"\nscopes = ["payment:read"]\nsecret_file = "new.secret"\n',
};

interface ExampleOptions extends RunOptions {
  prepare?: (place: Place) => void;
}

/** The place where an example runs, and a folder with its input files. */
export interface Stage {
  place: Place;
  cwd: string;
  argv: string[];
  stdin: string;
}

/** Creates the place and the input files of an example. */
export async function stageExample(
  t: ExecutionContext,
  line: string,
  prepare?: (place: Place) => void,
): Promise<Stage> {
  const place = await makePlace();
  prepare?.(place);
  const cwd = await mkdtemp(join(tmpdir(), 'payctl-example-'));
  t.teardown(() => Promise.all([place.close(), rm(cwd, { recursive: true })]));
  const { words, input } = splitWords(line);
  t.is(words[0], 'payctl', line);
  for (const [name, text] of Object.entries(FILES)) {
    if (!(line.includes('generate') && name === 'alice.password')) await writeFile(join(cwd, name), text);
  }
  if (line.includes('.crt --kind')) await writeCertFiles(cwd);
  // A command that reads the secret needs the file; a command that writes it refuses an existing file.
  if (/(--app app_.*--secret-file|--client-secret-file) shop\.secret/.test(line))
    await writeFile(join(cwd, 'shop.secret'), FILES['shop.secret.in'] ?? '');
  const target = /--server (\S+)|-C prod|context (?:use|show|remove|add) (\S+)/.exec(line);
  if (target) await place.logIn(line.includes('context add') ? [] : ['dev', 'prod']);
  const argv = words
    .slice(1)
    .map((word) =>
      /^https?:\/\/(pay\.example\.com|127\.0\.0\.1:8080)$/.test(word) && !line.includes('context add')
        ? place.api.url
        : word,
    );
  return { place, cwd, argv, stdin: input ? (FILES[input] ?? '') : '' };
}

/** Runs an example in its own place with its input files; `more` is appended to the arguments. */
export async function runExample(
  t: ExecutionContext,
  line: string,
  more: readonly string[] = [],
  { prepare, ...options }: ExampleOptions = {},
): Promise<Result> {
  const { place, cwd, argv, stdin } = await stageExample(t, line, prepare);
  return place.payctl([...argv, ...more], {
    cwd,
    stdin,
    prompts: scripted({ '--yes': true, '--username': 'alice', '--name': 'shop' }, 'correct horse battery'),
    openOffline: async () => fakeOffline(line.includes('doctor') ? { admins: ['alice'] } : {}),
    startServer: async () => {},
    runSimulator: async () => {},
    ...(needsTerminal(line) ? { terminal: 100 } : {}),
    ...options,
  });
}

/** Whether the example shows a secret on the screen or draws the whole screen. */
function needsTerminal(line: string): boolean {
  return /^payctl (app create|second-factor enable|top)$/.test(line);
}
