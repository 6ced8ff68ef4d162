import type { ReadTx, Tx } from '../store.ts';
import { MOST_COUNTED } from './figures.ts';

/** A row that is due is somebody's for this long; afterwards another replica takes it. */
const LEASE_SECONDS = 60;

/** A claimed row; rows of one lane wait for the same outside party. */
export interface DueRow {
  id: string;
  lane: string;
  /** A second lane that the row is in, across those of the first kind. */
  beside?: string | null;
}

/** What to claim: at most `limit` rows, none of the lanes that are full, only the named rows if there are names. */
export interface Claim {
  now: Date;
  limit: number;
  full?: readonly string[];
  only?: readonly string[];
}

/** Rows of one table that can be due. */
export interface DueRows {
  /** Leases rows that are due, oldest first, so that no other replica takes them too. */
  claim(tx: Tx, claim: Claim): Promise<DueRow[]>;
  /** The SQL value, with `$1` for now, of the seconds since the oldest row was due that nobody has; null for none. */
  readonly oldestLag: string;
  /** The SQL value, with `$1` for now, of how many rows are due that nobody has, `MOST_COUNTED` at most. */
  readonly waiting: string;
}

/** Orders, by channel; without `simulated` those of the simulator are frozen. */
export function dueOrders(simulated: boolean): DueRows {
  return dueRows({
    table: 'orders',
    key: 'order_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: 'd.pay_way',
    condition: simulated ? 'true' : `d.mode <> 'simulator'`,
  });
}

/** Refunds, by the channel of their order. */
export function dueRefunds(simulated: boolean): DueRows {
  return dueRows({
    table: 'refunds',
    key: 'refund_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: orderColumn('pay_way'),
    condition: simulated ? 'true' : `${orderColumn('mode')} <> 'simulator'`,
  });
}

/** Questions about refunds that a channel named, by the channel of their order. */
export function dueQuestions(simulated: boolean): DueRows {
  return dueRows({
    table: 'refund_questions',
    key: 'id',
    keyType: 'uuid',
    at: 'next_at',
    lease: 'leased_until',
    lane: orderColumn('pay_way'),
    condition: `d.state = 'open'${simulated ? '' : ` and ${orderColumn('mode')} <> 'simulator'`}`,
  });
}

/** Disputes that are not decided, by channel. */
export function dueDisputes(simulated: boolean): DueRows {
  return dueRows({
    table: 'disputes',
    key: 'dispute_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: 'd.pay_way',
    condition: simulated ? 'true' : `d.mode <> 'simulator'`,
  });
}

/** Bills that are to be asked for, read or compared, by channel. */
export function dueBills(simulated: boolean): DueRows {
  return dueRows({
    table: 'bills',
    key: 'bill_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: 'd.pay_way',
    condition: simulated ? 'true' : `d.mode <> 'simulator'`,
  });
}

/** Differences between bills and orders that the channel is to be asked about, by channel. */
export function dueDifferences(simulated: boolean): DueRows {
  return dueRows({
    table: 'bill_differences',
    key: 'id',
    keyType: 'uuid',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: 'd.pay_way',
    condition: simulated ? `d.state = 'open'` : `d.state = 'open' and ${orderColumn('mode')} <> 'simulator'`,
  });
}

/** Pay-per-call fulfilments, by project; their own lease belongs to the work, so the next attempt is put off instead. */
export function dueFulfilments(simulated: boolean): DueRows {
  return dueRows({
    table: 'skill_orders',
    key: 'order_no',
    at: 'next_attempt_at',
    lease: 'next_attempt_at',
    lane: 'd.project',
    condition: simulated ? 'true' : `${orderColumn('mode')} <> 'simulator'`,
  });
}

/** Deliveries that are to be confirmed to the channel whose agent paid, by project. */
export function dueConfirmations(simulated: boolean): DueRows {
  return dueRows({
    table: 'skill_orders',
    key: 'order_no',
    at: 'confirm_at',
    lease: 'confirm_at',
    lane: 'd.project',
    condition: simulated ? 'true' : `${orderColumn('mode')} <> 'simulator'`,
  });
}

/** Calls that coins paid and that are not done, by project. */
export function dueCoinCalls(): DueRows {
  return dueRows({
    table: 'coin_calls',
    key: 'order_no',
    at: 'next_attempt_at',
    lease: 'next_attempt_at',
    lane: 'd.project',
    condition: 'true',
  });
}

/** Effects of orders that could not be done with their move, by project. */
export function dueEffectRows(): DueRows {
  return dueRows({
    table: 'due_effects',
    key: 'id',
    keyType: 'uuid',
    at: 'next_at',
    lease: 'leased_until',
    lane: 'd.project',
    condition: `d.state = 'due'`,
  });
}

/** Deliveries to merchants, by application and by the receiver's host: many may send to one that is dead. */
export function dueDeliveries(): DueRows {
  return dueRows({
    table: 'deliveries',
    key: 'id',
    keyType: 'uuid',
    at: 'next_attempt_at',
    lease: 'leased_until',
    lane: 'd.client_id',
    beside: `('//' || substring(d.url from '^[a-z]+://([^/?#]*)'))`,
    condition: `d.state = 'pending'`,
  });
}

/** Leases one refund if it is due and nobody has it. */
export async function claimDueRefund(tx: Tx, refundNo: string, now: Date): Promise<boolean> {
  const claimed = await dueRefunds(true).claim(tx, { now, limit: 1, only: [refundNo] });
  return claimed.length === 1;
}

/** Of each table for how many seconds the oldest row that is due and nobody's has been due, in one statement. */
export async function lookForDue(tx: ReadTx, tables: readonly DueRows[], now: Date): Promise<(number | undefined)[]> {
  const columns = tables.map(({ oldestLag }, at) => `${oldestLag} as due_${at}`).join(', ');
  const [row] = await tx.prepared<Record<string, number | null>>(`select ${columns}`, [now]);
  return tables.map((_, at) => row?.[`due_${at}`] ?? undefined);
}

/** Of each table how many rows are due and nobody's, in one statement; `MOST_COUNTED` at most. */
export async function countDue(tx: ReadTx, tables: readonly DueRows[], now: Date): Promise<number[]> {
  const columns = tables.map(({ waiting }, at) => `${waiting} as due_${at}`).join(', ');
  const [row] = await tx.prepared<Record<string, number>>(`select ${columns}`, [now]);
  return tables.map((_, at) => row?.[`due_${at}`] ?? 0);
}

interface DueTable {
  table: string;
  key: string;
  keyType?: 'text' | 'uuid';
  at: string;
  lease: string;
  lane: string;
  beside?: string;
  condition: string;
}

function dueRows({ table, key, keyType = 'text', at, lease, lane, beside, condition }: DueTable): DueRows {
  const free = lease === at ? 'true' : `(d.${lease} is null or d.${lease} <= cast($1 as timestamptz))`;
  const due = `d.${at} <= cast($1 as timestamptz) and ${free} and ${condition}`;
  const notBeside = beside ? `and (${beside} is null or not (${beside} = any(cast($3 as text[]))))` : '';
  // Materialized: a plan that evaluates the limited part twice would lease more than the limit.
  const statement = (only: string) =>
    `with picked as materialized (
       select d.${key} as id, ${lane} as lane, ${beside ?? 'null'} as beside from ${table} d
        where ${due} and not (${lane} = any(cast($3 as text[]))) ${notBeside} ${only}
        order by d.${at} limit $2 for update of d skip locked)
     update ${table} t set ${lease} = cast($1 as timestamptz) + interval '${LEASE_SECONDS} seconds'
       from picked where t.${key} = picked.id
     returning picked.id::text as id, picked.lane, picked.beside`;
  const oldest = statement('');
  const named = statement(`and d.${key} = any(cast($4 as ${keyType}[]))`);
  return {
    oldestLag: `(select extract(epoch from cast($1 as timestamptz) - d.${at})::float8 from ${table} d
                  where ${due} order by d.${at} limit 1)`,
    waiting: `(select count(*)::int from (select 1 from ${table} d where ${due} limit ${MOST_COUNTED}) n)`,
    claim: (tx, { now, limit, full = [], only = [] }) =>
      only.length > 0
        ? tx.prepared<DueRow>(named, [now, limit, full, only])
        : tx.prepared<DueRow>(oldest, [now, limit, full]),
  };
}

function orderColumn(name: 'mode' | 'pay_way'): string {
  return `(select o.${name} from orders o where o.order_no = d.order_no)`;
}
