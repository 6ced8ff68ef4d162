import { AppError, Conflict, InvalidRequest, TooManyRequests, Unavailable } from '../errors.ts';

/** Seconds after which asking again makes sense. */
const RETRY_SECONDS = 3;

/** What a 402 says: `data` for everybody, members, headers and perhaps a type of the dialects. */
interface Ask {
  /** The ended offer in whose place this one stands: the caller knows only that one. */
  inPlaceOf?: string | undefined;
  data: Record<string, unknown>;
  members: Record<string, unknown>;
  headers: Record<string, string>;
  type?: string | undefined;
}

const FIRST = 'Payment required: pay the order, then repeat the request.';
const RENEWED = 'The offer has expired without a payment; a new one has taken its place.';

/** There is something to pay first (402); `data` says what, the headers carry the payment code. */
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

/** The offer ended unpaid and nothing can take its place now (402): no number and no code, the caller begins anew. */
export class PaymentExpired extends AppError {
  constructor({ headers, type }: Pick<Ask, 'type'> & Partial<Pick<Ask, 'headers'>> = {}) {
    super('payment_expired', 402, 'The offer has expired without a payment.', {
      hint: 'Call the resource again without X-Out-Trade-No to get a new offer.',
      headers: { 'Cache-Control': 'no-store', ...headers },
      ...(type !== undefined && { type }),
    });
  }
}

/** Nobody can tell which resource is meant (400). */
export class ResourceRequired extends InvalidRequest {
  constructor() {
    super(
      'resource is required: the project has no resource or more than one.',
      [{ pointer: '/resource', code: 'required', detail: 'is required, see GET /api/v2/skillpay/resources' }],
      'resource_required',
    );
  }
}

/** The body is not the one that was priced (409). */
export class ResourceMismatch extends Conflict {
  constructor() {
    super('resource_mismatch', 'The order was created for another resource or input.', {
      hint: 'Send the same body as in the first call, or none.',
    });
  }
}

/** The order was closed on purpose, or its channel refused it (409). */
export class OrderClosed extends Conflict {
  constructor(orderNo: string) {
    super('order_closed', 'The order is closed and can no longer be paid or redeemed.', {
      extra: { orderNo },
      hint: 'Call the resource again without X-Out-Trade-No to get a new offer.',
    });
  }
}

/** All the money went back, so there is nothing to give (410). */
export class OrderRefunded extends AppError {
  constructor(orderNo: string) {
    super('order_refunded', 410, 'The order was refunded; its content is no longer delivered.', { extra: { orderNo } });
  }
}

/** The work is being done at this moment (409). */
export class FulfilmentInProgress extends Conflict {
  constructor(orderNo: string, retryAfter = 1) {
    super('fulfilment_in_progress', 'The order is being fulfilled.', {
      extra: { orderNo },
      retryable: true,
      retryAfter,
    });
  }
}

/** The work failed for now (503); the order stays paid and the retry is free. */
export class FulfilmentUnavailable extends Unavailable {
  constructor(orderNo: string, retryAfter: number) {
    super('fulfilment_unavailable', 'The order could not be fulfilled yet; retrying is free of charge.', {
      extra: { orderNo },
      retryAfter,
    });
  }
}

/** The work failed for good and its money is on the way back (500). */
export class FulfilmentFailed extends AppError {
  constructor(orderNo: string, refundNo: string | null, reason: string) {
    super('fulfilment_failed_refund_pending', 500, 'Fulfilment failed permanently; the payment is being refunded.', {
      extra: { orderNo, refundNo, reason },
      retryable: true,
      retryAfter: RETRY_SECONDS,
    });
  }
}

/** The work failed for good, and the channel does not give the money back; a person looks after it (500). */
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

/** What was done is not given back: the product says so (409). */
export class RefundAfterFulfilment extends Conflict {
  constructor(orderNo: string) {
    super('refund_after_fulfilment', 'This resource cannot be refunded after delivery.', { extra: { orderNo } });
  }
}

/** Part of the money back, and then the content: the product that forbids refunds after delivery forbids that too (409). */
export class PartialRefundBeforeDelivery extends Conflict {
  constructor(orderNo: string) {
    super('partial_refund_before_delivery', 'Before delivery this resource can only be refunded in full.', {
      extra: { orderNo },
    });
  }
}

/** Coins of a call come back whole (400). */
export class CoinsWhole extends InvalidRequest {
  constructor() {
    super('refundAmount is not allowed: coins are refunded in full.', [
      { pointer: '/refundAmount', code: 'invalid', detail: 'is not allowed for an order that coins paid' },
    ]);
  }
}

/** Too many offers of the application wait for their payers (429). */
export class TooManyOffers extends TooManyRequests {
  constructor(limit: number) {
    super(`Too many unpaid offers: at most ${limit} may be open at a time.`, 60, 'too_many_offers', {
      hint: 'Pay the open offers or let them expire.',
    });
  }
}

/** The client's own key of a payment came with another payment (409). */
export class PaymentIdUsed extends Conflict {
  constructor() {
    super('payment_id_used', 'This payment identifier was already used with another payment.', {
      hint: 'Use a new identifier for a new payment; a retry repeats the payload as it was.',
    });
  }
}

/** The channel did not say what a proof is worth (503); asked again it may. */
export class ProofUnverified extends Unavailable {
  constructor() {
    super(
      'proof_unverified',
      'The channel did not say whether the proof is of a payment; the same call may be repeated.',
      {
        retryAfter: RETRY_SECONDS,
      },
    );
  }
}

/** The proof of payment is malformed, or disagrees with the offer or the other proof (400). */
export class ProofInvalid extends InvalidRequest {
  constructor(header: string, detail: string) {
    super(
      `${header}: ${detail}.`,
      [{ pointer: `/headers/${header.toLowerCase()}`, code: 'invalid', detail }],
      'proof_invalid',
    );
  }
}
