import type { OrderRow } from '../../db/entities/orders.ts';
import type { Change, Refusal } from './change.ts';
import { type Heard, missingFact, type OrderFacts } from './facts.ts';
import { hearOrder } from './hear-order.ts';
import { afterCapture, type OrderWish, wishOrder } from './wish-order.ts';

/** What an outcome does to an order. */
export function decideOrder(order: OrderRow, facts: OrderFacts, heard: Heard, now: Date): Change;
/** What a wish does to an order. */
export function decideOrder(order: OrderRow, facts: OrderFacts, wish: OrderWish, now: Date): Change | Refusal;
export function decideOrder(order: OrderRow, facts: OrderFacts, input: Heard | OrderWish, now: Date): Change | Refusal;
/** What an outcome or a wish does to an order: the same answer for the same rows, facts and time. */
export function decideOrder(order: OrderRow, facts: OrderFacts, input: Heard | OrderWish, now: Date): Change | Refusal {
  return 'wish' in input ? wishOrder(order, facts, input, now) : hearOrder(order, facts, input, now);
}

/** The next fact that the decision needs; undefined when it can be made. */
export function orderNeeds(order: OrderRow, facts: OrderFacts, input: Heard | OrderWish): keyof OrderFacts | undefined {
  if (!('wish' in input)) return missingFact(order, facts, input);
  if (input.wish === 'accept') return facts.sibling === undefined ? 'sibling' : undefined;
  if (input.wish !== 'settle_capture') return undefined;
  return missingFact(order, facts, { outcome: afterCapture(input.outcome), cause: 'capture' });
}
