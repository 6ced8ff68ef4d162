import { writeFileSync } from 'node:fs';
import { openDatabase } from './orm.ts';

/** Writes the SQL that brings an empty database to the entities; only for the first migration, while nothing is released. */
const database = await openDatabase({ kind: 'pglite', url: '' });
const sql = await database.orm.schema.getCreateSchemaSQL({ wrap: false });
const statements = sql
  .split(/;\n/)
  .map((one) => one.trim().replace(/;$/, ''))
  .filter(Boolean);
const lines = statements.map((one) => `    this.addSql(\`${one}\`);`).join('\n');
writeFileSync(
  new URL('./migrations/0001-initial.ts', import.meta.url),
  `import { Migration } from '@mikro-orm/migrations';

/** The first schema: every table of the service, with its constraints and indexes. */
export class Migration0001 extends Migration {
  override up(): void {
${lines}
  }
}
`,
);
await database.close();
