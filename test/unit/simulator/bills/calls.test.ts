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

test.serial('Alipay has a monthly bill with the month in its name', async (t) => {
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

test.serial('an Alipay bill URL is valid for half a minute without authentication', async (t) => {
  const { content } = await askAlipay(desk.alipay, desk.day);
  const url = content['bill_download_url']!;
  t.is((await fetch(url)).status, 200);
  await desk.world.post('/sim/clock', { advanceSeconds: 31 });
  t.is((await fetch(url)).status, 403);
  t.is((await fetch(url.replace(/token=./, 'token=*'))).status, 404);
});

test.serial('each Alipay account has its own bill', async (t) => {
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

test.serial('WeChat Pay has no bill for an account without movements', async (t) => {
  const path = `/v3/bill/fundflowbill?bill_date=${desk.day}&account_type=FEES`;
  t.is((await desk.wechat(path)).code, 'NO_STATEMENT_EXIST');
});

test.serial('a WeChat Pay bill file needs a signature of its own merchant, within five minutes', async (t) => {
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

test.serial('a bill file keeps its hash after later refund changes', async (t) => {
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

test.serial('a partner gets the bill of all its sub-merchants or of one', async (t) => {
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

/** A past PayPal day, and the day `later` days after it. */
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

test.serial('PayPal accepts a window of 31 days and any time offset', async (t) => {
  const span = `start_date=${day(0)}T08:00:00%2B0800&end_date=${day(31)}T00:00:00%2B00:00`;
  t.is((await desk.paypal('GET', `/v1/reporting/transactions?${span}`)).status, 200);
});

test.serial('both ends of a PayPal window are inclusive, in whole seconds', async (t) => {
  const [row] = await desk.rows('paypal');
  const at = row!['transaction_initiation_date']!.replace('+0000', 'Z');
  const found = await desk.paypal('GET', `/v1/reporting/transactions?start_date=${at}&end_date=${at}`);
  t.like(found.body, { total_items: 1, transaction_details: [{ transaction_info: row }] });
});

test.serial('a capture is listed by its number, and a page after the last is empty', async (t) => {
  const [row] = await desk.rows('paypal');
  const path = reportPath(desk.day, `&transaction_id=${row!['transaction_id']}`);
  t.is((await desk.paypal('GET', path)).body['total_items'], 1);
  t.deepEqual((await desk.paypal('GET', `${path}&page=2`)).body['transaction_details'], []);
});

test.serial('faults apply to bills and their files', async (t) => {
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

test.serial('PayPal lists a held payment after its completion, with its original time', async (t) => {
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

test.serial('PayPal balances include a held payment once completed and a dispute once lost', async (t) => {
  const { world } = desk;
  /** Total, available and withheld since the start of this test. */
  const asOf = async (at?: string) => {
    const { body } = await desk.paypal(
      'GET',
      `/v1/reporting/balances?currency_code=USD${at ? `&as_of_time=${at}` : ''}`,
    );
    const [one] = body['balances'] as Record<string, { value: string }>[];
    const told = ['total_balance', 'available_balance', 'withheld_balance'] as const;
    return { body, minor: told.map((name) => Math.round(Number(one![name]!.value) * 100)) };
  };
  const now = async () => `${(await world.get<{ now: string }>('/sim/clock')).now.slice(0, 19)}Z`;
  const before = await asOf();
  const gained = async (at?: string) => (await asOf(at)).minor.map((minor, index) => minor - before.minor[index]!);
  t.like(before.body, { balances: [{ currency: 'USD', primary: true }] });
  const later = () => world.post('/sim/clock', { advanceSeconds: 60 });

  const word = 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION';
  await world.post('/sim/faults', { payWay: 'paypal', call: 'capture', fault: 'capture-pending', word });
  await desk.make('paypal', 'paypalWAITS');
  await desk.plant('paid_missing_at_channel', 'paypal');
  t.deepEqual(await gained(), [0, 0, 0]);
  await later();
  const held = await now();
  await later();
  await world.post('/sim/capture-state', { orderNo: 'paypalWAITS', state: 'completed' });
  t.deepEqual(await gained(), [1194, 1194, 0], '12.30 less a fee of 0.36');
  t.deepEqual(await gained(held), [0, 0, 0], 'the balance of an instant stays what it was');
  await desk.refund('paypal', 'paypalWAITS');
  await desk.plant('order_not_ours', 'paypal');
  await desk.plant('withdrawal', 'paypal');
  t.deepEqual(await gained(), [835, 835, 0], '2.30 went back; 43.21 came, less a fee of 1.29, and went');

  const dispute = (act: string, more = {}) => world.post('/sim/dispute', { orderNo: 'paypalWAITS', act, ...more });
  await later();
  await dispute('open', { amount: 5, hold: true });
  t.deepEqual(await gained(), [835, 335, 500]);
  await later();
  const withheld = await now();
  await later();
  await dispute('lose');
  t.deepEqual(await gained(), [335, 335, 0]);
  t.deepEqual(await gained(withheld), [835, 335, 500]);
  const infos = (await desk.rows('paypal', withheld.slice(0, 10))) as unknown as Record<string, unknown>[];
  const codes = infos.map(
    (row) => `${String(row['transaction_event_code'])} ${(row['transaction_amount'] as { value: string }).value}`,
  );
  for (const row of ['T0400 -43.21', 'T1110 -5.00', 'T1111 5.00', 'T1201 -5.00'])
    t.true(codes.includes(row), `${row}: ${codes.join()}`);
});

test.serial('PayPal returns balances up to its data end, only to apps with the reporting permission', async (t) => {
  const { world } = desk;
  const { now } = await world.get<{ now: string }>('/sim/clock');
  const ahead = await desk.paypal('GET', '/v1/reporting/balances?as_of_time=2999-01-01T00:00:00Z');
  t.is(ahead.body['as_of_time'], ahead.body['last_refresh_time']);
  t.true(Date.parse(String(ahead.body['as_of_time'])) <= Date.parse(now) + 60_000);
  for (const query of ['as_of_time=2020-01-01T00:00:00Z', 'as_of_time=today', 'currency_code=dollars'])
    t.is((await desk.paypal('GET', `/v1/reporting/balances?${query}`)).status, 400, query);
  await world.post('/sim/faults', { payWay: 'paypal', call: 'balances', fault: 'refused', word: 'PERMISSION_DENIED' });
  const refused = await desk.paypal('GET', '/v1/reporting/balances');
  t.like(refused, { status: 403, body: { name: 'NOT_AUTHORIZED' } });
  const found = await desk.paypal('GET', '/v1/reporting/balances?currency_code=JPY');
  t.deepEqual(found.body['balances'], []);
  await desk.condition('filler', 'paypal', { rows: 3 });
  const filled = async (at: string) => {
    const { body } = await desk.paypal('GET', `/v1/reporting/balances?as_of_time=${at}`);
    return Math.round(
      Number((body['balances'] as { total_balance: { value: string } }[])[0]!.total_balance.value) * 100,
    );
  };
  // 1.00, 1.37 and 1.74, each less three per cent.
  t.is((await filled(`${day(1)}T23:59:59Z`)) - (await filled(`${day(0)}T23:59:59Z`)), 97 + 133 + 169);
  await desk.condition('filler', 'paypal', { on: false, rows: 3 });
});
