/** The rules of a table beyond its columns: unique columns, checks and defaults. */
export interface TableRules {
  /** Columns that are unique together; `when` = only among rows for which it holds. A null never collides. */
  readonly uniques: readonly Unique[];
  /** Checks of the table, by the name of their violation. */
  readonly checks?: Readonly<Record<string, (row: never) => boolean>>;
  /** Defaults of columns that an insert omits; every other one is null then. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** A column that the database numbers. */
  readonly numbered?: string;
}

interface Unique {
  readonly columns: readonly string[];
  readonly when?: (row: never) => boolean;
}

interface Sums {
  amount: bigint;
  paid: bigint;
  refunded: bigint;
  refunding: bigint;
  overrun: bigint;
}

const ENDED = ['closing', 'closed', 'failed'];
const MOST_MINOR = 10_000_000_000n;

/** The tables that payments use, as `server/db/entities` describes them. */
export const MEMORY_TABLES = {
  orders: {
    uniques: [
      { columns: ['orderNo'] },
      {
        columns: ['clientId', 'merchantOrderNo'],
        when: ({ state }: { state: string }) => !ENDED.includes(state),
      },
      { columns: ['payWay', 'account', 'channelTradeNo'] },
    ],
    checks: {
      orders_amount_check: ({ amount }: Sums) => amount > 0n && amount <= MOST_MINOR,
      orders_refunds_check: ({ paid, refunded, refunding, overrun }: Sums) =>
        refunded >= 0n && refunding >= 0n && overrun >= 0n && paid >= 0n && refunded + refunding <= paid + overrun,
    },
    defaults: { effectsDue: false, approvalsAsked: 0, limited: false },
  },
  refunds: {
    uniques: [{ columns: ['refundNo'] }, { columns: ['clientId', 'merchantRefundNo'] }],
    checks: { refunds_amount_check: ({ amount }: Sums) => amount > 0n },
    defaults: { attempt: 1 },
  },
  refundLookups: { uniques: [{ columns: ['id'] }, { columns: ['orderNo', 'number'] }] },
  transitions: { uniques: [{ columns: ['id'] }, { columns: ['orderNo', 'sequence'] }], numbered: 'id' },
  exceptions: { uniques: [{ columns: ['id'] }, { columns: ['orderNo', 'kind', 'dedupe'] }] },
  notifications: { uniques: [{ columns: ['payWay', 'account', 'notificationId'] }], defaults: { copies: 1 } },
  keys: { uniques: [{ columns: ['scope', 'route', 'key'] }] },
  events: {
    uniques: [{ columns: ['sequence'] }, { columns: ['id'] }, { columns: ['objectNo', 'type', 'dedupe'] }],
    numbered: 'sequence',
  },
  dueEffects: { uniques: [{ columns: ['id'] }, { columns: ['orderNo', 'sequence', 'name'] }] },
  disputes: {
    uniques: [{ columns: ['disputeNo'] }, { columns: ['payWay', 'account', 'channelDisputeNo'] }],
  },
} as const satisfies Readonly<Record<string, TableRules>>;

/** The name of an in-memory table, as a transaction has it. */
export type TableName = keyof typeof MEMORY_TABLES;

/** A row of any table. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** Every table at one moment. Immutable: a write makes another snapshot. */
export type Snapshot = Readonly<Record<TableName, readonly AnyRow[]>>;

/** The names of the tables. */
export const TABLE_NAMES = Object.keys(MEMORY_TABLES) as readonly TableName[];

/** An empty database. */
export const EMPTY = Object.freeze(Object.fromEntries(TABLE_NAMES.map((name) => [name, []]))) as unknown as Snapshot;

/** Selects the rows with these values; a list allows any of its values. */
export type Where = Readonly<Record<string, unknown>>;

/**
 * Returns the columns in which a row would collide with another one, if any. `among` returns at least the rows with the same values
 * in these columns, possibly the row itself; `before` is the row's former state, whose unique values stay its own.
 */
export function takenBy(
  name: TableName,
  row: AnyRow,
  among: (row: AnyRow, columns: readonly string[]) => Iterable<AnyRow>,
  before?: AnyRow,
): readonly string[] | undefined {
  for (const { columns, when } of MEMORY_TABLES[name].uniques as readonly Unique[]) {
    if (!isFilled(row, columns) || (when && !when(row as never))) continue;
    if (before && isShared(before, row, columns, when)) continue;
    for (const other of among(row, columns)) if (other !== row && isShared(other, row, columns, when)) return columns;
  }
  return undefined;
}

function isFilled(row: AnyRow, columns: readonly string[]): boolean {
  for (const column of columns) if ((row[column] ?? null) === null) return false;
  return true;
}

/** Whether the other row counts and has the same value in all columns. */
function isShared(other: AnyRow, row: AnyRow, columns: readonly string[], when: Unique['when']): boolean {
  for (const column of columns) if (other[column] !== row[column]) return false;
  return !when || when(other as never);
}

/** The name of the check that a row violates, if any. */
export function brokenBy(name: TableName, row: AnyRow): string | undefined {
  const { checks } = MEMORY_TABLES[name] as TableRules;
  for (const check in checks) if (!checks[check]!(row as never)) return check;
  return undefined;
}

/** A violation of a unique column or a check, which the database would refuse. */
export class RefusedByDatabase extends Error {
  constructor(table: TableName, why: string) {
    super(`${table}: ${why}`);
    this.name = 'RefusedByDatabase';
  }
}
