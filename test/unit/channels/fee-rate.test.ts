import test from 'ava';
import { createDownload } from '../../../server/channels/transport.ts';
import { readFeeRate } from '../../../server/channels/fee-rate.ts';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import { type ChannelInput, type ChannelKind, ChannelMisconfigured } from '../../../server/payments/channel.ts';
import * as alipay from './alipay/fixture.ts';
import * as paypal from './paypal/scripted.ts';
import { platformInput } from './wechat/fake.ts';

const read = (feeRate: string | undefined, withAmount = true) =>
  readFeeRate(feeRate === undefined ? {} : { feeRate }, { withAmount });

test('a percentage is converted to a share without rounding', (t) => {
  for (const [text, share] of [
    ['0.6', '0.006'],
    ['0.6%', '0.006'],
    ['0.60 %', '0.0060'],
    [' 0.38% ', '0.0038'],
    ['1', '0.01'],
    ['3.49%', '0.0349'],
    ['12.5', '0.125'],
    ['99.9999', '0.999999'],
    ['0', '0.00'],
  ] as const)
    t.deepEqual(read(text, false), { share, fixed: 0n, fixedCurrency: null }, text);
});

test('a fixed fee per payment is in the smallest unit of its currency', (t) => {
  for (const [text, share, fixed, fixedCurrency] of [
    ['3.49% + 0.49 USD', '0.0349', 49n, 'USD'],
    ['3.49+0.49usd', '0.0349', 49n, 'USD'],
    ['2.9% + 0.3 EUR', '0.029', 30n, 'EUR'],
    ['3.6% + 40 JPY', '0.036', 40n, 'JPY'],
    ['0% + 2 GBP', '0.00', 200n, 'GBP'],
  ] as const)
    t.deepEqual(read(text), { share, fixed, fixedCurrency }, text);
});

test('fees are not compared without a rate', (t) => {
  t.is(read(undefined), undefined);
  t.is(read(''), undefined);
});

test('an invalid rate is refused with the reason', (t) => {
  for (const [text, why, withAmount] of [
    ['0.6% + 0.10 CNY', /has no fixed fee/, false],
    ['free', /percentage must be below/, true],
    ['-0.6', /percentage/, true],
    ['0,6', /percentage/, true],
    ['100', /below 100/, false],
    ['0.60001', /four decimals/, true],
    ['6e-1', /percentage/, true],
    ['0.6 ‰', /percentage/, true],
    ['+ 0.49 USD', /percentage/, true],
    ['3.49% + 0.49', /like 0.49 USD/, true],
    ['3.49% + USD 0.49', /like 0.49 USD/, true],
    ['3.49% + 0.495 USD', /like 0.49 USD/, true],
    ['3.49% + 0.49 XXX', /XXX is not supported/, true],
    ['3.49% + 0.5 JPY', /JPY has 0 decimals/, true],
    ['3.49% + 0.49 USD + 1 USD', /more than one fixed amount/, true],
  ] as const) {
    const error = t.throws(() => read(text, withAmount), { instanceOf: ChannelMisconfigured, message: why }, text);
    t.is(error?.field, 'feeRate');
    t.true(error?.message.includes(`"${text}"`));
  }
});

test('the bills of each channel use the rate of its configuration', (t) => {
  const common = { simulatorUrl: null, now: () => new Date(), send: () => Promise.reject(new Error('not used')) };
  const kinds: readonly [ChannelKind, Pick<ChannelInput, 'mode' | 'fields' | 'pems'>, string, bigint][] = [
    [alipayKind, { mode: 'sandbox', fields: { appId: alipay.APP_ID }, pems: alipay.keyMode }, '0.6', 0n],
    [wechatKind, { ...platformInput(), mode: 'live' }, '0.6%', 0n],
    [paypalKind, { mode: 'sandbox', fields: paypal.FIELDS, pems: {} }, '0.6% + 0.49 USD', 49n],
  ];
  for (const [kind, input, feeRate, fixed] of kinds) {
    const ratesOf = (fields: object) => {
      const all = {
        ...common,
        ...input,
        fields: { ...input.fields, ...fields },
        download: createDownload({ stallMs: 1 }),
      };
      return kind.create(all).bills?.rate;
    };
    t.is(ratesOf({}), undefined, kind.payWay);
    t.deepEqual(ratesOf({ feeRate }), { share: '0.006', fixed, fixedCurrency: fixed > 0n ? 'USD' : null }, kind.payWay);
    t.throws(() => ratesOf({ feeRate: 'free' }), { instanceOf: ChannelMisconfigured });
    if (fixed === 0n) t.throws(() => ratesOf({ feeRate: '0.6 + 1 CNY' }), { message: /has no fixed fee/ });
    // A configuration is tested before it is stored, without a download.
    const tried = { ...common, ...input, fields: { ...input.fields, feeRate: 'free' } };
    t.is(t.throws(() => kind.create(tried), { instanceOf: ChannelMisconfigured })?.field, 'feeRate');
    const field = kind.fields.find(({ name }) => name === 'feeRate');
    t.like(field, { secret: false, requiredIn: [] }, kind.payWay);
    t.is(field?.pinned, undefined);
  }
});
