import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { Raised, Resolved } from './change.ts';
import type { Said } from './facts.ts';

type Sums = Pick<OrderRow, 'refunded' | 'refunding'>;

/** The exception's key where the channel names no total of its refunds. */
const WITHOUT_TOTAL = 'once';
/** What is missing stands behind it, so that a person who has seen it is asked again only about another sum. */
const BEYOND = 'beyond:';

/** Money that the channel gave back beyond the refunds that we know: sums are compared, so one refund of ours hides no other. */
export function unexplainedRefunds(
  order: Sums,
  { refundsHint = false, refundedTotal: total }: Pick<Said<'paid'>, 'refundsHint' | 'refundedTotal'>,
): Raised[] {
  const known = order.refunded + order.refunding;
  if (total === undefined) return refundsHint && known === 0n ? [listed(WITHOUT_TOTAL, {})] : [];
  return total > known ? [listed(`${BEYOND}${total - known}`, { total, known })] : [];
}

function listed(dedupe: string, detail: object): Raised {
  return { kind: 'refund_unexplained', dedupe, detail, blocksRefunds: true };
}

/** Which open exceptions of an order's sums its refunds explain by now. */
export function explainedBy(
  { refunded, refunding }: Sums,
  open: readonly Pick<OrderExceptionRow, 'id' | 'kind' | 'dedupe' | 'detail'>[],
): Resolved[] {
  const known = refunded + refunding;
  return open
    .filter(({ kind, dedupe }) => kind === 'refund_unexplained' && isAboutSums(dedupe))
    .filter(({ detail }) => (typeof detail?.['total'] === 'string' ? known >= BigInt(detail['total']) : known > 0n))
    .map(({ id }) => ({ where: { id }, resolution: 'explained', by: 'service' }));
}

function isAboutSums(dedupe: string): boolean {
  return dedupe === WITHOUT_TOTAL || dedupe.startsWith(BEYOND);
}
