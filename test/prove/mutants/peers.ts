import { explored, type Mutant, witnessed } from './mutant.ts';

const ASKED_FIRST = `
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo: request.orderNo }));
    const drawn = newNumber('R', ports.now());
    if (order && order.paid > 0n) {
      const refundAmount = { minor: amountOf(order, request), currency: order.currency };
      const amount = { minor: order.paid, currency: order.currency };
      const { orderNo, scene, sentAt, expiresAt, channelOrderId, channelTradeNo } = order;
      const ref = { orderNo, amount, scene, sentAt, expiresAt, channelOrderId, channelTradeNo };
      const call = { ...ref, refundNo: drawn, refundAmount, reason: '', notifyUrl: '', refundSentAt: ports.now() };
      const said = await ask(ports, order, (channel) => channel.refund(call));
      if (said.kind === 'unknown') throw refusalFor({ refuse: { code: 'order_not_paid' } }, order);
      options = { ...options, refundNo: drawn };
    }
    const { pair, due } = await intend(ports, claim, (claimed) => claimed.pair.refund);
    ports.checkpoint('refund.intent');`;

const DELETED = `
    ports.checkpoint('refund.asked');
    if (outcome.kind === 'unknown') {
      await ports.store.transaction(async (tx) => {
        const { order, refund } = await lockPair(tx, refundNo);
        await tx.orders.update({ orderNo: order.orderNo }, { refunding: order.refunding - refund.amount });
        await tx.refunds.delete({ refundNo });
      });
      return pair;
    }`;

/** Faults that other payment services are known to have had. */
export const PEERS: readonly Mutant[] = [
  {
    name: 'a refund is sent before its row is stored, which happens with the answer',
    from: 'peers',
    file: 'server/payments/refunds/refund.ts',
    find: `
    const { pair, due } = await recordIntent(ports, claim, (claimed) => claimed.pair.refund);
    ports.checkpoint('refund.intent');`,
    put: ASKED_FIRST,
    killedBy: explored('approved: refunds beyond the payment, with silence'),
  },
  {
    name: 'a refund is deleted when its call times out',
    from: 'peers',
    file: 'server/payments/refunds/refund.ts',
    find: `
    ports.checkpoint('refund.asked');`,
    put: DELETED,
    killedBy: explored('approved: refunds beyond the payment, with silence'),
  },
  {
    name: 'a refund with an unknown outcome is reported as failed',
    from: 'peers',
    file: 'server/payments/core/apply-refund-outcome.ts',
    find: 'unknown: unsettled,',
    put: "unknown: (on) => refusedForGood({ ...on, outcome: { kind: 'failed', code: 'timeout', reason: 'timeout' } }),",
    killedBy: explored('scanned: refunds beyond the payment, with silence', 4_000),
    isQuick: true,
  },
  {
    name: 'a refund that is resent has another number',
    from: 'peers',
    file: 'server/payments/core/decide-refund.ts',
    find: 'tries: refund.tries + 1,\n      nextCheckAt: later(now, 10),',
    put: 'tries: refund.tries + 1,\n      attempt: refund.tries + 1,\n      nextCheckAt: later(now, 10),',
    killedBy: explored('scanned: refunds beyond the payment, with silence'),
  },
  {
    name: 'partial refunds in progress are not counted, so that refunds exceed the payment',
    from: 'peers',
    file: 'server/payments/core/transitions.ts',
    find: 'const left = order.paid - order.refunded - order.refunding;',
    put: 'const left = order.paid - order.refunded;',
    killedBy: explored('scanned: refunds beyond the payment, with silence'),
  },
  {
    name: 'a create that times out fails the order',
    from: 'peers',
    file: 'server/payments/core/apply-order-outcome.ts',
    find: "if (decision === 'fail' && !(isFirstResponse && outcome.kind === 'declined' && outcome.definite)) return 'note';",
    put: "if (isFirstResponse && outcome.kind === 'unknown') return 'fail';",
    also: [
      {
        file: 'server/payments/core/apply-order-outcome.ts',
        find: 'failureCode: outcome.code.slice(0, 128),',
        put: "failureCode: (outcome.code ?? 'timeout').slice(0, 128),",
      },
    ],
    killedBy: witnessed('test/races/idempotency.test.ts', 'a 504 is not a stored answer: the retry continues the*'),
  },
  {
    name: 'a time-out of the close is reported as closed',
    from: 'peers',
    file: 'server/payments/core/decide-order.ts',
    find: "if (outcome.kind === 'closed' && !returned && order.captureState === null)",
    put: "if ((outcome.kind === 'closed' || outcome.kind === 'unknown') && !returned && order.captureState === null)",
    killedBy: explored('till: an order is closed twice and asked about, while it is paid'),
  },
  {
    name: 'a payment that is notified after the close is ignored',
    from: 'peers',
    file: 'server/payments/core/facts.ts',
    find: "closed: {\n    pending: 'withhold',\n    approved: 'nothing',\n    paid: 'late',",
    put: "closed: {\n    pending: 'withhold',\n    approved: 'nothing',\n    paid: 'nothing',",
    killedBy: explored('approved: a capture comes late, after the order was closed'),
  },
  {
    name: 'an answer from before the payment makes a paid order pending again',
    from: 'peers',
    file: 'server/payments/core/facts.ts',
    find: "paid: {\n    pending: 'nothing',",
    put: "paid: {\n    pending: 'accept',",
    also: [
      {
        file: 'server/payments/core/transitions.ts',
        find: "{ rule: 'accepted', from: 'created', to: 'pending' },",
        put: "{ rule: 'accepted', from: 'created', to: 'pending' }, { rule: 'accepted', from: 'paid', to: 'pending' },",
      },
    ],
    killedBy: explored('opened: a payment is reported while the channel is queried'),
    isQuick: true,
  },
  {
    name: 'the return page and the webhook capture at once',
    from: 'peers',
    file: 'server/payments/core/decide-order.ts',
    find: 'takesMoney(state) && !closeAsked && captureState === null && channelOrderId !== null;',
    put: "takesMoney(state) && !closeAsked && captureState !== 'pending' && channelOrderId !== null;",
    killedBy: witnessed('test/races/capture.test.ts', '*'),
  },
  {
    name: 'a payment that is notified again is taken as another one',
    from: 'peers',
    file: 'server/payments/core/facts.ts',
    find: "paid: 'again',\n    closed: 'hint',",
    put: "paid: 'pay',\n    closed: 'hint',",
    also: [
      {
        file: 'server/payments/core/apply-order-outcome.ts',
        find: "if (order.paid > 0n) return 'again';",
        put: "if (order.paid > 0n && order.state !== 'paid') return 'again';",
      },
      {
        file: 'server/payments/core/transitions.ts',
        find: "{ rule: 'paid', from: 'pending', to: 'paid' },",
        put: "{ rule: 'paid', from: 'pending', to: 'paid' }, { rule: 'paid', from: 'paid', to: 'paid' },",
      },
      {
        file: 'server/payments/notifications/receive.ts',
        find: "if (isKnown || !(await tx.notifications.insertIfNew(row))) return { result: 'duplicate' };",
        put: 'await tx.notifications.insertIfNew(row);',
      },
    ],
    killedBy: witnessed('test/races/notifications.test.ts', 'G6 alipay: *'),
  },
  {
    name: 'a repeated webhook credits the coins again',
    from: 'peers',
    file: 'server/catalog/effects.ts',
    find: 'const source = creditSource(orderNo);',
    put: 'const source = `${creditSource(orderNo)}:${order.sequence}:${Math.random()}`;',
    also: [
      {
        file: 'server/payments/core/facts.ts',
        find: "paid: 'again',\n    closed: 'hint',",
        put: "paid: 'pay',\n    closed: 'hint',",
      },
      {
        file: 'server/payments/core/apply-order-outcome.ts',
        find: "if (order.paid > 0n) return 'again';",
        put: "if (order.paid > 0n && order.state !== 'paid') return 'again';",
      },
      {
        file: 'server/payments/core/transitions.ts',
        find: "{ rule: 'paid', from: 'pending', to: 'paid' },",
        put: "{ rule: 'paid', from: 'pending', to: 'paid' }, { rule: 'paid', from: 'paid', to: 'paid' },",
      },
    ],
    killedBy: witnessed('test/races/catalog.test.ts', 'a coin package whose payment is reported five times at*'),
  },
  {
    name: 'a repeated paid call is executed again',
    from: 'peers',
    file: 'server/skillpay/claim.ts',
    find: "if (skill.fulfilment === 'done') return { kind: 'done', pair };",
    put: '',
    killedBy: witnessed('test/races/skillpay.test.ts', 'finished work is not claimed again by a repeat that*'),
  },
  {
    name: 'a webhook about an order that is not committed yet is acknowledged',
    from: 'peers',
    file: 'server/payments/notifications/receive.ts',
    find: "unknown_recent: 'again',",
    put: "unknown_recent: 'accepted',",
    killedBy: witnessed('test/races/paypal-events.test.ts', 'an unknown order in our number format is requested*'),
  },
  {
    name: 'the key of a request is stored after its work',
    from: 'peers',
    file: 'server/payments/orders/place.ts',
    find: 'if (claim) await claimKey(tx, claim, draft.orderNo, now);\n  await options.also?.(tx, draft);',
    put: 'await options.also?.(tx, draft);',
    killedBy: witnessed('test/races/idempotency.test.ts', 'a 504 is not a stored answer: the retry continues the*'),
  },
];
