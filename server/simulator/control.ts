/** The control API, below `/sim`: trades, refunds, disputes, agents, faults, accounts and the clock. */
import Router from '@koa/router';
import type { Context, Next } from 'koa';
import { z } from 'zod';
import { PAY_WAYS, type PayWay } from '../payments/channel.ts';
import { readMajorText } from '../money.ts';
import { payAsAgent } from './alipay/simulator.ts';
import { addBills } from './bills/planting.ts';
import { ensureAccount } from './core.ts';
import { FAULTS } from './faults.ts';
import type { Core, SimulatedChannelConfig } from './channel-simulator.ts';
import { sumOrders } from './ledger.ts';
import { anotherOf, decline, payAgain, payOnce } from './payer.ts';
import { moveRefund, refundElsewhere } from './refunds.ts';
import { SimulatorRefusal, bodyOf, queryText, refuseForeignHost } from './requests.ts';
import { DisputeAction, type Offers, type Refund, type Trade } from './trade.ts';
import { offer } from './trades.ts';
import { giveDeveloper, tradeOfCode } from './wechat/agents.ts';

const NewDeveloper = z.object({
  account: z.string().default('default'),
  skills: z.array(z.string().min(1)).min(1).optional(),
});
const PayByBill = z.object({ paymentNeeded: z.string().max(8192), clientSession: z.string().max(4096).optional() });
const PayByCode = z.object({ paymentCode: z.string().max(1024) });

/** Adds the calls for agents (programs that pay for a user). */
function addAgents(router: Router, core: Core): void {
  router.post('/agent/developer', async (ctx) => {
    const { account, skills } = bodyOf(ctx, NewDeveloper);
    ctx.body = await giveDeveloper(core, account, skills);
    ctx.status = 201;
  });
  router.post('/agent/pay-bill', (ctx) => {
    const { paymentNeeded, clientSession } = bodyOf(ctx, PayByBill);
    ctx.body = payAsAgent(core, paymentNeeded, clientSession);
  });
  router.post('/agent/pay', (ctx) => {
    const trade = tradeOfCode(core, bodyOf(ctx, PayByCode).paymentCode);
    // A repeated request for a paid order changes nothing.
    if (trade.state !== 'paid') core.channelSimulator('wechat').pay(core, trade);
    ctx.body = trade;
  });
}

function actOnDispute(core: Core, trade: Trade, action: DisputeAction): object {
  const { dispute } = core.channelSimulator(trade.payWay);
  if (!dispute) throw new SimulatorRefusal(400, 'no_disputes', 'The simulator has no disputes for this channel.');
  return dispute(core, trade, action);
}

const PayWays = z.enum(PAY_WAYS);
const Amount = z.union([z.string(), z.number()]);
const Which = z.object({
  orderNo: z.string(),
  payWay: PayWays.optional(),
  account: z.string().optional(),
  payUrl: z.string().optional(),
});
const Pay = Which.extend({ force: z.boolean().default(false), again: z.boolean().default(false) });
const Offer = Which.extend(
  Object.fromEntries((['merchant', 'channel', 'share'] as const).map((name) => [name, Amount.optional()])) as Record<
    keyof Offers,
    z.ZodOptional<typeof Amount>
  >,
);
const Notify = Which.extend({ times: z.int().min(1).max(1000).default(1), kind: z.string().optional() });
const Clock = z.object({
  advanceSeconds: z
    .number()
    .min(0)
    .max(400 * 86_400),
});
const NewAccount = z.looseObject({ payWay: PayWays, name: z.string().regex(/^[\w-]{1,64}$/) });
const Rotate = z.object({
  payWay: PayWays,
  account: z.string().default('default'),
  what: z.string(),
  to: z.string().optional(),
});
const RefundElsewhere = Which.extend({ amount: Amount, paymentNo: z.string().optional() });
const RefundMove = Which.extend({
  refundNo: z.string(),
  state: z.enum(['processing', 'succeeded', 'failed', 'abnormal']),
});
const BankSays = Which.extend({ refundNo: z.string(), status: z.enum(['S', 'F']) });
const CaptureMove = Which.extend({ state: z.enum(['completed', 'declined']) });
const Event = Which.extend({
  type: z.string().regex(/^[A-Z0-9._-]{1,64}$/),
  resource: z.record(z.string(), z.unknown()),
  isTest: z.boolean().default(false),
});
const Dispute = Which.omit({ payUrl: true }).extend(DisputeAction.shape);
const NotificationSwitch = z.object({ payWay: PayWays, enabled: z.boolean() });
const Fault = z.object({
  payWay: PayWays,
  call: z.string().optional(),
  fault: z.enum(FAULTS),
  times: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
  delayMs: z.number().min(0).max(600_000).optional(),
  hangUpMs: z.number().min(0).max(600_000).optional(),
  account: z.string().optional(),
  orderNo: z.string().optional(),
  word: z
    .string()
    .regex(/^[A-Z_]{1,64}$/)
    .optional(),
});

/** The control API below `/sim`: acts as payer or portal and sets faults, only for callers on this machine. */
export function controlRoutes(core: Core): Router {
  const router = new Router({ prefix: '/sim' });
  router.use(onlyLocal);
  addReads(router, core);
  addPayer(router, core);
  addFaults(router, core);
  addBills(router, core);
  addAgents(router, core);
  return router;
}

function addReads(router: Router, core: Core): void {
  router.get('/config', (ctx) => {
    ctx.body = configOf(core, queryText(ctx, 'account') ?? 'default');
  });
  router.get('/ledger', (ctx) => {
    const payWay = queryText(ctx, 'payWay');
    const orderNo = queryText(ctx, 'orderNo');
    const account = queryText(ctx, 'account');
    const entries = core.ledger.entries.filter(
      (entry) =>
        (payWay === undefined || entry.payWay === payWay) &&
        (orderNo === undefined || entry.orderNo === orderNo) &&
        (account === undefined || entry.account === account),
    );
    ctx.body = { entries, orders: sumOrders(entries, core.ledger.trades) };
  });
  router.get('/trades/:orderNo', (ctx) => {
    ctx.body = tradeOf(core, {
      orderNo: ctx.params['orderNo'] ?? '',
      payWay: PayWays.optional().parse(queryText(ctx, 'payWay')),
    });
  });
  router.get('/deliveries', (ctx) => {
    const orderNo = queryText(ctx, 'orderNo');
    const payWay = queryText(ctx, 'payWay');
    const deliveries = core.notifications.deliveries.filter(
      (delivery) =>
        (orderNo === undefined || delivery.orderNo === orderNo) && (payWay === undefined || delivery.payWay === payWay),
    );
    ctx.body = { deliveries };
  });
  router.get('/clock', (ctx) => {
    ctx.body = { now: new Date(core.clock.now()).toISOString() };
  });
}

function addPayer(router: Router, core: Core): void {
  router.post('/scan', (ctx) => answerWith(ctx, core, (trade) => core.trades.scan(trade)));
  router.post('/pay', (ctx) => {
    const { force, again, ...which } = bodyOf(ctx, Pay);
    const trade = again ? anotherOf(core, tradeOf(core, which)) : tradeOf(core, which);
    if (force) core.trades.reopen(trade);
    if (again) payAgain(core, trade);
    else payOnce(core, trade);
    ctx.body = trade;
  });
  router.post('/offers', (ctx) => {
    const { merchant = 0, channel = 0, share = 0, ...which } = bodyOf(ctx, Offer);
    const trade = tradeOf(core, which);
    offer(core.channelSimulator(trade.payWay).billRules, trade, {
      merchant: minorIn(trade, merchant),
      channel: minorIn(trade, channel),
      share: minorIn(trade, share),
    });
    core.trades.record(trade, 'updated');
    ctx.body = trade;
  });
  router.post('/approve', (ctx) => answerWith(ctx, core, (trade) => payOnce(core, trade)));
  router.post('/decline', (ctx) => answerWith(ctx, core, (trade) => decline(core, trade)));
  router.post('/expire', (ctx) => answerWith(ctx, core, (trade) => core.trades.close(trade, 'expired')));
  router.post('/notify', async (ctx) => {
    const { times, kind, ...which } = bodyOf(ctx, Notify);
    ctx.body = { sent: await core.notifications.repeat(tradeOf(core, which), times, kind) };
  });
  router.post('/refund-elsewhere', (ctx) => {
    const { amount, paymentNo, ...which } = bodyOf(ctx, RefundElsewhere);
    const trade = paymentNo === undefined ? tradeOf(core, which) : tradeOfPayment(core, which.orderNo, paymentNo);
    const minor = minorIn(trade, amount);
    if (minor === 0) throw amountInvalid();
    ctx.body = refundElsewhere(core, trade, minor);
  });
  router.post('/capture-state', (ctx) => {
    const { state, ...which } = bodyOf(ctx, CaptureMove);
    const trade = tradeOf(core, which);
    const { moveCapture } = core.channelSimulator(trade.payWay);
    if (!moveCapture)
      throw new SimulatorRefusal(
        400,
        'no_captures',
        'Payments of this channel need no capture, so no capture state can be set.',
      );
    moveCapture(core, trade, state);
    ctx.body = trade;
  });
  router.post('/event', (ctx) => {
    const { type, resource, isTest, ...which } = bodyOf(ctx, Event);
    const trade = tradeOf(core, which);
    const { sendEvent } = core.channelSimulator(trade.payWay);
    if (!sendEvent)
      throw new SimulatorRefusal(400, 'no_events', 'The simulator cannot send this event for this channel.');
    sendEvent(core, trade, { type, resource, isTest });
    ctx.body = trade;
  });
  router.post('/dispute', (ctx) => {
    const { orderNo, payWay, account, ...action } = bodyOf(ctx, Dispute);
    ctx.body = actOnDispute(core, tradeOf(core, { orderNo, payWay, account }), action);
  });
  router.post('/refund-state', (ctx) => {
    const { refundNo, state, ...which } = bodyOf(ctx, RefundMove);
    const trade = tradeOf(core, which);
    const refund = refundOf(trade, refundNo);
    moveRefund(core, trade, refund, state);
    ctx.body = refund;
  });
  router.post('/bank-says', (ctx) => {
    const { refundNo, status, ...which } = bodyOf(ctx, BankSays);
    const trade = tradeOf(core, which);
    const refund = refundOf(trade, refundNo);
    const { notifyBank } = core.channelSimulator(trade.payWay);
    if (!notifyBank)
      throw new SimulatorRefusal(400, 'no_bank', "This channel does not report the bank's result of a refund.");
    refund.bankSaid = status;
    core.trades.record(trade, 'updated');
    notifyBank(core, trade, refund);
    ctx.body = refund;
  });
}

function addFaults(router: Router, core: Core): void {
  router.get('/faults', (ctx) => {
    ctx.body = { faults: core.faults.list() };
  });
  router.post('/faults', (ctx) => {
    ctx.body = core.faults.set(bodyOf(ctx, Fault));
    ctx.status = 201;
  });
  router.delete('/faults', (ctx) => void (core.faults.clear(), (ctx.body = { faults: [] })));
  router.delete('/faults/:id', (ctx) => {
    core.faults.clear(ctx.params['id']);
    ctx.body = { faults: core.faults.list() };
  });
  router.post('/reset-faults', (ctx) => {
    core.faults.clear();
    for (const { payWay } of core.channelSimulators) core.notifications.enable(payWay, true);
    ctx.body = { faults: [] };
  });
  router.post('/clock', async (ctx) => {
    await core.clock.advance(bodyOf(ctx, Clock).advanceSeconds * 1000);
    core.ledger.writeClock(core.clock.now() - Date.now());
    ctx.body = { now: new Date(core.clock.now()).toISOString() };
  });
  router.post('/notices', (ctx) => {
    const { payWay, enabled } = bodyOf(ctx, NotificationSwitch);
    core.notifications.enable(payWay, enabled);
    ctx.body = { payWay, enabled };
  });
  router.post('/accounts', async (ctx) => {
    const { payWay, name, ...options } = bodyOf(ctx, NewAccount);
    if (core.accounts.get(payWay, name))
      throw new SimulatorRefusal(
        409,
        'account_exists',
        `The simulator already has an account ${name} for this channel.`,
      );
    await ensureAccount(core, core.channelSimulator(payWay), name, options);
    ctx.body = configOf(core, name);
    ctx.status = 201;
  });
  router.post('/rotate', async (ctx) => {
    const { payWay, account: name, what, to } = bodyOf(ctx, Rotate);
    const account = core.accounts.get(payWay, name);
    if (account === undefined)
      throw new SimulatorRefusal(404, 'no_such_account', `The simulator has no account ${name}.`);
    await core.channelSimulator(payWay).rotate(core, account, what, to);
    core.accounts.save();
    ctx.body = configOf(core, name);
  });
}

function minorIn(trade: Trade, amount: z.infer<typeof Amount>): number {
  const money = readMajorText(String(amount), trade.currency);
  if (money === undefined || money.minor < 0n) throw amountInvalid();
  return Number(money.minor);
}

function amountInvalid(): SimulatorRefusal {
  return new SimulatorRefusal(400, 'amount_invalid', 'An amount must be a number in major units, such as 12.34.');
}

function answerWith(ctx: Context, core: Core, act: (trade: Trade) => void): void {
  const trade = tradeOf(core, bodyOf(ctx, Which));
  act(trade);
  ctx.body = trade;
}

function tradeOf(core: Core, { orderNo, payWay, account, payUrl }: z.infer<typeof Which>): Trade {
  const opened =
    payUrl === undefined
      ? undefined
      : core.channelSimulators.map((channelSimulator) => channelSimulator.open?.(core, payUrl)).find(Boolean);
  const trade = opened ?? core.trades.find(orderNo, { payWay, account });
  if (trade === undefined) throw new SimulatorRefusal(404, 'no_such_order', `The simulator has no order ${orderNo}.`);
  return trade;
}

/** An order that was paid more than once has several trades. */
function tradeOfPayment(core: Core, orderNo: string, paymentNo: string): Trade {
  const found = core.trades
    .ofOrder(orderNo)
    .find(({ payments }) => payments.some(({ number }) => number === paymentNo));
  if (found) return found;
  throw new SimulatorRefusal(404, 'no_such_payment', `The order ${orderNo} has no payment ${paymentNo}.`);
}

function refundOf(trade: Trade, refundNo: string): Refund {
  const refund = trade.refunds.find((candidate) => candidate.refundNo === refundNo);
  if (refund) return refund;
  throw new SimulatorRefusal(404, 'no_such_refund', `The refund ${refundNo} does not exist.`);
}

function configOf(core: Core, name: string): Partial<Record<PayWay, SimulatedChannelConfig>> {
  const known = core.channelSimulators.flatMap((channelSimulator) => {
    const account = core.accounts.get(channelSimulator.payWay, name);
    return account === undefined ? [] : [[channelSimulator.payWay, channelSimulator.configFor(account, core)] as const];
  });
  if (known.length === 0) throw new SimulatorRefusal(404, 'no_such_account', `The simulator has no account ${name}.`);
  return Object.fromEntries(known);
}

/**
 * Refuses callers from other machines and web pages. A page of another site cannot send JSON without a CORS preflight,
 * and its Host header is not a loopback name even with DNS rebinding.
 */
async function onlyLocal(ctx: Context, next: Next): Promise<void> {
  refuseForeignHost(ctx);
  if (ctx.method !== 'GET' && !/^application\/json\s*(;|$)/i.test(ctx.get('content-type'))) {
    throw new SimulatorRefusal(415, 'not_json', 'The control API requires the content type application/json.');
  }
  await next();
}
