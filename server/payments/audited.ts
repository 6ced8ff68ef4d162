import type { Tx } from '../db/tx.ts';
import type { Asker, Ports } from './ports.ts';

/** What a person did, for the audit log. */
export interface Deed {
  /** `noun.verb`, such as `refund.retry`. */
  readonly action: string;
  /** The number of the order or refund, or the id of the exception. */
  readonly target: string;
  readonly after?: object;
}

/**
 * Writes down what a person asks for, in the transaction of the intent or decision itself: neither is there without the other.
 * The last statement of the transaction. An application's requests are in the history of its orders and nowhere else.
 */
export async function noteDeed(
  { audit }: Pick<Ports, 'audit'>,
  tx: Tx,
  { person }: Pick<Asker, 'person'>,
  deed: Deed,
): Promise<void> {
  if (!person) return;
  const { kind: actorKind, name: actor, ip, requestId } = person;
  await audit(tx, { actorKind, actor, ip, requestId, ...deed });
}
