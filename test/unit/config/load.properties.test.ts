import test from 'ava';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { stringify } from 'smol-toml';
import { ConfigFaults } from '../../../config/faults.ts';
import { loadConfig, type LoadOptions } from '../../../config/load.ts';
import { environmentName, keyNames, keys } from '../../../config/schema.ts';
import { temporaryFolder } from '../../support/folder.ts';

/** Returns the message of a `ConfigFaults`, or an empty text; rethrows other errors. */
function refusal(options: LoadOptions): string {
  try {
    loadConfig(options);
    return '';
  } catch (error) {
    if (error instanceof ConfigFaults) return error.message;
    throw error;
  }
}

const names = keyNames.flatMap((key) => [environmentName(key), `${environmentName(key)}_FILE`]);
const plausible = ['true', '0', '127.0.0.1:0', 'https://a.example', 'pglite://x', 'postgres://h/d', '::/0', 'info'];
const value = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom(...plausible));
const environment = fc.dictionary(
  fc.oneof(fc.constantFrom(...names, 'PAY_CONFIG', 'NODE_ENV'), fc.string()),
  fc.oneof(value, fc.constant(undefined)),
);

test('any environment gives a configuration or ConfigFaults', (t) => {
  const cwd = temporaryFolder(t);
  t.notThrows(() =>
    fc.assert(
      fc.property(environment, (env) => void refusal({ env, cwd })),
      { numRuns: 1000 },
    ),
  );
});

test('a file with any bytes gives a configuration or ConfigFaults', (t) => {
  const cwd = temporaryFolder(t);
  const line = fc.tuple(fc.constantFrom(...keyNames), value).map(([key, text]) => `${key} = ${text}`);
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.string(),
    fc.array(line).map((lines) => lines.join('\n')),
  );
  t.notThrows(() =>
    fc.assert(
      fc.property(bytes, (content) => {
        writeFileSync(join(cwd, 'a.toml'), content);
        refusal({ argv: { config: 'a.toml' }, env: {}, cwd });
      }),
      { numRuns: 500 },
    ),
  );
});

test('a valid document with unknown keys or wrong values is refused', (t) => {
  const cwd = temporaryFolder(t);
  const leaf = fc.oneof(value, fc.boolean(), fc.integer(), fc.array(value));
  const table = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('SecretKey', 'Url')), leaf);
  const sections = fc.constantFrom('JWT', 'Database', 'Debug', 'Nonsense', '__proto__');
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.dictionary(sections, fc.oneof(leaf, table)), (document) => {
        writeFileSync(join(cwd, 'a.toml'), stringify(document));
        const message = refusal({ argv: { config: 'a.toml' }, env: {}, cwd });
        const unknown = Object.hasOwn(document, 'Nonsense') && !isEmptyTable(document.Nonsense);
        return !unknown || message.includes('Nonsense');
      }),
      { numRuns: 500 },
    ),
  );
});

function isEmptyTable(thing: unknown): boolean {
  return typeof thing === 'object' && !Array.isArray(thing) && Object.keys(thing ?? {}).length === 0;
}

test('a refused secret never appears in the message', (t) => {
  const cwd = temporaryFolder(t);
  const secretNames = keyNames.filter((key) => keys[key].secret).map(environmentName);
  const secret = fc.stringMatching(/^[a-z0-9]{12}$/).map((text) => `Q${text}Q`);
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.constantFrom(...secretNames), fc.constantFrom('', '_FILE'), secret, (name, suffix, text) => {
        const message = refusal({ env: { [`${name}${suffix}`]: text }, cwd });
        return message !== '' && !message.includes(text);
      }),
      { numRuns: 300 },
    ),
  );
});
