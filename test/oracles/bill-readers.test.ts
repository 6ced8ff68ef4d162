import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { readBill } from '../../server/channels/alipay/bill-file.ts';
import { readTransactions } from '../../server/channels/paypal/bill-file.ts';
import { readTradeBill } from '../../server/channels/wechat/bill-file.ts';
import type { BillPart, PayWay } from '../../server/payments/channel.ts';
import * as alipay from '../unit/channels/alipay/bill-file.ts';
import { billFile, collect } from '../unit/channels/bill-trial.ts';
import * as paypal from '../unit/channels/paypal/bill-file.ts';
import * as wechat from '../unit/channels/wechat/bill-file.ts';

const run = promisify(execFile);
const hasPython = spawnSync('python3', ['--version']).status === 0;

const READERS: Readonly<Record<PayWay, (file: string) => AsyncIterable<BillPart>>> = {
  alipay: (file) => readBill(file, alipay.DAY, alipay.SELLER),
  wechat: (file) => readTradeBill(file, wechat.DAY, wechat.OWNER),
  paypal: (file) => readTransactions(file, paypal.DAY),
};

/** Asserts that our reader and the Python reader return the same lines. */
async function agree(t: ExecutionContext, payWay: PayWay, bytes: Uint8Array | string, rows: number): Promise<void> {
  if (!hasPython) {
    t.log('Not run: this machine has no python3. Debian: apt install python3');
    t.pass();
    return;
  }
  const file = await billFile(t, bytes);
  const { lines } = await collect(READERS[payWay](file));
  const args = [`${import.meta.dirname}/bill_readers.py`, payWay, file];
  const { stdout } = await run('python3', args, { maxBuffer: 1 << 26 });
  const theirs = stdout.split('\n').slice(0, -1);
  t.is(theirs.length, rows);
  t.deepEqual(
    lines.map(({ amount, discount, fee, share, at, ...line }) => ({
      ...line,
      ...Object.fromEntries(Object.entries({ amount, discount, fee, share }).map(([name, sum]) => [name, String(sum)])),
      at: at.toISOString(),
    })),
    theirs.map((line) => JSON.parse(line) as object),
  );
}

const ROWS = 400;
/** Random rows; the seed is logged so that a failure can be reproduced. */
function rowsOf<T>(t: ExecutionContext, row: fc.Arbitrary<T>): T[] {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.log(`seed ${seed}`);
  return fc.sample(row, { numRuns: ROWS, seed });
}

const clock = fc
  .tuple(fc.integer({ min: 0, max: 86_399 }))
  .map(([second]) => new Date(second * 1000).toISOString().slice(11, 19));
const number = fc.stringMatching(/^[A-Za-z0-9_*@|-]{6,32}$/);
const text = fc.oneof(
  fc.constantFrom('=1+1', '@SUM(A1)', '-1', '一杯茶,热', 'a,b,,c', '"x", y', '', '`', '茶 “红”', '100%'),
  fc.stringMatching(/^[ -~一-龥]{0,40}$/),
);
const fen = fc.integer({ min: 1, max: 99_999_999 });

const alipayRow: fc.Arbitrary<alipay.Row> = fc
  .record({
    tradeNo: number,
    orderNo: number,
    refundNo: number,
    name: text,
    remark: text,
    time: clock,
    ordered: fen,
    part: fen,
    fee: fen,
    share: fen,
  })
  .chain(({ time, ordered, part, fee, share, refundNo, ...row }) =>
    fc.constantFrom('交易', '退款', '红包').map((type): alipay.Row => {
      const sign = type === '退款' ? -1 : 1;
      const kept = { fee: -sign * (fee % 1000), share: -sign * (share % 3000) };
      const money = { ordered: sign * ordered, received: sign * (ordered % part), ...kept };
      const number = type === '退款' ? { refundNo } : {};
      return { ...row, ...number, ...money, type, time: `${alipay.DAY} ${time}`, remark: row.remark.replace(/^#/, '') };
    }),
  );

test('alipay: both readers return the same lines from a zip and from its detail file', async (t) => {
  const rows = rowsOf(t, alipayRow);
  await agree(t, 'alipay', alipay.billZip(rows), ROWS);
  await agree(t, 'alipay', alipay.gbk(alipay.detailLines(rows), '\n'), ROWS);
  await agree(t, 'alipay', alipay.billZip([]), 0);
});

const wechatRow: fc.Arbitrary<wechat.Row> = fc.record({
  tradeNo: number,
  orderNo: fc.oneof(number, fc.constant('0')),
  refundId: fc.oneof(number, fc.constant('0')),
  refundNo: fc.oneof(number, fc.constant('0')),
  state: fc.constantFrom('SUCCESS', 'REFUND', 'REVOKED', 'NOTPAY'),
  refundState: fc.constantFrom('SUCCESS', 'PROCESSING', 'CHANGE', 'FAIL', ''),
  time: clock.map((time) => `${wechat.DAY} ${time}`),
  name: text,
  attach: text,
  ordered: fen,
  settled: fen,
  asked: fc.oneof(fen, fc.constant(0)),
  returned: fen,
  // In hundred-thousandths of a yuan, half fen included.
  fee: fc.oneof(
    fc.integer({ min: -99_999, max: 99_999 }),
    fc.integer({ min: -99, max: 99 }).map((half) => half * 500),
  ),
});

test('wechat: both readers return the same lines from a gzipped and a plain file', async (t) => {
  const rows = rowsOf(t, wechatRow);
  await agree(t, 'wechat', gzipSync(wechat.billText(rows)), ROWS);
  await agree(t, 'wechat', wechat.billText(rows, { mark: '', end: '\n' }), ROWS);
  await agree(t, 'wechat', wechat.billText([]), 0);
});

const EVENTS =
  'T0000 T0001 T0006 T0013 T0015 T0100 T0106 T0200 T0400 T1106 T1107 T1107 T1108 T1109 T1110 T1111 T1200 T1201 T1202 T1205 T1207 T1208 T1503 T9900'.split(
    ' ',
  );
const paypalRow: fc.Arbitrary<paypal.Row> = fc
  .record({
    transaction_id: number,
    paypal_reference_id: fc.option(number, { nil: undefined }),
    paypal_reference_id_type: fc.constantFrom('TXN', 'ODR', undefined),
    transaction_event_code: fc.constantFrom(...EVENTS),
    transaction_status: fc.constantFrom('S', 'S', 'V', 'P', 'D'),
    transaction_initiation_date: fc
      .tuple(clock, fc.constantFrom('+0000', 'Z', '+0800', '-0730', '+05:30'))
      .map(([time, zone]) => `${paypal.DAY}T${time}${zone}`),
    invoice_id: fc.option(number, { nil: undefined }),
    custom_field: fc.option(number, { nil: undefined }),
    transaction_subject: text,
  })
  .chain((row) =>
    fc
      .record({
        minor: fc.integer({ min: -9_999_999, max: 9_999_999 }),
        fee: fc.option(fen),
        code: fc.constantFrom('USD', 'EUR', 'JPY', 'TWD'),
      })
      .map(({ minor, fee, code }): paypal.Row => {
        const value = (of: number) =>
          paypal.money(code === 'USD' || code === 'EUR' ? wechat.yuan(of) : String(of), code);
        return { ...row, transaction_amount: value(minor), ...(fee !== null && { fee_amount: value(-(fee % 5000)) }) };
      }),
  );

test('paypal: both readers return the same lines', async (t) => {
  await agree(t, 'paypal', paypal.billText(rowsOf(t, paypalRow)), ROWS);
  await agree(t, 'paypal', paypal.billText([]), 0);
});
