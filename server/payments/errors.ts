import type { OrderRow } from '../db/entities/orders.ts';
import { AppError, type ChannelRefusal, Conflict, Forbidden, InvalidRequest, NotAllowed } from '../errors.ts';
import type { RefusalDoubt, UnknownCause, UnknownOutcome } from './channel.ts';
import { type Refusal, refundableOf } from './core/transitions.ts';
import { majorNumber } from '../money.ts';

/** The channel was called, but the result is unknown (504). The order stays open and is queried again. */
class ChannelOutcomeUnknown extends AppError {
  constructor(orderNo: string, cause: UnknownCause, supportId?: string) {
    super('channel_outcome_unknown', 504, `The channel sent no usable response (${cause}).`, {
      retryable: true,
      extra: { orderNo, cause, ...(supportId ? { supportId } : {}) },
      hint: 'Repeat the request with the same Idempotency-Key or merchantOrderNo, or query the order.',
    });
  }
}

/** The database failed at or after the COMMIT of an operation (504), so the operation may be stored. */
export class OutcomeNotKept extends AppError {
  constructor(numbers: { orderNo: string; refundNo?: string }, cause: unknown) {
    super(
      'channel_outcome_unknown',
      504,
      'The database failed while the request was stored; it may have been accepted.',
      {
        retryable: true,
        extra: { ...numbers, cause: 'not_kept' },
        hint: 'Repeat the request with the same Idempotency-Key, merchantOrderNo or merchantRefundNo, or query the order.',
        cause,
      },
    );
  }
}

/** The channel answered, but the answer cannot be used (502): it is not verified, or it is about another object. */
export class ChannelAnswerUnusable extends AppError {
  constructor(orderNo: string, cause: UnknownCause, channel?: ChannelRefusal, supportId = channel?.supportId) {
    super('channel_answer_unusable', 502, `The response of the channel is invalid (${cause}).`, {
      ...(channel ? { channel } : {}),
      retryable: true,
      extra: { orderNo, cause, ...(supportId ? { supportId } : {}) },
      hint: 'The service keeps querying the channel. Query the order, or read its timeline.',
    });
  }
}

/**
 * Texts for a refusal that does not end the order. The property name says why a payment may exist despite the refusal.
 */
const INCONCLUSIVE: Readonly<Record<RefusalDoubt | 'repeated', readonly [detail: string, hint: string]>> = {
  unlisted: [
    'The channel refused for a reason that this service does not know.',
    'Correct the fault that the channel reports, then repeat the request with the same Idempotency-Key or merchant number. The channel may have a payment despite the refusal: do not charge the payer another way before the order has ended.',
  ],
  trade_may_exist: [
    'The channel refused, and its reason says that a trade of this order exists or may exist.',
    'Query the order before anything else; the service keeps checking it.',
  ],
  repeated: [
    'The channel refused the repeated request; an earlier one may have been accepted.',
    'The service keeps querying the channel. Query the order, or read its timeline.',
  ],
};

/** The channel refused, but the order stays open (502); no response is stored under the Idempotency-Key. */
export class ChannelRefusalInconclusive extends AppError {
  constructor(orderNo: string, cause: keyof typeof INCONCLUSIVE, channel: ChannelRefusal) {
    const [detail, hint] = INCONCLUSIVE[cause];
    const { supportId } = channel;
    super('channel_refusal_inconclusive', 502, detail, {
      channel,
      retryable: true,
      extra: { orderNo, cause, ...(supportId ? { supportId } : {}) },
      hint,
    });
  }
}

/** The channel refused the request, and the refusal is final (422). */
export class ChannelRefused extends NotAllowed {
  constructor(channel: ChannelRefusal, extra: Record<string, unknown> = {}) {
    super('channel_refused', `Refused by the channel: ${channel.message}`, { channel, extra });
  }
}

/** The order is paid; it can only be refunded (409). */
export class OrderAlreadyPaid extends Conflict {
  constructor(orderNo: string) {
    super('order_already_paid', 'The order has already been paid.', { extra: { orderNo }, hint: 'Refund it instead.' });
  }
}

class OrderNotPaid extends Conflict {
  constructor(orderNo: string) {
    super('order_not_paid', 'The order has not been paid.', { extra: { orderNo } });
  }
}

class RefundExceedsRefundable extends NotAllowed {
  constructor(orderNo: string, refundableAmount: number) {
    super('refund_exceeds_refundable', `At most ${refundableAmount} can be refunded.`, {
      extra: { orderNo, refundableAmount },
    });
  }
}

class RefundInProgress extends Conflict {
  constructor(refundNo: string) {
    super('refund_in_progress', 'A refund of the same amount of this order is in progress.', {
      extra: { refundNo },
      retryable: true,
      retryAfter: 2,
      hint: 'Query the refund. To refund the same amount twice, send a merchantRefundNo or an Idempotency-Key.',
    });
  }
}

class RefundsBlocked extends Conflict {
  constructor(orderNo: string, exception: string) {
    super('refunds_blocked', `Refunds of this order are blocked by the open exception ${exception}.`, {
      extra: { orderNo, exception },
      hint:
        exception === 'dispute'
          ? 'The dispute was accepted, so the channel may return the same money to the payer. Refund again after the channel has decided: payctl dispute list.'
          : 'Find the exception with payctl exception list, then resolve it with payctl exception resolve.',
    });
  }
}

/**
 * The limit of an application that a request exceeds. Amounts are in major units; for `ordersPerHour` the values are
 * numbers of orders. `resetsAt`: the time when the next period begins; null = the limit has no period.
 */
export interface LimitReached {
  limit: 'perOrder' | 'perDay' | 'perMonth' | 'refundPerDay' | 'ordersPerHour' | 'currency';
  currency: string;
  allowed: number;
  left: number;
  resetsAt: Date | null;
}

/** The request is above a limit of the application (403). */
export class LimitExceeded extends Forbidden {
  constructor({ resetsAt, ...reached }: LimitReached) {
    const { limit, currency, allowed, left } = reached;
    const until = resetsAt ? `; the count starts again at ${resetsAt.toISOString()}` : '';
    super(
      'limit_exceeded',
      limit === 'currency'
        ? `The limits of the application do not allow ${currency}.`
        : `The limit ${limit} of the application is ${allowed} (${currency}), of which ${left} is left${until}.`,
      {
        extra: { ...reached, resetsAt: resetsAt?.toISOString() ?? null },
        hint: 'GET /api/v2/limits shows the remaining amounts. Only an administrator can change the limits.',
      },
    );
  }
}

/** The merchant's number was used for another order or refund (409). */
export class MerchantNumberUsed extends Conflict {
  constructor(member: 'merchantOrderNo' | 'merchantRefundNo', number: string) {
    super('merchant_number_used', `This ${member} was already used for another request.`, { extra: { number } });
  }
}

/** The error for a command that the stored state does not allow. */
export function refusalFor({ refuse }: Refusal, order: OrderRow): AppError {
  const { orderNo, currency } = order;
  switch (refuse.code) {
    case 'order_not_paid':
      return new OrderNotPaid(orderNo);
    case 'refund_exceeds_refundable':
      return new RefundExceedsRefundable(orderNo, majorNumber({ minor: refundableOf(order), currency }));
    case 'refunds_blocked':
      return new RefundsBlocked(orderNo, refuse.kind);
    case 'refund_in_progress':
      return new RefundInProgress(refuse.refundNo);
    case 'refund_limit_reached':
      return new NotAllowed(refuse.code, refuse.message);
    case 'invalid_action':
      return invalidAction(refuse.message);
    default:
      return new Conflict(refuse.code, refuse.message);
  }
}

/** The error for an action that does not fit the exception (400). */
export function invalidAction(detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer: '/action', code: 'invalid', detail }]);
}

/** Causes of the error `channel_answer_unusable` (502); every other cause becomes `channel_outcome_unknown` (504). */
const UNUSABLE: ReadonlySet<UnknownCause> = new Set([
  'redirected',
  'unparsable',
  'duplicate_key',
  'unsigned',
  'signature_invalid',
  'serial_unknown',
  'clock_skew',
  'mismatch',
  'too_large',
  'misconfigured',
  'rejected',
]);

/**
 * The error for an unknown outcome. If the channel sent a verified refusal whose code this service does not list, the
 * error contains its code and text.
 */
export function unknownOutcome(
  { orderNo, payWay }: Pick<OrderRow, 'orderNo' | 'payWay'>,
  { cause, refusal, supportId }: Pick<UnknownOutcome, 'cause' | 'refusal' | 'supportId'>,
): AppError {
  if (refusal) {
    const channel = { payWay, code: refusal.code, message: refusal.reason, supportId };
    return new ChannelRefusalInconclusive(orderNo, 'unlisted', channel);
  }
  return UNUSABLE.has(cause)
    ? new ChannelAnswerUnusable(orderNo, cause, undefined, supportId)
    : new ChannelOutcomeUnknown(orderNo, cause, supportId);
}
