/** Simulates PayPal's REST API: access tokens, and the calls about orders, captures and refunds. */
import type Router from '@koa/router';
import type { Context } from 'koa';
import { PAYPAL_BILL_RULES } from './bill-rules.ts';
import { type Answer, write } from '../exchange.ts';
import { type FaultName, duplicateFirstKey } from '../faults.ts';
import type { Core, ChannelSimulator } from '../channel-simulator.ts';
import { SimulatorRefusal, rawBodyOf } from '../requests.ts';
import type { Trade } from '../trade.ts';
import {
  TOKEN_SECONDS,
  accountOfBasic,
  accountOfBearer,
  issueToken,
  newPaypalId,
  newSecrets,
  rotate,
} from './account.ts';
import {
  PaypalRefusal,
  notFound,
  presentCapture,
  presentOrder,
  presentRefund,
  refuse,
  refuseToken,
  refuseWith,
  sceneryOf,
} from './answers.ts';
import { addReports } from './bills.ts';
import { actOnPaypalDispute, addDisputes } from './disputes.ts';
import { addNotifications, signNotification, sendEvent } from './notifications.ts';
import { type FoundRefund, getRefund, makeRefund, notifyRefund, tradeOfCapture } from './refunds.ts';
import { type AddRoute, type Request, type Route, json, readOrderRequest, readRefundRequest } from './requests.ts';
import {
  type TradeIndex,
  type Done,
  captureOrder,
  createOrder,
  getOrder,
  moveCapture,
  openTradeIndex,
  takeMoney,
} from './trades.ts';

function addCheckout(add: AddRoute, core: Core, index: TradeIndex): void {
  const idOf = ({ params }: Request) => params['id'] ?? '';
  const orderNo = (request: Request) => index.byNumber(request.account, idOf(request))?.orderNo;

  add('post', '/v2/checkout/orders', {
    call: 'create',
    orderNo: ({ body }) => numberIn(body),
    act(request, fault) {
      const headers = { requestId: request.requestId, notifyUrl: request.header('simulator-notify-url') ?? null };
      const done = createOrder(core, index, request.account, readOrderRequest(request.body), headers);
      return { ...answerDone(core, done, request, fault, minimal), silent: done.silent };
    },
  });
  add('get', '/v2/checkout/orders/:id', {
    call: 'query',
    orderNo,
    act: (request, fault) => json(200, show(core, getOrder(core, index, request.account, idOf(request)), fault)),
  });
  add('post', '/v2/checkout/orders/:id/capture', {
    call: 'capture',
    orderNo,
    act(request, fault, word) {
      const capture = { id: idOf(request), requestId: request.requestId, fault, word };
      const done = captureOrder(core, index, request.account, capture);
      return answerDone(core, done, request, fault, minimalOfCaptured);
    },
  });
  add('get', '/v2/payments/captures/:id', {
    call: 'query',
    orderNo,
    act(request, fault) {
      const trade = seen(tradeOfCapture(core, index, request.account, idOf(request)), fault);
      const payment = trade.payments.find(({ number }) => number === idOf(request));
      if (!payment) throw notFound();
      return json(200, presentCapture(trade, payment, sceneryOf(core, trade)));
    },
  });
  add('post', '/v2/payments/captures/:id/refund', {
    call: 'refund',
    orderNo,
    act(request, fault) {
      const trade = tradeOfCapture(core, index, request.account, idOf(request));
      const found = makeRefund(core, trade, readRefundRequest(request.body), request.requestId, fault);
      if (fault === 'same-id-concurrent-refusal') throw inProgress();
      const shown = showRefund(core, found, fault);
      return json(found.repeated ? 200 : 201, request.whole ? shown : minimal(shown));
    },
  });
  add('get', '/v2/payments/refunds/:id', {
    call: 'refund-query',
    orderNo,
    act(request, fault) {
      if (fault === 'query-lag') throw notFound();
      return json(200, showRefund(core, getRefund(index, request.account, idOf(request)), fault));
    },
  });
}

/**
 * Builds the response to a create or capture request. A repeated request gets status 200 and the earlier result. With
 * the fault `same-id-concurrent-refusal`, the order is created or captured, but the response is a refusal.
 */
function answerDone(
  core: Core,
  { trade, repeated }: Done,
  { whole }: Request,
  fault: FaultName | undefined,
  shorten: typeof minimal,
): Answer {
  if (fault === 'same-id-concurrent-refusal') throw inProgress();
  const order = show(core, trade, fault === 'query-lag' ? undefined : fault);
  return json(repeated ? 200 : 201, whole ? order : shorten(order));
}

function showRefund(core: Core, { trade, refund }: FoundRefund, fault: FaultName | undefined): Record<string, unknown> {
  const wrong = fault === 'wrong-amount' ? { ...refund, minor: refund.minor + 100 } : refund;
  return presentRefund(trade, wrong, sceneryOf(core, trade));
}

function show(core: Core, trade: Trade, fault: FaultName | undefined): Record<string, unknown> {
  return presentOrder(seen(trade, fault), sceneryOf(core, trade));
}

/** Returns a trade with a fault's wrong data: `query-lag` hides the last change, `wrong-amount` raises the amounts. */
function seen(trade: Trade, fault: FaultName | undefined): Trade {
  if (fault === 'query-lag') return before(trade);
  if (fault !== 'wrong-amount') return trade;
  const payments = trade.payments.map((payment) => ({ ...payment, minor: payment.minor + 100 }));
  return { ...trade, minor: trade.minor + 100, payments };
}

/** Returns a trade as it was before its last change. */
function before(trade: Trade): Trade {
  if (trade.refunds.length > 0) return { ...trade, refunds: trade.refunds.slice(0, -1) };
  if (trade.payments.length > 0) return { ...trade, payments: [], state: 'approved' };
  return { ...trade, state: 'open' };
}

/** PayPal sends the short response by default (`Prefer: return=minimal`; Orders v2 and Payments v2). */
function minimal({ id, status, links }: Record<string, unknown>): Record<string, unknown> {
  return { id, status, links };
}

/**
 * Builds the short response to a capture request. PayPal sends more fields than it documents: the payer and, for each
 * purchase unit, the complete capture. The amount of the purchase unit is absent. Sources: a response of the sandbox in
 * paypal/Checkout-Ruby-SDK, issue 24; for payment_source, paypal/PayPal-PHP-Server-SDK, issue 12.
 */
function minimalOfCaptured(order: Record<string, unknown>): Record<string, unknown> {
  const { payment_source, payer } = order;
  const units = (order['purchase_units'] as Record<string, unknown>[]).map(({ reference_id, payments }) => ({
    reference_id,
    payments,
  }));
  return { ...minimal(order), payment_source, purchase_units: units, payer };
}

function inProgress() {
  return refuse(409, 'PREVIOUS_REQUEST_IN_PROGRESS', 'A previous request on this resource is currently in progress.');
}

/** Returns the order number in the body of a create-order request, even if the body is invalid. */
function numberIn(body: unknown): string | undefined {
  const text = JSON.stringify(body) ?? '';
  return /"custom_id":"(\w{1,127})"/.exec(text)?.[1];
}

function mountPaypal(router: Router, core: Core): void {
  const index = openTradeIndex(core);
  const add: AddRoute = (method, path, route) => {
    router[method](`/paypal${path}`, (ctx) => answer(core, ctx, route));
  };
  router.post('/paypal/v1/oauth2/token', (ctx) => answerToken(core, ctx));
  addCheckout(add, core, index);
  addDisputes(add, core);
  addNotifications(router, add, core);
  addReports(add, core);
}

async function answer(core: Core, ctx: Context, route: Route): Promise<void> {
  const read = attempt(() => readRequest(core, ctx, route));
  if ('status' in read) return write(ctx, read);
  const { account } = read;
  await core.answer(ctx, {
    payWay: 'paypal',
    account: account.name,
    call: route.call,
    orderNo: route.orderNo?.(read),
    act: (fault, word) =>
      attempt(() => {
        // `captureOrder` applies the fault `refused` of a capture, because a refused capture also changes the order.
        if (fault === 'refused' && route.call !== 'capture') throw refuseWith(word);
        return route.act(read, fault, word);
      }),
    sign: (made, fault) => (fault === 'duplicate-key' ? { ...made, body: duplicateFirstKey(made.body) } : made),
  });
}

async function answerToken(core: Core, ctx: Context): Promise<void> {
  const accounts = core.accounts.of('paypal');
  const account = attempt(() => {
    const found = accountOfBasic(accounts, ctx.get('authorization') || undefined);
    const form = new URLSearchParams(rawBodyOf(ctx).toString('utf8'));
    if (form.get('grant_type') !== 'client_credentials')
      throw refuseToken(400, 'unsupported_grant_type', 'Grant Type is NULL');
    return found;
  });
  if ('status' in account) return write(ctx, account);
  await core.answer(ctx, {
    payWay: 'paypal',
    account: account.name,
    call: 'token',
    act: () =>
      json(200, {
        scope:
          'https://uri.paypal.com/services/payments/payment https://uri.paypal.com/services/reporting/search/read https://uri.paypal.com/services/reporting/balances/read',
        access_token: issueToken(account, core.clock.now()),
        token_type: 'Bearer',
        app_id: 'APP-SIMULATOR',
        expires_in: TOKEN_SECONDS,
      }),
    sign: (made, fault) => (fault === 'duplicate-key' ? { ...made, body: duplicateFirstKey(made.body) } : made),
  });
}

function readRequest(
  core: Core,
  ctx: Context & { params?: Record<string, string> },
  { readBody = readJsonBody }: Route,
): Request {
  const header = (name: string) => ctx.get(name) || undefined;
  const account = accountOfBearer(core.accounts.of('paypal'), header('authorization'), core.clock.now());
  const requestId = header('paypal-request-id');
  if (requestId !== undefined && requestId.length > 108) {
    throw refuse(
      400,
      'INVALID_STRING_LENGTH',
      'The value of a field is either too short or too long.',
      'PayPal-Request-Id',
    );
  }
  const whole = /(?:^|,)\s*return=representation\s*(?:,|$)/i.test(ctx.get('prefer'));
  const body = ctx.method === 'POST' || ctx.method === 'PATCH' ? readBody(ctx) : undefined;
  return { account, params: ctx.params ?? {}, query: ctx.query, body, requestId, whole, header };
}

function readJsonBody(ctx: Context): unknown {
  if (!ctx.is('application/json')) throw refuse(415, 'UNSUPPORTED_MEDIA_TYPE', 'The request payload is not JSON.');
  const text = rawBodyOf(ctx).toString('utf8');
  try {
    return JSON.parse(text === '' ? '{}' : text) as unknown;
  } catch {
    throw refuse(400, 'MALFORMED_REQUEST_JSON', 'The request JSON is not well formed.');
  }
}

function attempt<T>(task: () => T): T | Answer {
  try {
    return task();
  } catch (error) {
    if (error instanceof PaypalRefusal) return json(error.status, error.body);
    if (error instanceof SimulatorRefusal) {
      const { status, body } = refuse(422, error.code.toUpperCase(), error.message);
      return json(status, body);
    }
    throw error;
  }
}

/** Seconds between deliveries of an event: at most 25 deliveries within three days. */
const SCHEDULE = [
  60,
  120,
  300,
  600,
  1200,
  1800,
  3600,
  3600,
  7200,
  7200,
  7200,
  7200,
  14_400,
  14_400,
  14_400,
  14_400,
  ...Array.from({ length: 8 }, () => 18_000),
];

export const paypalSimulator: ChannelSimulator = {
  payWay: 'paypal',
  billRules: PAYPAL_BILL_RULES,
  hosts: ['api-m.paypal.com', 'api-m.sandbox.paypal.com', 'api.paypal.com', 'api.sandbox.paypal.com'],
  notificationSchedule: SCHEDULE,
  mount: mountPaypal,
  newSecrets: (core, _name, options) => newSecrets(core, options),
  configFor: ({ secrets }, core) => ({
    fields: {
      ...pick(secrets, ['clientId', 'clientSecret', 'webhookId', 'merchantId']),
      feeRate: PAYPAL_BILL_RULES.feeRate,
    },
    pems: { paypal_simulator_ca: [core.authority.root] },
  }),
  pay: approve,
  take: (core, trade) => takeMoney(core, trade, undefined, undefined),
  twinOf(core, { details }) {
    const { requestId: _1, refundRequests: _2, disputes: _3, refusedWith: _4, ...kept } = details;
    return { id: core.trades.newNumber(newPaypalId), details: kept };
  },
  moveCapture,
  sendEvent: (core, trade, { type, resource, isTest }) => sendEvent(core, trade, type, type, resource, isTest),
  decline: (core, trade) => core.trades.decline(trade),
  notifyRefund,
  dispute: actOnPaypalDispute,
  newRefundNumber: (core) => core.trades.newNumber(newPaypalId),
  signNotification,
  acknowledged: (status) => status >= 200 && status < 300,
  rotate,
};

function approve(core: Core, trade: Trade): void {
  if (trade.state === 'approved') return;
  delete trade.details['refusedWith'];
  trade.details['approvedAt'] = core.clock.now();
  core.trades.approve(trade);
  const order = presentOrder(trade, sceneryOf(core, trade));
  sendEvent(core, trade, 'CHECKOUT.ORDER.APPROVED', 'An order has been approved by buyer', order);
}

function pick(from: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, from[name] ?? '']));
}
