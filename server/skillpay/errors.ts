import { AppError, Conflict, InvalidRequest, TooManyRequests, Unavailable } from '../errors.ts';

/** Seconds after which a retry makes sense. */
const RETRY_SECONDS = 3;

/** The parts of a 402: `data`, and the fields, headers and `type` that payment schemes add. */
interface Ask {
  /** The number of the ended offer that this one replaces: the caller knows only that number. */
  inPlaceOf?: string | undefined;
  data: Record<string, unknown>;
  members: Record<string, unknown>;
  headers: Record<string, string>;
  type?: string | undefined;
}

const FIRST = 'Payment required: pay the order, then repeat the request.';
const RENEWED = 'The offer has expired without a payment; a new one has taken its place.';

/** A payment is required (402); `data` describes the order, the headers carry the payment codes. */
export class PaymentRequired extends AppError {
  constructor({ data, members, headers, type, inPlaceOf }: Ask) {
    const isFresh = inPlaceOf !== undefined;
    super(isFresh ? 'payment_expired' : 'payment_required', 402, isFresh ? RENEWED : FIRST, {
      hint: isFresh
        ? 'After the payer has paid the new order in `data`, repeat the same request with its X-Out-Trade-No, or with the former one.'
        : 'After the payer has paid, repeat the same request with the header X-Out-Trade-No.',
      retryable: true,
      retryAfter: RETRY_SECONDS,
      headers: { 'Cache-Control': 'no-store', ...headers },
      extra: { ...members, data: isFresh ? { ...data, inPlaceOf } : data },
      ...(type !== undefined && { type }),
    });
  }
}

/**
 * The offer ended unpaid, and no new one can be made now (402). The response has no order number and no code, so the
 * caller must call again.
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

/** The request names no resource and the project has no default (400). */
export class ResourceRequired extends InvalidRequest {
  constructor() {
    super(
      'resource is required: the project has no resource or more than one.',
      [{ pointer: '/resource', code: 'required', detail: 'is required, see GET /api/v2/skillpay/resources' }],
      'resource_required',
    );
  }
}

/** The body differs from the body of the offer (409). */
export class ResourceMismatch extends Conflict {
  constructor() {
    super('resource_mismatch', 'The order was created for another resource or input.', {
      hint: 'Send the same body as in the first call, or none.',
    });
  }
}

/** The order was closed by the merchant or an administrator, or its channel refused it (409). */
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

/** The handler of the order is running at this moment (409). */
export class FulfilmentInProgress extends Conflict {
  constructor(orderNo: string, retryAfter = 1) {
    super('fulfilment_in_progress', 'The order is being fulfilled.', {
      extra: { orderNo },
      retryable: true,
      retryAfter,
    });
  }
}

/** The handler failed temporarily (503). The order stays paid, and a retry costs nothing. */
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

/** The product forbids refunds after delivery (409). */
export class RefundAfterFulfilment extends Conflict {
  constructor(orderNo: string) {
    super('refund_after_fulfilment', 'This resource cannot be refunded after delivery.', { extra: { orderNo } });
  }
}

/** The product forbids refunds after delivery, and therefore partial refunds before it (409). */
export class PartialRefundBeforeDelivery extends Conflict {
  constructor(orderNo: string) {
    super('partial_refund_before_delivery', 'Before delivery this resource can only be refunded in full.', {
      extra: { orderNo },
    });
  }
}

/** Coins can only be refunded in full (400). */
export class CoinsWhole extends InvalidRequest {
  constructor() {
    super('refundAmount is not allowed: coins are refunded in full.', [
      { pointer: '/refundAmount', code: 'invalid', detail: 'is not allowed for an order that coins paid' },
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

/** The client's own key of a payment was sent before with another payload (409). */
export class PaymentIdUsed extends Conflict {
  constructor() {
    super('payment_id_used', 'This payment identifier was already used with another payment.', {
      hint: 'Use a new identifier for a new payment; a retry must send the same payload.',
    });
  }
}

/** The channel did not verify a proof of payment (503); a retry may succeed. */
export class ProofUnverified extends Unavailable {
  constructor() {
    super('proof_unverified', 'The channel did not confirm the proof of payment; repeat the same request.', {
      retryAfter: RETRY_SECONDS,
    });
  }
}

/** The proof of payment is malformed, or contradicts the offer or another proof (400). */
export class ProofInvalid extends InvalidRequest {
  constructor(header: string, detail: string) {
    super(
      `${header}: ${detail}.`,
      [{ pointer: `/headers/${header.toLowerCase()}`, code: 'invalid', detail }],
      'proof_invalid',
    );
  }
}
