import type { ProductRow } from '../db/entities/catalog.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import { admission, countPurchases, takeStock } from '../db/queries/catalog.ts';
import type { Tx } from '../db/tx.ts';
import { majorNumber, readAmount } from '../payments/money.ts';
import type { PayRequest } from '../payments/pay-request.ts';
import type { ProductSnapshot } from '../payments/order.ts';
import {
  invalid,
  NotOnSale,
  OutOfStock,
  PriceMismatch,
  ProjectDisabled,
  UserBlocked,
  UserLimitReached,
} from './refusals.ts';

/** What the payer's request said about the price; the product decides about what it left out. */
export type Asked = Pick<PayRequest, 'amount' | 'currency'>;

/**
 * Lets an order in or refuses it: project, payer, and of a product its sale, price (minor units), limit and stock.
 * Writes what the product decides into the draft; one statement when there is no product.
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
  const bought = product.stock === null ? product : await reserve(now, tx, product, draft);
  requirePrice(bought, draft, asked);
  draft.amount = bought.priceMinor;
  draft.currency = bought.currency;
  draft.orderType ??= bought.orderType;
  draft.product = snapshot(bought);
  draft.stockHeld = product.stock !== null;
}

/** Holds the product's row from here to the commit. A version that changed under our eyes is looked at once more. */
async function reserve(now: Date, tx: Tx, product: ProductRow, draft: OrderRow): Promise<ProductRow> {
  if (await takeStock(tx, product.id, product.version)) return product;
  const fresh = await tx.products.lock({ id: product.id });
  if (!fresh?.stock) throw new OutOfStock();
  await requireSale(now, tx, fresh, draft);
  if (!(await takeStock(tx, fresh.id, fresh.version))) throw new OutOfStock();
  return fresh;
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

function requirePrice({ priceMinor, currency }: ProductRow, { payWay }: OrderRow, asked: Asked): void {
  const mismatch = () => new PriceMismatch(majorNumber({ minor: priceMinor, currency }, payWay), currency);
  if (asked.currency !== undefined && asked.currency !== currency) throw mismatch();
  if (asked.amount !== undefined && readAmount(asked.amount, currency, payWay).minor !== priceMinor) throw mismatch();
}

function snapshot({ code, name, kind, version, priceMinor, currency, coin }: ProductRow): ProductSnapshot {
  return { code, name, kind, version, priceMinor: String(priceMinor), currency, coin };
}
