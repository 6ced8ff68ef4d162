import { createPublicKey } from 'node:crypto';
import test from 'ava';
import { verifyRsa2 } from '../../../../server/channels/alipay/signature.ts';
import { chinaTime } from '../../../../server/simulator/alipay/answers.ts';
import { startWorld, type World } from '../world.ts';
import { clientFor, order, type Client } from './client.ts';
import { askInGbk } from './gbk.ts';

let world: World;
let client: Client;
test.before(async () => {
  world = await startWorld();
  client = await clientFor(world);
});
test.after.always(() => world?.close());

const HOUR = 3_600_000;
const refusals: [string, Record<string, string>, string, string, 'none' | 'genuine'][] = [
  ['an unknown app', { app_id: '2021000000000000' }, '40002', 'isv.invalid-app-id', 'none'],
  ['no app', { app_id: '' }, '40001', 'isv.missing-app-id', 'none'],
  ['RSA instead of RSA2', { sign_type: 'RSA' }, '40002', 'isv.invalid-signature-type', 'none'],
  [
    'a timestamp 16 minutes old',
    { timestamp: chinaTime(Date.now() - 16 * 60_000) },
    '40002',
    'isv.invalid-timestamp',
    'none',
  ],
  ['a timestamp in UTC', { timestamp: chinaTime(Date.now() - 8 * HOUR) }, '40002', 'isv.invalid-timestamp', 'none'],
  ['an invalid timestamp', { timestamp: '2026-13-01 00:00:00' }, '40002', 'isv.invalid-timestamp', 'none'],
  ['another version', { version: '2.0' }, '40002', 'isv.invalid-version', 'none'],
  ['an unknown method', { method: 'alipay.trade.advance.consult' }, '40002', 'isv.invalid-method', 'none'],
  ['a wrong signature', { sign: 'AAAA' }, '40002', 'isv.invalid-signature', 'genuine'],
  ['the serial of another certificate', { app_cert_sn: 'f'.repeat(32) }, '40002', 'isv.invalid-app-cert-sn', 'genuine'],
  ['content that is not an object', { biz_content: '[]' }, '40002', 'isv.invalid-parameter', 'genuine'],
];
for (const [what, overrides, code, subCode, signed] of refusals) {
  test(`the gateway refuses ${what}`, async (t) => {
    const answer = await client.call('alipay.trade.query', { out_trade_no: 'NONE' }, overrides);
    t.like(answer.content, { code, sub_code: subCode });
    t.is(answer.signed, signed);
  });
}

test('the charset may be in the URL, in the body or in both, and two different ones are refused', async (t) => {
  const params = await client.sign('alipay.trade.query', { out_trade_no: 'NONE' });
  const { charset, ...others } = params;
  const subCode = async (search: string, sent: Record<string, string>) => {
    const url = `${world.url}/alipay/gateway.do${search}`;
    return (await (await fetch(url, { method: 'POST', body: new URLSearchParams(sent) })).text()).match(
      /"sub_code":"([^"]+)"/,
    )?.[1];
  };
  t.is(charset, 'utf-8');
  t.is(await subCode('?charset=utf-8', others), 'ACQ.TRADE_NOT_EXIST');
  t.is(await subCode('?charset=utf-8', params), 'ACQ.TRADE_NOT_EXIST');
  t.is(await subCode('', params), 'ACQ.TRADE_NOT_EXIST');
  t.is(await subCode('', others), 'isv.missing-charset');
  t.is(await subCode('?charset=GBK', params), 'isv.invalid-parameter');
  t.is(await subCode('?charset=utf-8&charset=utf-8', others), 'isv.invalid-parameter');
  t.is(await subCode('?version=1.0', params), 'isv.invalid-parameter');
});

// python-alipay-sdk calls with GET and sends no format (fzlee/alipay@fd838d5 alipay/__init__.py, verified_sync_response).
test('a method is accepted with GET, and the response is signed as for a form', async (t) => {
  const ask = async (method: string, content: object, overrides?: Record<string, string>) => {
    const { format: _format, sign: _sign, ...given } = await client.sign(method, content, overrides);
    return client.send({ ...given, sign: await client.signParams(given) }, 'GET');
  };
  const created = await ask('alipay.trade.precreate', order('BY_GET'));
  t.like(created, { signed: 'genuine', content: { code: '10000', out_trade_no: 'BY_GET' } });
  await world.post('/sim/pay', { orderNo: 'BY_GET' });
  const refund = { out_trade_no: 'BY_GET', refund_amount: '2.30', out_request_no: 'BY_GET_R' };
  t.like(await ask('alipay.trade.refund', refund), { signed: 'genuine', content: { fund_change: 'Y' } });
  const found = await ask('alipay.trade.query', { out_trade_no: 'BY_GET' });
  t.like(found, { signed: 'genuine', content: { trade_status: 'TRADE_SUCCESS' } });
  const strange = await ask('alipay.fund.trans.order.query', {});
  t.like(JSON.parse(strange.text), { error_response: { sub_code: 'isv.invalid-method' } });
  const forged = await client.send({ ...(await client.sign('alipay.trade.query', {})), sign: 'AAAA' }, 'GET');
  t.like(forged, { signed: 'genuine', content: { sub_code: 'isv.invalid-signature' } });
});

// What smartwalle/alipay@6ff099b writes for members that its caller left alone (trade_type.go: no omitempty), and its prices are numbers.
test('empty members are ignored at every level', async (t) => {
  const goods = [{ goods_id: 'g1', alipay_goods_id: '', goods_name: 'coffee', quantity: 1, price: 12.3 }];
  const empty = { product_code: '', seller_id: '', store_id: '', time_expire: '', enable_pay_channels: '' };
  const extended = { ...empty, goods_detail: goods, extend_params: { sys_service_provider_id: '' }, body: null };
  const created = await client.call('alipay.trade.precreate', { ...order('EMPTY'), ...extended });
  t.like(created.content, { code: '10000' });
  await world.post('/sim/pay', { orderNo: 'EMPTY' });
  const names = { out_trade_no: 'EMPTY', trade_no: '' };
  const found = await client.call('alipay.trade.query', names);
  t.like(found.content, { code: '10000', trade_status: 'TRADE_SUCCESS' });
  const refund = { ...names, refund_amount: '12.30', refund_reason: '', out_request_no: '' };
  t.like((await client.call('alipay.trade.refund', refund)).content, { code: '10000', fund_change: 'Y' });
  const code = { ...order('EMPTY_CODE'), scene: 'bar_code', auth_code: '286000000000000003', product_code: '' };
  t.like((await client.call('alipay.trade.pay', code)).content, { code: '10000' });
  const mini = { ...order('EMPTY_MINI'), product_code: 'JSAPI_PAY', op_app_id: '2021000000000005' };
  const payer = { buyer_id: '', buyer_open_id: 'a-user' };
  t.like((await client.call('alipay.trade.create', { ...mini, ...payer })).content, { code: '10000' });
});

test('an empty required member counts as missing', async (t) => {
  for (const name of ['out_trade_no', 'subject', 'total_amount']) {
    const { content } = await client.call('alipay.trade.precreate', { ...order('LACKS'), [name]: '' });
    t.like(content, { sub_code: 'ACQ.INVALID_PARAMETER', sub_msg: `${name} is invalid.` });
  }
});

test('the gateway refuses parameters changed after signing', async (t) => {
  const params = await client.sign('alipay.trade.precreate', order('CHANGED'));
  const { content } = await client.send({ ...params, biz_content: params['biz_content']!.replace('12.30', '0.30') });
  t.is(content['sub_code'], 'isv.invalid-signature');
  t.deepEqual((await world.ledger('CHANGED')).entries, []);
});

for (const [name, change] of Object.entries({
  'no subject': { subject: '' },
  'a subject with a slash': { subject: 'a/b' },
  'three decimals': { total_amount: '1.001' },
  'a zero amount': { total_amount: '0.00' },
  'an amount above the limit': { total_amount: '100000000.01' },
  'a number with a dash': { out_trade_no: 'a-b' },
  'enabled and disabled payment channels together': { enable_pay_channels: 'balance', disable_pay_channels: 'pcredit' },
  'an expiry in the past': { time_expire: chinaTime(Date.now() - HOUR) },
})) {
  test(`precreate refuses ${name}`, async (t) => {
    const { content } = await client.call('alipay.trade.precreate', { ...order('BAD'), ...change });
    t.like(content, { code: '40004', sub_code: 'ACQ.INVALID_PARAMETER' });
  });
}

test('no trade exists before the scan, so query and close report that, while the code still works', async (t) => {
  const { content } = await client.call('alipay.trade.precreate', order('SCAN'));
  for (const method of ['alipay.trade.query', 'alipay.trade.close']) {
    t.is((await client.call(method, { out_trade_no: 'SCAN' })).content['sub_code'], 'ACQ.TRADE_NOT_EXIST');
  }
  t.is((await fetch(content['qr_code']!)).status, 200);
  t.like((await client.call('alipay.trade.query', { out_trade_no: 'SCAN' })).content, {
    code: '10000',
    trade_status: 'WAIT_BUYER_PAY',
  });
  t.is((await client.call('alipay.trade.close', { out_trade_no: 'SCAN' })).content['code'], '10000');
  const closed = await client.call('alipay.trade.query', { out_trade_no: 'SCAN' });
  t.is(closed.content['trade_status'], 'TRADE_CLOSED');
  t.is(closed.content['send_pay_date'], undefined);
});

test('an identical create returns the same code, and one with other facts, or for a paid or closed trade, is refused', async (t) => {
  const first = await client.call('alipay.trade.precreate', order('AGAIN'));
  const second = await client.call('alipay.trade.precreate', order('AGAIN'));
  t.is(first.content['qr_code'], second.content['qr_code']);
  t.is(
    (await client.call('alipay.trade.precreate', order('AGAIN', '9.99'))).content['sub_code'],
    'ACQ.CONTEXT_INCONSISTENT',
  );
  await world.post('/sim/pay', { orderNo: 'AGAIN' });
  t.is((await client.call('alipay.trade.precreate', order('AGAIN'))).content['sub_code'], 'ACQ.TRADE_HAS_SUCCESS');
  t.is(
    (await client.call('alipay.trade.close', { out_trade_no: 'AGAIN' })).content['sub_code'],
    'ACQ.TRADE_STATUS_ERROR',
  );
  t.is((await world.ledger('AGAIN')).orders[0]?.created, 1);
});

test('an account cannot read trades of another account', async (t) => {
  await world.post('/sim/accounts', { payWay: 'alipay', name: 'other' });
  await client.call('alipay.trade.precreate', order('MINE'));
  await world.post('/sim/pay', { orderNo: 'MINE' });
  const { content } = await (await clientFor(world, 'other')).call('alipay.trade.query', { out_trade_no: 'MINE' });
  t.is(content['sub_code'], 'ACQ.TRADE_NOT_EXIST');
});

test('a signed page URL opens the payer page and cannot be changed', async (t) => {
  const content = { ...order('PAGE'), product_code: 'FAST_INSTANT_TRADE_PAY' };
  const params = await client.sign('alipay.trade.page.pay', content, { timestamp: chinaTime(Date.now() - HOUR) });
  const address = (given: Record<string, string>) => `${world.url}/alipay/gateway.do?${new URLSearchParams(given)}`;
  const forged = await fetch(address({ ...params, biz_content: params['biz_content']!.replace('12.30', '0.30') }), {
    redirect: 'manual',
  });
  t.is(forged.status, 400);
  const opened = await fetch(address(params), { redirect: 'manual' });
  t.is(opened.status, 302);
  t.is((await client.call('alipay.trade.query', { out_trade_no: 'PAGE' })).content['sub_code'], 'ACQ.TRADE_NOT_EXIST');
  t.regex(await (await fetch(opened.headers.get('location')!)).text(), /12\.30/);
  await world.post('/sim/pay', { orderNo: 'PAGE', payUrl: address(params) });
  t.is((await client.call('alipay.trade.query', { out_trade_no: 'PAGE' })).content['trade_status'], 'TRADE_SUCCESS');
});

// python-alipay-sdk and yansongda/pay use QUICK_WAP_PAY for wap.
test('wap also accepts the product code of older clients, and a refused page URL states the reason', async (t) => {
  const address = async (orderNo: string, product: string) => {
    const params = await client.sign('alipay.trade.wap.pay', { ...order(orderNo), product_code: product });
    return `${world.url}/alipay/gateway.do?${new URLSearchParams(params)}`;
  };
  await world.post('/sim/pay', { orderNo: 'WAP1', payUrl: await address('WAP1', 'QUICK_WAP_PAY') });
  t.is((await client.call('alipay.trade.query', { out_trade_no: 'WAP1' })).content['trade_status'], 'TRADE_SUCCESS');
  const refused = await world.post('/sim/pay', { orderNo: 'WAP2', payUrl: await address('WAP2', 'JSAPI_PAY') });
  t.like(refused, { error: { code: 'ACQ.INVALID_PARAMETER' } });
});

test('after a rotation only the new app key is accepted', async (t) => {
  await world.post('/sim/accounts', { payWay: 'alipay', name: 'rotated' });
  const before = await clientFor(world, 'rotated');
  await world.post('/sim/rotate', { payWay: 'alipay', account: 'rotated', what: 'app-key' });
  t.is((await before.call('alipay.trade.query', { out_trade_no: 'X' })).content['sub_code'], 'isv.invalid-signature');
  const after = await clientFor(world, 'rotated');
  t.is((await after.call('alipay.trade.query', { out_trade_no: 'X' })).content['sub_code'], 'ACQ.TRADE_NOT_EXIST');
});

test('a code needs a product of the merchant, FACE_TO_FACE_PAYMENT by default', async (t) => {
  await world.post('/sim/accounts', { payWay: 'alipay', name: 'signed', products: ['QR_CODE_OFFLINE'] });
  const merchant = await clientFor(world, 'signed');
  const subCode = async (product?: string) => {
    const content = { ...order('SIGNED'), ...(product ? { product_code: product } : {}) };
    return (await merchant.call('alipay.trade.precreate', content)).content['sub_code'];
  };
  t.is(await subCode(), 'ACQ.ACCESS_FORBIDDEN');
  t.is(await subCode('FACE_TO_FACE_PAYMENT'), 'ACQ.ACCESS_FORBIDDEN');
  t.is(await subCode('QUICK_WAP_WAY'), 'ACQ.INVALID_PARAMETER');
  t.is(await subCode('QR_CODE_OFFLINE'), undefined);
});

// Alipay's own client decodes an answer, and checks its signature, in the charset of the request (alipay/alipay-sdk-python-all@6cba10e
// alipay/aop/api/DefaultAlipayClient.py, __parse_response).
test('a GBK request gets a GBK response, signed over those bytes', async (t) => {
  const nowhere = 'http://127.0.0.1:9/';
  await askInGbk(world, 'alipay.trade.precreate', { ...order('GBK1'), subject: '咖啡' }, nowhere);
  await world.post('/sim/pay', { orderNo: 'GBK1' });
  const asked = { out_trade_no: 'GBK1', refund_amount: '1.00', out_request_no: 'GBK1R', refund_reason: '茶凉了' };
  await askInGbk(world, 'alipay.trade.refund', asked, nowhere);
  const { type, bytes } = await askInGbk(world, 'alipay.trade.fastpay.refund.query', asked, nowhere);
  t.is(type, 'application/json;charset=GBK');
  const text = new TextDecoder('gbk', { fatal: true }).decode(bytes);
  t.true(text.includes('茶凉了'), text);
  const [, member = '', sign = ''] = /^\{"\w+":(\{.*?\}),"sign":"(.*)"\}$/s.exec(bytes.toString('latin1'))!;
  const { pems } = (await world.config())['alipay']!;
  const key = createPublicKey(pems['alipay_public_key']![0]!);
  t.true(verifyRsa2(Buffer.from(member, 'latin1'), sign, key));
});

// The form of Alipay's own client for PHP names the charset in its address and among its fields (alipay/alipay-sdk-php-all@d95249a
// v2/aop/AopCertClient.php, buildRequestForm).
test('a form with its charset also in the URL opens the page', async (t) => {
  const content = { ...order('FORM1'), product_code: 'FAST_INSTANT_TRADE_PAY' };
  const fields = await client.sign('alipay.trade.page.pay', content);
  const post = (charset: string) =>
    fetch(`${world.url}/alipay/gateway.do?charset=${charset}`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      redirect: 'manual',
    });
  t.is((await post('utf-8')).status, 302);
  t.is((await post('gbk')).status, 400);
});

// The same client omits the version only when it downloads a certificate (checkResponseSign).
test('only a certificate download may omit the version', async (t) => {
  const ask = async (method: string, content: object) => {
    const { version: _version, sign: _sign, ...params } = await client.sign(method, content);
    return client.send({ ...params, sign: await client.signParams(params) });
  };
  const unknown = { alipay_cert_sn: 'f'.repeat(32) };
  t.is((await ask('alipay.open.app.alipaycert.download', unknown)).content['code'], '40004');
  const asked = await ask('alipay.trade.query', { out_trade_no: 'NONE' });
  t.is(asked.content['sub_code'], 'isv.missing-version');
});
