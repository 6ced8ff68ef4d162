import { randomUUID } from 'node:crypto';
import type { DueEffectRow } from '../db/entities/effects.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import type { EffectRun } from './core/change.ts';
import { later } from './core/plan.ts';
import { raiseException } from './journal.ts';
import type { Ports } from './ports.ts';

/** Seconds until an effect that failed so many times is tried again. */
const PAUSES = [5, 15, 60, 300, 900, 3600] as const;

/** The rows that an effect is about, as the move left them. */
export interface About {
  readonly order: OrderRow;
  readonly refund?: RefundRow | undefined;
}

/**
 * What others do because an order or refund moved; gives whether it is done. Only what may refuse can stop the change. What
 * fails, or comes after something of the same order that failed, is written down as due in the same commit.
 */
export async function runEffect(
  ports: Ports,
  tx: Tx,
  about: About,
  { name, run, mayRefuse }: EffectRun,
  place: number,
): Promise<boolean> {
  if (mayRefuse) return callEffects(ports, tx, about, run, false);
  const { order, refund } = about;
  const due: DueEffectRow = {
    id: randomUUID(),
    orderNo: order.orderNo,
    refundNo: refund?.refundNo ?? null,
    project: order.project,
    sequence: order.sequence,
    place,
    name: name.slice(0, 128),
    run: [...run],
    refunded: order.refunded,
    refunding: order.refunding,
    state: 'due',
    tries: 0,
    nextAt: null,
    leasedUntil: null,
    lastError: null,
    createdAt: ports.now(),
    finishedAt: null,
  };
  if (order.effectsDue) {
    await tx.dueEffects.insert(due);
    return false;
  }
  const error = await attemptEffect(ports, tx, about, due);
  if (error === undefined) return true;
  await tx.dueEffects.insert({ ...due, ...failed(due, error, ports.now()) });
  await listFailed(ports, tx, order, due, error);
  return false;
}

/** Runs an effect in a savepoint, so that what it is about commits all the same; gives the error as text. */
export async function attemptEffect(
  ports: Ports,
  tx: Tx,
  about: About,
  due: DueEffectRow,
): Promise<string | undefined> {
  const { refunded, refunding } = due;
  try {
    await tx.savepoint((part) =>
      callEffects(ports, part, { ...about, order: { ...about.order, refunded, refunding } }, due.run, true),
    );
    return undefined;
  } catch (error) {
    ports.log('error', 'a follow-up action failed', { orderNo: due.orderNo, effect: due.name, error });
    return error instanceof Error ? error.message : String(error);
  }
}

/** What a try that failed changes about the row. */
export function failed({ tries }: DueEffectRow, lastError: string, now: Date): Partial<DueEffectRow> {
  const pause = PAUSES[Math.min(tries, PAUSES.length - 1)]!;
  return { tries: tries + 1, lastError, nextAt: later(now, pause), leasedUntil: null };
}

/** Lists it for a person for as long as it is due. */
export async function listFailed(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  { name, tries }: DueEffectRow,
  message: string,
): Promise<void> {
  const detail = { effect: name, message, tries: tries + 1 };
  const where = { orderNo: order.orderNo, kind: 'effect_failed' as const, dedupe: name, state: 'open' as const };
  if ((await tx.exceptions.update(where, { detail })) > 0) return;
  // Without the number of a refund: what ends the refund's own exceptions does not end this one.
  await raiseException(ports, tx, order, { kind: 'effect_failed', dedupe: name, detail });
}

async function callEffects(
  { effects }: Ports,
  tx: Tx,
  { order, refund }: About,
  run: EffectRun['run'],
  forced: boolean,
): Promise<true> {
  for (const one of run) {
    if (one === 'paid' || one === 'ended') await effects[one](tx, order);
    else if (!refund) throw new Error(`the effect ${one} has no refund`);
    else if (one === 'refundReserved') await effects.refundReserved(tx, order, refund, forced);
    else await effects[one](tx, order, refund);
  }
  return true;
}
