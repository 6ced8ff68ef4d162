import { writeFileSync } from 'node:fs';
import { MONTHLY, REST } from './months.ts';
import { openDatabase } from './orm.ts';

/**
 * Writes the first migration: the SQL that creates the tables of the entities. Run this script after each schema change
 * until 0.1.0 is tagged. After that the first migration never changes, and each schema change is a new migration.
 */
const database = await openDatabase({ kind: 'pglite', url: '' });
const sql = await database.orm.schema.getCreateSchemaSQL({ wrap: false });
await database.close();
const statements = sql
  .split(/;\n/)
  .map((one) => one.trim().replace(/;$/, ''))
  .filter(Boolean)
  .map(aligned)
  .flatMap(divided);
const lines = statements.map((one) => `  \`${one}\`,`).join('\n');
writeFileSync(
  new URL('./migrations/0001-initial.ts', import.meta.url),
  `import { Migration } from '@mikro-orm/migrations';
import { hash } from 'node:crypto';

/** Every table of 0.1.0 with its constraints and indexes, written by generate-migration.ts. */
const STATEMENTS = [
${lines}
  \`create table "schema_origin" ("first_migration" varchar(64) not null)\`,
];

/** The hash of these statements. It is stored in the database, so that a database of an unreleased build is refused. */
export const ORIGIN = hash('sha256', STATEMENTS.join(';')).slice(0, 32);

/** The schema of the first release. */
export class Initial extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
    this.addSql(\`insert into "schema_origin" ("first_migration") values ('\${ORIGIN}')\`);
  }
}
`,
);

/**
 * Sorts the columns of a table by their alignment: 8 bytes, 4 bytes, others. In the sequence of the entity PostgreSQL
 * would fill up to seven bytes before many columns of every row.
 */
function aligned(statement: string): string {
  const [, head, list, end] = /^(create table "\w+" \()(.*?)((?:, primary key \([^)]+\))?\))$/.exec(statement) ?? [];
  if (list === undefined) return statement;
  const columns = list.split(/, (?="\w+" )/);
  const rank = (column: string) => {
    const type = / (\w+)/.exec(column)![1]!;
    return ['bigint', 'bigserial', 'timestamptz'].includes(type) ? 0 : ['int', 'date'].includes(type) ? 1 : 2;
  };
  return head + columns.toSorted((one, other) => rank(one) - rank(other)).join(', ') + end;
}

/**
 * Changes the SQL of a monthly table so that it is partitioned. Only the partitions have indexes, because a unique
 * index of the parent table would have to include the month.
 */
function divided(statement: string): string[] {
  for (const { name, at } of [...MONTHLY, { name: 'bill_lines', at: 'day' }]) {
    const table = `"${name}"`;
    const rest = `"${name}_${REST}"`;
    if (statement.startsWith(`create table ${table} (`)) {
      const parent = `${statement} partition by range ("${at}")`;
      const partition = `create table ${rest} partition of ${table} default`;
      if (name === 'bill_lines') return [parent, partition];
      const serial = /"(\w+)" (\w+) primary key/.exec(parent);
      const listed = /, primary key \(([^)]+)\)/.exec(parent);
      const key = serial ? `"${serial[1]}"` : listed![1]!;
      const keyless = parent.replace(/ primary key/, ' not null').replace(/, not null \([^)]+\)/, '');
      return [keyless, partition, `alter table ${rest} add primary key (${key})`];
    }
    if (name === 'bill_lines') continue;
    if (statement.startsWith(`alter table ${table} `)) return [statement.replace(table, rest)];
    if (/^create (unique )?index/.test(statement) && statement.includes(` on ${table} `))
      return [statement.replace(` on ${table} `, ` on ${rest} `)];
  }
  return [statement];
}
