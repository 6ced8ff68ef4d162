import { AppError, Conflict, InvalidRequest, TooManyRequests, Unavailable } from '../errors.ts';

/** Seconds that a client should wait before a retry. */
const RETRY_SECONDS = 3;

/** The parts of a 402. The payment schemes (protocols such as x402) add fields, headers and `type`. */
interface Ask {
  /** The order number of the expired offer that the new offer replaces. The caller knows only this order number. */
  inPlaceOf?: string | undefined;
  data: Record<string, unknown>;
  members: Record<string, unknown>;
  headers: Record<string, string>;
  type?: string | undefined;
}

const FIRST = 'Payment required: pay the order, then repeat the request.';
const RENEWED = 'The offer has expired without a payment; a new offer has replaced it.';

/** A payment is required (402). `data` describes the order, and the headers contain the payment codes. */
export class PaymentRequired extends AppError {
  constructor({ data, members, headers, type, inPlaceOf }: Ask) {
    const isFresh = inPlaceOf !== undefined;
    super(isFresh ? 'payment_expired' : 'payment_required', 402, isFresh ? RENEWED : FIRST, {
      hint: isFresh
        ? 'After the payer has paid the new order in `data`, repeat the same request. X-Out-Trade-No may contain the number of the new or of the former order.'
        : 'After the payer has paid, repeat the same request with the order number in the header X-Out-Trade-No.',
      retryable: true,
      retryAfter: RETRY_SECONDS,
      headers: { 'Cache-Control': 'no-store', ...headers },
      extra: { ...members, data: isFresh ? { ...data, inPlaceOf } : data },
      ...(type !== undefined && { type }),
    });
  }
}

/**
 * The offer expired without a payment, and no new offer can be created now (402). The response contains no order number
 * and no payment code, so the caller must start a new call.
 */
export class PaymentExpired extends AppError {
  constructor({ headers, type }: Pick<Ask, 'type'> & Partial<Pick<Ask, 'headers'>> = {}) {
    super('payment_expired', 402, 'The offer has expired without a payment.', {
      hint: 'Call the resource again without X-Out-Trade-No to get a new offer.',
      headers: { 'Cache-Control': 'no-store', ...headers },
      ...(type !== undefined && { type }),
    });
  }
}

/** The request names no resource, and the project has no default resource (400). */
export class ResourceRequired extends InvalidRequest {
  constructor() {
    super(
      'resource is required: the project has no resource or more than one.',
      [{ pointer: '/resource', code: 'required', detail: 'is required, see GET /api/v2/skillpay/resources' }],
      'resource_required',
    );
  }
}

/** The body of a repeated call differs from the body with which the offer was created (409). */
export class ResourceMismatch extends Conflict {
  constructor() {
    super('resource_mismatch', 'The order was created for another resource or input.', {
      hint: 'Send the same body as in the first call, or no body.',
    });
  }
}

/** The merchant or an administrator closed the order, or the channel refused it (409). */
export class OrderClosed extends Conflict {
  constructor(orderNo: string) {
    super('order_closed', 'The order is closed and can no longer be paid or redeemed.', {
      extra: { orderNo },
      hint: 'Call the resource again without X-Out-Trade-No to get a new offer.',
    });
  }
}

/** The payment was refunded in full, so no content is delivered (410). */
export class OrderRefunded extends AppError {
  constructor(orderNo: string) {
    super('order_refunded', 410, 'The order was refunded; its content is no longer delivered.', { extra: { orderNo } });
  }
}

/** The handler of the order is still running (409). */
export class FulfilmentInProgress extends Conflict {
  constructor(orderNo: string, retryAfter = 1) {
    super('fulfilment_in_progress', 'The order is being fulfilled.', {
      extra: { orderNo },
      retryable: true,
      retryAfter,
    });
  }
}

/** The handler failed temporarily (503). The order stays paid, and a retry of the call is free of charge. */
export class FulfilmentUnavailable extends Unavailable {
  constructor(orderNo: string, retryAfter: number) {
    super('fulfilment_unavailable', 'The order could not be fulfilled yet; retrying is free of charge.', {
      extra: { orderNo },
      retryAfter,
    });
  }
}

/** The handler failed permanently, and the refund is in progress (500). */
export class FulfilmentFailed extends AppError {
  constructor(orderNo: string, refundNo: string | null, reason: string) {
    super('fulfilment_failed_refund_pending', 500, 'Fulfilment failed permanently; the payment is being refunded.', {
      extra: { orderNo, refundNo, reason },
      retryable: true,
      retryAfter: RETRY_SECONDS,
    });
  }
}

/** The handler failed permanently, and the refund failed as well. An operator must review the order (500). */
export class FulfilmentNotRefunded extends AppError {
  constructor(orderNo: string, refundNo: string, reason: string) {
    super(
      'fulfilment_failed_refund_failed',
      500,
      'Fulfilment failed permanently, and the refund of the payment failed; it needs manual review.',
      { extra: { orderNo, refundNo, reason } },
    );
  }
}

/** The product forbids refunds after the delivery of the content (409). */
export class RefundAfterFulfilment extends Conflict {
  constructor(orderNo: string) {
    super('refund_after_fulfilment', 'This resource cannot be refunded after delivery.', { extra: { orderNo } });
  }
}

/** The product forbids refunds after delivery. Therefore only full refunds are allowed before delivery (409). */
export class PartialRefundBeforeDelivery extends Conflict {
  constructor(orderNo: string) {
    super('partial_refund_before_delivery', 'Before delivery this resource can only be refunded in full.', {
      extra: { orderNo },
    });
  }
}

/** A payment with coins can only be refunded in full (400). */
export class CoinsWhole extends InvalidRequest {
  constructor() {
    super('refundAmount is not allowed: coins are refunded in full.', [
      { pointer: '/refundAmount', code: 'invalid', detail: 'must be absent: coins are always refunded in full' },
    ]);
  }
}

/** The application has too many unpaid offers (429). */
export class TooManyOffers extends TooManyRequests {
  constructor(limit: number) {
    super(`Too many unpaid offers: at most ${limit} may be open at a time.`, 60, 'too_many_offers', {
      hint: 'Pay the open offers or let them expire.',
    });
  }
}

/** The client used its `payment-identifier` before with another payload (409). */
export class PaymentIdUsed extends Conflict {
  constructor() {
    super('payment_id_used', 'This payment identifier was already used with another payment.', {
      hint: 'Use a new payment identifier for a new payment. A retry must send the same payload as before.',
    });
  }
}

/** The channel did not confirm the proof of payment (503). A retry may succeed. */
export class ProofUnverified extends Unavailable {
  constructor() {
    super('proof_unverified', 'The channel did not confirm the proof of payment; repeat the same request.', {
      retryAfter: RETRY_SECONDS,
    });
  }
}

/** A proof of payment is malformed, does not match the offer, or contradicts another proof of the same call (400). */
export class ProofInvalid extends InvalidRequest {
  constructor(header: string, detail: string) {
    super(
      `${header}: ${detail}.`,
      [{ pointer: `/headers/${header.toLowerCase()}`, code: 'invalid', detail }],
      'proof_invalid',
    );
  }
}
