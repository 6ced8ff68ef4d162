import type { AmountBound } from '../../domain.ts';
import type { OrderFeeRow } from '../entities/bills.ts';
import { IN_WHOLE_UNITS, ORDER_STATUS, type OrderExceptionRow, type OrderRow } from '../entities/orders.ts';
import type { RefundRow } from '../entities/refunds.ts';
import type { ReadTx } from '../store.ts';
import { type Projects, ofProjects } from './reach.ts';

/** Where a page begins: strictly after this row, newest first. */
export interface Position {
  createdAt: Date;
  id: string;
}

/** Filters of the order list; every one is an equality or a range that an index answers. */
export interface OrderFilter {
  orderNo?: string | undefined;
  merchantOrderNo?: string | undefined;
  channelTradeNo?: string | undefined;
  clientId?: string | undefined;
  project?: Projects | undefined;
  userId?: string | undefined;
  payWay?: string | undefined;
  mode?: string | undefined;
  orderType?: string | undefined;
  status?: string | undefined;
  exception?: string | undefined;
  amountMin?: AmountBound | undefined;
  amountMax?: AmountBound | undefined;
  createdFrom?: Date | undefined;
  createdTo?: Date | undefined;
}

/** Numbers of the orders that match, newest first, one more than asked so that the caller sees whether there is a next page. */
export async function listOrders(
  tx: ReadTx,
  filter: OrderFilter,
  after: Position | undefined,
  limit: number,
): Promise<OrderRow[]> {
  const { sql, parameters } = orderListStatement(filter, after, limit + 1);
  const rows = await tx.sql<{ order_no: string }>(sql, parameters);
  if (rows.length === 0) return [];
  const numbers = rows.map((row) => row.order_no);
  const found = await tx.orders.list({ orderNo: numbers });
  const byNumber = new Map(found.map((order) => [order.orderNo, order]));
  return numbers.flatMap((number) => byNumber.get(number) ?? []);
}

/** One SQL statement and its parameters. */
export interface Statement {
  sql: string;
  parameters: unknown[];
}

/** The statement of the order list, for the list, its export and its EXPLAIN test. */
export function orderListStatement(filter: OrderFilter, after: Position | undefined, rows: number): Statement {
  const isByAmount = filter.amountMin !== undefined || filter.amountMax !== undefined;
  // Each part answers from an index of its own, in order; together they could not.
  const parts = (isByAmount ? (['decimal', 'whole'] as const) : [undefined]).map((decimals) => {
    const { where, parameters } = conditions(filter, after, decimals);
    const sql = `select o.order_no, o.created_at from orders o where ${where} order by o.created_at desc, o.order_no desc limit ${rows}`;
    return { sql, parameters };
  });
  const [first, second] = parts;
  if (!second) return first!;
  const both = `(${first!.sql}) union all (${second.sql})`;
  const sql = `select order_no from (${both}) o order by o.created_at desc, o.order_no desc limit ${rows}`;
  return { sql, parameters: [...first!.parameters, ...second.parameters] };
}

function conditions(
  filter: OrderFilter,
  after?: Position,
  decimals?: keyof AmountBound,
): { where: string; parameters: unknown[] } {
  const parts: string[] = ['true'];
  const parameters: unknown[] = [];
  const add = (part: string, ...values: unknown[]) => {
    parts.push(part);
    parameters.push(...values);
  };
  for (const [member, column] of EQUALITIES) if (filter[member] !== undefined) add(`o.${column} = ?`, filter[member]);
  if (filter.project !== undefined) add(...ofProjects('o.project', filter.project));
  if (filter.status !== undefined) add(`${ORDER_STATUS} = ?`, filter.status);
  // As an array the open exceptions are looked up once, and the orders by their key.
  if (filter.exception === 'any') parts.push(`o.order_no = any(array(${OPEN_EXCEPTIONS}))`);
  else if (filter.exception !== undefined)
    add(`o.order_no = any(array(${OPEN_EXCEPTIONS} and e.kind = ?))`, filter.exception);
  if (decimals !== undefined) {
    const [min, max] = [filter.amountMin?.[decimals], filter.amountMax?.[decimals]];
    add(`${decimals === 'whole' ? '' : 'not '}o.${IN_WHOLE_UNITS}`);
    if (min !== undefined && min === max) add('o.amount = ?', min);
    else {
      if (min !== undefined) add('o.amount >= ?', min);
      if (max !== undefined) add('o.amount <= ?', max);
    }
  }
  if (filter.createdFrom !== undefined) add('o.created_at >= ?', filter.createdFrom);
  if (filter.createdTo !== undefined) add('o.created_at < ?', filter.createdTo);
  if (after) add('(o.created_at, o.order_no) < (?, ?)', after.createdAt, after.id);
  return { where: parts.join(' and '), parameters };
}

const EQUALITIES = [
  ['orderNo', 'order_no'],
  ['merchantOrderNo', 'merchant_order_no'],
  ['channelTradeNo', 'channel_trade_no'],
  ['clientId', 'client_id'],
  ['userId', 'user_id'],
  ['payWay', 'pay_way'],
  ['mode', 'mode'],
  ['orderType', 'order_type'],
] as const;

const OPEN_EXCEPTIONS = `select e.order_no from order_exceptions e where e.state = 'open'`;

/** Filters of the refund list. */
export interface RefundFilter {
  refundNo?: string | undefined;
  orderNo?: string | undefined;
  merchantRefundNo?: string | undefined;
  clientId?: string | undefined;
  project?: Projects | undefined;
  status?: string | undefined;
  origin?: string | undefined;
  createdFrom?: Date | undefined;
  createdTo?: Date | undefined;
}

/** Refunds that match, newest first, one more than asked. */
export async function listRefunds(
  tx: ReadTx,
  filter: RefundFilter,
  after: Position | undefined,
  limit: number,
): Promise<RefundRow[]> {
  const { sql, parameters } = refundListStatement(filter, after, limit + 1);
  const rows = await tx.sql<{ refund_no: string }>(sql, parameters);
  if (rows.length === 0) return [];
  const found = await tx.refunds.list({ refundNo: rows.map((row) => row.refund_no) });
  const byNumber = new Map(found.map((refund) => [refund.refundNo, refund]));
  return rows.flatMap((row) => byNumber.get(row.refund_no) ?? []);
}

/** The statement of the refund list, for the list and its EXPLAIN test. */
export function refundListStatement(filter: RefundFilter, after: Position | undefined, rows: number): Statement {
  const parts: string[] = ['true'];
  const parameters: unknown[] = [];
  for (const [member, column] of REFUND_EQUALITIES)
    if (filter[member] !== undefined) {
      parts.push(`r.${column} = ?`);
      parameters.push(filter[member]);
    }
  const add = (part: string, ...values: unknown[]) => {
    parts.push(part);
    parameters.push(...values);
  };
  // The filter speaks the words that are shown (`refundStatusOf` in payments/view.ts).
  if (filter.status === 'waiting_for_approval') add("r.state = 'pending' and r.approval = 'waiting'");
  else if (filter.status !== undefined) add('r.state = ?', filter.status);
  if (filter.status === 'pending') add("r.approval is distinct from 'waiting'");
  if (filter.project !== undefined) add(...ofProjects('r.project', filter.project));
  if (filter.createdFrom) add('r.created_at >= ?', filter.createdFrom);
  if (filter.createdTo) add('r.created_at < ?', filter.createdTo);
  if (after) add('(r.created_at, r.refund_no) < (?, ?)', after.createdAt, after.id);
  const sql = `select r.refund_no from refunds r where ${parts.join(' and ')} order by r.created_at desc, r.refund_no desc limit ${rows}`;
  return { sql, parameters };
}

const REFUND_EQUALITIES = [
  ['refundNo', 'refund_no'],
  ['orderNo', 'order_no'],
  ['merchantRefundNo', 'merchant_refund_no'],
  ['clientId', 'client_id'],
  ['origin', 'origin'],
] as const;

/** The open exceptions of each order, the oldest first. */
export async function openExceptions(
  tx: ReadTx,
  orderNos: readonly string[],
): Promise<Map<string, OrderExceptionRow[]>> {
  if (orderNos.length === 0) return new Map();
  const rows = await tx.exceptions.list({ orderNo: orderNos, state: 'open' }, { orderBy: { createdAt: 'asc' } });
  return Map.groupBy(rows, ({ orderNo }) => orderNo);
}

/** What is shown with an order beside its own row. */
export interface Around {
  /** The oldest first. */
  refunds: readonly RefundRow[];
  /** Those that are open, the oldest first. */
  exceptions: readonly OrderExceptionRow[];
  /** What bills say that it cost, by the number of a refund; the payment's own without one. */
  fees: ReadonlyMap<string, OrderFeeRow>;
}

/** An order with all that is shown with it, as everything is at one moment: one statement. */
export async function orderShown(
  tx: ReadTx,
  where: { orderNo: string; clientId?: string },
): Promise<{ order: OrderRow; around: Around } | undefined> {
  const found = await tx.orders.findWith<{
    refunds: RefundRow;
    exceptions: OrderExceptionRow;
    fees: OrderFeeRow;
  }>(where, {
    refunds: { table: 'refunds', by: 'orderNo', orderBy: { createdAt: 'asc', refundNo: 'asc' } },
    exceptions: {
      table: 'exceptions',
      by: 'orderNo',
      where: { state: 'open' },
      orderBy: { createdAt: 'asc' },
    },
    fees: { table: 'orderFees', by: 'orderNo' },
  });
  if (!found) return undefined;
  const { refunds, exceptions, fees, ...order } = found;
  const byRefund = new Map(fees.map((fee) => [fee.refundNo, fee]));
  return { order: order as OrderRow, around: { refunds, exceptions, fees: byRefund } };
}

/** What bills say that orders cost: of each order by the number of a refund, the payment's own without one. */
type Fees = ReadonlyMap<string, ReadonlyMap<string, OrderFeeRow>>;

/** No bill is there before its day is over: of a payment that is younger there is nothing to read. */
const BILLED_AFTER_MS = 3_600_000;

/** The fees of those orders that are old enough to stand in a bill. */
export async function feesOf(
  tx: ReadTx,
  orders: readonly Pick<OrderRow, 'orderNo' | 'paidAt'>[],
  now: Date,
): Promise<Fees> {
  const billed = orders.filter(({ paidAt }) => paidAt !== null && now.getTime() - paidAt.getTime() > BILLED_AFTER_MS);
  const fees = new Map<string, Map<string, OrderFeeRow>>();
  if (billed.length === 0) return fees;
  for (const row of await tx.orderFees.list({ orderNo: billed.map(({ orderNo }) => orderNo) })) {
    const of = fees.get(row.orderNo) ?? new Map<string, OrderFeeRow>();
    fees.set(row.orderNo, of.set(row.refundNo, row));
  }
  return fees;
}
