import test from 'ava';
import { createDownload, createTransport } from '../../../../server/channels/transport.ts';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import { billFile, bytesOf, collect } from '../../channels/bill-trial.ts';
import { configOf } from '../wechat/merchant.ts';
import { openDesk, targetOf, type Desk } from './desk.ts';

const DAY_SECONDS = 86_400;

let desk: Desk;
test.before(async () => {
  desk = await openDesk();
});
test.after.always(() => desk?.close());

/** Returns the cells of an order's rows by column name. */
async function cells(payWay: 'alipay' | 'wechat', orderNo: string, names: readonly string[]) {
  const rows = (await desk.rows(payWay)).filter((row) => row['商户订单号'] === orderNo);
  return rows.map((row) => names.map((name) => row[payWay === 'alipay' ? `${name}（元）` : name]));
}

test.serial("Alipay: an order of 12.30 and its refund of 2.30 show each party's share", async (t) => {
  await desk.make('alipay', 'offers1', false);
  await desk.world.post('/sim/offers', { orderNo: 'offers1', merchant: 3, channel: '1.00', share: 0.5 });
  await desk.world.post('/sim/pay', { orderNo: 'offers1' });
  await desk.refund('alipay', 'offers1');
  const names = ['订单金额', '商家实收', '支付宝优惠', '商家优惠', '服务费', '分润'];
  t.deepEqual(await cells('alipay', 'offers1', names), [
    ['12.30', '9.30', '1.00', '3.00', '-0.06', '-0.50'],
    ['-2.30', '-1.74', '-0.18', '-0.56', '0.01', '0.09'],
  ]);
});

test.serial('WeChat Pay: vouchers without a deposit are not settled, and others are', async (t) => {
  await desk.make('wechat', 'offers2', false);
  await desk.world.post('/sim/offers', { orderNo: 'offers2', merchant: 3, channel: 1 });
  await desk.world.post('/sim/pay', { orderNo: 'offers2' });
  await desk.refund('wechat', 'offers2');
  const names = '应结订单金额 代金券金额 退款金额 充值券退款金额 手续费 订单金额 申请退款金额'.split(' ');
  t.deepEqual(await cells('wechat', 'offers2', names), [
    ['9.30', '1.00', '0.00', '0.00', '0.06000', '12.30', '0.00'],
    ['0.00', '0.00', '1.74', '0.18', '-0.01000', '0.00', '2.30'],
  ]);
});

test.serial('an offer that the bill cannot show or that exceeds the order is refused', async (t) => {
  await desk.make('wechat', 'offers3', false);
  await desk.make('paypal', 'offers4', false);
  const code = async (body: object) => {
    const answer = await fetch(`${desk.world.url}/sim/offers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { error?: { code: string } }).error?.code;
  };
  t.is(await code({ orderNo: 'offers3', share: 1 }), 'offer_unknown_here');
  t.is(await code({ orderNo: 'offers4', merchant: 1 }), 'offer_unknown_here');
  t.is(await code({ orderNo: 'offers3', merchant: 10, channel: 3 }), 'offer_too_much');
  t.is(await code({ orderNo: 'offers3', merchant: '1,00' }), 'amount_invalid');
  await desk.world.post('/sim/pay', { orderNo: 'offers3' });
  t.is(await code({ orderNo: 'offers3', merchant: 1 }), 'already_paid');
});

/** Reads bills with the adapter of a merchant whose refunds use the available balance. */
async function readDay(t: Parameters<typeof billFile>[0], day: string) {
  const { fields, pems } = await configOf(desk.world);
  const channel = wechatKind.create({
    mode: 'simulator',
    pems,
    simulatorUrl: desk.world.url,
    now: () => new Date(),
    fields: { ...fields, refundFunds: 'AVAILABLE' },
    send: createTransport({ timeoutMs: 60_000 }),
    download: createDownload({ stallMs: 60_000 }),
  });
  const answer = await channel.bills!.fetch(day);
  if (answer.kind !== 'bill') throw new Error(answer.kind);
  return collect(channel.bills!.read(await billFile(t, await bytesOf(answer)), day));
}

test.serial('refunds from the available balance are in a second bill, which is read too', async (t) => {
  for (const orderNo of ['offers5', 'offers6']) await desk.make('wechat', orderNo);
  const amount = { refund: 230, total: 1230, currency: 'CNY' };
  await desk.wechat('/v3/refund/domestic/refunds', {
    out_trade_no: 'offers5',
    out_refund_no: 'offers5R',
    amount,
    funds_account: 'AVAILABLE',
  });
  await desk.world.post('/sim/refund-state', { orderNo: 'offers5', refundNo: 'offers5R', state: 'succeeded' });
  await desk.refund('wechat', 'offers6');
  const refundsIn = async (type: string) => {
    const told = await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}&bill_type=${type}`);
    const { body } = await desk.wechat(targetOf(told.body, desk.world));
    return ['offers5R', 'offers6R'].filter((refundNo) => body.includes(`\`${refundNo},`)).join();
  };
  t.is(await refundsIn('ALL'), 'offers6R');
  t.is(await refundsIn('REFUND'), 'offers6R');
  t.is(await refundsIn('RECHARGE_REFUND'), 'offers5R');
  const { lines, totals } = await readDay(t, desk.day);
  const own = lines.filter(({ orderNo }) => orderNo === 'offers5');
  t.deepEqual(
    own.map(({ kind, amount: of, refundNo }) => [kind, of, refundNo]),
    [
      ['payment', 1230n, null],
      ['refund', 230n, 'offers5R'],
    ],
  );
  const net = lines.reduce((sum, { kind, amount: of, discount, fee }) => {
    const moved = kind === 'payment' ? of : -of;
    return sum + moved - discount - fee;
  }, 0n);
  t.is(totals?.[0]?.net, net);
});

test.serial(
  "a refund row keeps the state at its bill's creation, and the amount of a closed refund comes back",
  async (t) => {
    await desk.make('wechat', 'offers7');
    const fault = { payWay: 'wechat', call: 'refund', fault: 'closed-refund', orderNo: 'offers7' };
    await desk.world.post('/sim/faults', fault);
    const amount = { refund: 230, total: 1230, currency: 'CNY' };
    await desk.wechat('/v3/refund/domestic/refunds', { out_trade_no: 'offers7', out_refund_no: 'offers7R', amount });
    await desk.world.post('/sim/clock', { advanceSeconds: 8 * DAY_SECONDS });
    t.regex((await desk.wechat('/v3/refund/domestic/refunds/offers7R')).body, /"status":"CLOSED"/);
    const [, row] = (await desk.rows('wechat', desk.day)).filter((one) => one['商户订单号'] === 'offers7');
    t.like(row, { 退款状态: 'PROCESSING', 退款金额: '2.30', 手续费: '-0.01000' });
    const week = new Date(Date.parse(desk.day) + 7 * DAY_SECONDS * 1000).toISOString().slice(0, 10);
    const flows = async (day: string) => {
      const told = await desk.wechat(`/v3/bill/fundflowbill?bill_date=${day}`);
      const { body } = await desk.wechat(targetOf(told.body, desk.world));
      return body.split('\r\n').filter((line) => line.endsWith('`offers7R'));
    };
    const [left, came] = [await flows(desk.day), await flows(week)];
    t.deepEqual([left.length, came.length], [1, 1]);
    t.regex(left[0]!, /`支出,`2\.29,/);
    t.regex(came[0]!, /`收入,`2\.29,/);
  },
);
