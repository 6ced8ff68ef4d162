import { type Mutant, witnessed } from './mutant.ts';

/** Plain faults around the decisions: locks, statements, leases, keys, events, stock, coins and paid calls. */
export const AROUND: readonly Mutant[] = [
  {
    name: 'an order is read without its lock',
    from: 'plain',
    file: 'server/payments/settle.ts',
    find: "const order = await tx.orders.lock({ orderNo, ...(owner === 'any' ? {} : owner) });",
    put: "const order = await tx.orders.find({ orderNo, ...(owner === 'any' ? {} : owner) });",
    killedBy: witnessed('test/races/refunds.test.ts', 'G4 alipay: of many refunds*'),
  },
  {
    name: 'a refund is locked before its order',
    from: 'plain',
    file: 'server/payments/settle.ts',
    find: `const order = found && (await tx.orders.lock({ orderNo: found.orderNo }));
  const refund = order && (await tx.refunds.lock({ refundNo }));`,
    put: `const refund = found && (await tx.refunds.lock({ refundNo }));
  const order = refund && (await tx.orders.lock({ orderNo: refund.orderNo }));`,
    killedBy: witnessed('test/races/lock-order.test.ts', 'a refund that is settled while notices*'),
  },
  {
    name: 'coins are taken without the lock of the account',
    from: 'plain',
    file: 'server/catalog/spend.ts',
    find: 'const account = await tx.coinAccounts.lock({ project: key.project, coin: key.code, userId });',
    put: 'const account = await tx.coinAccounts.find({ project: key.project, coin: key.code, userId });',
    killedBy: witnessed('test/races/catalog.test.ts', '100 concurrent debits of 1*'),
  },
  {
    name: 'purchases of one payer are counted without waiting for each other',
    from: 'plain',
    file: 'server/catalog/admit.ts',
    find: 'await tx.advisoryLock(`limit:${project}:${code}:${userId}`);',
    put: '',
    killedBy: witnessed('test/races/catalog.test.ts', 'perUserLimit 3 holds*'),
  },
  {
    name: 'an order that ends gives its piece back each time that it is told',
    from: 'plain',
    file: 'server/db/queries/catalog.ts',
    find: "where order_no = ? and stock_held and state in ('closed', 'failed') returning",
    put: "where order_no = ? and state in ('closed', 'failed') returning",
    killedBy: witnessed('test/races/catalog.test.ts', 'the end of an order gives its piece back once*'),
  },
  {
    name: 'a row that somebody has is taken by another replica',
    from: 'plain',
    file: 'server/db/queries/due.ts',
    find: "const free = lease === at ? 'true' : `(d.${lease} is null or d.${lease} <= cast($1 as timestamptz))`;",
    put: "const free = lease === at ? 'true' : `(d.${lease} is null or true)`;",
    killedBy: witnessed('test/races/jobs.test.ts', 'rows of a replica that died in the middle*'),
  },
  {
    name: 'readers of the log do not wait for a lower number that is still open',
    from: 'plain',
    file: 'server/db/queries/events.ts',
    find: 'select min(s.last - (s.last - cast(l.objid as bigint) + ${KEYS}) % ${KEYS})',
    put: 'select max(s.last)',
    killedBy: witnessed('test/races/events.test.ts', 'a reader waits for the lower number*'),
  },
  {
    name: 'an event that happened is told as often as it is heard of',
    from: 'plain',
    file: 'server/events/record.ts',
    find: 'dedupe: event.dedupe,',
    put: "dedupe: `${event.dedupe}:${randomBytes(4).toString('hex')}`,",
    killedBy: witnessed('test/races/events.test.ts', 'a transaction that rolls back*'),
  },
  {
    name: 'a request finishes the key that another one has taken over',
    from: 'plain',
    file: 'server/payments/idempotency.ts',
    find: 'const where = { ...whereOf(claim), leasedUntil: claim.leasedUntil };',
    put: 'const where = { ...whereOf(claim) };',
    killedBy: witnessed('test/races/review-refunds.test.ts', 'a claim that was rolled back*'),
  },
  {
    name: 'a key that somebody is working on is worked on by the next, too',
    from: 'plain',
    file: 'server/payments/idempotency.ts',
    find: "if (!row || row.state === 'done' || isLeased(row, now)) throw inProgress();",
    put: "if (!row || row.state === 'done') throw inProgress();",
    also: [
      {
        file: 'server/payments/idempotency.ts',
        find: '  if (isLeased(stored, now)) throw inProgress();\n',
        put: '',
      },
    ],
    killedBy: witnessed('test/races/idempotency.test.ts', 'a key that somebody is working on*'),
  },
  {
    name: 'a COMMIT whose connection broke was refused, it is said',
    from: 'plain',
    file: 'server/db/store.ts',
    find: 'throw isDone && !isRefusedCommit(error) ? new CommitUnknown(error) : error;',
    put: 'throw isDone && isRefusedCommit(error) ? new CommitUnknown(error) : error;',
    killedBy: witnessed('test/races/commit-lost.test.ts', "the connection breaks after a refund's COMMIT*"),
  },
  {
    name: 'a key that was trusted today vouches for a payment alone',
    from: 'plain',
    file: 'server/payments/confirm-notice.ts',
    find: 'return since !== null && now() < later(since, YOUNG_SECONDS);',
    put: 'return since !== null && now() > later(since, YOUNG_SECONDS);',
    killedBy: witnessed('test/races/confirmed-notices.test.ts', 'a key that was trusted by mistake*'),
  },
  {
    name: 'a notice is settled whatever configuration it was verified with',
    from: 'plain',
    file: 'server/payments/whose-notice.ts',
    find: 'return isHere && order.account === notice.account && order.mode === from.mode && isIts;',
    put: 'return isHere && order.account === notice.account && order.mode === from.mode;',
    killedBy: witnessed('test/races/changed-identity.test.ts', 'wechat: a notice of one*'),
  },
  {
    name: 'the result of a claim that has run out is kept',
    from: 'plain',
    file: 'server/skillpay/fulfil.ts',
    find: `const { order, skill } = pair;
    if (skill.fencing !== fencing || skill.fulfilment !== 'running') return;`,
    put: 'const { order, skill } = pair;\n    if (skill.fencing < fencing) return;',
    killedBy: witnessed('test/races/skillpay.test.ts', 'a result that comes after its lease is dropped when another*'),
  },
  {
    name: 'content is kept although the money went back meanwhile',
    from: 'plain',
    file: 'server/skillpay/fulfil.ts',
    find: `if (isRefunded(pair)) {
      await tx.skillOrders.update({ orderNo }, { fulfilment: 'none', leasedUntil: null, nextAttemptAt: null });
      return;
    }`,
    put: '',
    killedBy: witnessed(
      'test/races/skillpay.test.ts',
      'a result that comes after its lease is dropped when the money*',
    ),
  },
];
