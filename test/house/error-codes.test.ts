import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { errorCodes } from '../../server/http/error-codes.ts';

const root = join(import.meta.dirname, '../..');
const thrown =
  /(?:super|new (?:AppError|Conflict|Forbidden|NotAllowed|Unavailable))\(\s*'([a-z_]+)'|new (?:InvalidRequest|Unauthenticated|TooManyRequests)\([^;]*?,\s*'([a-z_]+)'(?:,\s*\{[^;]*)?,?\s*\);/g;

/** The simulator, what only payctl runs on a stopped server, and what stops a start: none of it answers a request. */
const isElsewhere = /^server\/(?:simulator\/|db\/|app\.ts|main\.ts|(?:.*\/)?(?:offline|bootstrap)[\w-]*\.ts)/;

function codesIn(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(thrown)].map(([, first, last]) => `${first ?? last}`);
}

test('every code that the server can answer has its line in the error table', (t) => {
  const files = globSync('server/**/*.ts', { cwd: root }).filter((file) => !isElsewhere.test(file));
  const missing = files.flatMap((file) =>
    codesIn(file)
      .filter((code) => !Object.hasOwn(errorCodes, code))
      .map((code) => `${code} (${file})`),
  );
  t.deepEqual(missing, []);
  t.true(files.flatMap(codesIn).length > 30);
});
