import type { ProductRow } from '../db/entities/catalog.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import { admission, countPurchases, takeStock } from '../db/queries/catalog.ts';
import type { Tx } from '../db/store.ts';
import { majorNumber, readAmount } from '../payments/money.ts';
import type { ProductSnapshot } from '../domain.ts';
import type { Asked } from '../payments/ports.ts';
import {
  invalid,
  NotOnSale,
  OutOfStock,
  PriceMismatch,
  ProjectDisabled,
  UserBlocked,
  UserLimitReached,
} from './refusals.ts';

/**
 * Lets an order in or refuses it: project, payer, and of a product its sale, price (minor units) and limit.
 * Writes what the product decides into the draft; one statement when there is no product. The product is not locked:
 * orders come before products (server/README.md, "Locks"), and its piece is taken by `hold`.
 */
export async function admit(now: Date, tx: Tx, draft: OrderRow, asked: Asked): Promise<void> {
  const standing = await admission(tx, draft.project, draft.userId, now);
  if (!standing?.enabled) throw new ProjectDisabled();
  if (standing.status === 'blocked') throw new UserBlocked();
  if (draft.productCode !== null) await admitProduct(now, tx, draft, draft.productCode, asked);
}

async function admitProduct(now: Date, tx: Tx, draft: OrderRow, code: string, asked: Asked): Promise<void> {
  const product = await findProduct(tx, draft.project, code);
  await requireSale(now, tx, product, draft);
  await requireLimit(tx, product, draft);
  requirePrice(product, asked);
  Object.assign(draft, boughtAs(product, draft));
}

/**
 * Takes the piece of an order that is written already, and holds the product's row from here to the commit. A product that
 * changed under our eyes is looked at once more; gives what the order is then, if it is anything else.
 */
export async function hold(now: Date, tx: Tx, order: OrderRow, asked: Asked): Promise<Partial<OrderRow> | undefined> {
  if (order.productCode === null || !order.stockHeld || order.product === null) return undefined;
  const key = { project: order.project, code: order.productCode };
  if (await takeStock(tx, { ...key, version: order.product.version })) return undefined;
  const fresh = await tx.products.lock(key);
  if (!fresh || fresh.stock === 0) throw new OutOfStock();
  await requireSale(now, tx, fresh, order);
  requirePrice(fresh, asked);
  if (fresh.stock !== null && !(await takeStock(tx, fresh))) throw new OutOfStock();
  return boughtAs(fresh, order);
}

/** What the product decides about an order of it. */
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
  if (product.saleFrom !== null && now < product.saleFrom) throw new NotOnSale('The sale has not started yet.');
  if (product.saleTo !== null && now >= product.saleTo) throw new NotOnSale('The sale has ended.');
  if (!product.payWays.includes(draft.payWay)) throw new NotOnSale(`The product cannot be paid with ${draft.payWay}.`);
  if (product.kind !== 'coin_package' || product.coin === null) return;
  if (draft.userId === null) throw invalid('/userId', 'required', 'is required to credit the coins');
  const coin = await tx.coins.find({ project: product.project, code: product.coin.code });
  if (!coin?.enabled) throw new NotOnSale('The coin of the package is disabled.');
}

/** Orders of one payer and product queue up here, so that each counts the ones before it. */
async function requireLimit(tx: Tx, { project, code, perUserLimit }: ProductRow, { userId }: OrderRow): Promise<void> {
  if (perUserLimit === null) return;
  if (userId === null) throw invalid('/userId', 'required', 'is required: the product has a purchase limit per user');
  await tx.advisoryLock(`limit:${project}:${code}:${userId}`);
  if ((await countPurchases(tx, project, code, userId)) >= perUserLimit) throw new UserLimitReached(perUserLimit);
}

function requirePrice({ priceMinor, currency }: ProductRow, asked: Asked): void {
  const mismatch = () => new PriceMismatch(majorNumber({ minor: priceMinor, currency }), currency);
  if (asked.currency !== undefined && asked.currency !== currency) throw mismatch();
  if (asked.amount !== undefined && readAmount(asked.amount, currency).minor !== priceMinor) throw mismatch();
}

function snapshot({ code, name, kind, version, priceMinor, currency, coin }: ProductRow): ProductSnapshot {
  return { code, name, kind, version, priceMinor: String(priceMinor), currency, coin };
}
