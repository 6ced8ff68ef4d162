import { sql } from 'kysely';
import type { BillSum, DifferenceKind, FeeRate } from '../../domain.ts';
import type { BillRow } from '../entities/bills.ts';
import type { Sql } from '../kysely.ts';
import type { Tx } from '../store.ts';
import { isKnownOrRemoved, isOurOrder, isOurRefund, isQuiet, UNKNOWN_HERE } from './payees.ts';

interface Match {
  bill: Pick<BillRow, 'billNo' | 'reading' | 'payWay' | 'account' | 'mode' | 'day'>;
  /** The instants at which the bill's day begins and ends. */
  from: Date;
  to: Date;
  utcOffsetMinutes: number;
  /** The agreed fee rates by project. Fees of a project without a rate are not compared. */
  rates: ReadonlyMap<string, FeeRate>;
  now: Date;
  /** If set, only the order with this number is compared. */
  only?: string;
}

export interface Matched {
  found: number;
  /** Differences that no longer exist, so that their exceptions (cases for an operator) must be resolved. */
  relieved: { orderNo: string; kind: DifferenceKind; key: string }[];
  /**
   * How many exceptions were opened or reopened, by kind of difference. Kinds that need a channel query first are
   * absent.
   */
  listed: Partial<Record<DifferenceKind, number>>;
  lines: number;
  /** Number of payments and refunds in the bill that belong to other systems. */
  notOurs: number;
  sums: BillSum[];
}

/**
 * Compares a bill with the orders of its account in one statement. It stores each difference with the values of the
 * bill and of this service, marks differences that no longer exist, and stores the fees. An unchanged difference keeps
 * its state, so a repeated comparison changes nothing.
 */
export async function matchBill(tx: Tx, match: Match): Promise<Matched> {
  const { bill: compared, from, to, utcOffsetMinutes, rates, now, only } = match;
  const { billNo, reading, payWay, account, mode, day } = compared;
  const rows = [...rates].map(([project, { share, fixed, fixedCurrency }]) => {
    return { project, share, fixed: String(fixed), fixed_currency: fixedCurrency };
  });
  const given: Given = {
    billNo: sql`cast(${billNo} as varchar)`,
    reading: sql`cast(${reading} as int)`,
    day: sql`cast(${day} as date)`,
    payWay: sql`cast(${payWay} as varchar)`,
    account: sql`cast(${account} as varchar)`,
    mode: sql`cast(${mode} as varchar)`,
    from: sql`cast(${from} as timestamptz)`,
    to: sql`cast(${to} as timestamptz)`,
    now: sql`cast(${now} as timestamptz)`,
    offset: sql`make_interval(mins => cast(${utcOffsetMinutes} as int))`,
    rates: JSON.stringify(rows),
  };
  const isCompared = (column: string) =>
    only === undefined ? sql`true` : sql`${sql.raw(column)} = cast(${only} as varchar)`;
  const [row] = await tx.sql<{
    found: bigint;
    listed: Matched['listed'];
    relieved: Matched['relieved'];
    lines: bigint;
    notOurs: bigint;
    sums: BillSum[];
  }>`${statement(given, isCompared)}`;
  if (!row) throw new Error('The comparison of a bill returned no result.');
  return { ...row, found: Number(row.found), lines: Number(row.lines), notOurs: Number(row.notOurs) };
}

type Given = Record<keyof Match['bill'] | 'from' | 'to' | 'now' | 'offset', Sql> & { rates: string };

const isOfBill = (of: Given, row: string): Sql =>
  sql`${sql.raw(row)}.pay_way = ${of.payWay} and ${sql.raw(row)}.account = ${of.account} and ${sql.raw(row)}.mode = ${of.mode}`;

const ofAccount = (of: Given): Sql =>
  sql`o.pay_way = ${of.payWay} and o.mode = ${of.mode} and (o.project, o.config_version) in (select m.project, m.version from mine m)`;

/** `mine` = the configuration versions that receive money for the account; `rates` = the projects' fee rates. */
const whose = (of: Given): Sql => sql`
mine as materialized (
  select p.project, p.version from payees p
   where p.pay_way = ${of.payWay} and p.payee = ${of.account} and p.mode = ${of.mode}),
rates as materialized (
  select * from json_to_recordset(cast(${of.rates} as json)) as r(project varchar, share numeric, fixed numeric, fixed_currency varchar))`;

/** The refund number that was sent to the channel (payments/numbers.ts). */
const REFUND_NUMBER = sql`case when r.attempt = 1 then r.refund_no else r.refund_no || '_' || r.attempt end`;

/** Joins the refund `r` of the bill line `l` of the order `o`; a succeeded refund is preferred. */
export const REFUND_OF_LINE = sql`left join lateral (
      select r.refund_no as own_no, ${REFUND_NUMBER} as own_number, r.state, r.amount, r.currency, r.finished_at
        from refunds r
       where r.order_no = o.order_no
         and (${REFUND_NUMBER} = l.refund_no or r.channel_refund_no in (l.channel_refund_no, l.refund_no))
       order by (r.state = 'succeeded') desc, r.refund_no limit 1) r on true`;

/** A transaction within this time of midnight may be in the bill of the previous or the next day. */
const MIDNIGHT = sql`interval '30 minutes'`;
/** How long the comparison waits for the bill of the previous or the next day. */
const PATIENCE = sql`interval '6 days'`;

/**
 * SQL condition: a transaction near midnight may be in the bill of the previous or next day, which has not been read
 * yet. `n` is the bill of the transaction's day.
 */
const awaited = (of: Given, at: string): Sql => sql`(
    case when ((${sql.raw(at)} + ${of.offset}) at time zone 'UTC')::time < time '00:30' then ${bill('n.day - 1', 'is_open')}
         when ((${sql.raw(at)} + ${of.offset}) at time zone 'UTC')::time >= time '23:30' then not ${bill('n.day + 1', 'is_read')}
         else false end
    and ${of.now} < ${of.to} + ${PATIENCE})`;

const bill = (day: string, what: 'is_open' | 'is_read'): Sql =>
  sql`exists (select 1 from bills m where m.pay_way = n.pay_way and m.account = n.account and m.mode = n.mode and m.day = ${sql.raw(day)}
            and ${what === 'is_read' ? sql`m.reading > 0` : sql`m.reading = 0 and m.state in ('waiting', 'reading')`})`;

/** Joins the bill `n` of the day to which an instant belongs, if that bill has been read. */
const natural = (of: Given, at: string): Sql => sql`
  join bills n on ${isOfBill(of, 'n')}
    and n.day = ((${sql.raw(at)} + ${of.offset}) at time zone 'UTC')::date and n.reading > 0`;

/**
 * SQL condition: a bill of the account has a line about the order `o` that fulfils `condition`. Only lines of the read
 * attempt that the bill uses count.
 */
const lineOf = (of: Given, condition: Sql): Sql => sql`exists (select 1 from bill_lines l
    join bills b on b.bill_no = l.bill_no and b.reading = l.reading
   where l.order_no = o.order_no and ${isOfBill(of, 'b')} and ${condition})`;

/** Builds a JSON document from SQL expressions. Fields whose value is null are omitted. */
const jsonOf = (members: Readonly<Record<string, string>>): Sql =>
  sql`jsonb_strip_nulls(jsonb_build_object(${sql.join(
    Object.entries(members).map(([name, text]) => sql`${sql.lit(name)}, ${sql.raw(text)}`),
  )}))`;

const OUR_ORDER = jsonOf({
  state: 'x.state',
  amount: '(case when x.paid > 0 then x.paid else x.expected end)::text',
  currency: 'x.own_currency',
  channelNo: 'x.own_trade',
  at: 'x.paid_at',
});
const OUR_REFUND = jsonOf({
  state: 'x.state',
  amount: 'x.own_amount::text',
  currency: 'x.own_currency',
  channelNo: 'x.own_number',
  at: 'x.finished_at',
});
const THEIR_LINE = jsonOf({
  amount: 'x.amount::text',
  currency: 'x.currency',
  fee: 'x.fee::text',
  channelNo: 'x.channel_no',
  at: 'x.at',
  line: 'x.line',
});

/**
 * SQL condition: the second payment of an order is already known, because an exception (a case for an operator) or a
 * refund exists for it.
 */
const KNOWN_TWICE = sql`(exists (select 1 from order_exceptions e where e.order_no = x.order_no and e.kind in ('double_paid', 'payment_of_another_order') and e.dedupe = x.channel_no)
    or exists (select 1 from refunds r where r.order_no = x.order_no and r.payment_no = x.channel_no and r.surplus))`;

/**
 * SQL condition: a fee differs from the agreed rate by more than rounding. The rate applies to the amount less the
 * merchant's own discounts: WeChat Pay's 应结订单金额, Alipay's 商家实收. Profit shares are deducted later and do not reduce this
 * amount.
 */
const FEE_DIFFERS = sql`(x.rate is not null and x.fee_compared
    and abs(x.fee - (round((x.amount - x.discount) * x.rate) + x.fixed)) > 1)`;

const PAYMENT_DIFFERENCE = sql`case
    when x.copy > 1 or x.is_before then 'line_twice'
    when x.paid > 0 and x.own_trade <> x.channel_no then case when ${KNOWN_TWICE} then null else 'duplicate_payment' end
    when x.currency <> x.own_currency then 'currency_differs'
    when x.amount <> (case when x.paid > 0 then x.paid else x.expected end) then 'amount_differs'
    when x.paid = 0 then 'paid_unknown_to_us'
    when ${FEE_DIFFERS} then 'fee_differs' end`;

const REFUND_DIFFERENCE = sql`case
    when x.copy > 1 or x.is_before then 'line_twice'
    when x.own_number is null or (x.kind = 'refund' and x.state <> 'succeeded') then 'refund_unknown_to_us'
    when x.amount <> x.own_amount or x.currency <> x.own_currency then 'refund_amount_differs' end`;

/**
 * SQL value: what the bill states about a difference (column `theirs`). The position of the line in the file is left
 * out, because it can change without a new difference. The text `reason` begins with the position too, so the beginning
 * is cut off.
 */
const billSide = (row: string): Sql =>
  sql`row(${sql.raw(row)}.theirs - 'line' - 'reason', regexp_replace(${sql.raw(row)}.theirs->>'reason', '^[0-9:]+ ', ''))`;

/** SQL condition: a stored difference has changed. A changed position in the file does not count as a change. */
const IS_NEWS = sql`(d.state = 'healed' or d.ours is distinct from excluded.ours or ${billSide('d')} is distinct from ${billSide('excluded')})`;

/**
 * SQL condition: a difference becomes an exception (a case for an operator) at once. About all other kinds of
 * differences the channel is queried first.
 */
const isListedAtOnce = (row: string): Sql => sql`${sql.raw(row)}.kind in (${sql.lit(UNKNOWN_HERE)}, 'line_unreadable')`;
const stateOf = (row: string): Sql => sql`case when ${isListedAtOnce(row)} then 'listed' else 'open' end`;
const dueOf = (of: Given, row: string): Sql => sql`case when ${isListedAtOnce(row)} then null else ${of.now} end`;

/** The detail of the exception for a difference. payments/bills/differences.ts writes the same format. */
const DETAIL = jsonOf({
  billNo: 'w.bill_no',
  payWay: 'w.pay_way',
  day: 'w.day',
  theirs: 'w.theirs',
  number: 'w.refund_no',
});

/** The number by which the channel identifies a transaction, by kind of line. */
const NUMBER = {
  payment: (line: string) => sql`${sql.raw(line)}.channel_trade_no`,
  refund: (line: string) => sql`coalesce(${sql.raw(line)}.channel_refund_no, ${sql.raw(line)}.refund_no)`,
  // For one dispute, the channel first debits the amount and may later return it, with the same number. So event and
  // amount are added to the number.
  dispute: (line: string) =>
    sql`(${sql.raw(line)}.channel_refund_no || ' ' || ${sql.raw(line)}.event || ' ' || ${sql.raw(line)}.amount)`,
} as const;

/**
 * SQL column `copy`: 1 for the first line of a transaction in the bill, 2 or more for a repeated line. A line without a
 * number counts as a separate transaction.
 */
const copyOf = (kind: keyof typeof NUMBER): Sql => sql`row_number() over (
           partition by l.order_no, ${NUMBER[kind]('l')}, case when ${NUMBER[kind]('l')} is null then l.line end order by l.line) as copy`;

/**
 * SQL column `is_before`: whether the bill of the previous day already contains the transaction of a line. Only lines
 * close to midnight are compared.
 */
const isBefore = (of: Given, kind: keyof typeof NUMBER): Sql => sql`(l.at < ${of.from} + ${MIDNIGHT} and exists (
           select 1 from bill_lines e join bills b on b.bill_no = e.bill_no and b.reading = e.reading
            where e.order_no = l.order_no and e.kind = ${sql.lit(kind)} and ${NUMBER[kind]('e')} = ${NUMBER[kind]('l')}
              and ${isOfBill(of, 'b')}
              and b.day = ${of.day} - 1)) as is_before`;

/**
 * SQL value that identifies an unreadable line: the hash of the line's text, its ordinal among lines with equal text,
 * and its order number. If it has no order number, the bill number is used.
 */
const markOf = (of: Given): Sql => sql`case when l.kind = 'unreadable' then concat_ws(' ', md5(l.raw),
           row_number() over (partition by case when l.kind = 'unreadable' then md5(l.raw) end order by l.line), coalesce(l.order_no, ${of.billNo})) end`;

/**
 * SQL condition: the stored disputes of an order, and the amounts lost to them, do not explain a dispute line of the
 * bill. A debit line is unexplained if two things are true. The bills debit more for the order in total than its
 * disputes can cost. And the bills contain more debits of the line's amount than credits, disputes and losses of the
 * same amount. A credit line is unexplained if the bills debit less in total than the disputes have certainly cost. If
 * the order has a dispute in another currency, its credit lines are never unexplained.
 */
const DISPUTE_DIFFERS = sql`case
    when x.waits then false
    when x.amount < 0 then x.net > x.most and x.nth > x.opposed + x.exact
    else x.net < x.least and x.abroad = 0 end`;

/**
 * SQL condition: a debit line is explained by a stored dispute of the order in another currency. Amounts in different
 * currencies cannot be compared. So each of these disputes explains one debit line, whatever its amount is.
 */
const IS_ABROAD = sql`(x.amount < 0 and x.rank <= x.abroad)`;

/**
 * SQL value: the newest dispute of the order as JSON; null = no dispute is known. Its `amount` is the highest amount
 * that all disputes of the order together may have debited.
 */
const OUR_DISPUTE = sql`(select ${jsonOf({ state: 'd.state', amount: 'x.most::text', currency: 'x.currency', channelNo: 'd.channel_dispute_no', at: 'd.opened_at' })}
       from disputes d where d.order_no = x.order_no order by d.opened_at desc, d.dispute_no limit 1)`;

/** Applies the aggregate `sum` to the stored disputes of the order and currency of the bill line `m`. */
const ofDisputes = (sum: Sql, condition: Sql = sql`true`): Sql => sql`(select ${sum} from disputes d
    where d.order_no = m.order_no and d.currency = m.currency and ${condition})`;

/**
 * SQL subquery: applies the aggregate `sum` to the amounts lost to disputes that belong to the bill line `m`. These are
 * the stored losses of the same order in the same currency.
 */
const ofLosses = (sum: Sql, condition: Sql): Sql => sql`(select ${sum} from refunds r
    where r.order_no = m.order_no and r.currency = m.currency and r.origin = 'dispute' and r.state = 'succeeded' and ${condition})`;

/** The highest amount that a dispute may finally debit; 0 if the merchant won the dispute. */
const MAY_TAKE = sql`case d.state when 'won' then 0 when 'lost' then coalesce(nullif(d.amount_lost, 0), d.amount)
    else greatest(d.amount, d.amount_lost) end`;

/** The number of credits with the same amount as the bill line `m`, for the same order. */
const OPPOSED = sql`count(*) filter (where m.amount > 0) over (partition by m.order_no, m.currency, abs(m.amount))`;

const UNCLAIMED = sql`not exists (select 1 from disputes d where d.refund_no = r.refund_no)`;

/** The project for a line without an order: the account's only project. Empty if the account has several projects. */
const whoseProject = (
  of: Given,
): Sql => sql`(select case when count(distinct m.project) > 1 then '' else min(b.project) end
    from bills b left join mine m on true where b.bill_no = ${of.billNo})`;

/**
 * The SQL statement of a comparison. `only` builds the condition for one column: it contains the number of the order to
 * compare. If all orders are compared, the condition is true.
 */
const statement = (of: Given, only: (column: string) => Sql): Sql => sql`
with ${whose(of)},
pays as materialized (
  select l.line, l.order_no, l.channel_trade_no as channel_no, l.currency, l.amount, l.discount, l.fee, l.share, l.at,
         q.share as rate, q.fixed, l.currency = coalesce(q.fixed_currency, l.currency) as fee_compared,
         o.project, o.state, o.paid, o.amount as expected, o.currency as own_currency, o.channel_trade_no as own_trade, o.paid_at,
         cast(o.settlement->>'completedAt' as timestamptz) as completed_at, ${copyOf('payment')}, ${isBefore(of, 'payment')}
    from bill_lines l left join orders o on o.order_no = l.order_no and ${ofAccount(of)} left join rates q on q.project = o.project
   where l.bill_no = ${of.billNo} and l.reading = ${of.reading} and l.day = ${of.day} and l.kind = 'payment' and ${only('l.order_no')}),
backs as materialized (
  select l.line, l.kind, l.order_no, l.refund_no, coalesce(l.channel_refund_no, l.refund_no) as channel_no,
         l.currency, l.amount, l.discount, l.fee, l.share, l.at,
         o.project, r.state, r.own_no, r.own_number, r.amount as own_amount, r.currency as own_currency, r.finished_at,
         ${copyOf('refund')}, ${isBefore(of, 'refund')}
    from bill_lines l left join orders o on o.order_no = l.order_no and ${ofAccount(of)}
    ${REFUND_OF_LINE}
   where l.bill_no = ${of.billNo} and l.reading = ${of.reading} and l.day = ${of.day} and l.kind in ('refund', 'pending') and ${only('l.order_no')}),
others as materialized (
  select l.line, l.bill_no, ${markOf(of)} as mark,
         l.order_no, l.refund_no, l.channel_trade_no, l.channel_refund_no, l.event, l.at, o.project, l.kind, l.currency, l.amount, l.discount, l.fee, l.share
    from bill_lines l left join orders o on o.order_no = l.order_no and ${ofAccount(of)}
   where l.bill_no = ${of.billNo} and l.reading = ${of.reading} and l.day = ${of.day} and l.kind not in ('payment', 'refund', 'pending') and ${only('l.order_no')}),
strangers as materialized (
  select x.line, 'payment' as line_kind, x.order_no, cast(null as varchar) as refund_no, x.channel_no, x.currency, x.amount, x.fee, x.at, x.is_before
    from pays x where x.project is null and ${isOurOrder('x.order_no')}
  union all
  select x.line, 'refund', case when ${isOurOrder('x.order_no')} then x.order_no else x.refund_no end, x.refund_no, x.channel_no, x.currency, x.amount, x.fee, x.at, x.is_before
    from backs x where x.project is null and (${isOurOrder('x.order_no')} or ${isOurRefund('x.refund_no')})
  union all
  select l.line, 'dispute', l.order_no, null, coalesce(l.channel_refund_no, concat_ws(' ', l.event, l.channel_trade_no)), l.currency, l.amount, l.fee, l.at, ${isBefore(of, 'dispute')}
    from others l where l.project is null and l.kind = 'dispute' and ${isOurOrder('l.order_no')}),
unknown_here as materialized (
  select x.*, row_number() over (partition by x.order_no, coalesce(x.channel_no, x.refund_no, '') order by x.line) as copy
    from strangers x
   where not x.is_before and not ${isKnownOrRemoved('x.order_no', of.now)} and not ${isQuiet(of.payWay, of.account, of.mode)}),
takes as materialized (
  select l.line, l.order_no, l.channel_refund_no as channel_no, l.currency, l.amount, l.fee, l.at, l.project,
         ${copyOf('dispute')}, ${isBefore(of, 'dispute')}
    from others l where l.kind = 'dispute' and l.project is not null),
waited as materialized (
  select l.order_no from bills n join bill_lines l on l.bill_no = n.bill_no and l.reading = n.reading and l.day = n.day
   where ${isOfBill(of, 'n')} and n.day = ${of.day} - 1 and l.kind = 'dispute' and l.at >= ${of.from} - ${MIDNIGHT} and ${only('l.order_no')}),
dispute_lines as materialized (
  select distinct on (l.order_no, coalesce(${NUMBER.dispute('l')}, l.bill_no || ' ' || l.line))
         n.bill_no, n.day, l.line, l.order_no, o.project, l.channel_refund_no as channel_no, l.currency, l.amount, l.fee, l.at,
         ${awaited(of, 'l.at')} as waits
    from bill_lines l join bills n on n.bill_no = l.bill_no and n.reading = l.reading
    join orders o on o.order_no = l.order_no and ${ofAccount(of)}
   where l.order_no in (select t.order_no from takes t union select w.order_no from waited w) and l.kind = 'dispute' and l.amount <> 0
     and ${isOfBill(of, 'n')}
     and not exists (select 1 from refunds r where r.order_no = l.order_no and r.state = 'succeeded' and r.channel_refund_no = l.channel_refund_no)
   order by l.order_no, coalesce(${NUMBER.dispute('l')}, l.bill_no || ' ' || l.line), n.day, l.line),
weighed as materialized (
  select m.*,
         row_number() over (partition by m.order_no, m.currency, m.amount order by m.at, m.day, m.line) as nth,
         ${OPPOSED} as opposed,
         ${ofDisputes(sql`count(*)`, sql`d.state <> 'won' and - m.amount in (d.amount, d.amount_lost)`)}
           + greatest(${ofDisputes(sql`count(*)`, sql`d.state = 'won' and d.amount = - m.amount`)} - ${OPPOSED}, 0)
           + ${ofLosses(sql`count(*)`, sql`r.amount = - m.amount and ${UNCLAIMED}`)} as exact,
         - sum(m.amount) over (partition by m.order_no, m.currency) as net,
         ${ofDisputes(sql`coalesce(sum(${MAY_TAKE}), 0)`)} + ${ofLosses(sql`coalesce(sum(r.amount), 0)`, UNCLAIMED)} as most,
         ${ofLosses(sql`coalesce(sum(r.amount), 0)`, sql`r.channel_refund_no is null`)} - ${ofDisputes(sql`coalesce(sum(d.amount), 0)`, sql`d.state <> 'lost'`)} as least,
         (select count(*) from disputes d where d.order_no = m.order_no and d.currency <> m.currency) as abroad
    from dispute_lines m),
disputed as materialized (
  select * from (
    select x.*, row_number() over (partition by x.order_no, x.currency, x.amount < 0 order by x.at, x.day, x.line) as rank
      from weighed x where ${DISPUTE_DIFFERS}) x
   where not ${IS_ABROAD}),
unbilled as materialized (
  select n.bill_no, n.day, o.order_no, o.project, o.state, o.paid, o.amount as expected, o.currency as own_currency,
         o.channel_trade_no as own_trade, o.paid_at
    from orders o ${natural(of, 'o.paid_at')}
   where ${ofAccount(of)} and o.paid_at >= ${of.from} - ${MIDNIGHT} and o.paid_at < ${of.to} + ${MIDNIGHT} and o.paid > 0 and ${only('o.order_no')}
     and not exists (select 1 from pays p where p.order_no = o.order_no)
     and not ${awaited(of, 'o.paid_at')}
     and not ${lineOf(of, sql`(l.kind = 'payment' or l.kind = 'unreadable' and l.refund_no is null)`)}),
unbilled_backs as materialized (
  select n.bill_no, n.day, o.order_no, o.project, r.refund_no, r.state, r.amount as own_amount, r.currency as own_currency,
         coalesce(r.channel_refund_no, ${REFUND_NUMBER}) as own_number, r.finished_at
    from refunds r join orders o on o.order_no = r.order_no ${natural(of, 'r.finished_at')}
   where ${ofAccount(of)} and r.state = 'succeeded' and r.origin <> 'dispute' and not r.elsewhere
     and r.finished_at >= ${of.from} - ${MIDNIGHT} and r.finished_at < ${of.to} + ${MIDNIGHT} and ${only('r.order_no')}
     and not exists (select 1 from backs p where p.own_no = r.refund_no)
     and not ${awaited(of, 'r.finished_at')}
     and not ${lineOf(of, sql`l.kind in ('refund', 'pending', 'dispute', 'other', 'unreadable') and (l.refund_no in (${REFUND_NUMBER}, r.channel_refund_no) or l.channel_refund_no = r.channel_refund_no)`)}),
found as materialized (
  select ${of.billNo} as bill_no, ${of.day} as day, x.project, x.difference as kind, x.order_no, cast(null as varchar) as refund_no,
         left(coalesce(x.channel_no, ''), 100) as key, ${OUR_ORDER} as ours, ${THEIR_LINE} as theirs
    from (select *, ${PAYMENT_DIFFERENCE} as difference from pays x where x.project is not null) x where x.difference is not null
  union all
  select ${of.billNo}, ${of.day}, x.project, x.difference, x.order_no, coalesce(x.own_no, x.refund_no),
         left(coalesce(x.channel_no, x.at::text || ' ' || x.amount), 100), case when x.own_number is null then null else ${OUR_REFUND} end, ${THEIR_LINE}
    from (select *, ${REFUND_DIFFERENCE} as difference from backs x where x.project is not null) x where x.difference is not null
  union all
  select ${of.billNo}, ${of.day}, x.project, 'line_twice', x.order_no, null, left(coalesce(x.channel_no, ''), 100), null, ${THEIR_LINE}
    from takes x where x.copy > 1 or x.is_before
  union all
  select x.bill_no, x.day, x.project, 'dispute_unknown_to_us', x.order_no, null,
         left(coalesce(x.channel_no, x.at::text || ' ' || x.amount), 100), ${OUR_DISPUTE}, ${THEIR_LINE} from disputed x
  union all
  select x.bill_no, x.day, x.project, 'paid_missing_at_channel', x.order_no, null, '', ${OUR_ORDER}, null from unbilled x
  union all
  select x.bill_no, x.day, x.project, 'refund_missing_at_channel', x.order_no, x.refund_no, left(x.refund_no, 100), ${OUR_REFUND}, null
    from unbilled_backs x
  union all
  select ${of.billNo}, ${of.day}, ${whoseProject(of)}, ${sql.lit(UNKNOWN_HERE)}, x.order_no, x.refund_no,
         left(coalesce(x.channel_no, x.refund_no, ''), 100), null, ${THEIR_LINE}
    from unknown_here x where x.copy = 1
  union all
  select ${of.billNo}, ${of.day}, coalesce(x.project, ${whoseProject(of)}), 'line_unreadable',
         case when x.project is null then '' else left(x.order_no, 64) end, x.refund_no,
         left(coalesce(nullif(concat_ws(' ', x.channel_trade_no, x.channel_refund_no, x.refund_no), ''), x.mark), 100),
         null, jsonb_build_object('line', x.line, 'reason', x.event)
    from others x where x.kind = 'unreadable'),
written as (
  insert into bill_differences as d
         (id, bill_no, pay_way, queue_key, project, day, kind, order_no, refund_no, key, ours, theirs, state, checks, next_check_at, created_at)
  select distinct on (f.bill_no, f.kind, f.order_no, f.key)
         gen_random_uuid(), f.bill_no, ${of.payWay}, ${of.payWay} || ' ' || ${of.mode} || ' ' || ${of.account}, f.project, f.day, f.kind, f.order_no, f.refund_no, f.key, f.ours, f.theirs,
         ${stateOf('f')}, 0, ${dueOf(of, 'f')}, ${of.now}
    from found f order by f.bill_no, f.kind, f.order_no, f.key
  on conflict (bill_no, kind, order_no, key) do update
     set ours = excluded.ours, theirs = excluded.theirs, refund_no = excluded.refund_no, project = excluded.project,
         state = case when ${IS_NEWS} then ${stateOf('d')} else d.state end, checks = case when ${IS_NEWS} then 0 else d.checks end,
         next_check_at = case when ${IS_NEWS} then ${dueOf(of, 'd')} else d.next_check_at end,
         leased_until = case when ${IS_NEWS} then null else d.leased_until end,
         answer = case when ${IS_NEWS} then null else d.answer end,
         finished_at = case when ${IS_NEWS} then null else d.finished_at end
   where ${IS_NEWS} or d.theirs is distinct from excluded.theirs or d.project <> excluded.project
  returning d.*),
listed as (
  insert into order_exceptions as e
         (id, order_no, client_id, project, kind, dedupe, detail, received_minor, received_currency, blocks_refunds, state, created_at)
  select gen_random_uuid(), w.order_no, coalesce((select o.client_id from orders o where o.order_no = w.order_no), ''), w.project, w.kind, w.key, ${DETAIL},
         case when w.refund_no is null then cast(w.theirs->>'amount' as bigint) end, case when w.refund_no is null then w.theirs->>'currency' end,
         false, 'open', ${of.now}
    from written w where ${isListedAtOnce('w')} and w.state = 'listed'
  on conflict (order_no, kind, dedupe) do update
     set state = 'open', project = excluded.project, detail = excluded.detail, resolution = null, reason = null, resolved_by = null, resolved_at = null
   where e.state = 'resolved' or e.project <> excluded.project
  returning e.kind),
gone as (
  update bill_differences d set state = 'healed', next_check_at = null, leased_until = null, finished_at = ${of.now}
    from (select id, state from bill_differences where bill_no = ${of.billNo}
          union select e.id, e.state from takes t join bill_differences e on e.order_no = t.order_no
           where e.kind = 'dispute_unknown_to_us' and e.pay_way = ${of.payWay}) was
   where was.id = d.id and d.state in ('open', 'listed') and ${only('d.order_no')}
     and not exists (select 1 from found f where f.bill_no = d.bill_no and f.kind = d.kind and f.order_no = d.order_no and f.key = d.key)
  returning d.order_no, d.kind, d.key, not exists (
    select 1 from bill_differences o where o.order_no = d.order_no and o.kind = d.kind and o.key = d.key and o.state = 'listed' and o.bill_no <> d.bill_no)
    and (was.state = 'listed' or exists (
    select 1 from order_exceptions e where e.order_no = d.order_no and e.kind = d.kind and e.dedupe = d.key and e.state = 'open')) as is_listed),
fees as (
  insert into order_fees as t (order_no, refund_no, fee, currency, bill_no)
  select x.order_no, '', sum(x.fee), min(x.currency), ${of.billNo} from pays x
   where x.project is not null and x.paid > 0 and x.own_trade = x.channel_no and x.copy = 1 group by x.order_no
  union all
  select x.order_no, x.own_no, sum(x.fee), min(x.currency), ${of.billNo} from backs x
   where x.project is not null and x.own_no is not null and x.copy = 1 group by x.order_no, x.own_no
  on conflict (order_no, refund_no) do update set fee = excluded.fee, currency = excluded.currency, bill_no = excluded.bill_no
   where t.fee <> excluded.fee or t.currency <> excluded.currency),
sums as (
  select project, currency,
         count(*) filter (where kind = 'payment') as payments, coalesce(sum(amount) filter (where kind = 'payment'), 0) as paid,
         count(*) filter (where kind = 'refund') as refunds, coalesce(sum(amount) filter (where kind = 'refund'), 0) as refunded,
         coalesce(sum(discount) filter (where kind <> 'pending'), 0) as discounts, coalesce(sum(fee) filter (where kind <> 'pending'), 0) as fees,
         coalesce(sum(share) filter (where kind <> 'pending'), 0) as shares, - coalesce(sum(amount) filter (where kind = 'dispute'), 0) as disputed,
         coalesce(sum(amount) filter (where kind in ('fee', 'other')), 0) as other,
         count(*) filter (where kind = 'pending') as pending
    from (select project, 'payment' as kind, currency, amount, discount, fee, share from pays
          union all select project, kind, currency, amount, discount, fee, share from backs
          union all select project, kind, currency, amount, discount, fee, share from others where kind <> 'unreadable') every
   group by project, currency),
on_other_days as (
  select project, currency, day, sum(amount - discount - fee - share) as net
    from (select p.*, ((p.completed_at + ${of.offset}) at time zone 'UTC')::date as day from pays p where p.own_trade = p.channel_no) p
   where day <> ${of.day} group by project, currency, day)
select (select count(*) from found) as found,
       (select coalesce(jsonb_object_agg(kind, n), '{}') from (select kind, count(*) as n from listed group by kind) l) as listed,
       (select coalesce(jsonb_agg(jsonb_build_object('orderNo', order_no, 'kind', kind, 'key', key)), '[]') from gone where is_listed) as relieved,
       (select count(*) from pays) + (select count(*) from backs) + (select count(*) from others) as lines,
       (select count(*) from pays where project is null) + (select count(*) from backs where project is null)
         - (select count(*) from unknown_here where line_kind <> 'dispute') as not_ours,
       (select coalesce(jsonb_agg(jsonb_build_object('project', project, 'currency', currency, 'payments', payments, 'paid', paid::text,
          'refunds', refunds, 'refunded', refunded::text, 'discounts', discounts::text, 'fees', fees::text, 'shares', shares::text,
          'disputed', disputed::text, 'other', other::text, 'pending', pending)
          || coalesce((select jsonb_build_object('onOtherDays', jsonb_object_agg(to_char(d.day, 'YYYY-MM-DD'), d.net::text)) from on_other_days d
              where d.project = s.project and d.currency = s.currency having count(*) > 0), '{}')
          order by project, currency), '[]') from sums s) as sums`;
