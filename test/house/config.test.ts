import test from 'ava';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { defaultToml, keyTable, withKeyTable } from '../../config/key-table.ts';
import { keyNames, keys } from '../../config/schema.ts';
import { root } from './sources.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('the table of keys in config/README.md is current (else: node config/write.ts)', (t) => {
  const readme = read('config/README.md');
  t.true(readme.includes(keyTable()));
  t.is(withKeyTable(readme), readme);
});

test('config/default.toml is current (else: node config/write.ts)', (t) => {
  t.is(read('config/default.toml'), defaultToml());
});

test('config/default.toml names every key, and sets each default', (t) => {
  const text = read('config/default.toml');
  const document = parse(text) as Record<string, unknown>;
  for (const key of keyNames) {
    const [section, name] = key.includes('.') ? (key.split('.') as [string, string]) : [undefined, key];
    const table = section === undefined ? document : (document[section] as Record<string, unknown>);
    t.deepEqual(table[name], keys[key].fallback, key);
    t.regex(text, new RegExp(`^(# )?${name} = `, 'm'), key);
  }
});
