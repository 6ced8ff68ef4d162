// The accounts to which bills belong. If the channel has confirmed which account receives the money, the account is a
// confirmed payee. Until then, the account in a project's configuration counts as a claim (an unconfirmed payee). For a
// quiet account, order and refund numbers that this service does not know are not reported.

import { type RawBuilder, sql } from 'kysely';
import type { BillRow, PayeeRow, QuietAccountRow } from '../entities/bills.ts';
import type { Sql } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { keptSince } from './retention.ts';

export type Account = Pick<BillRow, 'payWay' | 'account' | 'mode'>;

/**
 * Fault of a duplicate bill, which does not count: the confirmed payee already has a bill of the same account and day.
 */
export const SAME_ACCOUNT = 'same_account';

/** SQL condition: the order `o` belongs to the account of the bill `b`. */
export const OF_PAYEE = sql<boolean>`exists (select 1 from payees p
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and p.project = o.project and p.version = o.config_version)
  and o.pay_way = b.pay_way and o.mode = b.mode`;

/** SQL condition: only `projects` have a configuration that receives money on the account of the bill `b`. */
export const ofNoOther = (projects: readonly string[]): RawBuilder<boolean> => sql`not exists (select 1 from payees p
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and p.project <> all(${projects}::text[]))`;

/** The configuration versions that receive money for an account. */
export async function versionsOf(tx: ReadTx, { payWay, account, mode }: Account): Promise<PayeeRow[]> {
  return tx.payees.list({ payWay, payee: account, mode });
}

/** The instant since which any project's configuration contains a payee; undefined = no configuration contains it. */
export async function accountSince(tx: ReadTx, { payWay, account, mode }: Account): Promise<Date | undefined> {
  const [row] = await tx.sql<{ since: Date | null }>`
    select min(c.created_at) as since from payees p
      join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
     where p.pay_way = ${payWay} and p.payee = ${account} and p.mode = ${mode}`;
  return row?.since ?? undefined;
}

/**
 * SQL condition: `account` is the account of the bill `b`, or a channel configuration whose money goes to the account
 * of `b` names `account`.
 */
export const isCalled = (
  account: string,
): RawBuilder<boolean> => sql`(b.account = ${account} or exists (select 1 from payees p
  join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and c.account = ${account}))`;

/**
 * Whether any order was created with a configuration version of an unconfirmed payee. Only orders from the time in
 * which this version was the newest are read, with a tolerance of two days before and after it.
 */
export async function hasOrders(tx: ReadTx, { payWay, account, mode }: Account): Promise<boolean> {
  const [row] = await tx.sql<{ found: boolean }>`
    select exists (
       select 1 from payees p
         join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
         cross join lateral (select coalesce(min(n.created_at), 'infinity') as at from channel_configs n
                              where n.project = p.project and n.pay_way = p.pay_way and n.version > p.version) ended
         join orders o on o.project = p.project and o.pay_way = p.pay_way and o.config_version = p.version
          and o.created_at between c.created_at - interval '2 days' and ended.at + interval '2 days'
        where p.pay_way = ${payWay} and p.payee = ${account} and p.mode = ${mode}) as found`;
  return row?.found === true;
}

/** Removes the bills of an unconfirmed payee that were never read, except a bill that a replica is working on. */
export async function forgetClaim(tx: Tx, { payWay, account, mode }: Account): Promise<void> {
  await tx.bills.delete({ payWay, account, mode, reading: 0, leasedUntil: null });
}

/** A kind of difference: a bill has a number in this service's format that no order or refund has. */
export const UNKNOWN_HERE = 'order_unknown_here';

/**
 * Pattern of the time and the random characters in a number of this service (payments/numbers.ts). A number without a
 * valid time belongs to another system.
 */
const STAMPED =
  '20[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])([01][0-9]|2[0-3])([0-5][0-9]){2}[0-9A-HJKMNP-TV-Z]{10}';

/** SQL condition: a column has the format of this service's order numbers. */
export const isOurOrder = (column: string): RawBuilder<boolean> =>
  sql`${sql.ref(column)} ~ ${sql.lit(`^[PX]${STAMPED}$`)}`;

/** SQL: a column has the format of refund numbers, which may derive from an order number and have an attempt suffix. */
export const isOurRefund = (column: string): RawBuilder<boolean> =>
  sql`${sql.ref(column)} ~ ${sql.lit(`^R(${STAMPED}|[PX]${STAMPED}[CFL])(_[1-9][0-9]{0,3}){0,1}$`)}`;

/** Unknown numbers in a bill are reported up to this many days of age, even if Retention.UnpaidOrderDays is shorter. */
const REPORTED_DAYS = 35;

/** SQL: the number exists, or is so old, by the time in it, that retention may have removed its order or refund. */
export const isKnownOrRemoved = (column: string, now: Sql): RawBuilder<boolean> => {
  const number = sql.ref(column);
  return sql`(
    exists (select 1 from orders known where known.order_no = ${number})
    or exists (select 1 from refunds known where known.refund_no = split_part(${number}, '_', 1))
    or substring(${number} from '[0-9]{14}') < to_char(
         least(greatest(${keptSince('orders')}, timestamptz '2000-01-01'), ${now} - make_interval(days => ${REPORTED_DAYS})) at time zone 'UTC', 'YYYYMMDDHH24MISS'))`;
};

export const isQuiet = (payWay: Sql, account: Sql, mode: Sql): RawBuilder<boolean> =>
  sql`exists (select 1 from quiet_accounts q where q.pay_way = ${payWay} and q.account = ${account} and q.mode = ${mode})`;

/** Lists all quiet accounts. There are only a few. */
export function quietAccounts(tx: ReadTx): Promise<QuietAccountRow[]> {
  return tx.quietAccounts.list({}, { orderBy: { payWay: 'asc', account: 'asc', mode: 'asc' } });
}

/**
 * Makes an account quiet. Deletes its differences about unknown numbers and closes their open exceptions. Differences
 * that an administrator has resolved stay. An exception stays open if a bill of another account has the same
 * difference. Returns the number of deleted differences that had been listed as exceptions.
 */
export async function quieten(tx: Tx, row: QuietAccountRow): Promise<number> {
  const { payWay, account, mode, since, by, reason } = row;
  await tx.quietAccounts.insert(row);
  const [gone] = await tx.sql<{ n: bigint }>`
    with gone as (
       delete from bill_differences d using bills b
        where b.bill_no = d.bill_no and b.pay_way = ${payWay} and b.account = ${account} and b.mode = ${mode}
          and d.kind = ${UNKNOWN_HERE} and d.state <> 'ended'
       returning d.id, d.order_no, d.kind, d.key, d.state),
     resolved as (
       update order_exceptions e set state = 'resolved', resolution = 'quiet', reason = ${reason}, resolved_by = ${by},
              resolved_at = ${since}
         from gone g
        where e.order_no = g.order_no and e.kind = g.kind and e.dedupe = g.key and e.state = 'open'
          and not exists (select 1 from bill_differences o
                           where o.order_no = g.order_no and o.kind = g.kind and o.key = g.key and o.state = 'listed'
                             and o.id not in (select id from gone)))
     select count(*) as n from gone where state = 'listed'`;
  return Number(gone?.n ?? 0);
}

/**
 * Schedules a new comparison of the account's compared bills of the last five weeks, and returns their numbers. Bills
 * that are still being read or compared are not scheduled, because their comparison follows anyway.
 */
export async function compareAgain(tx: Tx, { payWay, account, mode }: Account, now: Date): Promise<string[]> {
  const rows = await tx.sql<{ billNo: string }>`
    update bills set state = 'matching', next_check_at = ${now}
     where pay_way = ${payWay} and account = ${account} and mode = ${mode} and state = 'done' and reading > 0
       and day >= (${now}::timestamptz)::date - ${REPORTED_DAYS}::int
    returning bill_no`;
  return rows.map(({ billNo }) => billNo);
}
