import type { Core } from '../half.ts';
import type { Answer } from '../exchange.ts';
import type { FaultName } from '../faults.ts';
import type { Trade } from '../trade.ts';
import type { Books } from './books.ts';
import { captureOrder, createOrder, getOrder, type Done } from './orders.ts';
import { readOrderRequest, readRefundRequest } from './order-request.ts';
import { presentCapture, presentOrder, presentRefund } from './present.ts';
import { notFound, refuse } from './refusals.ts';
import { getRefund, makeRefund, tradeOfCapture, type FoundRefund } from './refunds.ts';
import { json, type AddRoute, type Request } from './route.ts';
import { sceneryOf } from './scenery.ts';

/** Adds the calls about orders, captures and refunds. */
export function addCheckout(add: AddRoute, core: Core, books: Books): void {
  const idOf = ({ params }: Request) => params['id'] ?? '';
  const orderNo = (request: Request) => books.byNumber(request.account, idOf(request))?.orderNo;

  add('post', '/v2/checkout/orders', {
    call: 'create',
    orderNo: ({ body }) => numberIn(body),
    act(request, fault) {
      const headers = { requestId: request.requestId, notifyUrl: request.header('simulator-notify-url') ?? null };
      const done = createOrder(core, books, request.account, readOrderRequest(request.body), headers);
      return { ...answerDone(core, done, request, fault, minimal), silent: done.silent };
    },
  });
  add('get', '/v2/checkout/orders/:id', {
    call: 'query',
    orderNo,
    act: (request, fault) => json(200, show(core, getOrder(core, books, request.account, idOf(request)), fault)),
  });
  add('post', '/v2/checkout/orders/:id/capture', {
    call: 'capture',
    orderNo,
    act(request, fault, word) {
      const asked = { id: idOf(request), requestId: request.requestId, fault, word };
      const done = captureOrder(core, books, request.account, asked);
      return answerDone(core, done, request, fault, minimalOfCaptured);
    },
  });
  add('get', '/v2/payments/captures/:id', {
    call: 'query',
    orderNo,
    act(request, fault) {
      const trade = seen(tradeOfCapture(core, books, request.account, idOf(request)), fault);
      const payment = trade.payments.find(({ number }) => number === idOf(request));
      if (!payment) throw notFound();
      return json(200, presentCapture(trade, payment, sceneryOf(core, trade)));
    },
  });
  add('post', '/v2/payments/captures/:id/refund', {
    call: 'refund',
    orderNo,
    act(request, fault) {
      const trade = tradeOfCapture(core, books, request.account, idOf(request));
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
      return json(200, showRefund(core, getRefund(books, request.account, idOf(request)), fault));
    },
  });
}

/** A repeat answers 200 with the earlier result; two at once may have the second one refused, although it happened. */
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

/** A trade as a lagging or lying answer shows it. */
function seen(trade: Trade, fault: FaultName | undefined): Trade {
  if (fault === 'query-lag') return before(trade);
  if (fault !== 'wrong-amount') return trade;
  const payments = trade.payments.map((payment) => ({ ...payment, minor: payment.minor + 100 }));
  return { ...trade, minor: trade.minor + 100, payments };
}

/** The trade one step ago. */
function before(trade: Trade): Trade {
  if (trade.refunds.length > 0) return { ...trade, refunds: trade.refunds.slice(0, -1) };
  if (trade.payments.length > 0) return { ...trade, payments: [], state: 'approved' };
  return { ...trade, state: 'open' };
}

/** What PayPal answers to `return=minimal`, the default: id, status and links (Orders v2 and Payments v2, `Prefer`). */
function minimal({ id, status, links }: Record<string, unknown>): Record<string, unknown> {
  return { id, status, links };
}

/**
 * To a capture the minimal answer is more than its page says: the payer, and of each unit the whole capture without the unit's amount
 * (an answer of the sandbox in paypal/Checkout-Ruby-SDK, issue 24; payment_source as in paypal/PayPal-PHP-Server-SDK, issue 12).
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

/** The number in the body of a create, however good or bad that body is. */
function numberIn(body: unknown): string | undefined {
  const text = JSON.stringify(body) ?? '';
  return /"custom_id":"(\w{1,127})"/.exec(text)?.[1];
}
