/** Plants differences in bills (deliberate errors that the service must find) through the control API. */
import type Router from '@koa/router';
import { z } from 'zod';
import { PAY_WAYS, type PayWay } from '../../payments/channel.ts';
import type { Core } from '../channel-simulator.ts';
import { anotherOf } from '../payer.ts';
import { refundElsewhere } from '../refunds.ts';
import { SimulatorRefusal, bodyOf, queryText } from '../requests.ts';
import { type Trade, paymentOf, refundableMinor } from '../trade.ts';
import { CONDITIONS, PLANTS, type Plant, type PlantKind } from './book.ts';
import { type BillRow, type Span, dayOf, foreignRow, spanOfDay } from './rows.ts';

const NOON_MS = 12 * 3_600_000;

/** Without `orderNo` the newest matching order of the day is affected; without `date` the day is today. */
interface PlantRequest {
  kind: PlantKind;
  payWay: PayWay;
  date?: string | undefined;
  orderNo?: string | undefined;
  account?: string | undefined;
}

interface Ground {
  core: Core;
  kind: PlantKind;
  payWay: PayWay;
  date: string;
  span: Span;
  /** The trades among which the trade for the difference is chosen, newest last. */
  trades: readonly Trade[];
  account: string;
  isNamed: boolean;
}

interface Spot {
  trade: Trade;
  number: string;
}

/** Plants a difference between a bill and the merchant's data; throws SimulatorRefusal when no trade matches. */
function plant(core: Core, request: PlantRequest): Plant {
  const ground = groundOf(core, request);
  const { kind, payWay, date, account } = ground;
  const { billRules: rules } = core.channelSimulator(payWay);
  if (rules.lacks.includes(kind))
    throw new SimulatorRefusal(400, 'plant_unknown_here', `The bills of ${payWay} cannot show the difference ${kind}.`);
  if (kind === 'order_not_ours' || kind === 'order_unknown_here' || kind === 'withdrawal') {
    const at = momentIn(ground, ground.span.from);
    const foreign = foreignRow(rules, at, `${date} ${core.bills.plants.list().length}`, 4321);
    const row = { ...foreign, ...foreignAs(kind, foreign) };
    return core.bills.plants.add({ kind, payWay, account, date, orderNo: row.orderNo, number: row.number }, row);
  }
  const { trade, number } = SPOTS[kind](ground);
  return core.bills.plants.add({ kind, payWay, account: trade.account, date, orderNo: trade.orderNo, number });
}

/** For two kinds of differences, changes fields of the invented row, e.g. the order number to the service's format. */
function foreignAs(kind: PlantKind, { orderNo, at }: BillRow): Partial<BillRow> {
  if (kind === 'order_unknown_here') return { orderNo: numberAsOurs(orderNo, at) };
  return kind === 'withdrawal' ? { kind, orderNo: '', tradeNo: '', fee: 0 } : {};
}

/** An order number in the service's format, as if its database had lost the order. */
function numberAsOurs(foreign: string, at: number): string {
  const stamp = new Date(at).toISOString().replace(/\D/g, '').slice(0, 14);
  return `P${stamp}${foreign.slice(-10).toUpperCase()}`;
}

const SPOTS: Readonly<
  Record<Exclude<PlantKind, 'order_not_ours' | 'order_unknown_here' | 'withdrawal'>, (ground: Ground) => Spot>
> = {
  paid_missing_at_channel: paymentOfDay,
  amount_differs: paymentOfDay,
  currency_differs: paymentOfDay,
  fee_differs: paymentOfDay,
  line_twice: paymentOfDay,
  line_unreadable: paymentOfDay,
  refund_missing_at_channel: refundOfDay,
  refund_amount_differs: refundOfDay,
  paid_unknown_to_us: payUnnotified,
  refund_unknown_to_us: refundUnnotified,
  duplicate_payment: payTwice,
  dispute_unknown_to_us: loseUnnotified,
};

function groundOf(core: Core, request: PlantRequest): Ground {
  const { kind, payWay, orderNo } = request;
  const { billRules } = core.channelSimulator(payWay);
  const date = request.date ?? dayOf(billRules, core.clock.now());
  const span = spanOfDay(billRules, date);
  if (!span || span.from > core.clock.now())
    throw new SimulatorRefusal(400, 'date_invalid', 'The field date must be a day like 2026-01-31, not in the future.');
  const account = request.account ?? 'default';
  if (!core.accounts.get(payWay, account))
    throw new SimulatorRefusal(404, 'no_such_account', `The simulator has no account ${account} for this channel.`);
  const trades = [...core.ledger.trades.values()]
    .filter((trade) => trade.payWay === payWay && (request.account ?? trade.account) === trade.account)
    .filter((trade) => (orderNo ?? trade.orderNo) === trade.orderNo);
  if (orderNo !== undefined && trades.length === 0)
    throw new SimulatorRefusal(404, 'no_such_order', `The simulator has no order ${orderNo}.`);
  return { core, kind, payWay, date, span, trades, account, isNamed: orderNo !== undefined };
}

/** Returns the newest matching trade that does not have this difference yet. */
function newest(ground: Ground, spotOf: (trade: Trade) => string | undefined): Spot {
  const { core, kind, trades, payWay, date } = ground;
  const planted = new Set(
    core.bills.plants
      .list()
      .filter((one) => one.kind === kind)
      .map(({ number }) => number),
  );
  for (const trade of trades.toReversed()) {
    const number = spotOf(trade);
    if (number !== undefined && !planted.has(number)) return { trade, number };
  }
  throw new SimulatorRefusal(409, 'nothing_fits', `No order of ${payWay} on ${date} can have the difference ${kind}.`);
}

function paymentOfDay(ground: Ground): Spot {
  return newest(ground, (trade) => {
    const payment = paymentOf(trade);
    return payment && isIn(ground.span, payment.at) ? payment.number : undefined;
  });
}

function refundOfDay(ground: Ground): Spot {
  return newest(
    ground,
    ({ refunds }) =>
      refunds.find(({ state, origin, at }) => state === 'succeeded' && origin !== 'dispute' && isIn(ground.span, at))
        ?.number,
  );
}

function payUnnotified(ground: Ground): Spot {
  const { core } = ground;
  const { trade } = newest(ground, (one) => {
    const current = core.trades.byId(one.id);
    const isOpen = current && ['offered', 'open', 'approved'].includes(current.state);
    // An order that the request names may also be closed: the payment then arrives after the close.
    const fits = isOpen || (ground.isNamed && current?.state === 'closed');
    return fits && one.createdAt < ground.span.to ? one.id : undefined;
  });
  core.trades.reopen(trade);
  return pay(ground, trade);
}

function payTwice(ground: Ground): Spot {
  return pay(ground, anotherOf(ground.core, paymentOfDay(ground).trade));
}

/** Pays a trade, and captures it if necessary, without notifying the merchant. */
function pay(ground: Ground, trade: Trade): Spot {
  const { core } = ground;
  const channelSimulator = core.channelSimulator(trade.payWay);
  core.notifications.quietly(() => {
    if (trade.state !== 'approved') channelSimulator.pay(core, trade);
    channelSimulator.take?.(core, trade);
  });
  const payment = paymentOf(trade);
  if (!payment) throw new SimulatorRefusal(409, 'nothing_fits', `Order ${trade.orderNo} could not be paid.`);
  payment.at = momentIn(ground, trade.createdAt < ground.span.to ? trade.createdAt : ground.span.from);
  trade.createdAt = Math.min(trade.createdAt, payment.at);
  core.trades.record(trade, 'updated');
  return { trade, number: payment.number };
}

function refundUnnotified(ground: Ground): Spot {
  const { core, span } = ground;
  const { trade } = newest(ground, (one) => {
    const payment = paymentOf(one);
    const fits = payment && payment.at < span.to && refundableMinor(one) > 0 && one.fixed !== 'refunds-fail';
    return fits ? one.id : undefined;
  });
  const refund = core.notifications.quietly(() =>
    refundElsewhere(core, trade, Math.max(1, Math.floor(refundableMinor(trade) / 2))),
  );
  refund.at = momentIn(ground, paymentOf(trade)?.at ?? refund.at);
  refund.doneAt = refund.at;
  refund.moves = [{ state: refund.state, at: refund.at }];
  core.trades.record(trade, 'updated');
  return { trade, number: refund.number };
}

/** Opens a dispute that the merchant loses, without notifying the merchant. */
function loseUnnotified(ground: Ground): Spot {
  const { core, span } = ground;
  const { trade } = newest(ground, (one) => {
    const payment = paymentOf(one);
    return payment && payment.at < span.to && refundableMinor(one) > 0 ? one.id : undefined;
  });
  const channelSimulator = core.channelSimulator(trade.payWay);
  const act = (action: 'open' | 'lose') =>
    channelSimulator.dispute?.(core, trade, { act: action, dueDays: 10, refund: 'untold', reason: 'UNAUTHORISED' });
  core.notifications.quietly(() => {
    act('open');
    act('lose');
  });
  const taken = trade.refunds.at(-1)!;
  taken.at = momentIn(ground, paymentOf(trade)?.at ?? taken.at);
  taken.doneAt = taken.at;
  taken.moves = [{ state: taken.state, at: taken.at }];
  core.trades.record(trade, 'updated');
  return { trade, number: taken.number };
}

/** The current time if the day is not over. For a past day: noon of that day or `earliest`, whichever is later. */
function momentIn({ core, span }: Pick<Ground, 'core' | 'span'>, earliest: number): number {
  const now = core.clock.now();
  return now < span.to ? now : Math.max(earliest, span.from + NOON_MS);
}

function isIn({ from, to }: Span, at: number): boolean {
  return at >= from && at < to;
}

const PayWays = z.enum(PAY_WAYS);
const Day = z.string().regex(/^\d{4}-\d\d-\d\d$/);
const NewPlant = z.object({
  kind: z.enum(PLANTS),
  payWay: PayWays,
  date: Day.optional(),
  orderNo: z.string().optional(),
  account: z.string().optional(),
});
const NewCondition = z.object({
  condition: z.enum(CONDITIONS),
  payWay: PayWays,
  date: Day.nullable().default(null),
  rows: z.int().min(1).max(5_000_000).nullable().default(null),
  on: z.boolean().default(true),
});

/** Adds the calls of the control API for bills: they plant differences (deliberate errors) and set test conditions. */
export function addBills(router: Router, core: Core): void {
  const { plants, conditions } = core.bills;
  const all = (payWay?: string) => ({
    plants: plants.list().filter((one) => (payWay ?? one.payWay) === one.payWay),
    conditions: conditions.list().filter((one) => (payWay ?? one.payWay) === one.payWay),
  });
  router.get('/bills', (ctx) => {
    ctx.body = all(queryText(ctx, 'payWay'));
  });
  router.post('/bills/plants', (ctx) => {
    ctx.body = plant(core, bodyOf(ctx, NewPlant));
    ctx.status = 201;
  });
  router.post('/bills/conditions', (ctx) => {
    const { on, ...condition } = bodyOf(ctx, NewCondition);
    if (!on) conditions.unset(condition);
    ctx.body = { ...(on ? conditions.set(condition) : { id: null, ...condition }), on };
    ctx.status = on ? 201 : 200;
  });
  router.delete('/bills', (ctx) => {
    plants.clear();
    conditions.clear();
    ctx.body = all();
  });
  router.delete('/bills/:id', (ctx) => {
    const id = ctx.params['id'] ?? '';
    plants.clear(id);
    conditions.clear(id);
    ctx.body = all();
  });
}
