// Uses Kysely with MikroORM's entities: typed SQL statements and the conversion of values. Read access rejects
// statements that write. `autocommit` runs one statement and rejects a second one.

import type { InferKyselyDB } from '@mikro-orm/postgresql';
import {
  CamelCasePlugin,
  type Kysely,
  type KyselyPlugin,
  type OperationNode,
  type PluginTransformQueryArgs,
  type RawBuilder,
  type RawNode,
  type RootOperationNode,
  type SelectModifierNode,
  type Transaction,
  type TransactionBuilder,
  sql,
} from 'kysely';
import { types } from 'pg';
import type { ENTITIES } from './entities/index.ts';

/** The tables of all entities, by table name; columns have the names of the entity properties. */
export type Database = InferKyselyDB<(typeof ENTITIES)[number], { columnNamingStrategy: 'property' }>;

export type Sql = RawBuilder<unknown>;

/** Runs statements, either in a transaction or each statement in its own commit. */
export type Db = Kysely<Database>;

/** Runs statements that only read. The statements may be raw SQL. */
export type ReadDb = Pick<Db, 'selectFrom' | 'selectNoFrom' | 'with' | 'fn' | 'getExecutor'>;

/**
 * Converts property names to column names and back. Without `maintainNestedObjectKeys` the keys of JSON documents would
 * also be converted. MikroKyselyPlugin cannot be used: it does not convert aliases and aggregates, and writes lists
 * incorrectly.
 */
export const camelCase = new CamelCasePlugin({ maintainNestedObjectKeys: true });

/** A JSON document as a bound value: pg would convert an empty list to `{}`, and '123' to a number. */
export function asJson<T>(value: T): RawBuilder<T> {
  return sql<T>`cast(${JSON.stringify(value)} as jsonb)`;
}

type Parse = (text: string) => unknown;

/** A date stays text (`yyyy-MM-dd`), a timestamptz becomes a Date, an int8 becomes a bigint. */
export const PARSERS: Readonly<Record<number, Parse>> = {
  [types.builtins.INT8]: BigInt,
  [types.builtins.DATE]: String,
  [types.builtins.TIMESTAMPTZ]: readInstant,
};

const INSTANT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(?::?(\d\d))?$/;

/** Parses a timestamp of PostgreSQL, such as `2026-01-02 03:04:05.678+00`, to the millisecond. */
export function readInstant(value: string): Date {
  // Fast path for UTC; the general form takes three times as long.
  if (value.length >= 22 && value[10] === ' ' && value.endsWith('+00')) {
    const date = new Date(`${value.slice(0, 10)}T${value.slice(11, -3)}Z`);
    if (!Number.isNaN(date.getTime())) return date;
  }
  const [, day, time, hours, minutes = '00'] = INSTANT.exec(value) ?? [];
  if (day === undefined) throw new TypeError(`The database returned ${value}, which is not a timestamp.`);
  return new Date(`${day}T${time}${hours}:${minutes}`);
}

/** Throws for statements that write or lock, because types do not check raw SQL. */
export const readingOnly: KyselyPlugin = {
  transformQuery({ node }) {
    if (!/^\s*(select|with|explain)\b/i.test(beginOf(node))) throw refusal();
    refuseWrites(node);
    return node;
  },
  transformResult: async ({ result }) => result,
};

/** Creates a plugin that throws at a second statement, because it would not be committed together with the first. */
export function onlyOne(): KyselyPlugin {
  let isUsed = false;
  return {
    transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
      if (isUsed) throw new TypeError('store.autocommit runs one statement; use store.transaction for several.');
      isUsed = true;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

/** SQL keywords and functions that write, lock or advance a sequence. */
const WRITES =
  /\b(insert|update|delete|merge|into|truncate|lock|nextval|setval|set_config|pg_(try_)?advisory_\w+|for\s+(no\s+key\s+|key\s+)?(share|update))\b/i;

/** String literals are ignored. They may contain a keyword of `WRITES`, for example in the action 'admin.update'. */
const LITERAL = /'[^']*'/g;

const WRITING: ReadonlySet<OperationNode['kind']> = new Set([
  'InsertQueryNode',
  'UpdateQueryNode',
  'DeleteQueryNode',
  'MergeQueryNode',
]);

/** Returns the beginning of a statement's SQL text, also if the statement begins with a nested part. */
function beginOf(node: OperationNode): string {
  if (node.kind === 'SelectQueryNode') return 'select';
  if (node.kind !== 'RawNode') return '';
  const { sqlFragments, parameters } = node as RawNode;
  const [first = ''] = sqlFragments;
  return first.trim() === '' && parameters[0] ? beginOf(parameters[0]) : first;
}

/**
 * Throws if a statement writes. This function is not a Kysely transformer, because a transformer would copy every part
 * of every statement.
 */
function refuseWrites(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  const { kind, sqlFragments, modifier } = part as Partial<RawNode> & Partial<SelectModifierNode>;
  // Bound values are not part of the SQL text.
  if (kind === 'ValueNode') return;
  const writes =
    (kind !== undefined && WRITING.has(kind)) ||
    (kind === 'RawNode' && WRITES.test(sqlFragments!.join('?').replaceAll(LITERAL, ''))) ||
    (kind === 'SelectModifierNode' && modifier !== 'Distinct');
  if (writes) throw refusal();
  for (const member in part) refuseWrites(part[member as keyof typeof part]);
}

function refusal(): TypeError {
  return new TypeError('store.read only reads; use store.autocommit or store.transaction to write or lock.');
}

/** Runs a transaction. If `work` fails and the rollback fails too, the error of `work` is thrown. */
export async function transact<Tables, T>(
  begin: TransactionBuilder<Tables>,
  work: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  let failure: { error: unknown } | undefined;
  const watched = (trx: Transaction<Tables>) =>
    work(trx).catch((error: unknown) => {
      failure = { error };
      throw error;
    });
  try {
    return await begin.execute(watched);
  } catch (error) {
    throw failure ? failure.error : error;
  }
}
