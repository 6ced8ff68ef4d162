import test from 'ava';
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { eachAlone, shareProcesses, unheard, withItsFile } from '../runner/together.ts';
import { root } from './sources.ts';

const FIRST = `
import test from 'ava';
test('tells its process', (t) => { t.log('process', process.pid); t.pass(); });
test('is wrong', (t) => t.is(1, 2));
test.serial('comes first', (t) => { globalThis.order = ['first serial']; t.pass(); });
`;

/** Waits while loading, and has hooks and a test that AVA would start concurrently with the other file's. */
const SECOND = `
import test from 'ava';
await new Promise((resolve) => setTimeout(resolve, 1));
let counted = 0;
test.beforeEach(() => void counted++);
test('is wrong', async (t) => {
  globalThis.order.push('begins');
  await new Promise((resolve) => setTimeout(resolve, 1));
  globalThis.order.push('ends');
  t.log('process', process.pid);
  t.pass();
});
test.after('counts its own tests', (t) => t.is(counted, 1));
`;

const THIRD = `
import test from 'ava';
test('runs when those before it have ended', (t) => t.deepEqual(globalThis.order.slice(-2), ['begins', 'ends']));
`;

/** Runs AVA on the test files of a temporary project that share processes. */
function runTogether(t: Parameters<typeof temporaryFolder>[0], files: Record<string, string>, shared: object) {
  const cwd = temporaryFolder(t);
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
  const ava = {
    files: ['test/**/*.test.mjs'],
    require: [join(root, 'test/runner/worker.ts')],
    workerThreads: false,
    // AVA ends a run after ten seconds without a result, which a loaded machine may need to load the files.
    timeout: '10m',
  };
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ ava }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  writeFileSync(join(cwd, 'shared.json'), JSON.stringify(shared));
  const { AVA_PATH: _, ...env } = process.env;
  const cli = join(root, 'node_modules/ava/entrypoints/cli.js');
  const { status, stdout } = spawnSync(process.execPath, [cli, ...Object.keys(shared)], {
    cwd,
    env: { ...env, FORCE_COLOR: '0', PAY_TEST_SHARED: join(cwd, 'shared.json') },
    encoding: 'utf8',
  });
  return { status, lines: stdout.split('\n').map(withItsFile) };
}

test('test files that share a process keep their own names and run one after the other', (t) => {
  const files = { 'test/a/one.test.mjs': FIRST, 'test/a/two.test.mjs': SECOND, 'test/b/three.test.mjs': THIRD };
  const { status, lines } = runTogether(t, files, {
    'test/b/three.test.mjs': ['test/a/one.test.mjs', 'test/a/two.test.mjs'],
  });
  t.is(status, 1, 'one test fails');
  const told = (start: string) =>
    lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length));
  t.deepEqual(told('  ✔ ').toSorted(), [
    'a › one › comes first',
    'a › one › tells its process',
    'a › two › is wrong',
    'b › three › runs when those before it have ended',
  ]);
  t.deepEqual(
    lines.filter((line) => line.startsWith('  ✘ ')).map((line) => line.replace(/is wrong.*/, 'is wrong')),
    ['  ✘ [fail]: a › one › is wrong'],
  );
  t.true(lines.includes('  a › one › is wrong'), 'the report uses the same name');
  const processes = lines.filter((line) => line.includes('ℹ process'));
  t.is(processes.length, 2);
  t.is(new Set(processes).size, 1);
});

const BOTH = `
import test from 'ava';
export const both = (title) => { test(title + ', once', (t) => t.pass()); test.serial(title + ', serially', (t) => t.pass()); };
`;

const PLAIN = `
import test from 'ava';
test('passes', (t) => t.pass());
`;

test('tests declared by a shared module belong to the calling file, and no test of another file is lost', (t) => {
  const asks = (title: string) => `import { both } from '../both.mjs';\nboth('${title}');`;
  const files = { 'test/both.mjs': BOTH, 'test/a/one.test.mjs': asks('one'), 'test/a/two.test.mjs': PLAIN };
  const all = { ...files, 'test/b/three.test.mjs': asks('three') };
  const { lines } = runTogether(t, all, { 'test/b/three.test.mjs': ['test/a/one.test.mjs', 'test/a/two.test.mjs'] });
  t.deepEqual(
    lines
      .filter((line) => /^ {2}[✔✘] /u.test(line))
      .map((line) => line.slice(4))
      .toSorted(),
    [
      'a › one › one, once',
      'a › one › one, serially',
      'a › two › passes',
      'b › three › three, once',
      'b › three › three, serially',
    ],
  );
});

test('test files with global state, a test context or snapshots run in their own process', (t) => {
  const folder = temporaryFolder(t);
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const plain = ['a', 'b'].map((name) => file(`${name}.test.ts`, "test('x', (t) => t.pass());"));
  const others = [
    file('c.test.ts', "process.env.TZ = 'UTC';"),
    file('d.test.ts', "mock.timers.enable({ apis: ['setTimeout'] });"),
    file('e.test.ts', 't.context.count = 1;'),
    file('f.test.ts', 't.snapshot(text);'),
  ];
  t.deepEqual(shareProcesses([...plain, ...others], [[/\.test\.ts$/, 16]]), {
    [plain[0]!]: [plain[1]!],
    ...eachAlone(others),
  });
  t.deepEqual(shareProcesses(plain, [[/\.test\.ts$/, 1]]), eachAlone(plain));
  t.deepEqual(shareProcesses(plain, []), eachAlone(plain));
});

test('a test file in a shared process without a test in the report is found', (t) => {
  const shared = { 'test/a/one.test.ts': ['test/a/two.test.ts', 'test/b/three.test.ts'], 'test/c/four.test.ts': [] };
  const report = ['  ✔ a › two › passes', '  ✘ [fail]: a › one › fails'];
  t.deepEqual(unheard(shared, report), ['test/b/three.test.ts']);
  t.deepEqual(unheard(shared, [...report, '  ✔ b › three › passes']), []);
});
