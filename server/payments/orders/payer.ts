import { setTimeout } from 'node:timers/promises';
import { CHANNELS } from '../../domain.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { OrderStatus } from '../../domain.ts';
import type { Mode, PayHint, PayWay } from '../channel.ts';
import { isOpen, hasCredential } from '../core/transitions.ts';
import { majorText } from '../../money.ts';
import type { Requester, Ports } from '../ports.ts';
import { statusOf } from '../view.ts';

/** What a payer may see of an order's state; finer than the wire's word, because a payer asks "what now?". */
export type PayerState =
  | 'preparing'
  | 'waiting'
  | 'declined'
  | 'confirming'
  | 'ending'
  | 'paid'
  | 'partially_refunded'
  | 'refunded'
  | 'returning'
  | 'not_returned'
  | 'closed'
  | 'expired'
  | 'failed'
  | 'refused';

/** An order as its payer sees it: nothing of the shop's own, of the user, or of other payments. */
export interface PayerOrder {
  orderNo: string;
  payWay: PayWay;
  mode: Mode;
  /** The name of the order's project; null while it has none of its own. */
  merchant: string | null;
  subject: string;
  /** Major units with all decimals, e.g. `12.50`. */
  amount: string;
  refunded: string;
  currency: string;
  state: PayerState;
  /** The wire's word, for the shop's own address. */
  status: OrderStatus;
  expiresAt: Date;
  /** Whole seconds until the order can no longer be paid; 0 afterwards. */
  secondsLeft: number;
  /** Only while there is something to pay. */
  payment: PayHint | null;
  /** The channel's address lives for minutes: the page leads there by an address of its own, which has it renewed. */
  isBrief: boolean;
  returnUrl: string | null;
}

/** What the page polls. */
export type PayerProgress = Pick<PayerOrder, 'state' | 'secondsLeft'>;

/** What the pages ask of the operations. */
interface PayerActions {
  query(requester: Requester, orderNo: string): Promise<unknown>;
  capture(order: OrderRow, cause: string): Promise<unknown>;
  renew(order: OrderRow): Promise<OrderRow>;
  /** The name that somebody has given to a project; null while it has none of its own. */
  projectName(code: string): Promise<string | null>;
}

/** A refund with such an exception is not on its way. */
const STUCK = ['refund_abnormal', 'refund_reversed', 'refund_overdue'] as const;

const PAYER: Requester = { owner: 'any', actor: 'payer' };

/** What the payer's pages show and do; neither believes anything that the payer's browser says. */
export function payerOrders(
  { store, now, log, patience }: Pick<Ports, 'store' | 'now' | 'log' | 'patience'>,
  actions: PayerActions,
) {
  const asked = new Map<string, Promise<void>>();
  const renewing = new Map<string, Promise<OrderRow>>();
  const find = (orderNo: string) => store.read((tx) => tx.orders.find({ orderNo }));

  return {
    /** The order, or undefined when there is none of this number. */
    async order(orderNo: string): Promise<PayerOrder | undefined> {
      const order = await find(orderNo);
      return order && view(order);
    },
    /** How far it is, read with as little as possible: each open page asks every few seconds. */
    async progress(orderNo: string): Promise<PayerProgress | undefined> {
      const order = await find(orderNo);
      return order && seenByPayer(order);
    },
    /** Where the payer goes to pay, renewed if it has died; undefined when there is nothing to pay, or the channel is silent. */
    async addressOf(orderNo: string): Promise<string | undefined> {
      const order = await find(orderNo);
      if (!order || payerState(order, now()) !== 'waiting') return undefined;
      const renewed = await renewOnce(order);
      return hasCredential(renewed, now()) ? renewed.credential?.url : undefined;
    },
    /**
     * The payer comes back from the channel: an open order is asked about, and captured when the channel's own number
     * of the order (`token`, PayPal) is shown; the answer shows what is known then.
     */
    async returned(payWay: PayWay, orderNo: string, token: string | undefined): Promise<PayerOrder | undefined> {
      const order = await find(orderNo);
      if (order?.payWay !== payWay) return undefined;
      if (!isOpen(order.state)) return view(order);
      await Promise.race([askOnce(order, token), setTimeout(patience.page, undefined, { ref: false })]);
      return view((await find(orderNo)) ?? order);
    },
  };

  async function view(order: OrderRow): Promise<PayerOrder> {
    return { ...(await seenByPayer(order)), merchant: await actions.projectName(order.project) };
  }

  /** Nobody is told that money is on its way when its refund waits for a person. */
  async function seenByPayer(order: OrderRow): Promise<Omit<PayerOrder, 'merchant'>> {
    const seen = viewForPayer(order, now());
    if (seen.state !== 'returning') return seen;
    const where = { orderNo: order.orderNo, kind: STUCK, state: 'open' as const };
    const isStuck = (await store.read((tx) => tx.exceptions.find(where))) !== undefined;
    return isStuck ? { ...seen, state: 'not_returned' } : seen;
  }

  /** However often the page is opened, the channel is asked about an order by one visit at a time. */
  function askOnce(order: OrderRow, token: string | undefined): Promise<void> {
    const { orderNo } = order;
    const running = asked.get(orderNo);
    if (running) return running;
    const work = (hasApproved(order, token) ? actions.capture(order, 'return') : actions.query(PAYER, orderNo))
      .catch((error: unknown) => log('warn', 'a return page could not query the channel', { orderNo, error }))
      .then(() => void asked.delete(orderNo));
    asked.set(orderNo, work);
    return work;
  }

  /** The same for what has died: visits that come together share one create. */
  function renewOnce(order: OrderRow): Promise<OrderRow> {
    const { orderNo } = order;
    const running = renewing.get(orderNo);
    if (running) return running;
    const work = actions.renew(order).finally(() => renewing.delete(orderNo));
    renewing.set(orderNo, work);
    return work;
  }
}

/** What the pages may call. */
export type PayerOrders = ReturnType<typeof payerOrders>;

/** Whether the payer was sent back with the channel's number of the order, which only shop, payer and channel know. */
function hasApproved({ payWay, channelOrderId }: OrderRow, token: string | undefined): boolean {
  return CHANNELS[payWay].returnsWithToken === true && token !== undefined && token === channelOrderId;
}

/** Reduces a row to what its payer may see. */
export function viewForPayer(order: OrderRow, now: Date): Omit<PayerOrder, 'merchant'> {
  const { orderNo, payWay, mode, subject, currency, expiresAt, returnUrl } = order;
  const text = (minor: bigint) => majorText({ minor, currency });
  const state = payerState(order, now);
  return {
    orderNo,
    payWay,
    mode,
    subject,
    amount: text(order.amount),
    refunded: text(order.refunded),
    currency,
    state,
    status: statusOf(order),
    expiresAt,
    secondsLeft: Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1000)),
    payment: state === 'waiting' || state === 'declined' ? order.credential : null,
    isBrief: order.credentialUntil !== null,
    returnUrl,
  };
}

/** The state in the eyes of a payer; time decides only between waiting and ending, never about money. */
export function payerState(order: OrderRow, now: Date): PayerState {
  const status = statusOf(order);
  if (status === 'created' || status === 'pending') {
    if (order.captureState !== null) return 'confirming';
    if (order.expiresAt <= now) return 'ending';
    if (order.approvalsAsked > 0 && order.captureReason !== null) return 'declined';
    return order.credential === null ? 'preparing' : 'waiting';
  }
  if (status === 'closing') return 'ending';
  if (status === 'closed' || status === 'failed') {
    if (order.paid > 0n) return 'returning';
    if (status === 'closed' && order.failureCode !== null) return 'refused';
    return order.closeReason === 'expired' ? 'expired' : status;
  }
  return status;
}

/** Orders whose payer may take another channel. */
export interface PayerChoice {
  /** The other channels of an order, while it can be paid; mostly none. */
  others(orderNo: string): Promise<PayWay[]>;
  /** The order in the place of one that ended unpaid. */
  successor(orderNo: string): Promise<string | undefined>;
  /** Takes the channel; gives the number with which the payer goes on: the same one when it could not be. */
  choose(orderNo: string, payWay: PayWay): Promise<string>;
}
