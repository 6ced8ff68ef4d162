// `node config/write.ts` brings default.toml and the table of README.md up to date with schema.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { defaultToml, withKeyTable } from './key-table.ts';

const readme = new URL('README.md', import.meta.url);
writeFileSync(new URL('default.toml', import.meta.url), defaultToml());
writeFileSync(readme, withKeyTable(readFileSync(readme, 'utf8')));
