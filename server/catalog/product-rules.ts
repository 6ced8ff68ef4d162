import type { ProductRow } from '../db/entities/catalog.ts';
import type { FieldError } from '../errors.ts';
import { type Money, readAmount } from '../payments/money.ts';
import type { Channels } from '../payments/ports.ts';
import type { ProductSettings } from './products.ts';
import { faults } from './refusals.ts';

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

function priceOf({ price = '', currency, payWays }: Checked): Money {
  return readAmount(price, currency, payWays[0] as ProductSettings['payWays'][number], '/price');
}

function saleFaults({ payWays, currency, saleFrom, saleTo }: Checked, kindOf: Channels['kindOf']): FieldError[] {
  const found: FieldError[] = [];
  const deaf = payWays.filter((payWay) => !kindOf(payWay as never).currencies.includes(currency));
  if (payWays.length === 0) found.push(fault('/payWays', 'must name a channel at least'));
  if (deaf.length > 0) found.push(fault('/payWays', `${deaf.join(', ')} does not take ${currency}`));
  if (saleFrom && saleTo && saleTo <= saleFrom) found.push(fault('/saleTo', 'must be after saleFrom'));
  return found;
}

function kindFaults(kind: ProductRow['kind'], { coin, resource, offerTtlSeconds }: Checked): FieldError[] {
  const found: FieldError[] = [];
  if (kind === 'coin_package' && !coin) found.push(fault('/coin', 'is needed for a coin package'));
  if (kind !== 'coin_package' && coin) found.push(fault('/coin', 'is only for a coin package'));
  if (kind === 'skill' && !resource) found.push(fault('/resource', 'is needed for a skill'));
  if (kind !== 'skill' && resource) found.push(fault('/resource', 'is only for a skill'));
  if (kind !== 'skill' && offerTtlSeconds !== null) found.push(fault('/offerTtlSeconds', 'is only for a skill'));
  return found;
}

function fault(pointer: string, detail: string): FieldError {
  return { pointer, code: 'invalid', detail };
}
