import type { OrderRow } from '../db/entities/orders.ts';
import type { ReadTx, Tx } from '../db/tx.ts';
import { orderNeeds } from './core/decide-order.ts';
import type { Heard, OrderFacts, RefundFacts } from './core/facts.ts';
import type { OrderWish } from './core/wish-order.ts';
import type { Ports } from './ports.ts';
import { inSavepoint } from './effects.ts';

/** Loads what a decision about an order needs beyond its row, and nothing else; the caller holds the order's lock. */
export async function loadFacts(ports: Ports, tx: Tx, order: OrderRow, input: Heard | OrderWish): Promise<OrderFacts> {
  let facts: OrderFacts = {};
  for (let need = orderNeeds(order, facts, input); need; need = orderNeeds(order, facts, input))
    facts = { ...facts, [need]: await load[need](ports, tx, order, input) };
  return facts;
}

const load: {
  [Fact in keyof OrderFacts]-?: (
    ports: Ports,
    tx: Tx,
    order: OrderRow,
    input: Heard | OrderWish,
  ) => Promise<OrderFacts[Fact]>;
} = {
  sibling: (_ports, tx, order) => hasSibling(tx, order),
  mismatch: (_ports, tx, order, input) => stateOfMismatch(tx, order, input),
  readmitted: (ports, tx, order) => isReadmitted(ports, tx, order),
};

/** Another order of the same merchantOrderNo that is live or has money: the merchant wants one payment only. */
export async function hasSibling(tx: ReadTx, order: OrderRow): Promise<boolean> {
  if (order.merchantOrderNo === null) return false;
  const siblings = await tx.orders.list({ clientId: order.clientId, merchantOrderNo: order.merchantOrderNo });
  return siblings.some(
    ({ orderNo, state, paid }) =>
      orderNo !== order.orderNo && (state === 'created' || state === 'pending' || state === 'paid' || paid > 0n),
  );
}

async function stateOfMismatch(
  tx: Tx,
  { orderNo }: OrderRow,
  input: Heard | OrderWish,
): Promise<OrderFacts['mismatch']> {
  const channelNo = 'outcome' in input && 'channelNo' in input.outcome ? input.outcome.channelNo : '';
  const known = { orderNo, kind: 'amount_mismatch' as const };
  if (!(await tx.exceptions.find({ ...known, dedupe: channelNo.slice(0, 128) }))) return 'new';
  return (await tx.exceptions.find({ ...known, state: 'open' })) ? 'open' : 'ended';
}

/** When the stock cannot even be asked, there is none. */
async function isReadmitted(ports: Ports, tx: Tx, order: OrderRow): Promise<boolean> {
  let admitted = false;
  await inSavepoint(ports, tx, order, 'readmit', async (part) => {
    admitted = await ports.effects.readmit(part, order);
  });
  return admitted;
}

/** What a new or repeated refund needs beyond the rows; the caller holds the order's lock. */
export async function loadRefundFacts(
  ports: Pick<Ports, 'channels'>,
  tx: ReadTx,
  { orderNo, payWay }: OrderRow,
): Promise<RefundFacts> {
  const blocking = await tx.exceptions.find({ orderNo, state: 'open', blocksRefunds: true });
  return { blockedBy: blocking?.kind ?? null, limits: ports.channels.kindOf(payWay).limits };
}
