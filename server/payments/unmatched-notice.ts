import { randomUUID } from 'node:crypto';
import type { OrderExceptionRow } from '../db/entities/orders.ts';
import { countNotice } from '../db/queries/exceptions.ts';
import type { Tx } from '../db/store.ts';
import type { Notice, PayWay } from './channel.ts';
import { jsonable } from './follow-ups.ts';
import { isOurNumber } from './numbers.ts';
import type { Ports } from './ports.ts';

/** More numbers than that share one exception, so that whoever can repeat messages cannot fill the list. */
const OWN_LINES = 100;

/**
 * Lists a genuine message about an order that nobody knows: money may have come, for example for an order that is younger than a
 * restored backup. Each number of our form has an exception of its own; those of other systems at the same account share one.
 */
export async function listUnmatched(
  ports: Ports,
  tx: Tx,
  { project, payWay }: { project: string; payWay: PayWay },
  notice: Notice,
): Promise<void> {
  const { outcome, refund, event, account, noticeId } = notice;
  if (outcome && outcome.kind !== 'paid') return;
  const number = notice.orderNo ?? notice.refundNo ?? notice.channelOrderId ?? '';
  const refunded = refund?.kind === 'succeeded' ? { refunded: refund.amount } : {};
  const told = { payWay, account, event, noticeId, number: number.slice(0, 64), lastAt: ports.now(), ...refunded };
  const shared = { orderNo: '', dedupe: `${payWay}:${account}`.slice(0, 128) };
  const own = { orderNo: number, dedupe: `${payWay}:${account}:${event}`.slice(0, 128) };
  const again = { kind: 'unmatched_notice', detail: jsonable(told) };
  const isOurs = isOurNumber(number);
  if (isOurs && (await countNotice(tx, { ...own, ...again }))) return;
  const isOwn = isOurs && (await hasRoom(tx));
  const paid = isOwn ? outcome : undefined;
  const row: OrderExceptionRow = {
    id: randomUUID(),
    ...(isOwn ? own : shared),
    refundNo: null,
    clientId: '',
    project,
    kind: again.kind,
    detail: jsonable({ ...told, ...(paid ? { tradeNo: paid.channelNo } : {}), notices: 1 }),
    receivedMinor: paid?.amount.minor ?? null,
    receivedCurrency: paid?.amount.currency.slice(0, 3) ?? null,
    blocksRefunds: false,
    state: 'open',
    resolution: null,
    reason: null,
    resolvedBy: null,
    createdAt: ports.now(),
    resolvedAt: null,
  };
  if (await tx.exceptions.insertIfNew(row)) ports.count('order_exception', { kind: row.kind });
  else await countNotice(tx, { ...row, ...again });
}

async function hasRoom(tx: Tx): Promise<boolean> {
  return (await tx.exceptions.count({ kind: 'unmatched_notice', state: 'open' })) < OWN_LINES;
}
