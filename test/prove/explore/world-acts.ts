import {
  type ChannelRefund,
  dispute,
  givenBack,
  lose,
  tellPaid,
  emitRefundEvent,
  type Trade,
  type Truth,
  win,
  withTrade,
} from './truth.ts';

/** A named action of a payer, the channel's portal or the channel itself. */
export interface Act {
  readonly name: string;
  /** The bound that it uses. */
  readonly usage: 'payer' | 'otherAmount' | 'dispute' | 'portal' | 'comesBack' | 'channel';
  readonly truth: Truth;
}

/** The channel's clock may be this far behind ours: a payer may still pay in that time. */
const CLOCK_SKEW_MS = 59_000;
/** The amount of a portal refund, in minor units. */
const PORTAL_REFUND = 500n;
/** The disputed amount, in minor units. */
const DISPUTED = 600n;
/** The difference of an underpayment from the order's amount, in minor units. */
const LESS = 100n;

/** Every action outside the service that is possible now. */
export function worldActs(truth: Truth, now: number): Act[] {
  return truth.trades.flatMap((trade) => [
    ...payerActs(truth, trade, now),
    ...portalActs(truth, trade, now),
    ...channelActs(truth, trade, now),
    ...returningActs(truth, trade, now),
    ...disputeActs(truth, trade, now),
  ]);
}

function payerActs(truth: Truth, trade: Trade, now: number): Act[] {
  const { orderNo, state } = trade;
  if ((state !== 'open' && state !== 'unscanned') || now > trade.expiresAt + CLOCK_SKEW_MS) return [];
  const other: Trade = { ...trade, amount: trade.amount - LESS };
  return [
    pays('payer', `the payer ${verbOf(truth)} ${orderNo}`, truth, trade, now),
    pays('otherAmount', `the payer ${verbOf(truth)} ${orderNo} with 1.00 less`, truth, other, now),
  ];
}

function verbOf({ flavour }: Truth): string {
  return flavour === 'approved' ? 'agrees to' : 'pays';
}

/** Only PayPal's merchant captures the money himself. */
function pays(usage: Act['usage'], name: string, truth: Truth, trade: Trade, now: number): Act {
  if (truth.flavour === 'approved') return act(usage, name, withTrade(truth, { ...trade, state: 'agreed' }));
  const paid: Trade = { ...trade, state: 'paid', paidAt: now };
  return act(usage, name, tellPaid(withTrade(truth, paid), paid));
}

function portalActs(truth: Truth, trade: Trade, now: number): Act[] {
  const { orderNo, state, refunds, amount } = trade;
  const number = `E-${refunds.length}`;
  const isPossible = givenBack(trade, ['succeeded', 'pending', 'abnormal']) + PORTAL_REFUND <= amount;
  if (state !== 'paid' || !isPossible || refunds.some(({ isExternal }) => isExternal)) return [];
  const made: ChannelRefund = { number, amount: PORTAL_REFUND, state: 'succeeded', isExternal: true, at: now };
  const after = withTrade(truth, { ...trade, refunds: [...refunds, made] });
  return [act('portal', `the portal gives back 5.00 of ${orderNo}`, emitRefundEvent(after, trade, made))];
}

/** A refund ends, a review is decided, an unpaid trade expires. */
function channelActs(truth: Truth, trade: Trade, now: number): Act[] {
  const { orderNo, state } = trade;
  const acts: Act[] = [];
  for (const [at, one] of trade.refunds.entries()) {
    if (one.state !== 'pending') continue;
    for (const end of ['succeeded', 'abnormal', 'failed'] as const) {
      const ended: ChannelRefund = { ...one, state: end, at: now };
      const after = withTrade(truth, { ...trade, refunds: trade.refunds.with(at, ended) });
      acts.push(act('channel', `the refund ${one.number} is ${end}`, emitRefundEvent(after, trade, ended)));
    }
    const forgotten = withTrade(truth, { ...trade, refunds: trade.refunds.toSpliced(at, 1) });
    acts.push(act('channel', `the refund ${one.number} is forgotten`, forgotten));
  }
  if (state === 'held') {
    const paid: Trade = { ...trade, state: 'paid', paidAt: now };
    acts.push(act('channel', `the review of ${orderNo} ends well`, tellPaid(withTrade(truth, paid), paid)));
    acts.push(act('channel', `the review of ${orderNo} ends badly`, withTrade(truth, { ...trade, state: 'closed' })));
  }
  const isUnpaid = state === 'open' || state === 'agreed';
  if (isUnpaid && now >= trade.expiresAt)
    acts.push(act('channel', `${orderNo} lapses`, withTrade(truth, { ...trade, state: 'closed' })));
  return acts;
}

/** The payer's bank returns a succeeded refund, or accepts a failed one. Alipay sends no message about it. */
function returningActs(truth: Truth, trade: Trade, now: number): Act[] {
  if (truth.flavour === 'scanned') return [];
  const left = trade.amount - givenBack(trade, ['succeeded', 'pending', 'abnormal']);
  return trade.refunds.flatMap((one, at) => {
    const becomes = (state: ChannelRefund['state'], verb: string): Act => {
      const after: ChannelRefund = { ...one, state, at: now, wasDone: true };
      const known = withTrade(truth, { ...trade, refunds: trade.refunds.with(at, after) });
      return act('comesBack', `the refund ${one.number} ${verb}`, emitRefundEvent(known, trade, after));
    };
    if (/^(dispute|reverse)-/.test(one.number)) return [];
    if (one.state === 'succeeded') return [becomes('failed', 'comes back')];
    const hasCapacity = one.state === 'abnormal' || (one.state === 'failed' && one.amount <= left);
    return hasCapacity ? [becomes('succeeded', 'is done after all')] : [];
  });
}

/** A payer disputes once; the losing side may win the appeal. */
function disputeActs(truth: Truth, trade: Trade, now: number): Act[] {
  const { orderNo, state, dispute: opened } = trade;
  if (truth.flavour !== 'approved' || state !== 'paid') return [];
  if (opened === null) return [act('dispute', `the payer disputes ${orderNo}`, dispute(truth, trade, DISPUTED, now))];
  if (opened.state === 'won') return [];
  const won = win(truth, trade, opened);
  if (opened.state === 'lost') return [act('dispute', `the appeal of ${orderNo} is won`, won)];
  return [
    act('channel', `the dispute of ${orderNo} is lost`, lose(truth, trade, opened, now)),
    act('channel', `the dispute of ${orderNo} is won`, won),
  ];
}

function act(usage: Act['usage'], name: string, truth: Truth): Act {
  return { usage, name, truth };
}
