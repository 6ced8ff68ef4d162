import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import { createDownload, createTransport } from '../../../server/channels/transport.ts';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import { type BillDesk, BillMalformed, type PayWay } from '../../../server/payments/channel.ts';
import { type Desk, openDesk } from '../simulator/bills/desk.ts';
import { billFile, collect, type ReadBill } from './bill-trial.ts';

const KINDS = { alipay: alipayKind, wechat: wechatKind, paypal: paypalKind } as const;
const WAYS = ['alipay', 'wechat', 'paypal'] as const;

let world: Desk;
const desks: Partial<Record<PayWay, BillDesk>> = {};

test.before(async () => {
  world = await openDesk();
  const configs = await world.world.config();
  for (const payWay of WAYS) {
    const { fields, pems } = configs[payWay]!;
    const channel = KINDS[payWay].create({
      mode: 'simulator',
      fields,
      pems,
      simulatorUrl: world.world.url,
      send: createTransport({ timeoutMs: 60_000 }),
      download: createDownload({ stallMs: 60_000 }),
      // For signatures; the bill days follow the simulator clock.
      now: () => new Date(),
    });
    desks[payWay] = channel.bills!;
    await world.make(payWay, `${payWay}1`);
    await world.make(payWay, `${payWay}2`);
    await world.refund(payWay, `${payWay}2`);
    await world.make(payWay, `${payWay}3`, false);
  }
});
test.after.always(() => world?.close());
test.afterEach.always(async () => {
  await fetch(`${world.world.url}/sim/bills`, { method: 'DELETE', headers: { 'content-type': 'application/json' } });
});

/** Fetches and reads the bill of the day. */
async function readDay(t: ExecutionContext, payWay: PayWay): Promise<ReadBill> {
  const desk = desks[payWay]!;
  const answer = await desk.fetch(world.day);
  if (answer.kind !== 'bill') throw new Error(JSON.stringify(answer));
  const bytes = Buffer.concat(await Readable.from(answer.bytes).toArray());
  return collect(desk.read(await billFile(t, bytes), world.day));
}

test.serial('a PayPal bill is not ready before the day is over', async (t) => {
  t.like(await desks.paypal!.fetch(world.day), { kind: 'not_ready' });
  // The day is over from here on.
  await world.world.post('/sim/clock', { advanceSeconds: 86_400 });
  t.is((await desks.paypal!.fetch(world.day)).kind, 'bill');
});

for (const payWay of WAYS)
  test.serial(`${payWay}: payments and refunds are in the bill with their fees`, async (t) => {
    const { lines } = await readDay(t, payWay);
    t.deepEqual(
      lines.map(({ line, kind, orderNo, refundNo, amount, fee }) => [line, kind, orderNo, refundNo, amount, fee]),
      [
        [1, 'payment', `${payWay}1`, null, 1230n, payWay === 'paypal' ? 36n : 7n],
        [2, 'payment', `${payWay}2`, null, 1230n, payWay === 'paypal' ? 36n : 7n],
        [3, 'refund', `${payWay}2`, `${payWay}2R`, 230n, payWay === 'paypal' ? 0n : -1n],
      ],
    );
  });

/** Returns the result of the day's bill: the response kind, the fault or the line count. */
async function outcomeOf(t: ExecutionContext, payWay: PayWay): Promise<string | number> {
  try {
    const answer = await desks[payWay]!.fetch(world.day);
    if (answer.kind !== 'bill') return 'cause' in answer ? `${answer.kind} ${answer.cause}` : answer.kind;
    const bytes = Buffer.concat(await Readable.from(answer.bytes).toArray());
    const { lines } = await collect(desks[payWay]!.read(await billFile(t, bytes), world.day));
    return lines.length;
  } catch (error) {
    if (error instanceof BillMalformed) return error.fault;
    throw error;
  }
}

/** The expected result of each spoiled bill: no part of it counts. */
const SPOILT: Readonly<Record<string, Partial<Record<PayWay, string | number>>>> = {
  late: { alipay: 'not_ready', wechat: 'not_ready', paypal: 'not_ready' },
  empty: { alipay: 'not_ready', wechat: 'not_ready', paypal: 0 },
  cut: { alipay: 'cut_short', wechat: 'cut_short', paypal: 'unknown unparsable' },
  'wrong-hash': { wechat: 'wrong_hash' },
  'expired-url': { alipay: 'unknown http_status', wechat: 'unknown http_status' },
  'wrong-charset': { alipay: 'wrong_charset', wechat: 'wrong_charset', paypal: 'unknown unparsable' },
  'foreign-account': { alipay: 'wrong_account', wechat: 'wrong_account', paypal: 'wrong_account' },
  'other-columns': { alipay: 'wrong_columns', wechat: 'wrong_columns', paypal: 'wrong_columns' },
  'zip-bomb': { alipay: 'too_large', wechat: 'too_large' },
  formula: { alipay: 3, wechat: 3, paypal: 3 },
};

for (const [condition, outcomes] of Object.entries(SPOILT))
  test.serial(`${condition}: the bill of each channel is classified correctly`, async (t) => {
    for (const payWay of WAYS) {
      const expected = outcomes[payWay];
      if (expected === undefined) continue;
      await world.condition(condition, payWay);
      t.is(await outcomeOf(t, payWay), expected, payWay);
      await world.condition(condition, payWay, { on: false });
    }
  });

test.serial('a day with many payments is read completely, at PayPal in several windows', async (t) => {
  for (const payWay of WAYS) {
    const rows = payWay === 'paypal' ? 12_000 : 3000;
    await world.condition('filler', payWay, { date: world.day, rows });
    const { lines } = await readDay(t, payWay);
    t.is(lines.length, rows + 3, payWay);
    t.is(new Set(lines.map((line) => line.channelTradeNo + line.kind)).size, rows + 3, payWay);
    t.true(lines.every(({ line }, at) => line === at + 1));
  }
});
