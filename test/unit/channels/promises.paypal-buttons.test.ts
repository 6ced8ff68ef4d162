import test, { type ExecutionContext } from 'ava';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { isLong } from '../../support/counts.ts';
import { testPromises } from './promises/simulated.ts';
import { unknownWord } from './paypal/scripted.ts';
import type { OrderRef, Outcome, PayWay, PlaceOrder } from '../../../server/payments/channel.ts';
import { sameMoney } from '../../../server/money.ts';
import { ANSWER_FAULTS } from './promises/faults.ts';
import type { ChannelPromise } from './promises/promises.ts';
import { capture, newOrder, placed, show, until, type Subject } from './promises/subject.ts';

/** The promises of a channel where the service captures after the payer's approval. */
function capturePromises(payWay: PayWay): readonly ChannelPromise[] {
  return [...PROMISES, ...Object.entries(ANSWER_FAULTS[payWay]).map(([fault, cause]) => answerFault(fault, cause))];
}

type Placed = PlaceOrder & OrderRef;

/** Places a new order that the payer has approved. */
async function agreed(subject: Subject): Promise<Placed> {
  const order = await placed(subject, newOrder(subject.kind, subject.order?.()));
  await subject.driver.pay(order.orderNo);
  return order;
}

/** Asserts that the ledger has one order with this number of payments of its amount. */
async function isTaken(t: ExecutionContext, { driver }: Subject, order: Placed, payments: 0 | 1): Promise<void> {
  const paid = payments * Number(order.amount.minor);
  t.like(await driver.ledger(order.orderNo), { created: 1, payments, paid });
}

const isPaid = (outcome: Outcome, { amount }: Placed) => outcome.kind === 'paid' && sameMoney(outcome.amount, amount);

const PROMISES: readonly ChannelPromise[] = [
  {
    name: 'a capture before the approval takes no money and leaves the order unchanged',
    async run(t, subject) {
      const { channel, driver } = subject;
      const order = await placed(subject, newOrder(subject.kind, subject.order?.()));
      const early = await capture(channel, order);
      t.like(early, { kind: 'pending', capturePending: undefined });
      t.truthy(early.kind === 'pending' && early.pay?.url);
      await isTaken(t, subject, order, 0);
      await driver.pay(order.orderNo);
      t.true(isPaid(await capture(channel, order, 2), order));
      await isTaken(t, subject, order, 1);
    },
  },
  {
    name: 'concurrent captures, with the same or another capture number, take the money once',
    async run(t, subject) {
      const order = await agreed(subject);
      const said = await Promise.all([1, 1, 2, 2, 3].map((attempt) => capture(subject.channel, order, attempt)));
      said.push(await capture(subject.channel, order, 4));
      for (const outcome of said) t.true(isPaid(outcome, order), show(outcome));
      t.is(new Set(said.map((outcome) => outcome.kind === 'paid' && outcome.channelNo)).size, 1);
      await isTaken(t, subject, order, 1);
    },
  },
  ...(['INSTRUMENT_DECLINED', 'PAYER_ACTION_REQUIRED'] as const).map((word): ChannelPromise => ({
    name: `${word}: no money is taken, and the payer approves the same order with another instrument`,
    async run(t, subject) {
      const { channel, driver } = subject;
      const order = await agreed(subject);
      await driver.fault('capture', 'refused', order.orderNo, word);
      t.like(await capture(channel, order), { kind: 'declined', code: word, definite: true, left: 'payer' });
      // PayPal leaves the order approved after the first refusal, and requires payer action after the second one.
      const isApproved = word === 'INSTRUMENT_DECLINED';
      t.is((await channel.query(order)).kind, isApproved ? 'approved' : 'pending');
      const again = await capture(channel, order, 2);
      if (isApproved) t.like(again, { kind: 'declined', code: word, left: 'payer' }, 'the same instrument');
      else t.truthy(again.kind === 'pending' && again.pay?.url, show(again));
      await isTaken(t, subject, order, 0);
      await driver.pay(order.orderNo);
      t.true(isPaid(await capture(channel, order, 3), order));
      await isTaken(t, subject, order, 1);
    },
  })),
  {
    name: 'a capture under review by PayPal is not paid, and the order does not close',
    async run(t, subject) {
      const { channel, driver } = subject;
      const order = await agreed(subject);
      await driver.fault('capture', 'capture-pending', order.orderNo, 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION');
      const reason = { capturePending: 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION', waitsFor: 'merchant' };
      t.like(await capture(channel, order), { kind: 'pending', ...reason });
      t.like(await capture(channel, order, 2), { kind: 'pending', ...reason });
      t.is((await channel.close(order)).kind, 'refused');
      t.like(await driver.ledger(order.orderNo), { paid: 0 });
    },
  },
  {
    name: 'a lagging query causes no second payment',
    async run(t, subject) {
      const { channel, driver } = subject;
      const order = await agreed(subject);
      t.true(isPaid(await capture(channel, order), order));
      await driver.fault('query', 'query-lag', order.orderNo);
      t.true(isPaid(await capture(channel, order, 2), order));
      await isTaken(t, subject, order, 1);
    },
  },
  {
    name: 'a capture with another amount does not count as paid, and the next query reports the true amount',
    async run(t, subject) {
      const { channel, driver } = subject;
      const order = await agreed(subject);
      await driver.fault('capture', 'wrong-amount', order.orderNo);
      const outcome = await capture(channel, order);
      t.false(isPaid(outcome, order), show(outcome));
      t.true(isPaid(await channel.query(order), order));
      await isTaken(t, subject, order, 1);
    },
  },
  {
    name: 'a capture made after the timeout is found by the next one, and the money is taken once',
    async run(t, subject) {
      const { channel, impatient, driver } = subject;
      const order = await agreed(subject);
      await driver.fault('capture', 'timeout-then-commit', order.orderNo);
      t.like(await capture(impatient, order), { kind: 'unknown', cause: 'timeout' });
      const isThere = (sums: Awaited<ReturnType<typeof driver.ledger>>) => sums?.payments === 1;
      await until(() => driver.ledger(order.orderNo), isThere);
      t.true(isPaid(await capture(channel, order, 2), order));
      await isTaken(t, subject, order, 1);
    },
  },
];

function answerFault(fault: string, cause: string): ChannelPromise {
  return {
    name: `${fault}: a capture is unknown (${cause}), and a repeat takes the money once`,
    async run(t, subject) {
      const { channel, impatient, driver } = subject;
      const order = await agreed(subject);
      await driver.fault('capture', fault, order.orderNo);
      t.like(await capture(cause === 'timeout' ? impatient : channel, order), { kind: 'unknown', cause });
      t.true(isPaid(await capture(channel, order, 2), order));
      await isTaken(t, subject, order, 1);
    },
  };
}

// The webhook verification that the redirect tests omit in a short run.
for (const rotate of isLong ? ['certificate', 'leaf-only'] : ['certificate'])
  testPromises(test, paypalKind, {
    title: `buttons, ${rotate}`,
    rotate,
    buttons: true,
    more: capturePromises('paypal'),
    unknownWord,
  });
