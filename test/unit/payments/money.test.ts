import test from 'ava';
import fc from 'fast-check';
import { CHANNEL_KINDS } from '../../../server/channels/registry.ts';
import { IN_WHOLE_UNITS } from '../../../server/db/entities/orders.ts';
import { InvalidRequest } from '../../../server/errors.ts';
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
} from '../../../server/money.ts';

/** PayPal's list of zero-decimal currencies; no other channel accepts them. */
const NO_DECIMALS = ['HUF', 'JPY', 'TWD'];
const CURRENCIES =
  'AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF ILS JPY MXN MYR NOK NZD PHP PLN SEK SGD THB TWD USD'.split(' ');

const currency = fc.constantFrom(...CURRENCIES);
const scaleOf = (code: string): bigint => (NO_DECIMALS.includes(code) ? 1n : 100n);
const anyMoney = currency.chain((code) =>
  fc.record({ minor: fc.bigInt(1n, MAX_MAJOR * scaleOf(code)), currency: fc.constant(code) }),
);

test('every currency has its number of decimals', (t) => {
  for (const code of CURRENCIES) t.is(exponentOf(code), NO_DECIMALS.includes(code) ? 0 : 2, code);
  for (const code of ['XXX', 'cny', '', '__proto__', 'constructor']) t.is(exponentOf(code), undefined, code);
});

test('a formatted amount parses back to itself, as text, as a number and as a channel amount', (t) => {
  fc.assert(
    fc.property(anyMoney, (money) => {
      const text = majorText(money);
      t.deepEqual(readAmount(text, money.currency), money);
      t.deepEqual(readAmount(majorNumber(money), money.currency), money);
      t.deepEqual(readMajorText(text, money.currency), money);
    }),
  );
});

test('a formatted amount has exactly the decimals of its currency and the same value', (t) => {
  fc.assert(
    fc.property(anyMoney, (money) => {
      const [whole = '', decimals = ''] = majorText(money).split('.');
      t.is(10n ** BigInt(decimals.length), scaleOf(money.currency));
      t.is(BigInt(whole + decimals), money.minor);
      t.regex(whole, /^(0|[1-9]\d*)$/);
    }),
  );
});

test('negative sums (of the ledger, never of orders) keep their sign', (t) => {
  t.is(majorText({ minor: -5n, currency: 'CNY' }), '-0.05');
  t.is(majorText({ minor: -5n, currency: 'JPY' }), '-5');
});

test('one minor unit and the largest amount are accepted, and one more is rejected', (t) => {
  for (const code of CURRENCIES) {
    const scale = scaleOf(code);
    const write = (minor: bigint): string => majorText({ minor, currency: code });
    t.is(readAmount(write(1n), code).minor, 1n);
    t.is(readAmount(write(MAX_MAJOR * scale), code).minor, MAX_MAJOR * scale);
    t.throws(() => readAmount(write(MAX_MAJOR * scale + 1n), code), { instanceOf: InvalidRequest });
    t.throws(() => readAmount(write(0n), code), { instanceOf: InvalidRequest });
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
test('an invalid amount in a request is rejected', (t) => {
  for (const text of garbage) {
    const error = t.throws(() => readAmount(text, 'CNY'), { instanceOf: InvalidRequest }, JSON.stringify(text));
    t.is(error?.code, 'amount_invalid');
  }
  for (const number of [0, -1, NaN, Infinity, -Infinity, 1e21, 1e-7, 0.001, 1.005, 2 ** 53]) {
    t.throws(() => readAmount(number, 'CNY'), { instanceOf: InvalidRequest }, String(number));
  }
  t.throws(() => readAmount('1', 'XXX'), { instanceOf: InvalidRequest });
  t.throws(() => readAmount('1.5', 'JPY'), { instanceOf: InvalidRequest });
});

test('an amount in a request is either rejected or parsed exactly', (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(...'0123456789.-+eE, ') }),
    fc.double().map(String),
  );
  fc.assert(
    fc.property(text, currency, (input, code) => {
      let minor: bigint | undefined;
      try {
        ({ minor } = readAmount(input, code));
      } catch (error) {
        return error instanceof InvalidRequest;
      }
      return (
        /^\d+(\.\d+)?$/.test(input) &&
        minor > 0n &&
        Math.abs(Number(input) * Number(scaleOf(code)) - Number(minor)) < 1e-3
      );
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('an invalid amount from a channel is rejected, and superfluous zeros are accepted', (t) => {
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
    t.is(readMajorText(text, 'CNY'), undefined, text);
  }
  for (const value of [1, 1n, null, undefined, {}, [], true]) t.is(readMajorText(value, 'CNY'), undefined);
  t.is(readMajorText('1.00', 'XXX'), undefined);
  t.is(readMajorText('1.5', 'JPY'), undefined);
  t.deepEqual(readMajorText('1.50000', 'CNY'), { minor: 150n, currency: 'CNY' });
  t.deepEqual(readMajorText('500.00', 'JPY'), { minor: 500n, currency: 'JPY' });
});

test('an amount from a channel is either rejected or parsed exactly', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.-e') }), currency, (input, code) => {
      const money = readMajorText(input, code);
      return !money || Math.abs(Number(input) * Number(scaleOf(code)) - Number(money.minor)) < 1e-3;
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('two amounts are equal only in the same currency', (t) => {
  t.true(sameMoney({ minor: 1n, currency: 'CNY' }, { minor: 1n, currency: 'CNY' }));
  t.false(sameMoney({ minor: 1n, currency: 'CNY' }, { minor: 1n, currency: 'USD' }));
  t.false(sameMoney({ minor: 1n, currency: 'CNY' }, { minor: 2n, currency: 'CNY' }));
});

test('every currency that a channel accepts has its decimals, in the index too', (t) => {
  for (const { payWay, currencies } of CHANNEL_KINDS.values())
    for (const code of currencies) t.is(exponentOf(code), WITHOUT_DECIMALS.includes(code) ? 0 : 2, `${payWay} ${code}`);
  t.deepEqual(WITHOUT_DECIMALS, NO_DECIMALS);
  t.is(IN_WHOLE_UNITS, "currency in ('HUF', 'JPY', 'TWD')");
});

test('an amount limit is the same sum in every currency, rounded where there are no decimals', (t) => {
  t.deepEqual(readBound('100', true), { decimal: 10_000n, whole: 100n });
  t.deepEqual(readBound('12.5', true), { decimal: 1250n, whole: 13n });
  t.deepEqual(readBound('12.50', false), { decimal: 1250n, whole: 12n });
  t.deepEqual(readBound('0.01', true), { decimal: 1n, whole: 1n });
  t.deepEqual(readBound('0', false), { decimal: 0n, whole: 0n });
  for (const text of ['', '-1', 'ten', '1.234', '1e3', '.5', '5.', '1234567890'])
    t.is(readBound(text, true), undefined, text);
});
