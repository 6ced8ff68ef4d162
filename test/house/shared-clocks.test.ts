import test from 'ava';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './sources.ts';

/** Where a test puts the clock of the simulator forward. */
const FORWARD = /\b(?!own\b)\w+(?:\.\w+)*(?:\.advance\(|\.post\('\/sim\/clock',)/;
/** A world that is opened once for all tests of a file. */
const SHARED = /^test\.before\(/m;
const AT_ONCE = /^ *test\(/gm;

test('tests that share a simulator whose clock one of them puts forward run one after the other', (t) => {
  const files = globSync('test/unit/simulator/**/*.test.ts', { cwd: root });
  t.true(files.length > 20);
  const shared = files
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .filter(({ text }) => SHARED.test(text) && FORWARD.test(text));
  t.true(shared.length > 5, String(shared.length));
  t.deepEqual(
    shared.filter(({ text }) => text.match(AT_ONCE)).map(({ path }) => path),
    [],
  );
});
