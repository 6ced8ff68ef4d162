import { type RawBuilder, sql } from 'kysely';
import type { AmountBound } from '../../domain.ts';
import type { OrderFeeRow } from '../entities/bills.ts';
import { IN_WHOLE_UNITS, ORDER_STATUS, type OrderExceptionRow, type OrderRow } from '../entities/orders.ts';
import type { RefundRow } from '../entities/refunds.ts';
import type { Sql } from '../kysely.ts';
import { batchedRead } from '../batched-reads.ts';
import type { ReadTx, Store } from '../store.ts';
import { allOf, equalities, newestFirst, type Position } from './lists.ts';
import { type Projects, ofProjects } from './project-scope.ts';

/** Filters of the order list. Each filter is an equality or a range, and uses an index. */
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

/** The orders that match the filter, newest first, at most `limit` + 1 rows. */
export async function listOrders(
  tx: ReadTx,
  filter: OrderFilter,
  after: Position | undefined,
  limit: number,
): Promise<OrderRow[]> {
  const rows = await orderList(tx, filter, after, limit + 1).execute();
  if (rows.length === 0) return [];
  const numbers = rows.map(({ orderNo }) => orderNo);
  const byNumber = new Map((await tx.orders.list({ orderNo: numbers })).map((order) => [order.orderNo, order]));
  return numbers.flatMap((number) => byNumber.get(number) ?? []);
}

/** The statement that selects order numbers for the order list and its export. A test checks its EXPLAIN output. */
export function orderList({ db }: Pick<ReadTx, 'db'>, filter: OrderFilter, after: Position | undefined, rows: number) {
  const part = (decimals?: keyof AmountBound) =>
    db
      .selectFrom('orders as o')
      .select(['o.orderNo', 'o.createdAt'])
      .where(orderMatches(filter, after, decimals))
      .orderBy('o.createdAt', 'desc')
      .orderBy('o.orderNo', 'desc')
      .limit(rows);
  if (filter.amountMin === undefined && filter.amountMax === undefined) return part();
  // Currencies with and without decimals are read by separate queries, because each query can read sorted rows from its
  // own index.
  return db
    .selectFrom(() =>
      sql<Pick<OrderRow, 'orderNo' | 'createdAt'>>`((${part('decimal')}) union all (${part('whole')}))`.as('o'),
    )
    .select(['o.orderNo', 'o.createdAt'])
    .orderBy('o.createdAt', 'desc')
    .orderBy('o.orderNo', 'desc')
    .limit(rows);
}

function orderMatches(filter: OrderFilter, after?: Position, decimals?: keyof AmountBound): RawBuilder<boolean> {
  const { project, status, exception, amountMin, amountMax, createdFrom, createdTo } = filter;
  const parts: Sql[] = equalities('o', filter, ORDER_EQUALITIES);
  if (project !== undefined) parts.push(ofProjects('o.project', project));
  if (status !== undefined) parts.push(sql`${sql.raw(ORDER_STATUS)} = ${status}`);
  // The subquery is wrapped in `array(…)`, so that PostgreSQL reads the open exceptions (cases for an operator) once,
  // and then finds the orders by primary key.
  if (exception === 'any') parts.push(sql`o.order_no = any(array(${OPEN_EXCEPTIONS}))`);
  else if (exception !== undefined)
    parts.push(sql`o.order_no = any(array(${OPEN_EXCEPTIONS} and e.kind = ${exception}))`);
  if (decimals !== undefined) {
    const [min, max] = [amountMin?.[decimals], amountMax?.[decimals]];
    const whole = sql.raw(`o.${IN_WHOLE_UNITS}`);
    parts.push(decimals === 'whole' ? whole : sql`not ${whole}`);
    if (min !== undefined && min === max) parts.push(sql`o.amount = ${min}`);
    else {
      if (min !== undefined) parts.push(sql`o.amount >= ${min}`);
      if (max !== undefined) parts.push(sql`o.amount <= ${max}`);
    }
  }
  if (createdFrom !== undefined) parts.push(sql`o.created_at >= ${createdFrom}`);
  if (createdTo !== undefined) parts.push(sql`o.created_at < ${createdTo}`);
  if (after) parts.push(sql`(o.created_at, o.order_no) < (${after.createdAt}, ${after.id})`);
  return allOf(parts);
}

const ORDER_EQUALITIES = [
  'orderNo',
  'merchantOrderNo',
  'channelTradeNo',
  'clientId',
  'userId',
  'payWay',
  'mode',
  'orderType',
] as const;

const OPEN_EXCEPTIONS = sql`select e.order_no from order_exceptions e where e.state = 'open'`;

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

/** The refunds that match the filter, newest first, at most `limit` + 1 rows. */
export function listRefunds(
  tx: ReadTx,
  filter: RefundFilter,
  after: Position | undefined,
  limit: number,
): Promise<RefundRow[]> {
  return refundList(tx, filter, after, limit + 1).execute();
}

/** The statement of the refund list. A test checks its EXPLAIN output. */
export function refundList(
  tx: Pick<ReadTx, 'refunds'>,
  filter: RefundFilter,
  after: Position | undefined,
  rows: number,
) {
  const { project, status, createdFrom, createdTo } = filter;
  const parts = equalities('refunds', filter, ['refundNo', 'orderNo', 'merchantRefundNo', 'clientId', 'origin']);
  // The filter `status` contains a status of the API (`refundStatusOf` in payments/view.ts), not the stored state.
  if (status === 'waiting_for_approval') parts.push(sql`state = 'pending' and approval = 'waiting'`);
  else if (status !== undefined) parts.push(sql`state = ${status}`);
  if (status === 'pending') parts.push(sql`approval is distinct from 'waiting'`);
  if (project !== undefined) parts.push(ofProjects('project', project));
  if (createdFrom) parts.push(sql`created_at >= ${createdFrom}`);
  if (createdTo) parts.push(sql`created_at < ${createdTo}`);
  return newestFirst(tx.refunds, sql`refund_no`, parts, after, rows);
}

/** The open exceptions (cases for an operator) of each order, oldest first. */
export async function openExceptions(
  tx: ReadTx,
  orderNos: readonly string[],
): Promise<Map<string, OrderExceptionRow[]>> {
  if (orderNos.length === 0) return new Map();
  const rows = await tx.exceptions.list({ orderNo: orderNos, state: 'open' }, { orderBy: { createdAt: 'asc' } });
  return Map.groupBy(rows, ({ orderNo }) => orderNo);
}

export interface Around {
  /** Oldest first. */
  refunds: readonly RefundRow[];
  /** Open exceptions, oldest first. */
  exceptions: readonly OrderExceptionRow[];
  /** The fees that bills contain, by refund number. The empty key is the fee of the payment. */
  fees: ReadonlyMap<string, OrderFeeRow>;
}

/** An order with its related rows. */
export interface ShownOrder {
  order: OrderRow;
  around: Around;
}

/** Reads orders with their related rows in one statement. */
export async function ordersShown(tx: ReadTx, orderNos: readonly string[]): Promise<ReadonlyMap<string, ShownOrder>> {
  const rows = await tx.orders.listWith<{
    refunds: RefundRow;
    exceptions: OrderExceptionRow;
    fees: OrderFeeRow;
  }>(
    { orderNo: orderNos },
    {
      refunds: { table: 'refunds', by: 'orderNo', orderBy: { createdAt: 'asc', refundNo: 'asc' } },
      exceptions: {
        table: 'exceptions',
        by: 'orderNo',
        where: { state: 'open' },
        orderBy: { createdAt: 'asc' },
      },
      fees: { table: 'orderFees', by: 'orderNo' },
    },
  );
  const shown = new Map<string, ShownOrder>();
  for (const { refunds, exceptions, fees, ...order } of rows) {
    const byRefund = new Map(fees.map((fee) => [fee.refundNo, fee]));
    shown.set(order.orderNo, { order: order as OrderRow, around: { refunds, exceptions, fees: byRefund } });
  }
  return shown;
}

/** Creates the function that reads one order with its related rows, together with the orders of other requests. */
export function createReadShown(store: Pick<Store, 'read'>): (orderNo: string) => Promise<ShownOrder | undefined> {
  return batchedRead({
    idOf: String,
    read: (orderNos: readonly string[]) => store.read((tx) => ordersShown(tx, orderNos)),
  });
}

/** The fees that bills contain, by order number and refund number. An empty refund number is the fee of the payment. */
type Fees = ReadonlyMap<string, ReadonlyMap<string, OrderFeeRow>>;

/** No bill contains a payment that is younger than this time, so its fees are not read. */
const BILLED_AFTER_MS = 3_600_000;

/** The fees of the orders whose payments are old enough to be in a bill. */
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
