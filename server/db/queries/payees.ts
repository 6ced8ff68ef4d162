// The accounts of bills. A confirmed payee is an account that the channel has confirmed. A claim is a provisional payee
// that only a project's configuration names. For a quiet account, unknown numbers in bills are not reported.

import { type RawBuilder, sql } from 'kysely';
import type { BillRow, PayeeRow, QuietAccountRow } from '../entities/bills.ts';
import type { Sql } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { keptSince } from './retention.ts';

/** The account of a bill: a confirmed payee, or the claim (unconfirmed payee) of a project. */
export type Account = Pick<BillRow, 'payWay' | 'account' | 'mode'>;

/** The fault of a claim's bill: the confirmed payee already has a bill of the same day. */
export const SAME_ACCOUNT = 'same_account';

/** SQL condition: the order `o` belongs to the account of the bill `b`. */
export const OF_PAYEE = sql<boolean>`exists (select 1 from payees p
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and p.project = o.project and p.version = o.config_version)
  and o.pay_way = b.pay_way and o.mode = b.mode`;

/** SQL condition: no project outside `projects` receives money for the account of the bill `b`. */
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
 * SQL condition: `account` is the payee of `b` (a bill or an account), or the account number in a configuration of this
 * payee.
 */
export const isCalled = (
  account: string,
): RawBuilder<boolean> => sql`(b.account = ${account} or exists (select 1 from payees p
  join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
  where p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode and c.account = ${account}))`;

/**
 * Whether an order was placed with a configuration version of a claim. Only orders from the time in which the version
 * was the newest are searched, with two days of tolerance.
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

/** Removes the unread bills of a claim. Bills that a replica has leased are removed by a later call. */
export async function forgetClaim(tx: Tx, { payWay, account, mode }: Account): Promise<void> {
  await tx.bills.delete({ payWay, account, mode, reading: 0, leasedUntil: null });
}

/**
 * A kind of difference: a number in a bill has the format of this service's numbers, but this database has no such
 * order.
 */
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

/**
 * SQL condition: a column has the format of this service's refund numbers. The number may be derived from the order
 * number, and may have a suffix for the attempt.
 */
export const isOurRefund = (column: string): RawBuilder<boolean> =>
  sql`${sql.ref(column)} ~ ${sql.lit(`^R(${STAMPED}|[PX]${STAMPED}[CFL])(_[1-9][0-9]{0,3}){0,1}$`)}`;

/** In bills of the last five weeks, unknown numbers are reported even if Retention.UnpaidOrderDays is shorter. */
const REPORTED_DAYS = 35;

/**
 * SQL condition: an order or refund with the number in a column exists, or retention may have removed it. The number
 * contains the creation time.
 */
export const isKnownOrRemoved = (column: string, now: Sql): RawBuilder<boolean> => {
  const number = sql.ref(column);
  return sql`(
    exists (select 1 from orders known where known.order_no = ${number})
    or exists (select 1 from refunds known where known.refund_no = split_part(${number}, '_', 1))
    or substring(${number} from '[0-9]{14}') < to_char(
         least(greatest(${keptSince('orders')}, timestamptz '2000-01-01'), ${now} - make_interval(days => ${REPORTED_DAYS})) at time zone 'UTC', 'YYYYMMDDHH24MISS'))`;
};

/** SQL condition: an account is quiet, so unknown numbers in its bills are not reported. */
export const isQuiet = (payWay: Sql, account: Sql, mode: Sql): RawBuilder<boolean> =>
  sql`exists (select 1 from quiet_accounts q where q.pay_way = ${payWay} and q.account = ${account} and q.mode = ${mode})`;

/** Lists all quiet accounts. There are only a few. */
export function quietAccounts(tx: ReadTx): Promise<QuietAccountRow[]> {
  return tx.quietAccounts.list({}, { orderBy: { payWay: 'asc', account: 'asc', mode: 'asc' } });
}

/**
 * Makes an account quiet: deletes the differences about unknown numbers in its bills, and resolves the exceptions of
 * these differences. An exception stays open if a bill of another account has the same difference. Differences that an
 * administrator has ended are kept. Returns the number of deleted differences that had an exception.
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
 * Schedules another comparison of an account's finished bills of the last five weeks, and returns their numbers. Bills
 * in progress are compared later in any case.
 */
export async function compareAgain(tx: Tx, { payWay, account, mode }: Account, now: Date): Promise<string[]> {
  const rows = await tx.sql<{ billNo: string }>`
    update bills set state = 'matching', next_check_at = ${now}
     where pay_way = ${payWay} and account = ${account} and mode = ${mode} and state = 'done' and reading > 0
       and day >= (${now}::timestamptz)::date - ${REPORTED_DAYS}::int
    returning bill_no`;
  return rows.map(({ billNo }) => billNo);
}
