import test from 'ava';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { RefundRow } from '../../../server/db/entities/refunds.ts';
import { type ChannelDispute, DISPUTE_STATES, type LostMoney } from '../../../server/payments/channel.ts';
import { isListed } from '../../../server/payments/ledger.ts';
import { decideDispute, type DisputeChange, type DisputeFacts } from '../../../server/payments/core/decide-dispute.ts';
import { decideForeignRefund, decideRefund } from '../../../server/payments/core/decide-refund.ts';
import { DISPUTE_TRANSITIONS, isDecided, REFUND_TRANSITIONS } from '../../../server/payments/core/transitions.ts';
import { REFUND_STATES } from '../../../server/domain.ts';
import { at, disputeRow, frozen, NOW, orderRow, refundRow } from '../../support/core-rows.ts';
import { LIMITS } from './core-refunds.ts';

const NAMES = { disputeNo: 'D-1', refundNo: 'R-NEW', actor: 'channel:paypal', cause: 'dispute' };
const OPENED = at(-600);
const money = (minor: bigint, currency = 'CNY') => ({ minor, currency });

function answer(change: Partial<ChannelDispute> = {}): ChannelDispute {
  const named = { channelDisputeNo: 'PP-1', tradeNos: ['T-1'], orderNo: null, reason: 'OTHER' };
  return { ...named, amount: money(400n), state: 'open', dueAt: null, openedAt: OPENED, ...change };
}

/** Losses as channels report them: booked for the dispute or not, with this amount, another amount or another currency. */
const LOSSES: readonly LostMoney[] = [
  { amount: money(400n), at: at(-5), booked: false },
  { amount: money(400n), at: at(-5), booked: true },
  { amount: money(1000n), at: at(-5), booked: true },
  { amount: money(400n, 'USD'), at: at(-5), booked: true },
];

const WORDS: readonly ChannelDispute[] = DISPUTE_STATES.flatMap((state) =>
  state === 'lost'
    ? LOSSES.map((lost) => answer({ state, lost }))
    : [answer({ state }), answer({ state, dueAt: at(999) })],
);

/** No refund, a channel refund for the dispute, our own refund, one before the dispute, one with another amount. */
const REFUNDS: readonly (readonly RefundRow[])[] = [
  [],
  [refundRow({ refundNo: 'R-TOLD', origin: 'channel', state: 'succeeded', finishedAt: at(-10) })],
  [refundRow({ refundNo: 'R-OWN', origin: 'merchant', state: 'succeeded', finishedAt: at(-10) })],
  [refundRow({ refundNo: 'R-OLD', origin: 'channel', state: 'succeeded', finishedAt: at(-9999) })],
  [refundRow({ refundNo: 'R-OTHER', origin: 'channel', state: 'succeeded', amount: 300n, finishedAt: at(-10) })],
  [refundRow({ refundNo: 'R-WAY', origin: 'merchant', state: 'processing' })],
  [refundRow({ refundNo: 'R-ASKED', origin: 'merchant', state: 'pending', approval: 'waiting' })],
];

interface Scene {
  order: OrderRow;
  facts: DisputeFacts;
  word: ChannelDispute;
}

/** Every dispute state × every state of the refund that counts it × other refunds × every report. */
function* scenes(): Generator<Scene> {
  for (const dispute of [undefined, ...DISPUTE_STATES.map((state) => disputeRow({ state }))])
    for (const others of REFUNDS)
      for (const counted of dispute ? [undefined, ...REFUND_STATES] : [undefined]) {
        const own = refundRow({ refundNo: 'R-D', origin: 'dispute', state: counted ?? 'failed', finishedAt: at(-20) });
        const refunds = counted ? [...others, own] : others;
        const row = dispute && counted ? { ...dispute, refundNo: 'R-D', amountLost: 400n } : dispute;
        for (const paid of [0n, 1000n])
          for (const word of WORDS) {
            const order = orderRow({ state: 'paid', paid, paidAt: at(-900), ...sumsOf(refunds, paid) });
            const facts = {
              dispute: row && frozen(row),
              refunds: refunds.map((one) => frozen(one)),
              claimed: new Set<string>(),
              covered: [],
            };
            yield { order: frozen(order), facts, word: frozen(word) };
          }
      }
}

function sumsOf(refunds: readonly RefundRow[], paid: bigint) {
  const sum = (...states: string[]) =>
    refunds.filter(({ state }) => states.includes(state)).reduce((all, { amount }) => all + amount, 0n);
  const [refunded, refunding] = [sum('succeeded'), sum('pending', 'processing', 'abnormal')];
  const over = refunded + refunding - paid;
  return { refunded, refunding, overrun: over > 0n ? over : 0n };
}

/** The order and the refunds after the decision. */
function after({ order, facts }: Scene, { money: change, refund }: DisputeChange) {
  const sums = { ...order, ...change.order, ...change.open?.sums };
  const moved = refund && { ...refund, ...change.refund };
  const kept = facts.refunds.filter(({ refundNo }) => refundNo !== refund?.refundNo);
  return { sums, refunds: [...kept, ...(moved ? [moved] : []), ...(change.open ? [change.open.row] : [])] };
}

test('every dispute report yields a listed transition, consistent sums and a refund for any lost money', (t) => {
  let count = 0;
  const wrong: string[] = [];
  for (const scene of scenes()) {
    count += 1;
    const { order, facts, word } = scene;
    const change = decideDispute(order, facts, word, NAMES, NOW);
    const { sums, refunds } = after(scene, change);
    const from = facts.dispute?.state ?? null;
    const about = `${from} ${facts.refunds.map(({ refundNo, state }) => `${refundNo}:${state}`)} ${order.paid} ${word.state}`;
    const check = (isRight: boolean, what: string) => void (isRight || wrong.push(`${what}: ${about}`));
    const { rule, dispute } = change;
    check(rule === null ? from === dispute.state : isListed(DISPUTE_TRANSITIONS, rule, from, dispute.state), 'move');
    if (change.money.rule !== null)
      check(
        isListed(REFUND_TRANSITIONS, change.money.rule, change.refund!.state, (change.money.refund as RefundRow).state),
        'move of the refund',
      );
    check(sums.refunded + sums.refunding <= sums.paid + sums.overrun, 'more goes back than came');
    const expected = sumsOf(refunds, sums.paid);
    check(
      sums.refunded === expected.refunded && sums.refunding === expected.refunding,
      'sums are those of the refunds',
    );
    if (dispute.amountLost > 0n && dispute.state !== 'won') {
      const counted = refunds.filter(({ refundNo }) => refundNo === dispute.refundNo);
      check(counted.length === 1 && counted[0]!.amount === dispute.amountLost, 'what was lost is one refund');
    }
    check(isDecided(dispute.state) === (dispute.nextCheckAt === null), 'asked about until it is decided');
    const mayWait = word.state === 'lost' && (order.paid === 0n || !word.lost!.booked);
    check(dispute.state === word.state || (mayWait && dispute.state === 'under_review'), 'what was said is kept');
    // A repeated report changes no money and emits no event.
    const again = { dispute, refunds, claimed: facts.claimed, covered: [] };
    const repeated = decideDispute({ ...order, ...sums }, again, word, NAMES, NOW);
    check(repeated.rule === null && repeated.emit.length === 0, 'a repeated word is told twice');
    check(repeated.money.rule === null && repeated.money.open === undefined, 'a repeated word moves money twice');
  }
  t.deepEqual(wrong.slice(0, 10), []);
  t.true(count > 3000, String(count));
});

test('a lost dispute creates one refund of its own', (t) => {
  const lost = LOSSES[0]!;
  const order = orderRow({ state: 'paid', paid: 1000n });
  const own = decideDispute(
    order,
    { dispute: undefined, refunds: [], claimed: new Set(), covered: [] },
    answer({ state: 'lost', lost }),
    NAMES,
    NOW,
  );
  t.like(own.money.open?.row, {
    refundNo: 'R-NEW',
    origin: 'dispute',
    amount: 400n,
    state: 'succeeded',
    elsewhere: true,
  });
  t.deepEqual(own.money.open?.sums, { refunded: 400n, refunding: 0n, overrun: 0n });
  t.like(own.dispute, { state: 'lost', amountLost: 400n, refundNo: 'R-NEW', nextCheckAt: null, closedAt: NOW });
  t.deepEqual(own.emit, ['dispute.opened', 'dispute.closed']);
});

test('a loss reuses a refund reported by the channel, or our own refund if the channel booked nothing, but none of another dispute', (t) => {
  const [, told, ours] = REFUNDS;
  const order = orderRow({ state: 'paid', paid: 1000n, refunded: 400n });
  const decide = (refunds: readonly RefundRow[], lost: LostMoney, claimed: readonly string[] = []) =>
    decideDispute(
      order,
      { dispute: disputeRow(), refunds, claimed: new Set(claimed), covered: [] },
      answer({ state: 'lost', lost }),
      NAMES,
      NOW,
    );
  for (const lost of LOSSES.slice(0, 2)) t.like(decide(told!, lost).dispute, { refundNo: 'R-TOLD', amountLost: 400n });
  t.is(decide(told!, LOSSES[0]!).money.open, undefined);
  t.like(decide(told!, LOSSES[0]!, ['R-TOLD']).dispute, { refundNo: 'R-NEW' });
  t.like(decide(ours!, LOSSES[0]!).dispute, { state: 'lost', refundNo: null, amountLost: 0n });
  t.like(decide(ours!, LOSSES[1]!).dispute, { refundNo: 'R-NEW', amountLost: 400n });
  const more = ours!.map((one) => ({ ...one, amount: 1000n }));
  t.like(decide(more, LOSSES[0]!).dispute, { state: 'lost', refundNo: null });
  const less = ours!.map((one) => ({ ...one, amount: 399n }));
  t.like(decide(less, LOSSES[0]!).dispute, { refundNo: 'R-NEW', amountLost: 400n });
});

test('one of our refunds covers only one dispute, in either order of decision', (t) => {
  const lost = LOSSES[0]!;
  const order = orderRow({ state: 'paid', paid: 1000n, refunded: 400n });
  const ours = refundRow({ refundNo: 'R-OWN', origin: 'merchant', state: 'succeeded', finishedAt: at(-10) });
  const decide = (refunds: readonly RefundRow[], covered: DisputeFacts['covered']) =>
    decideDispute(
      order,
      { dispute: disputeRow(), refunds, claimed: new Set(), covered },
      answer({ state: 'lost', lost }),
      NAMES,
      NOW,
    ).dispute.refundNo;
  t.is(decide([ours], []), null);
  t.is(decide([ours], [{ openedAt: at(-500), amount: 400n }]), 'R-NEW', 'it paid for the other one');
  const before = { ...ours, refundNo: 'R-BEFORE', finishedAt: at(-5000) };
  t.is(decide([before, ours], [{ openedAt: at(-6000), amount: 400n }]), null, 'the other one had a refund of its own');
  t.is(decide([{ ...ours, amount: 800n }], [{ openedAt: at(-500), amount: 400n }]), null, 'it paid for both');
});

test('a loss that a pending refund may explain waits for that refund, unless the channel booked it for the dispute', (t) => {
  const order = orderRow({ state: 'paid', paid: 1000n, refunding: 400n });
  const facts = { dispute: disputeRow(), refunds: REFUNDS[5]!, claimed: new Set<string>(), covered: [] };
  const [open, booked] = LOSSES.map((lost) => decideDispute(order, facts, answer({ state: 'lost', lost }), NAMES, NOW));
  t.like(open!.dispute, { state: 'under_review', refundNo: null, nextCheckAt: at(600) });
  t.like(booked!.dispute, { state: 'lost', refundNo: 'R-NEW' });
  const [lost] = LOSSES;
  const asked = decideDispute(order, { ...facts, refunds: REFUNDS[6]! }, answer({ state: 'lost', lost }), NAMES, NOW);
  t.like(asked.dispute, { state: 'lost', refundNo: 'R-NEW' }, 'one that waits for an approval waits for the dispute');
});

test('a loss above the remaining amount raises an overrun exception, and a loss in another currency stays out of the sums', (t) => {
  const order = orderRow({ state: 'paid', paid: 1000n, refunded: 400n, refunding: 600n });
  const none = { dispute: undefined, refunds: [], claimed: new Set<string>(), covered: [] };
  const over = decideDispute(order, none, answer({ state: 'lost', lost: LOSSES[1]! }), NAMES, NOW);
  t.deepEqual(over.money.open?.sums, { refunded: 800n, refunding: 600n, overrun: 400n });
  t.like(over.money.open?.raise?.[0], { kind: 'refund_overrun', refundNo: 'R-NEW' });
  const foreign = decideDispute(order, none, answer({ state: 'lost', lost: LOSSES[3]! }), NAMES, NOW);
  t.is(foreign.money.open, undefined);
  t.like(foreign.money.raise?.[0], { kind: 'refund_unexplained', blocksRefunds: true, received: money(400n, 'USD') });
});

test('a loss before the payment is known waits for the payment', (t) => {
  const none = { dispute: undefined, refunds: [], claimed: new Set<string>(), covered: [] };
  const early = decideDispute(
    orderRow({ state: 'pending' }),
    none,
    answer({ state: 'lost', lost: LOSSES[0]! }),
    NAMES,
    NOW,
  );
  t.like(early.dispute, { state: 'under_review', amountLost: 0n });
  t.true(early.dispute.nextCheckAt! > NOW);
  t.like(early.money.order, { nextCheckAt: NOW });
});

test('a dispute won after a loss reverses its refund, and only an operator can settle the refund afterwards', (t) => {
  const refund = refundRow({ refundNo: 'R-D', origin: 'dispute', state: 'succeeded', finishedAt: at(-20) });
  const order = orderRow({ state: 'paid', paid: 1000n, refunded: 400n });
  const dispute = disputeRow({ state: 'lost', refundNo: 'R-D', amountLost: 400n });
  const won = decideDispute(
    order,
    { dispute, refunds: [refund], claimed: new Set(), covered: [] },
    answer({ state: 'won' }),
    NAMES,
    NOW,
  );
  t.is(won.rule, 'appeal_decided');
  t.like(won.dispute, { state: 'won', amountLost: 0n, refundNo: 'R-D' });
  t.like(won.money.refund, { state: 'abnormal', failureCode: 'dispute_won' });
  t.deepEqual(won.money.order, { refunded: 0n, refunding: 400n });
  t.true(won.money.raise?.some(({ kind }) => kind === 'refund_reversed'));
  const abnormal = { ...refund, state: 'abnormal' as const };
  const held = orderRow({ state: 'paid', paid: 1000n, refunding: 400n });
  for (const limits of LIMITS)
    for (const command of [{ command: 'reopen' }, { command: 'retry', facts: { limits, blockedBy: null } }] as const) {
      const refused = decideRefund(held, abnormal, command, NOW);
      t.true('refuse' in refused && refused.refuse.code === 'refund_not_retryable', command.command);
    }
  const person = { command: 'failed_at_channel', reason: 'won', actor: 'admin:1', listed: true } as const;
  t.like(decideRefund(held, abnormal, person, NOW), { rule: 'refund_decided', order: { refunding: 0n } });
});

test('a dispute lost again after an operator settled its refund elsewhere raises an exception for double payment', (t) => {
  const given = { origin: 'dispute', state: 'succeeded', elsewhere: true, failureMessage: 'by bank' } as const;
  const refund = refundRow({ refundNo: 'R-D', ...given, finishedAt: at(-20) });
  const order = orderRow({ state: 'paid', paid: 1000n, refunded: 400n });
  const facts = {
    dispute: disputeRow({ state: 'won', refundNo: 'R-D' }),
    refunds: [refund],
    claimed: new Set<string>(),
    covered: [],
  };
  const lost = decideDispute(order, facts, answer({ state: 'lost', lost: LOSSES[1]! }), NAMES, NOW);
  t.like(lost.money.raise?.[0], { kind: 'refund_elsewhere', refundNo: 'R-D', detail: { paidTwice: true } });
  t.like(lost.dispute, { amountLost: 400n, refundNo: 'R-D' });
});

test('a refund that the channel reports after the dispute ended is recognized as the dispute refund', (t) => {
  const ofDispute = refundRow({ refundNo: 'R-D', origin: 'dispute', state: 'succeeded', finishedAt: at(-20) });
  const outcome = { kind: 'succeeded', amount: money(400n), at: NOW, channelRefundNo: 'CR-9' } as const;
  const also = { refundNo: 'R-2', channelRefundNo: 'CR-9', number: 'CR-9', actor: 'x', cause: 'notice' };
  const order = orderRow({ state: 'paid', paid: 1000n, refunded: 400n });
  const change = decideForeignRefund(order, { isKnown: false, ofDispute }, outcome, also, NOW);
  t.deepEqual(change, { rule: null, refund: { channelRefundNo: 'CR-9' } });
});

test('a dispute stays an exception until it is decided and emits one event per change', (t) => {
  const order = orderRow({ state: 'paid', paid: 1000n });
  const facts = { dispute: disputeRow(), refunds: [], claimed: new Set<string>(), covered: [] };
  const due = decideDispute(order, facts, answer({ state: 'needs_answer', dueAt: at(86_400) }), NAMES, NOW);
  t.deepEqual(due.emit, ['dispute.updated']);
  t.like(due.money.raise?.[0], { kind: 'dispute', dedupe: 'D-1', again: true, detail: { dueAt: at(86_400) } });
  t.is(due.dispute.changes, 2);
  t.is(due.money.raise?.[0]?.blocksRefunds, false);
  const accepted = { ...facts, dispute: disputeRow({ acceptedAt: at(-60) }) };
  const told = decideDispute(order, accepted, answer({ state: 'under_review' }), NAMES, NOW);
  t.is(told.money.raise?.[0]?.blocksRefunds, true, 'until it is decided the channel may give the money back');
  const same = decideDispute(order, facts, answer(), NAMES, NOW);
  t.deepEqual([same.rule, same.emit, same.money.raise], [null, [], []]);
  t.like(same.dispute, { changes: 1, checks: 4 });
  const won = decideDispute(order, facts, answer({ state: 'won' }), NAMES, NOW);
  t.deepEqual(won.emit, ['dispute.closed']);
  t.like(won.money.resolve?.[0], { where: { kind: 'dispute', dedupe: 'D-1' }, resolution: 'won' });
});
