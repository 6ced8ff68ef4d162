import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/tx.ts';
import { AppError } from '../errors.ts';
import { insertOrder } from './apply.ts';
import { canSendAgain } from './core/wish-order.ts';
import { claimKey, type KeyClaim } from './idempotency.ts';
import type { PayRequest, PlaceOptions } from './pay-request.ts';
import type { Ports } from './ports.ts';
import { MerchantNumberUsed } from './refusals.ts';
import { settleLocked } from './settle.ts';

/** The order that a request means. */
export interface Claimed {
  order: OrderRow;
  /** Whether the channel must be called. */
  send: boolean;
  /** Whether this is the first call ever made about the order. */
  fresh: boolean;
}

/** Key row and order in one insert transaction; the unique indexes decide who is first. */
export async function claimOrder(
  ports: Ports,
  tx: Tx,
  draft: OrderRow,
  request: PayRequest,
  options: PlaceOptions,
): Promise<Claimed> {
  const now = ports.now();
  const { claim } = options;
  if (claim?.resume) {
    await claimKey(tx, claim, claim.resume, now);
    return resumed(ports, tx, claim.resume, draft.clientId);
  }
  const refusal = await enter(ports, tx, draft, request);
  if (refusal !== undefined) {
    const sibling = await liveSibling(tx, draft);
    if (!sibling) return refuse(tx, draft, refusal, claim, now);
    await claimKey(tx, claim, sibling.orderNo, now);
    return resumed(ports, tx, sibling.orderNo, draft.clientId);
  }
  await claimKey(tx, claim, draft.orderNo, now);
  await options.also?.(tx, draft);
  return { order: draft, send: true, fresh: true };
}

/** The merchantOrderNo has a live order. */
class NumberTaken extends Error {}

/**
 * Admits and inserts the draft; gives the reason when it did not get in. Of an order with a product nothing remains then,
 * neither its stock nor the lock on it: both happen in a savepoint.
 */
async function enter(
  ports: Ports,
  tx: Tx,
  draft: OrderRow,
  asked: PayRequest,
): Promise<AppError | NumberTaken | undefined> {
  const attempt = async (part: Tx) => {
    await ports.effects.admit(part, draft, asked);
    if (!(await insertOrder(part, draft))) throw new NumberTaken();
  };
  try {
    await (draft.productCode === null ? attempt(tx) : tx.savepoint(attempt));
    return undefined;
  } catch (error) {
    if (error instanceof AppError || error instanceof NumberTaken) return error;
    throw error;
  }
}

/** A refused order keeps nothing; when its key is being worked on by another request, that one decides. */
async function refuse(
  tx: Tx,
  { merchantOrderNo }: OrderRow,
  refusal: Error,
  claim: KeyClaim | undefined,
  now: Date,
): Promise<never> {
  if (refusal instanceof NumberTaken && merchantOrderNo !== null)
    throw new MerchantNumberUsed('merchantOrderNo', merchantOrderNo);
  if (refusal instanceof NumberTaken) throw new Error('an order number was drawn twice');
  if (claim) {
    await claimKey(tx, claim, '', now);
    claim.taken = false;
  }
  throw refusal;
}

/** The order that a retry means; its create is re-sent only while nothing payable came of it and it may still be paid. */
async function resumed(ports: Ports, tx: Tx, orderNo: string, clientId: string): Promise<Claimed> {
  const order = await tx.orders.lock({ orderNo });
  if (!order) throw new Error('a claimed intent has no order');
  const send = canSendAgain(order, ports.now());
  const via = { cause: 'place', actor: `app:${clientId}` };
  return { order: await settleLocked(ports, tx, order, { wish: 'send_again' }, via), send, fresh: false };
}

/** The live order with the same merchantOrderNo, if there is one: the same facts mean the same order, others are refused. */
async function liveSibling(tx: Tx, draft: OrderRow): Promise<OrderRow | undefined> {
  const { clientId, merchantOrderNo } = draft;
  if (merchantOrderNo === null) return undefined;
  const state = ['created', 'pending', 'paid'] as const;
  const sibling = await tx.orders.find({ clientId, merchantOrderNo, state });
  if (sibling && sibling.factsHash !== draft.factsHash)
    throw new MerchantNumberUsed('merchantOrderNo', merchantOrderNo);
  return sibling;
}
