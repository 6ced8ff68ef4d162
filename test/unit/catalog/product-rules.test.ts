import test from 'ava';
import { checkProduct } from '../../../server/catalog/products.ts';
import { CHANNEL_KINDS } from '../../../server/channels/registry.ts';
import type { ChannelKind, PayWay } from '../../../server/payments/channel.ts';
import { plainProduct } from '../../support/catalog-world.ts';

const kindOf = (payWay: PayWay) => CHANNEL_KINDS.get(payWay) as ChannelKind;

test('the price is read in the decimals of its currency at its channels', (t) => {
  t.is(checkProduct('goods', { ...plainProduct, price: '12.5' }, kindOf), 1250n);
  t.is(checkProduct('goods', { ...plainProduct, price: 500, currency: 'JPY', payWays: ['paypal'] }, kindOf), 500n);
  t.throws(() => checkProduct('goods', { ...plainProduct, price: 5.5, currency: 'JPY', payWays: ['paypal'] }, kindOf));
});

test('a change without a price keeps the price', (t) => {
  const { price: _, ...rest } = plainProduct;
  t.is(checkProduct('goods', { ...rest, priceMinor: 7n }, kindOf), 7n);
});

test('all faults are reported at once', (t) => {
  const wrong = { ...plainProduct, payWays: [], offerTtlSeconds: 60, coin: { code: 'gold', amount: 1, bonus: 0 } };
  const error = t.throws(() => checkProduct('goods', wrong, kindOf)) as {
    options?: { errors?: { pointer: string }[] };
  };
  t.deepEqual(
    error.options?.errors?.map(({ pointer }) => pointer),
    ['/payWays', '/coin', '/offerTtlSeconds'],
  );
});
