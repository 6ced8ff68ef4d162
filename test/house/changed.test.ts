import test from 'ava';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { root } from './sources.ts';

const testOf = (imports: string, body: string): string =>
  `import test from 'ava';\n${imports}\ntest('it holds', async (t) => {\n  ${body}\n});\n`;

/** A project with a few functions, and test files that each execute some of them. */
const PROJECT: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({
    type: 'module',
    ava: {
      extensions: ['ts'],
      files: ['test/**/*.test.ts'],
      require: ['./test/runner/worker.ts'],
      workerThreads: false,
      // AVA's default of ten seconds is too short on a busy machine.
      timeout: '10m',
    },
  }),
  '.gitignore': 'node_modules\n',
  'server/guide.txt': 'A guide.\n',
  'server/rates.ts': `import { sep } from 'node:path';
// Rates.
export const BASE = 2;
export function half(value: number): number {
  return value / BASE;
}

export function twice(value: number): number {
  return [value].map((one) => one * BASE)[0]!;
}

export const negative = (value: number): string => sep + -value;
`,
  'server/program.ts': `import { negative } from './rates.ts';
console.log(negative(-4));
setInterval(() => {}, 1000);
`,
  'test/half.test.ts': testOf(`import { half } from '../server/rates.ts';`, 't.is(half(4), 2);'),
  'test/twice.test.ts': testOf(`import { twice } from '../server/rates.ts';`, 't.is(twice(4), 8);'),
  'test/guide.test.ts': testOf(
    `import { readFileSync } from 'node:fs';`,
    `t.regex(readFileSync('server/guide.txt', 'utf8'), /guide/);`,
  ),
  'test/child.test.ts': testOf(
    `import { spawn } from 'node:child_process';\nimport { once } from 'node:events';\nimport { fileURLToPath } from 'node:url';`,
    `const program = fileURLToPath(new URL('../server/program.ts', import.meta.url));
  const child = spawn(process.execPath, [program], { env: {} });
  const [said] = await once(child.stdout, 'data');
  t.is(String(said), '/4\\n');
  child.kill('SIGKILL');
  t.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);`,
  ),
};

function project(t: Parameters<typeof temporaryFolder>[0]) {
  const folder = temporaryFolder(t);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(PROJECT)) write(path, text);
  // The recorder writes to node_modules, so the project gets its own folder with links to our packages.
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.cache') symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  const runner = globSync(['test/{runner,support}/*.{ts,mjs}', 'test/house/sources.ts'], { cwd: root });
  for (const path of runner) cpSync(join(root, path), join(folder, path));
  const ofUs = /^(NODE_OPTIONS|AVA_PATH|PAY_TEST_(RECORD|FILE|KEPT))$/;
  const given = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofUs.test(name)));
  // No test of the project needs a database.
  const env = { ...given, PAY_TEST_POSTGRES: 'postgres://127.0.0.1:1/none' };
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], { cwd: folder, stdio: 'pipe' });
  const node = (program: string, ...args: string[]) =>
    spawnSync(process.execPath, [join('test/runner', program), ...args], { cwd: folder, env, encoding: 'utf8' })
      .stdout.trimEnd()
      .split('\n');
  /** Lists the test files that a change can affect, then reverts the change. */
  const told = () => {
    const lines = node('run.ts', '--changed', '--list');
    git('checkout', '--quiet', '.');
    git('clean', '--quiet', '--force');
    return lines;
  };
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'All.');
  return {
    write,
    node,
    git,
    told,
    folder,
    edit: (path: string, from: string, to: string) =>
      write(path, readFileSync(join(folder, path), 'utf8').replace(from, to)),
    affected: () => told().flatMap((line) => /^#   test\/(\S+)\.test\.ts /.exec(line)?.[1] ?? []),
  };
}

test('run --changed selects the test files that execute the changed code', (t) => {
  const { write, edit, node, git, told, affected, folder } = project(t);
  const rates = (from: string, to: string) => edit('server/rates.ts', from, to);
  const all = ['child', 'half', 'twice'];
  rates('value / BASE', 'value / 3');
  t.deepEqual(affected(), all, 'without a record every importing file is selected');
  rates('// Rates.', '// The rates.\n\ntype Rate = number;');
  t.deepEqual(affected(), [], 'comments and types are not executed');
  t.deepEqual(node('run.ts', '--record').slice(-2), ['# 4 of 4 files are recorded', '4 passed, 0 failed']);
  cpSync(join(folder, 'node_modules/.cache/pay-test/covered.json.gz'), join(folder, 'node_modules/before.gz'));

  t.deepEqual(affected(), []);
  for (const [from, to, wanted] of [
    ['value / BASE', 'value / 3', ['half']],
    ['one * BASE', 'one * 3', ['twice']],
    // Executed only in the child process of a test, which was killed.
    ['-value', 'value', ['child']],
    ['half(value: number)', 'half(value: number, _other = 1)', ['half']],
    // Comments, types, layout, imports and uncalled new functions are not executed.
    ['// Rates.', '// The rates.\n\ntype Rate = number;', []],
    ['(value: number): number {\n', '(value: 4 | number): number {\n\n  // Half of it.\n', []],
    ['{ sep }', '{ join, sep }', []],
    ['export function twice', 'export function none(): number {\n  return 0;\n}\n\nexport function twice', []],
    // Code outside functions is executed by every test that loads the module.
    ['BASE = 2', 'BASE = 4', all],
    ["'node:path'", "'./other.ts'", all],
    ['return value / BASE', 'return return', all],
    ['export function half(value: number): number {\n  return value / BASE;\n}', 'half();\nfunction half() {}', all],
  ] as const) {
    rates(from, to);
    t.deepEqual(affected(), [...wanted], to);
  }
  git('mv', 'server/rates.ts', 'server/rate.ts');
  t.deepEqual(affected(), all);
  git('reset', '--hard', '--quiet');
  write('server/guide.txt', 'Another guide.\n');
  t.deepEqual(affected(), ['guide']);
  write('test/new.test.ts', testOf('', 't.pass();'));
  t.deepEqual(affected(), ['new']);
  edit('package.json', '"type"', '"private": true, "type"');
  t.deepEqual(affected(), ['child', 'guide', 'half', 'twice']);

  rates('value / BASE', 'value / 3');
  t.deepEqual(node('run.ts', '--changed', '--list'), [
    '# 1 of 4 files for what changed since HEAD',
    '#   test/half.test.ts (server/rates.ts:5)',
    '0 passed, 0 failed',
  ]);
  t.is(node('run.ts', '--changed').at(-1), '0 passed, 1 failed');
  git('checkout', '--quiet', '.');
  rates('sep + -value', 'sep + Math.abs(value)');
  git('commit', '--all', '--quiet', '--message', 'Older.');
  edit('server/program.ts', 'console', 'export function unused(): void {}\nconsole');
  t.regex(told().join('\n'), /^# 1 of 4 .*\n.*child.*rates\.ts:12, since it was recorded/);

  rates('value / BASE', 'value / 3');
  edit('test/twice.test.ts', 'twice(4)', '8');
  t.regex(node('run.ts', '--record').join('\n'), /\n# 3 of 4 files are recorded\n.*: test\/half\.test\.ts\n/);
  t.deepEqual(node('covered.ts', 'node_modules/before.gz', 'node_modules/.cache/pay-test/covered.json.gz'), [
    'server/rates.ts:8: function twice(value: number): number {',
    'server/rates.ts:9: return [value].map((one) => one * BASE)[0]!;',
    'server/rates.ts:10: }',
  ]);
});
