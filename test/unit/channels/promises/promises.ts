import type { ExecutionContext } from 'ava';
import { NotificationNotGenuine, type PayWay } from '../../../../server/payments/channel.ts';
import { sameMoney } from '../../../../server/money.ts';
import { ANSWER_FAULTS, NOTIFICATION_FAULTS, type FaultWords } from './faults.ts';
import { newOrder, newRefund, paid, placed, settle, show, until, type Subject } from './subject.ts';

/** One promise that every adapter keeps. */
export interface ChannelPromise {
  name: string;
  run(t: ExecutionContext, subject: Subject): Promise<void>;
}

/** Returns the promises of `payments/channel.ts`, one test each. */
export function promisesOf(payWay: PayWay, words: FaultWords = {}): ChannelPromise[] {
  const faults = { ...ANSWER_FAULTS[payWay], ...words };
  return [
    ...PROMISES,
    ...Object.entries(faults).map(([fault, cause]) => answerFault(fault, cause)),
    ...NOTIFICATION_FAULTS[payWay].map(notificationFault),
  ];
}

const PROMISES: readonly ChannelPromise[] = [
  {
    name: 'signatures verify: place, pay, query',
    async run(t, subject) {
      const order = newOrder(subject.kind, subject.order?.());
      const outcome = await subject.channel.place(order);
      t.is(outcome.kind, 'pending', show(outcome));
      const type = subject.kind.scenes[order.scene]?.type;
      // A payer who shows a code receives no payment credential.
      t.is(outcome.kind === 'pending' ? outcome.pay?.type : '', type === 'code' ? undefined : type);
      const named = { ...order, channelOrderId: (outcome.kind === 'pending' && outcome.channelOrderId) || null };
      t.true(['pending', 'absent'].includes((await subject.channel.query(named)).kind));
      await subject.driver.pay(order.orderNo);
      const found = await settle(subject, named);
      t.like(found, { kind: 'paid', amount: order.amount });
      t.is((await subject.driver.ledger(order.orderNo))?.paid, Number(order.amount.minor));
    },
  },
  {
    name: 'the probe accepts a valid configuration',
    async run(t, { channel }) {
      t.like(await channel.probe(), { ok: true, note: undefined });
    },
  },
  {
    name: 'an order that was never placed is absent',
    async run(t, subject) {
      t.is((await subject.channel.query(newOrder(subject.kind, subject.order?.()))).kind, 'absent');
    },
  },
  {
    name: 'an unlisted status is pending',
    async run(t, subject) {
      t.is((await subject.unknownWord(newOrder(subject.kind, subject.order?.()))).kind, 'pending');
    },
  },
  {
    name: 'placing twice makes one order',
    async run(t, subject) {
      const order = await placed(subject, newOrder(subject.kind, subject.order?.()));
      t.is((await subject.channel.place(order)).kind, 'pending');
      await subject.driver.pay(order.orderNo);
      t.is((await subject.driver.ledger(order.orderNo))?.created, 1);
    },
  },
  {
    name: 'a paid order does not close',
    async run(t, subject) {
      const order = await paid(subject);
      const outcome = await subject.channel.close(order);
      t.true(['paid', 'refused'].includes(outcome.kind), show(outcome));
      t.is((await subject.channel.query(order)).kind, 'paid');
    },
  },
  {
    name: 'a notification is genuine for its account at every delivery',
    async run(t, subject) {
      const { kind, channel, input, driver } = subject;
      const order = await paid(subject);
      const [first] = await until(
        () => driver.notifications(order.orderNo),
        (notifications) => notifications.length > 0,
      );
      for (let copy = 0; copy < 3 && first; copy += 1) {
        const notification = await channel.readNotification(first.headers, first.body);
        t.is(notification.account, kind.accountOf(input.fields));
        t.true(
          notification.orderNo === order.orderNo || notification.channelOrderId === order.channelOrderId,
          show(notification),
        );
        if (notification.outcome) t.like(notification.outcome, { kind: 'paid', amount: order.amount });
      }
    },
  },
  {
    name: 'a notification of another account is not genuine',
    async run(t, subject) {
      const { stranger, driver } = subject;
      t.plan(stranger ? 1 : 0);
      if (!stranger) return;
      const order = await paid(subject);
      const [first] = await until(
        () => driver.notifications(order.orderNo),
        (notifications) => notifications.length > 0,
      );
      if (first)
        await t.throwsAsync(stranger.readNotification(first.headers, first.body), {
          instanceOf: NotificationNotGenuine,
        });
    },
  },
  {
    name: 'a refund sent twice is made once',
    async run(t, subject) {
      const { channel, driver } = subject;
      const refund = newRefund(await paid(subject));
      const outcomes = [await channel.refund(refund), await channel.refund(refund)];
      // Alipay reports only that the second call moved nothing.
      const [first, second] = outcomes;
      t.true(first?.kind === 'succeeded' || first?.kind === 'pending', show(outcomes));
      t.true(second?.kind !== 'unknown' || second.cause === 'in_progress', show(outcomes));
      t.false(second?.kind === 'failed' || second?.kind === 'refused', show(outcomes));
      const done = await until(
        () => channel.queryRefund(refund),
        ({ kind }) => kind === 'succeeded',
      );
      t.like(done, { kind: 'succeeded', amount: refund.refundAmount });
      t.like(await driver.ledger(refund.orderNo), { refunds: 1, refunded: Number(refund.refundAmount.minor) });
    },
  },
  {
    name: 'a refund that was never made is absent',
    async run(t, subject) {
      t.deepEqual(await subject.channel.queryRefund(newRefund(await paid(subject))), { kind: 'absent' });
    },
  },
  {
    name: 'a success with another amount is unknown or has that amount',
    async run(t, subject) {
      const { driver } = subject;
      const order = await paid(subject);
      await driver.fault('query', 'wrong-amount', order.orderNo);
      const outcome = await subject.channel.query(order);
      t.true(
        outcome.kind === 'paid' ? !sameMoney(outcome.amount, order.amount) : outcome.kind === 'unknown',
        show(outcome),
      );
    },
  },
  {
    name: 'a create with a late response is found by a query, and its repeat returns the same order',
    async run(t, subject) {
      const { impatient, driver } = subject;
      const order = newOrder(subject.kind, subject.order?.());
      await driver.fault('create', 'commit-then-timeout', order.orderNo);
      t.like(await impatient.place(order), { kind: 'unknown', cause: 'timeout' });
      const again = await placed(subject, order);
      await driver.pay(order.orderNo);
      t.is((await settle(subject, again)).kind, 'paid');
      t.like(await driver.ledger(order.orderNo), { created: 1, paid: Number(order.amount.minor) });
    },
  },
  {
    name: 'a refund with a late response is found by a query',
    async run(t, subject) {
      const { channel, impatient, driver } = subject;
      const refund = newRefund(await paid(subject));
      await driver.fault('refund', 'commit-then-timeout', refund.orderNo);
      t.like(await impatient.refund(refund), { kind: 'unknown', cause: 'timeout' });
      const found = await until(
        () => channel.queryRefund(refund),
        ({ kind }) => kind === 'succeeded',
      );
      t.like(found, { amount: refund.refundAmount });
    },
  },
  {
    name: 'a refund made after the timeout is found by a later query',
    async run(t, subject) {
      const { channel, impatient, driver } = subject;
      const refund = newRefund(await paid(subject));
      await driver.fault('refund', 'timeout-then-commit', refund.orderNo);
      t.like(await impatient.refund(refund), { kind: 'unknown', cause: 'timeout' });
      await until(
        () => channel.queryRefund(refund),
        ({ kind }) => kind === 'succeeded',
      );
      t.like(await driver.ledger(refund.orderNo), { refunds: 1 });
    },
  },
];

function answerFault(fault: string, cause: string): ChannelPromise {
  return {
    name: `${fault}: place, query and refund are unknown (${cause})`,
    async run(t, subject) {
      const { driver } = subject;
      const channel = cause === 'timeout' ? subject.impatient : subject.channel;
      const order = newOrder(subject.kind, subject.order?.());
      await driver.fault('create', fault, order.orderNo);
      t.like(
        await channel.place(order),
        subject.isPlacedUnasked ? { kind: 'pending' } : { kind: 'unknown', cause },
        'place',
      );
      // A merchant without a response repeats the create unchanged, and so does a renewal; a code works once.
      if (!subject.isPlacedUnasked && order.scene !== 'code') {
        const again = await placed(subject, newOrder(subject.kind, subject.order?.()));
        await driver.fault('create', fault, again.orderNo);
        t.like(await channel.place(again), { kind: 'unknown', cause }, 'place again');
        t.is((await driver.ledger(again.orderNo))?.created, 1);
      }
      const refund = newRefund(await paid(subject));
      await driver.fault('query', fault, refund.orderNo);
      t.like(await channel.query(refund), { kind: 'unknown', cause }, 'query');
      await driver.fault('refund', fault, refund.orderNo);
      t.like(await channel.refund(refund), { kind: 'unknown', cause }, 'refund');
    },
  };
}

function notificationFault(fault: string): ChannelPromise {
  return {
    name: `${fault}: the notification is not genuine`,
    async run(t, subject) {
      const { channel, driver } = subject;
      const order = await placed(subject, newOrder(subject.kind, subject.order?.()));
      await driver.fault('notice', fault, order.orderNo);
      await driver.pay(order.orderNo);
      const [first] = await until(
        () => driver.notifications(order.orderNo),
        (notifications) => notifications.length > 0,
      );
      if (first)
        await t.throwsAsync(channel.readNotification(first.headers, first.body), {
          instanceOf: NotificationNotGenuine,
        });
    },
  };
}
