import type { Scene } from './channel.ts';
import type { PayWay } from './pay-way.ts';

/** What told of a payment first; `code`: a payer's code was read in a shop, which asks until it knows. */
export const LEARNED_BY = ['notice', 'poll', 'payer', 'code', 'bill', 'person'] as const;

/** An order that was just paid. */
export interface Learned {
  payWay: PayWay;
  by: (typeof LEARNED_BY)[number];
}

/** The name by which a commit wakes whoever counts paid orders. */
export const ORDER_PAID = 'order-paid';

/** What told of a payment, by why its order moved. A capture that a notification set going was told by it. */
export function learnedBy({ cause, actor }: { cause: string; actor: string }, scene: Scene): Learned['by'] {
  if (cause === 'bill') return 'bill';
  if (cause === 'resolve') return 'person';
  if (actor.startsWith('channel:')) return 'notice';
  if (actor === 'payer' || cause === 'agent') return 'payer';
  return scene === 'code' ? 'code' : 'poll';
}
