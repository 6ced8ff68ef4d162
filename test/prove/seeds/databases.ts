import { sql } from 'kysely';
import { type DueRows, dueEffectRows, dueOrders, dueLookups, dueRefunds } from '../../../server/db/queries/due.ts';
import type { ReadTx, Store, Tx } from '../../../server/db/store.ts';
import { indexedStore, type IndexedStore, type Written } from '../memory/indexed-store.ts';
import {
  type AnyRow,
  MEMORY_TABLES,
  type Snapshot,
  TABLE_NAMES,
  type TableName,
  type TableRules,
} from '../memory/tables.ts';

/** The kinds of due rows. */
export type DueKind = 'order' | 'refund' | 'question' | 'effect';

/** A row with a due time. */
export interface DueThing {
  readonly kind: DueKind;
  readonly id: string;
  /** The row's order. */
  readonly orderNo: string;
  /** Milliseconds; not before this time and not before its lease ends. */
  readonly at: number;
}

/** The database of a world. */
export interface WorldDatabase {
  readonly store: Store;
  /** Every row with a due time. */
  schedule(): Promise<DueThing[]>;
  /** Leases a row if it is due and not leased. */
  claim(tx: Tx, kind: DueKind, id: string, now: Date): Promise<boolean>;
  snapshot(): Promise<Snapshot>;
  /** In memory only: lookup of an order's rows. */
  readonly indexed?: IndexedStore;
}

/** An empty in-memory database. */
export function openMemory(committed: (changes: readonly Written[]) => void): WorldDatabase {
  const due = new Map<string, DueThing>();
  const store = indexedStore((changes) => {
    for (const { name, before, after } of changes) {
      const kind = KIND_OF.get(name);
      if (!kind) continue;
      const thing = after && thingOf(kind, after);
      const id = `${name} ${String((after ?? before)?.[kind.key])}`;
      if (thing) due.set(id, thing);
      else due.delete(id);
    }
    committed(changes);
  });
  return {
    store,
    indexed: store,
    schedule: async () => [...due.values()],
    async claim(tx, kind, id, now) {
      const { table, key, at } = KINDS.find((one) => one.kind === kind)!;
      const rows = tx[table] as unknown as Claimable;
      const row = await rows.find({ [key]: id });
      const due = row?.[at] as Date | null;
      const lease = row?.['leasedUntil'] as Date | null;
      if (!row || !due || due > now || (lease && lease > now)) return false;
      return (await rows.update({ [key]: id }, { leasedUntil: new Date(now.getTime() + LEASE_MS) })) === 1;
    },
    snapshot: async () => store.snapshot(),
  };
}

/** The due time of a row, if any. */
function thingOf({ kind, key, at }: (typeof KINDS)[number], row: AnyRow): DueThing | undefined {
  const due = row[at] as Date | null;
  const isOver = (kind === 'question' && row['state'] !== 'open') || (kind === 'effect' && row['state'] !== 'due');
  if (!due || isOver) return undefined;
  const lease = row['leasedUntil'] as Date | null;
  const moment = Math.max(due.getTime(), lease?.getTime() ?? 0);
  return { kind, id: String(row[key]), orderNo: String(row['orderNo']), at: moment };
}

/** As `db/queries/due.ts` leases claimed rows. */
const LEASE_MS = 60_000;

interface Claimable {
  find(where: object): Promise<AnyRow | undefined>;
  update(where: object, patch: object): Promise<number>;
}

const KINDS = [
  { kind: 'order', table: 'orders', key: 'orderNo', at: 'nextCheckAt' },
  { kind: 'refund', table: 'refunds', key: 'refundNo', at: 'nextCheckAt' },
  { kind: 'question', table: 'refundLookups', key: 'id', at: 'nextAt' },
  { kind: 'effect', table: 'dueEffects', key: 'id', at: 'nextAt' },
] as const satisfies readonly { kind: DueKind; table: TableName; key: string; at: string }[];

const KIND_OF: ReadonlyMap<TableName, (typeof KINDS)[number]> = new Map(KINDS.map((kind) => [kind.table, kind]));

const DUE_ROWS: Readonly<Record<DueKind, DueRows>> = {
  order: dueOrders(true),
  refund: dueRefunds(true),
  question: dueLookups(true),
  effect: dueEffectRows(),
};

const SCHEDULE = `
  select kind, id, order_no as "orderNo", cast(extract(epoch from greatest(at, leased_until)) * 1000 as text) as at from (
    select 'order' as kind, order_no as id, order_no, next_check_at as at, leased_until from orders
    union all select 'refund', refund_no, order_no, next_check_at, leased_until from refunds
    union all select 'question', id::text, order_no, next_at, leased_until from refund_lookups where state = 'open'
    union all select 'effect', id::text, order_no, next_at, leased_until from due_effects where state = 'due'
  ) due where at is not null`;

/** Opens an in-memory database like the service's embedded one; it is emptied for each world. */
export async function openPglite(): Promise<{ empty(): Promise<WorldDatabase>; close(): Promise<void> }> {
  // Most threads run their worlds in memory and need not load a database.
  const [{ openDatabase }, { createStore }, { migratedArchive }] = await Promise.all([
    import('../../../server/db/orm.ts'),
    import('../../../server/db/store.ts'),
    import('../../support/database.ts'),
  ]);
  const database = await openDatabase({ kind: 'pglite', url: 'memory://', archive: await migratedArchive() });
  const store = createStore(database, () => {});
  const world: WorldDatabase = {
    store,
    schedule: () =>
      store.read(async (tx) => {
        const rows = await tx.sql<Omit<DueThing, 'at'> & { at: string }>`${sql.raw(SCHEDULE)}`;
        return rows.map((row) => ({ ...row, at: Math.round(Number(row.at)) }));
      }),
    claim: async (tx, kind, id, now) => (await DUE_ROWS[kind].claimNamed(tx, { now, ids: [id] })).length === 1,
    snapshot: () =>
      store.read(async (tx) => {
        const all: [TableName, readonly AnyRow[]][] = [];
        for (const name of TABLE_NAMES)
          all.push([name, await (tx[name] as unknown as Listable).list({}, inOrder(name))]);
        return Object.fromEntries(all) as unknown as Snapshot;
      }),
  };
  return {
    async empty() {
      await store.transaction((tx) => tx.sql`truncate ${sql.raw(SQL_NAMES.join(', '))} restart identity`);
      return world;
    },
    close: () => database.close(),
  };
}

/** Histories are compared in order; the physical row order of a database is irrelevant. */
function inOrder(name: TableName): object {
  const { numbered } = MEMORY_TABLES[name] as TableRules;
  return numbered === undefined ? {} : { orderBy: { [numbered]: 'asc' } };
}

type Listable = { list(where: object, listing: object): ReturnType<ReadTx['orders']['list']> } & Record<string, never>;

const SQL_NAMES = [
  'orders',
  'refunds',
  'refund_lookups',
  'transitions',
  'order_exceptions',
  'notifications',
  'idempotency_keys',
  'events',
  'due_effects',
  'disputes',
];
