import { AppError, Conflict, NotAllowed } from '../errors.ts';
import type { PayWay, UnknownCause } from './channel.ts';

/** The channel was asked and nobody knows whether it acted (504); the order stays open and is looked after. */
export class ChannelOutcomeUnknown extends AppError {
  constructor(orderNo: string, cause: UnknownCause) {
    super('channel_outcome_unknown', 504, `The channel did not give a usable answer (${cause}).`, {
      retryable: true,
      extra: { orderNo, cause },
      hint: 'Repeat the request with the same Idempotency-Key or merchantOrderNo, or query the order.',
    });
  }
}

/** Our own database failed after the intent was written (504): it stands, so "nothing was changed" would be untrue. */
class OutcomeNotKept extends AppError {
  constructor(numbers: { orderNo: string; refundNo?: string }, cause: unknown) {
    super('channel_outcome_unknown', 504, 'The request was accepted, and what came of it could not be written down.', {
      retryable: true,
      extra: { ...numbers, cause: 'not_kept' },
      hint: 'Repeat the request with the same Idempotency-Key or merchant number, or query the order.',
      cause,
    });
  }
}

/** Does what follows a committed intent; a fault of our own there is told with its numbers. */
export async function afterIntent<T>(
  numbers: { orderNo: string; refundNo?: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof AppError ? error : new OutcomeNotKept(numbers, error);
  }
}

/** The channel answered, but the answer cannot be used (502): not genuine, or about something else. */
export class ChannelAnswerUnusable extends AppError {
  constructor(orderNo: string, cause: UnknownCause, channel?: { payWay: PayWay; code: string; message: string }) {
    super('channel_answer_unusable', 502, `The channel's answer cannot be used (${cause}).`, {
      ...(channel ? { channel } : {}),
      retryable: true,
      extra: { orderNo, cause },
      hint: 'The order is kept and checked. Query it, or look at its timeline.',
    });
  }
}

/** The channel refused for certain (422). */
export class ChannelRefused extends NotAllowed {
  constructor(payWay: PayWay, code: string, message: string, extra: Record<string, unknown> = {}) {
    super('channel_refused', `The channel refused: ${message}`, { channel: { payWay, code, message }, extra });
  }
}

/** The order is paid; it can only be refunded (409). */
export class OrderAlreadyPaid extends Conflict {
  constructor(orderNo: string) {
    super('order_already_paid', 'The order is paid.', { extra: { orderNo }, hint: 'Refund it instead.' });
  }
}

/** There is nothing to give back yet (409). */
export class OrderNotPaid extends Conflict {
  constructor(orderNo: string) {
    super('order_not_paid', 'The order is not paid.', { extra: { orderNo } });
  }
}

/** More than is left of what was paid (422). */
export class RefundExceedsRefundable extends NotAllowed {
  constructor(orderNo: string, refundableAmount: number) {
    super('refund_exceeds_refundable', `At most ${refundableAmount} can be refunded.`, {
      extra: { orderNo, refundableAmount },
    });
  }
}

/** An equal refund is on its way and its outcome is not known yet (409). */
export class RefundInProgress extends Conflict {
  constructor(refundNo: string) {
    super('refund_in_progress', 'An equal refund of this order is on its way.', {
      extra: { refundNo },
      retryable: true,
      retryAfter: 2,
      hint: 'Query it. To refund the same amount twice on purpose, send a merchantRefundNo or an Idempotency-Key.',
    });
  }
}

/** An open exception must be resolved before anything is refunded (409). */
export class RefundsBlocked extends Conflict {
  constructor(orderNo: string, exception: string) {
    super('refunds_blocked', `Refunds of this order are blocked by the open exception ${exception}.`, {
      extra: { orderNo, exception },
      hint: `payctl exception list, then payctl exception resolve`,
    });
  }
}

/** The merchant's number stands for another order or refund (409). */
export class MerchantNumberUsed extends Conflict {
  constructor(member: 'merchantOrderNo' | 'merchantRefundNo', number: string) {
    super('merchant_number_used', `This ${member} stands for another request.`, { extra: { number } });
  }
}

/** Causes that mean "answered, but not usable" rather than silence. */
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

/** The refusal for an outcome that nobody knows. */
export function unknownOutcome(orderNo: string, cause: UnknownCause): AppError {
  return UNUSABLE.has(cause) ? new ChannelAnswerUnusable(orderNo, cause) : new ChannelOutcomeUnknown(orderNo, cause);
}
