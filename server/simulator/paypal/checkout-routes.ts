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
      return { ...answerDone(core, done, request, fault), silent: done.silent };
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
      return answerDone(core, captureOrder(core, books, request.account, asked), request, fault);
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
      return answerRefund(core, found, request, fault);
    },
  });
  add('get', '/v2/payments/refunds/:id', {
    call: 'refund-query',
    orderNo,
    act(request, fault) {
      if (fault === 'query-lag') throw notFound();
      return answerRefund(
        core,
        { ...getRefund(books, request.account, idOf(request)), repeated: true },
        request,
        fault,
      );
    },
  });
}

/** A repeat answers 200 with the earlier result; two at once may have the second one refused, although it happened. */
function answerDone(core: Core, { trade, repeated }: Done, request: Request, fault: FaultName | undefined): Answer {
  if (fault === 'same-id-concurrent-refusal') throw inProgress();
  const order = show(core, trade, fault === 'query-lag' ? undefined : fault);
  return json(repeated ? 200 : 201, request.whole ? order : minimal(order));
}

function answerRefund(
  core: Core,
  { trade, refund, repeated }: FoundRefund,
  request: Request,
  fault: FaultName | undefined,
): Answer {
  if (fault === 'same-id-concurrent-refusal') throw inProgress();
  const wrong = fault === 'wrong-amount' ? { ...refund, minor: refund.minor + 100 } : refund;
  const shown = presentRefund(trade, wrong, sceneryOf(core, trade));
  return json(repeated ? 200 : 201, request.whole ? shown : minimal(shown));
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

function minimal({ id, status, links }: Record<string, unknown>): Record<string, unknown> {
  return { id, status, links };
}

function inProgress() {
  return refuse(409, 'PREVIOUS_REQUEST_IN_PROGRESS', 'A previous request on this resource is currently in progress.');
}

/** The number in the body of a create, however good or bad that body is. */
function numberIn(body: unknown): string | undefined {
  const text = JSON.stringify(body) ?? '';
  return /"custom_id":"(\w{1,127})"/.exec(text)?.[1];
}
