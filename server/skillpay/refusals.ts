import { AppError, Conflict, InvalidRequest, TooManyRequests, Unavailable } from '../errors.ts';

/** Seconds after which asking again makes sense. */
const RETRY_SECONDS = 3;

/** There is something to pay first (402); `data` says what, the headers carry the payment code. */
export class PaymentRequired extends AppError {
  constructor(data: Record<string, unknown>, headers: Record<string, string>) {
    super('payment_required', 402, 'The resource costs money: pay the order, then repeat the request.', {
      hint: 'Repeat the same request with the header X-Out-Trade-No when the payer has paid.',
      retryable: true,
      retryAfter: RETRY_SECONDS,
      headers: { 'Cache-Control': 'no-store', ...headers },
      extra: { data },
    });
  }
}

/** The offer ended unpaid (402): no number and no code, the caller begins anew. */
export class PaymentExpired extends AppError {
  constructor() {
    super('payment_expired', 402, 'The offer has ended without a payment.', {
      hint: 'Call the resource again without X-Out-Trade-No to get a new offer.',
      headers: { 'Cache-Control': 'no-store' },
    });
  }
}

/** Nobody can tell which resource is meant (400). */
export class ResourceRequired extends InvalidRequest {
  constructor() {
    super(
      'Name the resource: the project has none or more than one.',
      [{ pointer: '/resource', code: 'required', detail: 'is needed, see GET /api/v2/skillpay/resources' }],
      'resource_required',
    );
  }
}

/** The body is not the one that was priced (409). */
export class ResourceMismatch extends Conflict {
  constructor() {
    super('resource_mismatch', 'The order was made for another resource or input.', {
      hint: 'Send the same body as at first, or none.',
    });
  }
}

/** The order was closed on purpose, or its channel refused it (409). */
export class OrderClosed extends Conflict {
  constructor(orderNo: string) {
    super('order_closed', 'The order is closed; nothing can be paid or redeemed.', {
      extra: { orderNo },
      hint: 'Call the resource again without X-Out-Trade-No to get a new offer.',
    });
  }
}

/** All the money went back, so there is nothing to give (410). */
export class OrderRefunded extends AppError {
  constructor(orderNo: string) {
    super('order_refunded', 410, 'The order is refunded; its content is no longer given.', { extra: { orderNo } });
  }
}

/** The work is being done at this moment (409). */
export class FulfilmentInProgress extends Conflict {
  constructor(orderNo: string, retryAfter = 1) {
    super('fulfilment_in_progress', 'The paid work is being done.', {
      extra: { orderNo },
      retryable: true,
      retryAfter,
    });
  }
}

/** The work failed for now (503); the order stays paid and the retry is free. */
export class FulfilmentUnavailable extends Unavailable {
  constructor(orderNo: string, retryAfter: number) {
    super('fulfilment_unavailable', 'The paid work could not be done yet; trying again costs nothing.', {
      extra: { orderNo },
      retryAfter,
    });
  }
}

/** The work failed for good and its money is on the way back (500). */
export class FulfilmentFailed extends AppError {
  constructor(orderNo: string, refundNo: string | null, reason: string) {
    super('fulfilment_failed_refund_pending', 500, 'The paid work failed for good; the money is on its way back.', {
      extra: { orderNo, refundNo, reason },
      retryable: true,
      retryAfter: RETRY_SECONDS,
    });
  }
}

/** What was done is not given back: the product says so (409). */
export class RefundAfterFulfilment extends Conflict {
  constructor(orderNo: string) {
    super('refund_after_fulfilment', 'This resource is not refunded once it was given.', { extra: { orderNo } });
  }
}

/** Too many offers of the application wait for their payers (429). */
export class TooManyOffers extends TooManyRequests {
  constructor(limit: number) {
    super(`At most ${limit} unpaid offers may be open at a time.`, 60, 'too_many_offers', {
      hint: 'Pay or let expire what is open.',
    });
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
