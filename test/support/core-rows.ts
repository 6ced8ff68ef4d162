import type { DisputeRow, RefundRow } from '../../server/db/entities/refunds.ts';
import type { OrderRow } from '../../server/db/entities/orders.ts';

/** The time of every decision in these tests. */
export const NOW = new Date('2026-11-22T08:00:00.000Z');

/** The instant some seconds after (or before) `NOW`. */
export const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

/** An order over 10.00 CNY, accepted a minute ago, that expires in an hour. */
export function orderRow(change: Partial<OrderRow> = {}): OrderRow {
  return {
    orderNo: 'P20261122080000ABCDEFGHJK',
    kind: 'payment',
    clientId: 'app_1',
    project: 'default',
    merchantOrderNo: 'm-1',
    mode: 'live',
    payWay: 'wechat',
    account: '1900000001',
    configVersion: 1,
    scene: 'qr',
    subject: 'Tea',
    orderType: null,
    userId: null,
    extra: null,
    amount: 1000n,
    currency: 'CNY',
    factsHash: '0'.repeat(43),
    product: null,
    productCode: null,
    stockHeld: false,
    effectsDue: false,
    latePayment: 'expiry',
    state: 'created',
    closeReason: null,
    closeAsked: false,
    closeAnswered: false,
    failureCode: null,
    failureMessage: null,
    payer: null,
    paid: 0n,
    refunded: 0n,
    refunding: 0n,
    overrun: 0n,
    channelOrderId: null,
    channelTradeNo: null,
    credential: null,
    credentialUntil: null,
    returnUrl: null,
    notifyUrl: null,
    clientIp: null,
    openId: null,
    appId: null,
    payCode: null,
    channelOptions: null,
    sequence: 3,
    placeTries: 1,
    absentCount: 0,
    absentFirstAt: null,
    captures: 0,
    captureState: null,
    captureLeasedUntil: null,
    captureReason: null,
    approvalsAsked: 0,
    approvalAskedAt: null,
    reverseDoubtAt: null,
    settlement: null,
    limited: false,
    traceParent: null,
    checks: 1,
    nextCheckAt: at(30),
    leasedUntil: at(20),
    checkedAt: null,
    createdAt: at(-60),
    sentAt: at(-60),
    expiresAt: at(3600),
    paidAt: null,
    closedAt: null,
    ...change,
  };
}

/** A refund of 4.00 CNY of that order, reserved half a minute ago. */
export function refundRow(change: Partial<RefundRow> = {}): RefundRow {
  return {
    refundNo: 'R20261122080000ABCDEFGHJK',
    orderNo: 'P20261122080000ABCDEFGHJK',
    clientId: 'app_1',
    project: 'default',
    merchantRefundNo: null,
    origin: 'merchant',
    amount: 400n,
    currency: 'CNY',
    reason: null,
    state: 'pending',
    accepted: false,
    surplus: false,
    elsewhere: false,
    failureCode: null,
    failureMessage: null,
    channelRefundNo: null,
    paymentNo: null,
    traceParent: null,
    actor: 'app:app_1',
    approval: null,
    attempt: 1,
    tries: 1,
    refusedAt: null,
    absentCount: 0,
    absentFirstAt: null,
    unknownAt: null,
    checks: 1,
    nextCheckAt: at(10),
    leasedUntil: at(15),
    queueKey: 'alipay live acc',
    sentAt: at(-30),
    createdAt: at(-30),
    finishedAt: null,
    ...change,
  };
}

/** An open dispute over 4.00 of the order, ten minutes old. */
export function disputeRow(change: Partial<DisputeRow> = {}): DisputeRow {
  const { orderNo, clientId, project, payWay, account, mode } = orderRow();
  const owner = { orderNo, clientId, project, payWay, account, mode };
  const opened = at(-600);
  const times = { openedAt: opened, createdAt: opened, updatedAt: opened, closedAt: null };
  const rest = { answeredAt: null, acceptedAt: null, dueAt: null, nextCheckAt: at(60), leasedUntil: null };
  return {
    disputeNo: 'D-1',
    ...owner,
    channelDisputeNo: 'PP-1',
    reason: 'OTHER',
    amount: 400n,
    currency: 'CNY',
    state: 'open',
    amountLost: 0n,
    refundNo: null,
    changes: 1,
    checks: 3,
    ...times,
    ...rest,
    ...change,
  };
}

/** Every combination of one part of each group, merged. */
export function combinations<Row extends object>(groups: readonly (readonly Partial<Row>[])[]): Partial<Row>[] {
  return groups.reduce<Partial<Row>[]>(
    (rows, group) => rows.flatMap((row) => group.map((part) => ({ ...row, ...part }))),
    [{}],
  );
}

/** Parts of rows that differ in one member. */
export function each<Member extends string, Value>(
  member: Member,
  ...values: readonly Value[]
): { [Key in Member]: Value }[] {
  return values.map((value) => ({ [member]: value }) as { [Key in Member]: Value });
}

/** Freezes a row, so that a decision that changes its input throws. */
export function frozen<Row extends object>(row: Row): Row {
  if (Object.isFrozen(row)) return row;
  for (const value of Object.values(row)) if (typeof value === 'object' && value !== null) Object.freeze(value);
  return Object.freeze(row);
}
