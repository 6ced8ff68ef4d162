import test from 'ava';
import fc from 'fast-check';
import { CHANNEL_KINDS } from '../../../server/channels/registry.ts';
import { IN_WHOLE_UNITS } from '../../../server/db/entities/orders.ts';
import { InvalidRequest } from '../../../server/errors.ts';
import { PAY_WAYS, type PayWay } from '../../../server/payments/channel.ts';
import {
  exponentOf,
  majorNumber,
  majorText,
  MAX_MAJOR,
  readAmount,
  readBound,
  readMajorText,
  sameMoney,
  WITHOUT_DECIMALS,
} from '../../../server/payments/money.ts';

/** ISO 4217 for the currencies of the channels; PayPal's own list of those without decimals beside it. */
const NO_DECIMALS: Readonly<Record<PayWay, readonly string[]>> = {
  alipay: ['JPY'],
  wechat: ['JPY'],
  paypal: ['HUF', 'JPY', 'TWD'],
};
const CURRENCIES =
  'AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF ILS JPY MXN MYR NOK NZD PHP PLN SEK SGD THB TWD USD'.split(' ');

const currency = fc.constantFrom(...CURRENCIES);
const payWay = fc.constantFrom(...PAY_WAYS);
const scaleOf = (code: string, way: PayWay): bigint => (NO_DECIMALS[way].includes(code) ? 1n : 100n);
const anyMoney = fc.tuple(currency, payWay).chain(([code, way]) =>
  fc.record({
    money: fc.record({ minor: fc.bigInt(1n, MAX_MAJOR * scaleOf(code, way)), currency: fc.constant(code) }),
    way: fc.constant(way),
  }),
);

for (const way of PAY_WAYS) {
  test(`${way}: every currency has its number of decimals`, (t) => {
    for (const code of CURRENCIES) t.is(exponentOf(code, way), NO_DECIMALS[way].includes(code) ? 0 : 2, code);
    for (const code of ['XXX', 'cny', '', '__proto__', 'constructor']) t.is(exponentOf(code, way), undefined, code);
  });
}

test('what is written is read back, as text, as a number and from a channel', (t) => {
  fc.assert(
    fc.property(anyMoney, ({ money, way }) => {
      const text = majorText(money, way);
      t.deepEqual(readAmount(text, money.currency, way), money);
      t.deepEqual(readAmount(majorNumber(money, way), money.currency, way), money);
      t.deepEqual(readMajorText(text, money.currency, way), money);
    }),
  );
});

test('what is written has exactly the decimals of the currency and means the same number', (t) => {
  fc.assert(
    fc.property(anyMoney, ({ money, way }) => {
      const [whole = '', decimals = ''] = majorText(money, way).split('.');
      t.is(10n ** BigInt(decimals.length), scaleOf(money.currency, way));
      t.is(BigInt(whole + decimals), money.minor);
      t.regex(whole, /^(0|[1-9]\d*)$/);
    }),
  );
});

test('negative sums (of books, never of orders) keep their sign', (t) => {
  t.is(majorText({ minor: -5n, currency: 'CNY' }, 'alipay'), '-0.05');
  t.is(majorText({ minor: -5n, currency: 'JPY' }, 'paypal'), '-5');
});

test('one minor unit and the largest amount are taken, one more is not', (t) => {
  for (const way of PAY_WAYS) {
    for (const code of CURRENCIES) {
      const scale = scaleOf(code, way);
      const write = (minor: bigint): string => majorText({ minor, currency: code }, way);
      t.is(readAmount(write(1n), code, way).minor, 1n);
      t.is(readAmount(write(MAX_MAJOR * scale), code, way).minor, MAX_MAJOR * scale);
      t.throws(() => readAmount(write(MAX_MAJOR * scale + 1n), code, way), { instanceOf: InvalidRequest });
      t.throws(() => readAmount(write(0n), code, way), { instanceOf: InvalidRequest });
    }
  }
});

const garbage = [
  '',
  ' ',
  '.',
  '1.',
  '.5',
  '-1',
  '+1',
  '1e3',
  '1E3',
  '1,000',
  '1 000',
  ' 1',
  '1 ',
  '1\n',
  '0x10',
  'NaN',
  'Infinity',
  '\uff11',
  '\u0661',
  '1.2.3',
  '1.234',
  '0',
  '0.00',
  '00000000000001',
  '--1',
  '1_000',
  "1'000",
  '\u00001',
];
test('garbage is never an amount of a request', (t) => {
  for (const text of garbage) {
    const error = t.throws(
      () => readAmount(text, 'CNY', 'alipay'),
      { instanceOf: InvalidRequest },
      JSON.stringify(text),
    );
    t.is(error?.code, 'amount_invalid');
  }
  for (const number of [0, -1, NaN, Infinity, -Infinity, 1e21, 1e-7, 0.001, 1.005, 2 ** 53]) {
    t.throws(() => readAmount(number, 'CNY', 'alipay'), { instanceOf: InvalidRequest }, String(number));
  }
  t.throws(() => readAmount('1', 'XXX', 'alipay'), { instanceOf: InvalidRequest });
  t.throws(() => readAmount('1.5', 'JPY', 'paypal'), { instanceOf: InvalidRequest });
});

test('whatever a request says, it is refused or means exactly what it says', (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(...'0123456789.-+eE, ') }),
    fc.double().map(String),
  );
  fc.assert(
    fc.property(text, currency, payWay, (input, code, way) => {
      let minor: bigint | undefined;
      try {
        ({ minor } = readAmount(input, code, way));
      } catch (error) {
        return error instanceof InvalidRequest;
      }
      return (
        /^\d+(\.\d+)?$/.test(input) &&
        minor > 0n &&
        Math.abs(Number(input) * Number(scaleOf(code, way)) - Number(minor)) < 1e-3
      );
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('garbage is never an amount of a channel; needless zeros are', (t) => {
  for (const text of [
    '',
    '.',
    '-1',
    '+1',
    '1e3',
    'NaN',
    '1,00',
    '0.001',
    ' 1',
    '1.',
    '\uff11',
    '1234567890123',
    '1.0000000',
  ]) {
    t.is(readMajorText(text, 'CNY', 'alipay'), undefined, text);
  }
  for (const value of [1, 1n, null, undefined, {}, [], true]) t.is(readMajorText(value, 'CNY', 'alipay'), undefined);
  t.is(readMajorText('1.00', 'XXX', 'alipay'), undefined);
  t.is(readMajorText('1.5', 'JPY', 'paypal'), undefined);
  t.deepEqual(readMajorText('1.50000', 'CNY', 'alipay'), { minor: 150n, currency: 'CNY' });
  t.deepEqual(readMajorText('500.00', 'JPY', 'paypal'), { minor: 500n, currency: 'JPY' });
});

test('whatever a channel says, it is refused or means exactly what it says', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.-e') }), currency, payWay, (input, code, way) => {
      const money = readMajorText(input, code, way);
      return !money || Math.abs(Number(input) * Number(scaleOf(code, way)) - Number(money.minor)) < 1e-3;
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('two amounts are the same only in one currency', (t) => {
  t.true(sameMoney({ minor: 1n, currency: 'CNY' }, { minor: 1n, currency: 'CNY' }));
  t.false(sameMoney({ minor: 1n, currency: 'CNY' }, { minor: 1n, currency: 'USD' }));
  t.false(sameMoney({ minor: 1n, currency: 'CNY' }, { minor: 2n, currency: 'CNY' }));
});

test('the currency of an order alone says how many decimals its amount has, at every channel and in the index', (t) => {
  for (const { payWay: way, currencies } of CHANNEL_KINDS.values())
    for (const code of currencies)
      t.is(exponentOf(code, way), WITHOUT_DECIMALS.includes(code) ? 0 : 2, `${way} ${code}`);
  t.is(IN_WHOLE_UNITS, `currency in (${WITHOUT_DECIMALS.map((code) => `'${code}'`).join(', ')})`);
});

test('a bound of amounts is the same sum in every currency, rounded into it where there are no decimals', (t) => {
  t.deepEqual(readBound('100', true), { decimal: 10_000n, whole: 100n });
  t.deepEqual(readBound('12.5', true), { decimal: 1250n, whole: 13n });
  t.deepEqual(readBound('12.50', false), { decimal: 1250n, whole: 12n });
  t.deepEqual(readBound('0.01', true), { decimal: 1n, whole: 1n });
  t.deepEqual(readBound('0', false), { decimal: 0n, whole: 0n });
  for (const text of ['', '-1', 'ten', '1.234', '1e3', '.5', '5.', '1234567890'])
    t.is(readBound(text, true), undefined, text);
});
