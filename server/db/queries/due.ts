import type { ReadTx, Tx } from '../store.ts';
import { type DueRows, type DueTable, dueRows } from './due-rows.ts';

/** Orders, by the account at their channel. */
export function dueOrders(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'orders',
    key: 'order_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: accountOf('d'),
    condition: 'true',
  });
}

/** Refunds, by the account of their order. */
export function dueRefunds(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'refunds',
    key: 'refund_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: 'd.lane',
    condition: 'true',
  });
}

/** Questions about refunds that a channel named, by the account of their order. */
export function dueQuestions(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'refund_questions',
    key: 'id',
    keyType: 'uuid',
    at: 'next_at',
    lease: 'leased_until',
    lane: 'd.lane',
    covered: `d.state = 'open'`,
    condition: 'true',
  });
}

/** Disputes that are not decided, by the account at their channel. */
export function dueDisputes(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'disputes',
    key: 'dispute_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: accountOf('d'),
    condition: 'true',
  });
}

/** Bills that are to be asked for, read or compared, by account. */
export function dueBills(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'bills',
    key: 'bill_no',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: accountOf('d'),
    condition: 'true',
  });
}

/** Differences between bills and orders that the channel is to be asked about, by the account of the bill. */
export function dueDifferences(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'bill_differences',
    key: 'id',
    keyType: 'uuid',
    at: 'next_check_at',
    lease: 'leased_until',
    lane: 'd.lane',
    condition: `d.state = 'open'`,
  });
}

/** Pay-per-call fulfilments, by project; their own lease belongs to the work, so the next attempt is put off instead. */
export function dueFulfilments(simulated: boolean): DueRows {
  return dueRows({
    table: 'skill_orders',
    key: 'order_no',
    at: 'next_attempt_at',
    lease: 'next_attempt_at',
    ...ofProjects,
    condition: simulated ? 'true' : `(select o.mode from orders o where o.order_no = d.order_no) <> 'simulator'`,
  });
}

/** Deliveries that are to be confirmed to the channel whose agent paid, by the account of the order. */
export function dueConfirmations(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'skill_orders',
    key: 'order_no',
    at: 'confirm_at',
    lease: 'confirm_at',
    lane: 'd.lane',
    condition: 'true',
  });
}

/** Calls that coins paid and that are not done, by project. */
export function dueCoinCalls(): DueRows {
  return dueRows({
    table: 'coin_calls',
    key: 'order_no',
    at: 'next_attempt_at',
    lease: 'next_attempt_at',
    ...ofProjects,
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
    ...ofProjects,
    covered: `d.state = 'due'`,
    condition: 'true',
  });
}

/** Deliveries to merchants, by application and receiver; each of the two is a group, for many may send to one that is dead. */
export function dueDeliveries(): DueRows {
  // \x3f is a question mark, which stands for a value in our statements.
  const lane = `(d.client_id || ' //' || coalesce(substring(d.url from '^[a-z]+://([^/\\x3f#]*)'), ''))`;
  return dueRows({
    table: 'deliveries',
    key: 'id',
    keyType: 'uuid',
    at: 'next_attempt_at',
    lease: 'leased_until',
    lane,
    groups: `string_to_array(${lane}, ' ')`,
    covered: `d.state = 'pending'`,
    condition: 'true',
  });
}

/** Leases one refund if it is due and nobody has it. */
export async function claimDueRefund(tx: Tx, refundNo: string, now: Date): Promise<boolean> {
  const claimed = await dueRefunds(true).claimNamed(tx, { now, ids: [refundNo] });
  return claimed.length === 1;
}

/** Of each table for how many seconds the oldest row that is due and nobody's has been due, in one statement. */
export async function lookForDue(
  tx: ReadTx,
  tables: readonly Pick<DueRows, 'oldestLag'>[],
  now: Date,
): Promise<(number | undefined)[]> {
  return valuesOf(
    tx,
    tables.map(({ oldestLag }) => oldestLag),
    now,
  );
}

/** What each of these counts of `DueRows` (`dueCount`, `waiting`) comes to, in one statement. */
export async function countDue(tx: ReadTx, counts: readonly string[], now: Date): Promise<number[]> {
  return (await valuesOf(tx, counts, now)).map((count) => count ?? 0);
}

async function valuesOf(tx: ReadTx, values: readonly string[], now: Date): Promise<(number | undefined)[]> {
  if (values.length === 0) return [];
  const columns = values.map((value, at) => `${value} as due_${at}`).join(', ');
  const [row] = await tx.prepared<Record<string, number | null>>(`select ${columns}`, [now]);
  return values.map((_, at) => row?.[`due_${at}`] ?? undefined);
}

const ofProjects = { lane: 'd.project', groups: `'{}'::text[]` } as const;

/** An account at a channel, as `laneOf` of payments/numbers.ts names it. */
function accountOf(row: string): string {
  return `(${row}.pay_way || ' ' || ${row}.mode || ' ' || ${row}.account)`;
}

/** A channel is a group of its accounts. Without `simulated` those of the simulator are frozen. */
function ofAccounts(simulated: boolean, table: Omit<DueTable, 'groups'>): DueRows {
  const part = (lane: string, place: number) => `split_part(${lane}, ' ', ${place})`;
  const groups = `array[${part(table.lane, 1)}]`;
  if (simulated) return dueRows({ ...table, groups });
  const isLive = (lane: string) => `${part(lane, 2)} <> 'simulator'`;
  return dueRows({
    ...table,
    groups,
    condition: `${table.condition} and ${isLive(table.lane)}`,
    open: isLive('s.lane'),
  });
}
