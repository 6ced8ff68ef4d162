import type { OrderRow } from '../../db/entities/orders.ts';
import type { Tx } from '../../db/tx.ts';
import { raiseException } from '../journal.ts';
import type { Ports } from '../ports.ts';

/** Runs something optional in a savepoint: when it fails the fact still commits, and the failure is listed for a person. */
export async function runEffect(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  name: string,
  effect: (part: Tx) => Promise<void>,
): Promise<void> {
  try {
    await tx.savepoint(effect);
  } catch (error) {
    ports.log('error', 'an effect of a settled fact failed', { orderNo: order.orderNo, effect: name, error });
    const detail = { effect: name, message: error instanceof Error ? error.message : String(error) };
    await raiseException(ports, tx, order, 'effect_failed', { dedupe: name, detail });
  }
}
