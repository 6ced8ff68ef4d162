import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import type { EffectRun } from './core/change.ts';
import { raiseException } from './journal.ts';
import type { Effects, Ports } from './ports.ts';

/** What others do when an order or refund moved; only what may refuse can stop the change. */
export async function runEffect(
  ports: Ports,
  tx: Tx,
  { order, refund }: { order: OrderRow; refund?: RefundRow | undefined },
  { name, run, mayRefuse }: EffectRun,
): Promise<void> {
  const effect = async (part: Tx) => {
    for (const one of run) await runOne(part, one);
  };
  await (mayRefuse ? effect(tx) : inSavepoint(ports, tx, order, name, effect));

  async function runOne(part: Tx, one: EffectRun['run'][number]): Promise<void> {
    const { effects } = ports;
    if (one === 'paid' || one === 'ended') return effects[one](part, order);
    if (!refund) throw new Error(`the effect ${one} has no refund`);
    if (one === 'refundReserved') return effects.refundReserved(part, order, refund, mayRefuse !== true);
    return effects[one](part, order, refund);
  }
}

/** Runs something optional in a savepoint: when it fails the fact still commits, and the failure is listed for a person. */
export async function inSavepoint(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  name: string,
  effect: (part: Tx) => Promise<void>,
): Promise<void> {
  try {
    await tx.savepoint(effect);
  } catch (error) {
    ports.log('error', 'a follow-up action failed', { orderNo: order.orderNo, effect: name, error });
    const detail = { effect: name, message: error instanceof Error ? error.message : String(error) };
    await raiseException(ports, tx, order, { kind: 'effect_failed', dedupe: name, detail });
  }
}

/** Several effects as one: each runs in order, and any of them may refuse what may be refused. */
export function composeEffects(...parts: readonly Effects[]): Effects {
  return {
    async admit(tx, draft, asked) {
      for (const part of parts) await part.admit(tx, draft, asked);
    },
    async readmit(tx, order) {
      for (const part of parts) if (!(await part.readmit(tx, order))) return false;
      return true;
    },
    async paid(tx, order) {
      for (const part of parts) await part.paid(tx, order);
    },
    async ended(tx, order) {
      for (const part of parts) await part.ended(tx, order);
    },
    async refundReserved(tx, order, refund, forced) {
      for (const part of parts) await part.refundReserved(tx, order, refund, forced);
    },
    async refundSucceeded(tx, order, refund) {
      for (const part of parts) await part.refundSucceeded(tx, order, refund);
    },
    async refundFailed(tx, order, refund) {
      for (const part of parts) await part.refundFailed(tx, order, refund);
    },
  };
}
