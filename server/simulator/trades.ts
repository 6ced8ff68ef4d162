/** Creates and changes trades. Some exact amounts, such as 0.02, fix the outcome of a trade (`OUTCOMES`). */
import { randomInt, randomUUID } from 'node:crypto';
import type { Words } from '../domain.ts';
import type { PayWay } from '../payments/channel.ts';
import { majorText } from '../money.ts';
import { type BillRules, feeBackOf } from './bills/rows.ts';
import type { Ledger } from './ledger.ts';
import { SimulatorRefusal } from './requests.ts';
import {
  type EntryType,
  type FixedOutcome,
  NO_OFFERS,
  type Offers,
  type Payment,
  type Refund,
  type Trade,
  type TradeDraft,
  paymentOf,
  refundableMinor,
} from './trade.ts';

const OUTCOMES: Readonly<Record<string, FixedOutcome>> = {
  '0.01': 'pays',
  '0.02': 'declined',
  '0.03': 'pays-later',
  '0.04': 'late-notice',
  '0.05': 'refunds-fail',
  '0.06': 'silent',
};

/** Ends the message of a refusal that the amount causes, so that testers do not search for a fault of their account. */
export const DECLINED_BY_AMOUNT: Words = {
  en: 'The simulator declines every order with the amount 0.02.',
  zh: '模拟器拒绝所有金额为 0.02 的订单',
};

/** Returns the outcome that is fixed for an exact amount; null = the order waits for its payer. */
export function fixedOutcome(minor: number, currency: string): FixedOutcome | null {
  const text = majorText({ minor: BigInt(minor), currency });
  return Object.hasOwn(OUTCOMES, text) ? OUTCOMES[text]! : null;
}

/** Sets the discounts and profit shares of an unpaid order. Throws SimulatorRefusal if they are not allowed. */
export function offer(rules: Pick<BillRules, 'offers'>, trade: Trade, offers: Offers): void {
  if (trade.state === 'paid')
    throw new SimulatorRefusal(409, 'already_paid', `Order ${trade.orderNo} is already paid.`);
  for (const name of ['merchant', 'channel', 'share'] as const)
    if (offers[name] > 0 && !rules.offers.includes(name))
      throw new SimulatorRefusal(
        400,
        'offer_unknown_here',
        `The bills of ${trade.payWay} cannot show the amount in the field "${name}". Omit the field.`,
      );
  if (offers.merchant + offers.channel > trade.minor || offers.share > trade.minor - offers.merchant)
    throw new SimulatorRefusal(
      400,
      'offer_too_much',
      `The discounts or the profit share are larger than the amount of order ${trade.orderNo}.`,
    );
  trade.offers = offers;
}

/**
 * Returns how much of an order's discounts and profit shares is included in a refund. The share is proportional to the
 * amount of the refund. The last refund, after which nothing is left to refund, gets the rest.
 */
function offersBack({ offers = NO_OFFERS, ...trade }: Trade, minor: number): Offers {
  const paid = paymentOf(trade)?.minor ?? 0;
  const before = trade.refunds.filter(({ state }) => state !== 'failed');
  const isLast = minor + before.reduce((sum, refund) => sum + refund.minor, 0) >= paid;
  const back = (name: keyof Offers): number => {
    const left = before.reduce((rest, refund) => rest - (refund.offers?.[name] ?? 0), offers[name]);
    return isLast ? left : Math.min(left, Math.floor((offers[name] * minor) / paid));
  };
  return { merchant: back('merchant'), channel: back('channel'), share: back('share') };
}

interface TradeFilter {
  payWay?: PayWay;
  account?: string;
}

/** Only these functions change trades, and each change is in the ledger before the function returns. */
export interface Trades {
  create(draft: TradeDraft): Trade;
  byId(id: string): Trade | undefined;
  /** Returns the newest trade with this order number. A trade that has expired is closed first. */
  find(orderNo: string, filter?: TradeFilter): Trade | undefined;
  /** Returns every trade with this order number, oldest first, without closing expired trades. */
  ofOrder(orderNo: string): readonly Trade[];
  /** Writes a ledger entry for a change that a channel simulator made to `trade`. */
  record(
    trade: Trade,
    type: EntryType,
    about?: Partial<Pick<Refund, 'number' | 'minor' | 'refundNo' | 'origin'>>,
  ): void;
  scan(trade: Trade): void;
  approve(trade: Trade): void;
  /** Pays a trade; throws SimulatorRefusal when it can no longer be paid. */
  pay(
    trade: Trade,
    options: { number: string; type?: 'paid' | 'captured'; requestNo?: string; minor?: number },
  ): Payment;
  decline(trade: Trade): void;
  close(trade: Trade, type?: 'closed' | 'expired'): void;
  /** Reopens a closed trade and removes its expiry, for a payment that arrives after the close. */
  reopen(trade: Trade): void;
  /** Adds a refund in the given state; throws SimulatorRefusal when the refunds would exceed the payment. */
  refund(trade: Trade, refund: Omit<Refund, 'at' | 'doneAt' | 'moves' | 'offers' | 'feeBack'>): Refund;
  /** Changes the state of a refund, also from `succeeded` to `failed`. */
  moveRefund(trade: Trade, refund: Refund, state: Refund['state']): void;
  /** Calls `draw` until it returns an unused number, and reserves that number. */
  newNumber(draw: () => string): string;
}

const REFUND_ENTRY = {
  processing: 'refund-accepted',
  succeeded: 'refunded',
  failed: 'refund-failed',
  abnormal: 'refund-abnormal',
} as const satisfies Record<Refund['state'], EntryType>;

/** Creates the functions that read and change the trades in `ledger`. */
export function createTrades(ledger: Ledger, now: () => number, rulesOf: (payWay: PayWay) => BillRules): Trades {
  const { trades, numbers } = ledger;
  const byOrderNo = new Map<string, Trade[]>();
  for (const trade of trades.values()) index(byOrderNo, trade);

  const self: Trades = {
    create(draft) {
      const trade = newTrade(draft, now());
      if (trades.has(trade.id))
        throw new SimulatorRefusal(409, 'duplicate_id', `The trade ${trade.id} already exists.`);
      trades.set(trade.id, trade);
      index(byOrderNo, trade);
      ledger.write(trade, { type: 'created', number: trade.id, minor: trade.minor });
      return trade;
    },
    byId: (id) => expire(trades.get(id), now(), self),
    find(orderNo, { payWay, account } = {}) {
      const found = (byOrderNo.get(orderNo) ?? []).findLast(
        (trade) =>
          (payWay === undefined || trade.payWay === payWay) && (account === undefined || trade.account === account),
      );
      return expire(found, now(), self);
    },
    ofOrder: (orderNo) => byOrderNo.get(orderNo) ?? [],
    record(trade, type, about = {}) {
      ledger.write(trade, { type, number: trade.id, minor: 0, ...about });
    },
    scan(trade) {
      if (trade.state !== 'offered') return;
      trade.state = 'open';
      trade.details['scanned'] = true;
      self.record(trade, 'scanned');
    },
    approve(trade) {
      refuseUnlessPayable(trade);
      trade.state = 'approved';
      self.record(trade, 'approved');
    },
    pay(trade, { number, type = 'paid', requestNo = null, minor = trade.minor }) {
      refuseUnlessPayable(trade);
      const payment: Payment = { number, minor, state: 'completed', at: now(), requestNo };
      trade.payments.push(payment);
      trade.state = 'paid';
      self.record(trade, type, { number, minor });
      return payment;
    },
    decline(trade) {
      refuseUnlessPayable(trade);
      trade.declined = true;
      self.record(trade, 'declined');
    },
    close(trade, type = 'closed') {
      if (trade.state === 'paid')
        throw new SimulatorRefusal(409, 'already_paid', `Order ${trade.orderNo} is already paid.`);
      if (trade.state === 'closed') return;
      trade.state = 'closed';
      trade.closedAt = now();
      self.record(trade, type);
    },
    reopen(trade) {
      if (trade.state !== 'closed') return;
      trade.state = 'open';
      trade.expiresAt = null;
      trade.closedAt = null;
      trade.details['scanned'] = true;
      self.record(trade, 'updated');
    },
    refund(trade, draft) {
      if (draft.state !== 'failed' && draft.minor > refundableMinor(trade)) {
        throw new SimulatorRefusal(
          409,
          'refund_too_much',
          `Order ${trade.orderNo} has only ${refundableMinor(trade)} minor units left to refund.`,
        );
      }
      const at = now();
      const { state } = draft;
      const offers = offersBack(trade, draft.minor);
      const feeBack =
        draft.origin === 'dispute' ? 0 : feeBackOf(rulesOf(trade.payWay), trade, draft.minor - offers.merchant);
      const course = { at, doneAt: state === 'succeeded' ? at : null, moves: [{ state, at }] };
      const refund: Refund = { ...draft, ...course, offers, feeBack };
      trade.refunds.push(refund);
      self.record(trade, REFUND_ENTRY[refund.state], pick(refund));
      return refund;
    },
    moveRefund(trade, refund, state) {
      const reversed = refund.state === 'succeeded' && state !== 'succeeded';
      refund.state = state;
      refund.doneAt = state === 'succeeded' ? now() : null;
      refund.moves.push({ state, at: now() });
      self.record(trade, reversed ? 'refund-reversed' : REFUND_ENTRY[state], pick(refund));
    },
    newNumber(draw) {
      for (;;) {
        const number = draw();
        if (numbers.has(number)) continue;
        numbers.add(number);
        return number;
      }
    },
  };
  return self;
}

/** Returns `count` random decimal digits; the first digit is not zero. */
export function randomDigits(count: number): string {
  return Array.from({ length: count }, (_, place) => randomInt(place === 0 ? 1 : 0, 10)).join('');
}

function newTrade(draft: TradeDraft, now: number): Trade {
  return {
    id: randomUUID().replaceAll('-', ''),
    state: 'open',
    notifyUrl: null,
    returnUrl: null,
    cancelUrl: null,
    expiresAt: null,
    details: {},
    ...draft,
    declined: false,
    fixed: fixedOutcome(draft.minor, draft.currency),
    createdAt: now,
    closedAt: null,
    payments: [],
    refunds: [],
  };
}

function index(byOrderNo: Map<string, Trade[]>, trade: Trade): void {
  const known = byOrderNo.get(trade.orderNo);
  if (known === undefined) byOrderNo.set(trade.orderNo, [trade]);
  else known.push(trade);
}

function expire(trade: Trade | undefined, now: number, trades: Trades): Trade | undefined {
  const lapsed = trade !== undefined && trade.expiresAt !== null && trade.expiresAt <= now;
  if (lapsed && (trade.state === 'offered' || trade.state === 'open')) trades.close(trade, 'expired');
  return trade;
}

function refuseUnlessPayable(trade: Trade): void {
  if (trade.state === 'paid')
    throw new SimulatorRefusal(409, 'already_paid', `Order ${trade.orderNo} is already paid.`);
  if (trade.state === 'closed') throw new SimulatorRefusal(409, 'closed', `Order ${trade.orderNo} is closed.`);
}

function pick({ number, minor, refundNo, origin }: Refund): Pick<Refund, 'number' | 'minor' | 'refundNo' | 'origin'> {
  return { number, minor, refundNo, origin };
}
