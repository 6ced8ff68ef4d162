import { setTimeout } from 'node:timers/promises';
import { CHANNELS } from '../../domain.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { OrderStatus } from '../../domain.ts';
import type { Mode, PayHint, PayWay } from '../channel.ts';
import { isOpen, hasCredential } from '../core/transitions.ts';
import { majorText } from '../../money.ts';
import type { Requester, Ports } from '../ports.ts';
import { statusOf } from '../view.ts';

/** The state of an order as shown to its payer; finer than the API status. */
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

/** An order as shown to its payer. It contains no internal data of the shop, no user id and no other payments. */
export interface PayerOrder {
  orderNo: string;
  payWay: PayWay;
  mode: Mode;
  /** The name of the order's project; null = no name was set. */
  merchant: string | null;
  subject: string;
  /** Major units with all decimals, e.g. `12.50`. */
  amount: string;
  refunded: string;
  currency: string;
  state: PayerState;
  /** The status of the order in the API, for the shop's return URL. */
  status: OrderStatus;
  expiresAt: Date;
  /** Whole seconds until the order can no longer be paid; 0 afterwards. */
  secondsLeft: number;
  /** The payment link or code; null if the order cannot be paid. */
  payment: PayHint | null;
  /** Whether the link expires within minutes; the page then links to an address of this service that renews it. */
  isBrief: boolean;
  returnUrl: string | null;
}

export type PayerProgress = Pick<PayerOrder, 'state' | 'secondsLeft'>;

interface PayerActions {
  query(requester: Requester, orderNo: string): Promise<unknown>;
  capture(order: OrderRow, cause: string): Promise<unknown>;
  renew(order: OrderRow): Promise<OrderRow>;
  /** The name of a project; null = no name was set. */
  projectName(code: string): Promise<string | null>;
}

/** While one of these exceptions is open, the refund waits for an administrator and is not shown as in progress. */
const STUCK = ['refund_abnormal', 'refund_reversed', 'refund_overdue'] as const;

const PAYER: Requester = { owner: 'any', actor: 'payer' };

/** The operations of the payer's pages. Data from the payer's browser never decides about money. */
export function payerOrders(
  { store, now, log, patience }: Pick<Ports, 'store' | 'now' | 'log' | 'patience'>,
  actions: PayerActions,
) {
  const querying = new Map<string, Promise<void>>();
  const renewing = new Map<string, Promise<OrderRow>>();
  const find = (orderNo: string) => store.read((tx) => tx.orders.find({ orderNo }));

  return {
    async order(orderNo: string): Promise<PayerOrder | undefined> {
      const order = await find(orderNo);
      return order && view(order);
    },
    /** Uses few database reads, because each open page polls every few seconds. */
    async progress(orderNo: string): Promise<PayerProgress | undefined> {
      const order = await find(orderNo);
      return order && seenByPayer(order);
    },
    /** The payment link, renewed if expired; undefined if the order cannot be paid or the channel does not answer. */
    async addressOf(orderNo: string): Promise<string | undefined> {
      const order = await find(orderNo);
      if (!order || payerState(order, now()) !== 'waiting') return undefined;
      const renewed = await renewOnce(order);
      return hasCredential(renewed, now()) ? renewed.credential?.url : undefined;
    },
    /**
     * Handles the return of a payer from the channel. An open order is queried, or captured if `token` is the channel's
     * id of the order (PayPal). Returns the order as stored afterwards, or after at most `patience.page` milliseconds.
     */
    async returned(payWay: PayWay, orderNo: string, token: string | undefined): Promise<PayerOrder | undefined> {
      const order = await find(orderNo);
      if (order?.payWay !== payWay) return undefined;
      if (!isOpen(order.state)) return view(order);
      await Promise.race([queryOnce(order, token), setTimeout(patience.page, undefined, { ref: false })]);
      return view((await find(orderNo)) ?? order);
    },
  };

  async function view(order: OrderRow): Promise<PayerOrder> {
    return { ...(await seenByPayer(order)), merchant: await actions.projectName(order.project) };
  }

  /** The state is `not_returned` instead of `returning` while the refund waits for an administrator. */
  async function seenByPayer(order: OrderRow): Promise<Omit<PayerOrder, 'merchant'>> {
    const seen = viewForPayer(order, now());
    if (seen.state !== 'returning') return seen;
    const where = { orderNo: order.orderNo, kind: STUCK, state: 'open' as const };
    const isStuck = (await store.read((tx) => tx.exceptions.find(where))) !== undefined;
    return isStuck ? { ...seen, state: 'not_returned' } : seen;
  }

  /** Queries or captures an order; concurrent visits of the page share one call. */
  function queryOnce(order: OrderRow, token: string | undefined): Promise<void> {
    const { orderNo } = order;
    const running = querying.get(orderNo);
    if (running) return running;
    const work = (hasApproved(order, token) ? actions.capture(order, 'return') : actions.query(PAYER, orderNo))
      .catch((error: unknown) =>
        log('warn', 'the return page could not query or capture the order; the jobs check it', { orderNo, error }),
      )
      .then(() => void querying.delete(orderNo));
    querying.set(orderNo, work);
    return work;
  }

  /** Renews the payment link; concurrent visits of the page share one create call. */
  function renewOnce(order: OrderRow): Promise<OrderRow> {
    const { orderNo } = order;
    const running = renewing.get(orderNo);
    if (running) return running;
    const work = actions.renew(order).finally(() => renewing.delete(orderNo));
    renewing.set(orderNo, work);
    return work;
  }
}

export type PayerOrders = ReturnType<typeof payerOrders>;

/** The payer returned with the channel's id of the order, which only shop, payer and channel know. */
function hasApproved({ payWay, channelOrderId }: OrderRow, token: string | undefined): boolean {
  return CHANNELS[payWay].returnsWithToken === true && token !== undefined && token === channelOrderId;
}

/** Converts an order row to the fields that its payer may see. */
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

/** The state shown to the payer. The current time can only change it to `ending`; it never decides about money. */
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

export interface PayerChoice {
  /** The channels that the payer can choose instead while the order can be paid; usually none. */
  others(orderNo: string): Promise<PayWay[]>;
  /** If the order ended unpaid and another order replaced it: the number of the other order. Otherwise undefined. */
  successor(orderNo: string): Promise<string | undefined>;
  /**
   * Moves the payment to the channel `payWay`. Returns the number of the new order, or `orderNo` if this was not
   * possible.
   */
  choose(orderNo: string, payWay: PayWay): Promise<string>;
}
