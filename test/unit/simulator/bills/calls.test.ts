import { createHash } from 'node:crypto';
import test from 'ava';
import { clientFor } from '../alipay/client.ts';
import { call, configOf, nativeOrder } from '../wechat/merchant.ts';
import { askAlipay, bearerOf, openDesk, reportPath, targetOf, unzip, type Desk } from './desk.ts';

const DAY_MS = 86_400_000;

let desk: Desk;
test.before(async () => {
  desk = await openDesk();
  for (const payWay of ['alipay', 'wechat', 'paypal'] as const) await desk.make(payWay, `${payWay}1`);
});
test.after.always(() => desk?.close());

for (const [type, date] of [
  ['trade', '2026-02-30'],
  ['trade', '20260131'],
  ['trade', '2015-12-31'],
  ['trade', '2999-01-01'],
  ['trade', '2026-13'],
  ['settlement', '2026-01-31'],
] as const) {
  test.serial(`Alipay has no bill ${type} of ${date}`, async (t) => {
    const { content, signed } = await askAlipay(desk.alipay, date, type);
    t.is(signed, 'genuine');
    t.is(content['sub_code'], 'isv.invalid_arguments');
  });
}

test.serial('Alipay has a bill of the month, under its name', async (t) => {
  const month = desk.day.slice(0, 7);
  const { content } = await askAlipay(desk.alipay, month);
  const { files } = unzip(await (await fetch(content['bill_download_url']!)).arrayBuffer());
  const { sellerId } = (await desk.world.config())['alipay']!.fields;
  t.deepEqual(
    files.map(({ name }) => name),
    ['', '(汇总)'].map((ending) => `${sellerId}0156_${month.replace('-', '')}_业务明细${ending}.csv`),
  );
  t.regex(files[0]!.text, /alipay1/);
});

test.serial('an address of Alipay’s is good for half a minute, for whoever has it', async (t) => {
  const { content } = await askAlipay(desk.alipay, desk.day);
  const url = content['bill_download_url']!;
  t.is((await fetch(url)).status, 200);
  await desk.world.post('/sim/clock', { advanceSeconds: 31 });
  t.is((await fetch(url)).status, 403);
  t.is((await fetch(url.replace(/token=./, 'token=*'))).status, 404);
});

test.serial('another account of Alipay’s has another bill', async (t) => {
  await desk.world.post('/sim/accounts', { payWay: 'alipay', name: 'other' });
  const other = await clientFor(desk.world, 'other');
  t.is((await askAlipay(other, desk.day)).content['sub_code'], 'isp.bill_not_exist');
});

for (const [query, status, code] of [
  ['bill_date=2026-02-30', 400, 'PARAM_ERROR'],
  ['bill_date=20260131', 400, 'PARAM_ERROR'],
  ['', 400, 'PARAM_ERROR'],
  ['bill_date=2999-01-01', 400, 'INVALID_REQUEST'],
  ['bill_date=2020-01-31', 400, 'INVALID_REQUEST'],
  ['bill_date=DAY&bill_type=RECHARGE', 400, 'PARAM_ERROR'],
  ['bill_date=DAY&tar_type=ZIP', 400, 'PARAM_ERROR'],
  ['bill_date=DAY&sub_mchid=1900000109', 400, 'PARAM_ERROR'],
] as const) {
  test.serial(`WeChat Pay refuses a bill of "${query}" with ${code}`, async (t) => {
    const answer = await desk.wechat(`/v3/bill/tradebill?${query.replace('DAY', desk.day)}`);
    t.like(answer, { status, code });
  });
}

test.serial('WeChat Pay has no bill of an account on which nothing moves', async (t) => {
  const path = `/v3/bill/fundflowbill?bill_date=${desk.day}&account_type=FEES`;
  t.is((await desk.wechat(path)).code, 'NO_STATEMENT_EXIST');
});

test.serial('a file of WeChat Pay’s needs a signature of its own merchant, within five minutes', async (t) => {
  const told = await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}`);
  const path = targetOf(told.body, desk.world);
  t.is((await fetch(`${desk.world.url}/wechat${path}`)).status, 401);
  const stranger = await configOf(desk.world, 'stranger');
  t.like(await call(desk.world, stranger, 'GET', path), { status: 403, code: 'NO_AUTH' });
  const file = await desk.wechat(path);
  t.is(file.status, 200);
  t.is(file.headers['wechatpay-signature'], undefined);
  await desk.world.post('/sim/clock', { advanceSeconds: 301 });
  t.like(await desk.wechat(path), { status: 400, code: 'INVALID_REQUEST' });
});

test.serial('a file stays what its hash says, whatever happens to its refunds in the meantime', async (t) => {
  const { orderNo, refundNo } = { orderNo: 'wechat1', refundNo: 'wechat1R' };
  const amount = { refund: 230, total: 1230, currency: 'CNY' };
  await desk.wechat('/v3/refund/domestic/refunds', { out_trade_no: orderNo, out_refund_no: refundNo, amount });
  const move = (state: string) => desk.world.post('/sim/refund-state', { orderNo, refundNo, payWay: 'wechat', state });
  await move('processing');
  const told = await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}&bill_type=REFUND`);
  await move('succeeded');
  const { body } = await desk.wechat(targetOf(told.body, desk.world));
  t.like(JSON.parse(told.body), { hash_value: createHash('sha1').update(body).digest('hex') });
  t.regex(body, /`PROCESSING,/);
});

test.serial('a partner has the bill of all its sub-merchants, or of one', async (t) => {
  const { world, day } = desk;
  const partner = await configOf(world, 'partner', { partner: true });
  const first = partner.fields.subMchId!;
  const { wechat } = await world.post<Record<string, typeof partner>>('/sim/rotate', {
    payWay: 'wechat',
    account: 'partner',
    what: 'sub-merchant',
  });
  const second = wechat!.fields.subMchId!;
  for (const [number, subMchid] of [
    ['FIRST01', first],
    ['SECOND1', second],
  ] as const) {
    const { appid, mchid, ...order } = nativeOrder(partner, { out_trade_no: number });
    const body = { ...order, sp_appid: appid, sp_mchid: mchid, sub_mchid: subMchid };
    t.is((await call(world, partner, 'POST', '/v3/pay/partner/transactions/native', body)).status, 200);
    await world.post('/sim/pay', { orderNo: number });
  }
  const bill = async (more: string) => {
    const told = await call(world, partner, 'GET', `/v3/bill/tradebill?bill_date=${day}${more}`);
    return (await call(world, partner, 'GET', targetOf(told.body, world))).body;
  };
  const all = await bill('');
  t.true(all.includes(`\`${first},`) && all.includes(`\`${second},`) && all.includes('FIRST01'));
  const one = await bill(`&sub_mchid=${second}`);
  t.true(one.includes('SECOND1') && !one.includes('FIRST01'));
  const path = `/v3/bill/tradebill?bill_date=${day}&sub_mchid=1900000109`;
  t.like(await call(world, partner, 'GET', path), { status: 403, code: 'NO_AUTH' });
});

/** A day of PayPal's that is over, and the one that comes so many later. */
const LONG_AGO = Math.floor(Date.now() / DAY_MS - 100) * DAY_MS;
const day = (later: number) => new Date(LONG_AGO + later * DAY_MS).toISOString().slice(0, 10);

for (const [span, issue] of [
  [`start_date=${day(0)}T00:00:00Z`, 'end_date'],
  [`start_date=${day(0)}&end_date=${day(1)}`, 'start_date'],
  [`start_date=${day(0)}T00:00:00&end_date=${day(1)}T00:00:00Z`, 'start_date'],
  [`start_date=${day(1)}T00:00:00Z&end_date=${day(0)}T00:00:00Z`, 'end_date'],
  [`start_date=${day(0)}T00:00:00Z&end_date=${day(31)}T00:00:01Z`, 'end_date'],
  ['start_date=2020-01-01T00:00:00Z&end_date=2020-01-02T00:00:00Z', 'start_date'],
  ['start_date=2999-01-01T00:00:00Z&end_date=2999-01-02T00:00:00Z', 'start_date'],
  [`start_date=${day(0)}T00:00:00Z&end_date=${day(1)}T00:00:00Z&page_size=501`, 'page_size'],
  [`start_date=${day(0)}T00:00:00Z&end_date=${day(1)}T00:00:00Z&page=0`, 'page'],
] as const) {
  test.serial(`PayPal refuses a report of ${span}`, async (t) => {
    const { status, body } = await desk.paypal('GET', `/v1/reporting/transactions?${span}`);
    t.is(status, 400);
    t.like(body, { name: 'INVALID_REQUEST', details: [{ field: issue }] });
  });
}

test.serial('31 days are one window at PayPal, and an offset may be any', async (t) => {
  const span = `start_date=${day(0)}T08:00:00%2B0800&end_date=${day(31)}T00:00:00%2B00:00`;
  t.is((await desk.paypal('GET', `/v1/reporting/transactions?${span}`)).status, 200);
});

test.serial('PayPal counts both ends of a window, in whole seconds', async (t) => {
  const [row] = await desk.rows('paypal');
  const at = row!['transaction_initiation_date']!.replace('+0000', 'Z');
  const found = await desk.paypal('GET', `/v1/reporting/transactions?start_date=${at}&end_date=${at}`);
  t.like(found.body, { total_items: 1, transaction_details: [{ transaction_info: row }] });
});

test.serial('a capture is listed by its number, a page beyond the last is empty', async (t) => {
  const [row] = await desk.rows('paypal');
  const path = reportPath(desk.day, `&transaction_id=${row!['transaction_id']}`);
  t.is((await desk.paypal('GET', path)).body['total_items'], 1);
  t.deepEqual((await desk.paypal('GET', `${path}&page=2`)).body['transaction_details'], []);
});

test.serial('faults strike bills and their files', async (t) => {
  const fault = (payWay: string, name: string, of: string) =>
    desk.world.post('/sim/faults', { payWay, call: name, fault: of });
  await fault('paypal', 'bill', '502');
  const headers = { authorization: await bearerOf(desk.world) };
  t.is((await fetch(`${desk.world.url}/paypal${reportPath(desk.day)}`, { headers })).status, 502);
  await fault('alipay', 'bill-file', 'html');
  const { content } = await askAlipay(desk.alipay, desk.day);
  t.regex(await (await fetch(content['bill_download_url']!)).text(), /html/);
  await fault('alipay', 'bill-file', 'half-body');
  await t.throwsAsync(async () => (await fetch(content['bill_download_url']!)).arrayBuffer());
  await fault('wechat', 'bill', 'wrong-key');
  const told = await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}`);
  t.is(told.status, 200);
  await fault('wechat', 'bill-file', '500-after-commit');
  t.is((await desk.wechat(targetOf(told.body, desk.world))).status, 500);
});

test.serial('PayPal lists a payment that it holds once it is completed, with the time at which it began', async (t) => {
  const word = 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION';
  await desk.world.post('/sim/faults', { payWay: 'paypal', call: 'capture', fault: 'capture-pending', word });
  const orderNo = 'paypalHELD';
  await desk.make('paypal', orderNo);
  const heldAt = (await desk.world.ledger(orderNo)).entries.find(({ type }) => type === 'capture-pending')?.at;
  const listed = async (more = '') => {
    const { body } = await desk.paypal('GET', reportPath(desk.day, more));
    const infos = (body['transaction_details'] as { transaction_info: Record<string, string> }[]).map(
      ({ transaction_info: info }) => info,
    );
    return infos
      .filter(({ custom_field: custom }) => custom === orderNo)
      .map((info) => [info['transaction_event_code'], info['transaction_status'], info['transaction_initiation_date']]);
  };
  const at = `${new Date(heldAt!).toISOString().slice(0, 19)}+0000`;
  t.deepEqual(await listed(), []);
  t.deepEqual(await listed('&balance_affecting_records_only=N'), [['T0006', 'P', at]]);
  await desk.world.post('/sim/clock', { advanceSeconds: 9 * 86_400 });
  t.deepEqual(await listed(), []);
  await desk.world.post('/sim/capture-state', { orderNo, state: 'completed' });
  t.deepEqual(await listed(), [['T0006', 'S', at]]);
});
