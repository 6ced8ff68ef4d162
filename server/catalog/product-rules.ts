import type { CoinGrant, CoinPrice, ProductRow, SkillResource } from '../db/entities/catalog.ts';
import type { FieldError } from '../errors.ts';
import type { PayWay } from '../payments/channel.ts';
import { type Money, readAmount } from '../payments/money.ts';
import type { Channels } from '../payments/ports.ts';
import { faults } from './refusals.ts';

/** A product as an administrator describes it; `price` in major units. */
export interface ProductSettings {
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

/** What the rules look at: settings whose price is new, or the price that is there. */
type Checked = Omit<ProductSettings, 'price' | 'payWays' | 'name' | 'description'> &
  Pick<ProductRow, 'payWays'> & { price?: number | string } & Partial<Pick<ProductRow, 'priceMinor'>>;

/** Checks what the members of a product say together and reads its price into minor units; throws a 400 that names every fault. */
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
  if (saleFrom && saleTo && saleTo <= saleFrom) found.push(fault('/saleTo', 'must be after saleFrom'));
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
