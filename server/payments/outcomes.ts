import type { PayHint } from '../domain.ts';
import type { Money } from '../money.ts';

/** What is left of a payment for the merchant, as the channel says it. */
export interface Settlement {
  fee?: Money;
  net?: Money;
  /** What is credited, when the account has another currency. */
  received?: Money;
  /** When a payment that the channel had held was completed. */
  completedAt?: Date;
}

/** Why a genuine refusal of a create decides nothing. */
export type RefusalDoubt = 'unlisted' | 'trade_may_exist';

/** What a channel said about an order. A word that no table lists is `pending`; silence and nonsense are `unknown`. */
export type Outcome =
  /**
   * `paySeconds`: `pay` is to be renewed by the same create after so many seconds; absent = it lives as long as the order.
   * `capturePending`: the channel's reason why the money is not there yet; `waitsFor` says whether the merchant has to do something about it.
   */
  | {
      kind: 'pending';
      pay?: PayHint;
      paySeconds?: number;
      channelOrderId?: string;
      capturePending?: string;
      waitsFor?: 'merchant';
    }
  | {
      kind: 'paid';
      channelNo: string;
      amount: Money;
      at: Date;
      payer?: string;
      channelOrderId?: string;
      /** There are refunds; how much they are in all is `refundedTotal`, where the channel says it. */
      refundsHint?: boolean;
      /** What went back in all, in minor units of the amount's currency. */
      refundedTotal?: bigint;
      settlement?: Settlement;
    }
  | { kind: 'approved'; channelOrderId?: string }
  /** The channel says that it is closed for good and was never paid. */
  | { kind: 'closed' }
  /** The channel knows no such trade; never moves an order by itself. */
  | { kind: 'absent' }
  /**
   * Refused; `definite` only when the code is on the allow-list of codes that cannot hide a trade. `doubt` says why a refusal that the
   * channel itself wrote is not: no list has its code, or the code says that there is such a trade, or may be one. With neither, anybody
   * may have written it. `left` says of a refused capture who can still do something about it: the payer, who chooses another way to
   * pay, or nobody.
   */
  | ({
      kind: 'declined';
      code: string;
      reason: string;
      definite: boolean;
      doubt?: RefusalDoubt;
      left?: 'payer' | 'nobody';
    } & Traced)
  | UnknownOutcome;

/** A payment that the channel gave back when it closed the order (a payer's code that is cancelled). */
export interface Returned {
  /** The channel's id of the payment, where it says it. */
  channelNo: string | null;
  at: Date;
}

/** What a channel said when asked to close. `paid` and `refused` mean: query now. */
export type CloseOutcome =
  | { kind: 'closed'; returned?: Returned }
  | { kind: 'absent' }
  | { kind: 'paid' }
  | { kind: 'refused'; code: string; reason: string }
  | UnknownOutcome;

/** The payment that a refund gave back, as the channel names it. */
export interface PaymentGivenBack {
  /** The channel's own number of it. */
  channelNo: string;
  /** What came with it, before anything went back. */
  amount: Money;
}

/** What a channel said about a refund. `pending` = accepted for sure, not done yet. */
export type RefundOutcome =
  | { kind: 'pending'; channelRefundNo?: string }
  /**
   * `toMerchant`: paid out to the merchant's own account, because the payer's could not be credited (WeChat Pay). `payment`: whose
   * money it is, where a refund that somebody else made was looked up: an order may have been paid twice.
   */
  | {
      kind: 'succeeded';
      amount: Money;
      at: Date;
      channelRefundNo?: string;
      toMerchant?: boolean;
      payment?: PaymentGivenBack;
    }
  /** Final at the channel: it will not happen (WeChat CLOSED, PayPal CANCELLED/FAILED). */
  | { kind: 'failed'; code: string; reason: string; channelRefundNo?: string }
  /** This call was refused; the refund may still exist from an earlier call, unless the refusal is `definite`. */
  | { kind: 'refused'; code: string; reason: string; definite?: boolean }
  | { kind: 'abnormal'; code: string; reason: string; channelRefundNo?: string }
  | { kind: 'absent' }
  /** `repeat`: it cannot be asked any more; the same call under the same number tells. */
  | (UnknownOutcome & { repeat?: true });

/** Filled in by whoever asked: how the channel's support finds the request again. */
export interface Traced {
  supportId?: string;
}

/** Silence, or an answer that says nothing. `refusal`: it was genuine, and these are the words of the channel. */
export type UnknownOutcome = {
  kind: 'unknown';
  cause: UnknownCause;
  detail?: string;
  refusal?: { code: string; reason: string };
} & Traced;

/** Why an answer says nothing: stable words, distinct for each fault. */
export type UnknownCause =
  | 'timeout'
  | 'network'
  | 'http_status'
  | 'redirected'
  | 'too_large'
  | 'unparsable'
  | 'duplicate_key'
  | 'unsigned'
  | 'signature_invalid'
  | 'serial_unknown'
  | 'clock_skew'
  | 'mismatch'
  | 'busy'
  | 'in_progress'
  | 'rejected'
  | 'chain_incomplete'
  | 'misconfigured';
