import { randomUUID } from 'node:crypto';
import type { CoinGrant, CoinPrice, ProductRow, SkillResource } from '../db/entities/catalog.ts';
import { type ProductFilter, listProducts, productHasOrders } from '../db/queries/catalog.ts';
import type { Tx } from '../db/store.ts';
import { type FieldError, NotFound } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import type { UrlFault, UrlRule } from '../outgoing/url-rule.ts';
import type { PayWay } from '../payments/channel.ts';
import { type Money, readAmount } from '../money.ts';
import type { Channels } from '../payments/ports.ts';
import { type CatalogPorts, given, note, requireProject } from './ports.ts';
import { CodeTaken, InUse, faults, invalid } from './errors.ts';

/** The settings of a product. `price` is in major units, such as 9.90 yuan. */
interface ProductSettings {
  name: string;
  description: string | null;
  price: number | string;
  currency: string;
  payWays: PayWay[];
  stock: number | null;
  perUserLimit: number | null;
  saleFrom: Date | null;
  saleTo: Date | null;
  orderType: string | null;
  coin: CoinGrant | null;
  coinPrice: CoinPrice | null;
  resource: SkillResource | null;
  offerTtlSeconds: number | null;
  refundAfterFulfilment: boolean;
}

/** The price is either a new price in major units (`price`) or the stored price in minor units (`priceMinor`). */
type Checked = Omit<ProductSettings, 'price' | 'payWays' | 'name' | 'description'> &
  Pick<ProductRow, 'payWays'> & { price?: number | string } & Partial<Pick<ProductRow, 'priceMinor'>>;

/** Returns the price in minor units, or throws a 400 that lists every invalid setting of the product. */
export function checkProduct(kind: ProductRow['kind'], product: Checked, kindOf: Channels['kindOf']): bigint {
  const found = [...saleFaults(product, kindOf), ...kindFaults(kind, product)];
  if (found.length > 0) throw faults(found);
  if (product.price === undefined && product.priceMinor !== undefined) return product.priceMinor;
  return priceOf(product).minor;
}

function priceOf({ price = '', currency }: Checked): Money {
  return readAmount(price, currency, '/price');
}

function saleFaults({ payWays, currency, saleFrom, saleTo }: Checked, kindOf: Channels['kindOf']): FieldError[] {
  const found: FieldError[] = [];
  const unsupported = payWays.filter((payWay) => !kindOf(payWay as never).currencies.includes(currency));
  if (payWays.length === 0) found.push(fault('/payWays', 'must contain at least one channel'));
  if (unsupported.length > 0) found.push(fault('/payWays', `${unsupported.join(', ')} does not support ${currency}`));
  if (saleFrom && saleTo && saleTo <= saleFrom) found.push(fault('/saleTo', 'must be after `saleFrom`'));
  return found;
}

function kindFaults(kind: ProductRow['kind'], { coin, coinPrice, resource, offerTtlSeconds }: Checked): FieldError[] {
  const found: FieldError[] = [];
  if (kind === 'coin_package' && !coin) found.push(fault('/coin', 'is required for a coin package'));
  if (kind !== 'coin_package' && coin) found.push(fault('/coin', 'is only allowed for a coin package'));
  if (kind === 'skill' && !resource) found.push(fault('/resource', 'is required for a skill'));
  if (kind !== 'skill' && resource) found.push(fault('/resource', 'is only allowed for a skill'));
  if (coinPrice && kind !== 'skill') found.push(fault('/coinPrice', 'is only allowed for a skill'));
  if (kind !== 'skill' && offerTtlSeconds !== null)
    found.push(fault('/offerTtlSeconds', 'is only allowed for a skill'));
  return found;
}

function fault(pointer: string, detail: string): FieldError {
  return { pointer, code: 'invalid', detail };
}

/** A change of a product. Absent fields keep their value, and `null` clears a field. */
type ProductPatch = { [Member in keyof ProductSettings]?: ProductSettings[Member] | undefined };

interface ProductKey {
  project: string;
  code: string;
}

/**
 * A product, and the reason why its handler URL is refused (null = allowed). A stored URL can be refused, because the
 * URL rules may have become stricter after it was stored.
 */
export type ShownProduct = ProductRow & { handlerFault: UrlFault['code'] | null };

function handlerFault(resource: ProductRow['resource'] | undefined, urlFault: UrlRule): UrlFault | undefined {
  return resource?.handler === 'http' ? urlFault(resource.url) : undefined;
}

/** The operations on products. Existing orders keep the price and version with which they were created. */
export function products({ store, now, audit, kindOf, urlFault }: CatalogPorts) {
  const log = note(audit);
  const shown = (row: ProductRow): ShownProduct => ({
    ...row,
    handlerFault: handlerFault(row.resource, urlFault)?.code ?? null,
  });
  const requireCallable = (resource: ProductRow['resource'] | undefined): void => {
    const fault = handlerFault(resource, urlFault);
    if (fault) throw invalid('/resource/url', fault.code, fault.detail);
  };
  return {
    list: (filter: ProductFilter) => store.read(async (tx) => (await listProducts(tx, filter)).map(shown)),
    get: (key: ProductKey) => store.read(async (tx) => shown(await required(tx.products.find(key)))),
    create: (actor: Actor, key: ProductKey, kind: ProductRow['kind'], settings: ProductSettings) =>
      store.transaction(async (tx) => {
        await requireProject(tx, key.project);
        const at = now();
        const { price, ...columns } = settings;
        const priceMinor = checkProduct(kind, { ...columns, price }, kindOf);
        requireCallable(settings.resource);
        await requireCoin(tx, key.project, settings);
        const times = { createdAt: at, updatedAt: at };
        const row: ProductRow = {
          id: randomUUID(),
          ...key,
          version: 1,
          kind,
          enabled: true,
          ...columns,
          priceMinor,
          ...times,
        };
        if (!(await tx.products.insertIfNew(row))) throw new CodeTaken('product');
        await log(tx, actor, 'product.create', target(key), null, row);
        return shown(row);
      }),
    update: (actor: Actor, key: ProductKey, patch: ProductPatch) =>
      change(actor, key, 'product.update', async (tx, product) => {
        const { price, ...columns } = given(patch);
        const next = { ...product, ...columns };
        const priceMinor = checkProduct(product.kind, price === undefined ? next : { ...next, price }, kindOf);
        requireCallable(patch.resource);
        await requireCoin(tx, key.project, patch);
        const isRepriced = priceMinor !== product.priceMinor || next.currency !== product.currency;
        return { ...columns, priceMinor, version: product.version + (isRepriced ? 1 : 0) };
      }),
    toggle: (actor: Actor, key: ProductKey, enabled: boolean | undefined) =>
      change(actor, key, 'product.toggle', async (_tx, product) => ({ enabled: enabled ?? !product.enabled })),
    remove: (actor: Actor, key: ProductKey) =>
      store.transaction(async (tx) => {
        const product = await required(tx.products.lock(key));
        if (await productHasOrders(tx, key.project, key.code)) throw new InUse('The product already has orders.');
        await tx.products.delete(key);
        await log(tx, actor, 'product.delete', target(key), product, null);
      }),
  };

  function change(
    actor: Actor,
    key: ProductKey,
    action: string,
    decide: (tx: Tx, product: ProductRow) => Promise<Partial<ProductRow>>,
  ) {
    return store.transaction(async (tx) => {
      const before = await required(tx.products.lock(key));
      const patch = { ...(await decide(tx, before)), updatedAt: now() };
      await tx.products.update(key, patch);
      const after: ProductRow = { ...before, ...patch };
      await log(tx, actor, action, target(key), before, after);
      return shown(after);
    });
  }
}

export type Products = ReturnType<typeof products>;

/** Locks the coins of a product, so that they are not deleted before the commit. Throws a 400 for an unknown coin. */
async function requireCoin(
  tx: Tx,
  project: string,
  { coin, coinPrice }: Pick<ProductPatch, 'coin' | 'coinPrice'>,
): Promise<void> {
  if (coin && !(await tx.coins.lock({ project, code: coin.code })))
    throw invalid('/coin/code', 'coin_unknown', 'does not exist in this project');
  if (!coinPrice) return;
  const named = await tx.coins.lock({ project, code: coinPrice.code });
  if (!named) throw invalid('/coinPrice/code', 'coin_unknown', 'does not exist in this project');
  if (!named.enabled) throw invalid('/coinPrice/code', 'coin_disabled', 'is disabled');
}

function target({ project, code }: ProductKey): string {
  return `${project}/${code}`;
}

async function required(found: Promise<ProductRow | undefined>): Promise<ProductRow> {
  const product = await found;
  if (!product) throw new NotFound('product');
  return product;
}
