import type { CoinClawbackRow, CoinRow, ProductRow } from '../db/entities/catalog.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import { admission, countPurchases, releaseStock, retakeStock, takeStock } from '../db/queries/catalog.ts';
import type { Tx } from '../db/store.ts';
import type { ProductSnapshot } from '../domain.ts';
import { majorNumber, readAmount } from '../money.ts';
import type { RequestedPrice, Effects } from '../payments/ports.ts';
import { type Holder, available, changeAccount, ledger, lockAccount } from './coins.ts';
import type { EffectPorts } from './ports.ts';
import {
  CoinsSpent,
  NotOnSale,
  OutOfStock,
  PriceMismatch,
  ProjectDisabled,
  UserBlocked,
  UserLimitReached,
  invalid,
} from './errors.ts';

/**
 * The effects of state changes of orders and refunds on stock, purchase limits and coins. Each function may be called
 * repeatedly, but its effect is applied once.
 */
export function createEffects(ports: EffectPorts): Effects {
  const { credit } = ledger(ports);
  const { reserve, take, giveBack } = clawback(ports);
  return {
    admit: (tx, draft, requested) => admit(ports.now(), tx, draft, requested),
    hold: (tx, order, requested) => hold(ports.now(), tx, order, requested),
    readmit: (tx, order) => readmit(tx, order),
    paid: (tx, order) => creditPackage(tx, order),
    ended: async (tx, order) => {
      if (order.productCode !== null) await releaseStock(tx, order.orderNo);
    },
    refundReserved: reserve,
    refundSucceeded: take,
    refundFailed: giveBack,
  };

  /**
   * Handles a payment that arrives after its order has ended. The order's item went back to stock at the end of the
   * order, so the item is taken from stock again. Returns false if no item is left; the payment is then refunded.
   */
  async function readmit(tx: Tx, order: OrderRow): Promise<boolean> {
    const { orderNo, productCode } = order;
    if (productCode === null) return true;
    const now = await tx.orders.find({ orderNo });
    if (now?.stockHeld) return true;
    const got = await retakeStock(tx, orderNo);
    if (got === 'gone')
      await ports.raise(tx, order, { kind: 'out_of_stock', dedupe: 'late', detail: { product: productCode } });
    return got !== 'gone';
  }

  /** Credits the coins once per order: the account's lock and the unique `source` prevent a second credit. */
  async function creditPackage(tx: Tx, order: OrderRow): Promise<void> {
    const { orderNo, project, userId, product, clientId } = order;
    if (!product?.coin || userId === null) return;
    const { code: coin, amount, bonus } = product.coin;
    const account = await lockAccount(tx, { project, coin, userId }, ports.now());
    const source = creditSource(orderNo);
    if (await tx.coinEntries.find({ project, coin, source })) return;
    await credit(tx, account, {
      delta: BigInt(amount) + BigInt(bonus),
      kind: 'credit',
      source,
      actor: 'service',
      clientId,
      orderNo,
      memo: product.name,
    });
  }
}

/**
 * Checks project, payer, sale period, price and purchase limit, and copies the product's values into `draft`. The
 * product is not locked, because orders are locked before products (server/README.md, "Locks"); `hold` takes the item
 * later.
 */
async function admit(now: Date, tx: Tx, draft: OrderRow, requested: RequestedPrice): Promise<void> {
  const standing = await admission(tx, draft.project, draft.userId, now);
  if (!standing?.enabled) throw new ProjectDisabled();
  if (standing.status === 'blocked') throw new UserBlocked();
  if (draft.productCode !== null) await admitProduct(now, tx, draft, draft.productCode, requested);
}

async function admitProduct(
  now: Date,
  tx: Tx,
  draft: OrderRow,
  code: string,
  requested: RequestedPrice,
): Promise<void> {
  const product = await findProduct(tx, draft.project, code);
  await requireSale(now, tx, product, draft);
  await requireLimit(tx, product, draft);
  requirePrice(product, requested);
  Object.assign(draft, boughtAs(product, draft));
}

/**
 * Takes an item from stock for an order that is already stored. The product row stays locked until the commit. If the
 * product changed after `admit`, sale period and price are checked again. Returns the changed columns of the order.
 */
async function hold(
  now: Date,
  tx: Tx,
  order: OrderRow,
  requested: RequestedPrice,
): Promise<Partial<OrderRow> | undefined> {
  if (order.productCode === null || !order.stockHeld || order.product === null) return undefined;
  const key = { project: order.project, code: order.productCode };
  if (await takeStock(tx, { ...key, version: order.product.version })) return undefined;
  const fresh = await tx.products.lock(key);
  if (!fresh || fresh.stock === 0) throw new OutOfStock();
  await requireSale(now, tx, fresh, order);
  requirePrice(fresh, requested);
  if (fresh.stock !== null && !(await takeStock(tx, fresh))) throw new OutOfStock();
  return boughtAs(fresh, order);
}

function boughtAs(product: ProductRow, { orderType }: OrderRow) {
  return {
    amount: product.priceMinor,
    currency: product.currency,
    orderType: orderType ?? product.orderType,
    product: snapshot(product),
    stockHeld: product.stock !== null,
  };
}

async function findProduct(tx: Tx, project: string, code: string): Promise<ProductRow> {
  const product = await tx.products.find({ project, code });
  if (!product) throw invalid('/product', 'product_unknown', 'does not exist in this project');
  return product;
}

async function requireSale(now: Date, tx: Tx, product: ProductRow, draft: OrderRow): Promise<void> {
  if (!product.enabled) throw new NotOnSale('The product is disabled.');
  if (product.saleFrom !== null && now < product.saleFrom) throw new NotOnSale('The product is not on sale yet.');
  if (product.saleTo !== null && now >= product.saleTo) throw new NotOnSale('The product is no longer on sale.');
  if (!product.payWays.includes(draft.payWay)) throw new NotOnSale(`The product cannot be paid with ${draft.payWay}.`);
  if (product.kind !== 'coin_package' || product.coin === null) return;
  if (draft.userId === null) throw invalid('/userId', 'required', 'is required, so that the coins can be credited');
  const coin = await tx.coins.find({ project: product.project, code: product.coin.code });
  if (!coin?.enabled) throw new NotOnSale('The coin that this coin package credits is disabled.');
}

/**
 * Checks the purchase limit. A lock per payer and product lets only one order at a time count the payer's earlier
 * orders, so that two concurrent orders cannot both pass.
 */
async function requireLimit(tx: Tx, { project, code, perUserLimit }: ProductRow, { userId }: OrderRow): Promise<void> {
  if (perUserLimit === null) return;
  if (userId === null) throw invalid('/userId', 'required', 'is required: the product has a purchase limit per user');
  await tx.advisoryLock(`limit:${project}:${code}:${userId}`);
  if ((await countPurchases(tx, project, code, userId)) >= perUserLimit) throw new UserLimitReached(perUserLimit);
}

function requirePrice({ priceMinor, currency }: ProductRow, requested: RequestedPrice): void {
  const mismatch = () => new PriceMismatch(majorNumber({ minor: priceMinor, currency }), currency);
  if (requested.currency !== undefined && requested.currency !== currency) throw mismatch();
  if (requested.amount !== undefined && readAmount(requested.amount, currency).minor !== priceMinor) throw mismatch();
}

function snapshot({ code, name, kind, version, priceMinor, currency, coin }: ProductRow): ProductSnapshot {
  return { code, name, kind, version, priceMinor: String(priceMinor), currency, coin };
}

interface Granted extends Holder {
  amount: bigint;
}

/** Returns the `source` of the ledger entry that credits an order's coins. Each order has at most one such entry. */
function creditSource(orderNo: string): string {
  return `order:${orderNo}`;
}

/**
 * Takes coins back when the order that credited them is refunded. The coins are reserved when the refund is accepted,
 * taken when the refund succeeds, and released or returned when it fails. The caller holds the order's lock.
 */
function clawback(ports: EffectPorts) {
  const { now } = ports;
  const { post } = ledger(ports);
  return { reserve, take, giveBack };

  /**
   * Reserves the coins to take back. If the account has too few, the clawback rule of the coin decides: the refund is
   * refused, or the missing coins become a debt or are waived. With `forced` the refund is never refused, and an
   * exception (a case for an operator) is opened for missing coins.
   */
  async function reserve(tx: Tx, order: OrderRow, refund: RefundRow, forced: boolean): Promise<void> {
    const granted = await grantedBy(tx, order, refund);
    if (!granted) return;
    const account = await lockAccount(tx, granted, now());
    const rows = await tx.coinClawbacks.list({ orderNo: order.orderNo });
    const mine = rows.find(({ refundNo }) => refundNo === refund.refundNo);
    if (mine && mine.state !== 'returned') return;
    const due = dueOf(granted.amount, order, rows);
    if (due === 0n) return;
    const held = min(due, available(account));
    const short = due - held;
    const rule = short === 0n ? 'debt' : await ruleOf(tx, granted);
    if (rule === 'refuse' && !forced) throw new CoinsSpent(due, available(account));
    await changeAccount(tx, account, { held: account.held + held }, now());
    const sums = {
      due,
      held,
      taken: 0n,
      debt: rule === 'partial' ? 0n : short,
      waived: rule === 'partial' ? short : 0n,
    };
    await keep(tx, mine, refund, granted, { ...sums, state: 'held' });
    if (!forced || short === 0n) return;
    const detail = { coin: granted.coin, userId: granted.userId, due, held, debt: sums.debt, waived: sums.waived };
    await ports.raise(tx, order, { kind: 'coins_debt', dedupe: refund.refundNo, refundNo: refund.refundNo, detail });
  }

  /**
   * Takes the reserved coins. Missing coins are taken as far as the current balance allows; the remainder becomes a
   * debt. If the refund was reported as failed before, its coins were released, so they are reserved again first.
   */
  async function take(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void> {
    await reserve(tx, order, refund, true);
    const row = await tx.coinClawbacks.lock({ refundNo: refund.refundNo });
    if (row?.state !== 'held') return;
    const account = await lockAccount(tx, row, now());
    const more = min(row.debt, available(account));
    const taken = row.held + more;
    const debt = row.debt - more;
    const freed = await changeAccount(tx, account, { held: account.held - row.held, debt: account.debt + debt }, now());
    if (taken > 0n) await post(tx, freed, posting(order, refund, row, -taken));
    await patch(tx, row, { state: 'taken', held: 0n, taken, debt, turns: row.turns + 1 });
  }

  /** After a failed refund: releases reserved coins, returns taken coins, and cancels the debt of this refund. */
  async function giveBack(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void> {
    const row = await tx.coinClawbacks.lock({ refundNo: refund.refundNo });
    if (!row || row.state === 'returned') return;
    const account = await lockAccount(tx, row, now());
    const forgiven = row.state === 'taken' ? min(row.debt, account.debt) : 0n;
    const sums = { held: account.held - row.held, debt: account.debt - forgiven };
    const freed = await changeAccount(tx, account, sums, now());
    // A later credit may have paid a part of the debt. That part is returned as coins.
    const back = row.state === 'taken' ? row.taken + row.debt - forgiven : 0n;
    if (back > 0n) await post(tx, freed, posting(order, refund, row, back));
    await patch(tx, row, {
      state: 'returned',
      held: 0n,
      taken: 0n,
      debt: 0n,
      waived: 0n,
      due: 0n,
      turns: row.turns + 1,
    });
  }

  async function keep(
    tx: Tx,
    mine: CoinClawbackRow | undefined,
    { refundNo, orderNo }: RefundRow,
    { project, coin, userId }: Granted,
    sums: Pick<CoinClawbackRow, 'state' | 'due' | 'held' | 'taken' | 'debt' | 'waived'>,
  ): Promise<void> {
    if (mine) return patch(tx, mine, sums);
    const at = now();
    const row = { refundNo, orderNo, project, coin, userId, ...sums, turns: 0, createdAt: at, updatedAt: at };
    await tx.coinClawbacks.insert(row);
  }

  async function patch(tx: Tx, { refundNo }: CoinClawbackRow, change: Partial<CoinClawbackRow>): Promise<void> {
    await tx.coinClawbacks.update({ refundNo }, { ...change, updatedAt: now() });
  }
}

/**
 * Returns the coins that the order credited. Returns undefined if the order credited no coins, for example because a
 * late payment was not accepted. Also returns undefined for a refund of surplus money (for example of a second
 * payment), because surplus money credited no coins.
 */
async function grantedBy(tx: Tx, order: OrderRow, refund: RefundRow): Promise<Granted | undefined> {
  const coin = order.product?.coin?.code;
  if (!coin || refund.surplus || order.paid === 0n) return undefined;
  const { project } = order;
  const entry = await tx.coinEntries.find({ project, coin, source: creditSource(order.orderNo) });
  return entry && { project, coin, userId: entry.userId, amount: entry.delta };
}

/**
 * The coins to reserve for this refund: ceil(granted × (refunded + refunding) / paid), minus the coins reserved or
 * taken for the order's other refunds. `refunded` and `refunding` include this refund.
 */
function dueOf(granted: bigint, order: OrderRow, rows: readonly CoinClawbackRow[]): bigint {
  const back = order.refunded + order.refunding;
  const total = min(granted, (granted * back + order.paid - 1n) / order.paid);
  const already = rows.reduce((sum, { state, due }) => (state === 'returned' ? sum : sum + due), 0n);
  return total > already ? total - already : 0n;
}

async function ruleOf(tx: Tx, { project, coin }: Granted): Promise<CoinRow['clawback']> {
  return (await tx.coins.find({ project, code: coin }))?.clawback ?? 'refuse';
}

function posting(order: OrderRow, refund: RefundRow, row: CoinClawbackRow, delta: bigint) {
  return {
    delta,
    kind: 'clawback',
    source: `refund:${refund.refundNo}:${row.turns}`,
    actor: refund.actor,
    clientId: order.clientId,
    orderNo: order.orderNo,
    memo: delta < 0n ? 'refunded' : 'the refund did not happen',
  } as const;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
