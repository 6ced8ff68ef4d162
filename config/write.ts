// `node config/write.ts` updates default.toml and the table of README.md from schema.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { defaultToml, withKeyTable } from './key-table.ts';

const readme = new URL('README.md', import.meta.url);
writeFileSync(new URL('default.toml', import.meta.url), defaultToml());
writeFileSync(readme, withKeyTable(readFileSync(readme, 'utf8')));
