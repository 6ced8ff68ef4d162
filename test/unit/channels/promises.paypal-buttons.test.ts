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

/** What a channel promises whose money is ours to take once the payer has agreed. */
function capturePromises(payWay: PayWay): readonly ChannelPromise[] {
  return [...PROMISES, ...Object.entries(ANSWER_FAULTS[payWay]).map(([fault, cause]) => answerFault(fault, cause))];
}

type Placed = PlaceOrder & OrderRef;

/** A new order that the payer has agreed to. */
async function agreed(subject: Subject): Promise<Placed> {
  const order = await placed(subject, newOrder(subject.kind, subject.order?.()));
  await subject.driver.pay(order.orderNo);
  return order;
}

/** The ledger shows one order, and as many payments of its amount. */
async function isTaken(t: ExecutionContext, { driver }: Subject, order: Placed, payments: 0 | 1): Promise<void> {
  const paid = payments * Number(order.amount.minor);
  t.like(await driver.ledger(order.orderNo), { created: 1, payments, paid });
}

const isPaid = (outcome: Outcome, { amount }: Placed) => outcome.kind === 'paid' && sameMoney(outcome.amount, amount);

const PROMISES: readonly ChannelPromise[] = [
  {
    name: 'a capture before the payer has agreed takes nothing and leaves the order as it is',
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
    name: 'however many capture at once, the same try or others, the money is taken once',
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
    name: `${word}: nothing is taken, the payer is asked, and agrees to the same order with another instrument`,
    async run(t, subject) {
      const { channel, driver } = subject;
      const order = await agreed(subject);
      await driver.fault('capture', 'refused', order.orderNo, word);
      t.like(await capture(channel, order), { kind: 'declined', code: word, definite: true, left: 'payer' });
      // PayPal leaves the order approved after the first of them, and shows after the second one that the payer has to act.
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
    name: 'a capture that PayPal examines is no money yet, and the order does not close',
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
    name: 'a question that lags takes no second payment',
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
    name: 'a capture that tells another amount is never plainly paid, and the next question says what is true',
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
    name: 'a capture that lands after the time-out is found by the next one, and taken once',
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
    name: `${fault}: a capture is unknown (${cause}), and another try takes the money once`,
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

// The way of verifying webhooks that the redirect leaves out in a short run.
for (const rotate of isLong ? ['certificate', 'leaf-only'] : ['certificate'])
  testPromises(test, paypalKind, {
    title: `buttons, ${rotate}`,
    rotate,
    buttons: true,
    more: capturePromises('paypal'),
    unknownWord,
  });
