import test from 'ava';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './sources.ts';

/** Code that advances the clock of the simulator. */
const FORWARD = /\b(?!own\b)\w+(?:\.\w+)*(?:\.advance\(|\.post\('\/sim\/clock',)/;
/** Setup that is shared by all tests of a file. */
const SHARED = /^test\.before\(/m;
const AT_ONCE = /^ *test\(/gm;

test('tests that share a simulator run serially if one of them advances its clock', (t) => {
  const files = globSync(['test/unit/simulator/**/*.test.ts', 'test/oracles/packages/*.test.ts'], { cwd: root });
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
