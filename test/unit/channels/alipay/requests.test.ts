import { createPublicKey } from 'node:crypto';
import test from 'ava';
import { readChinaTime } from '../../../../server/channels/alipay/answers.ts';
import {
  chinaTime,
  createTime,
  parametersOf,
  placeCall,
  refundCall,
  refundQueryCall,
} from '../../../../server/channels/alipay/requests.ts';
import { requestText, verifyRsa2 } from '../../../../server/channels/alipay/signature.ts';
import {
  certificateMode,
  channelSaying,
  channelWith,
  keys,
  NOW,
  order,
  refund,
  said,
  SELLER_ID,
  serialOf,
} from './fixture.ts';

const NOBODY = { sellerId: '', qrProductCode: '', miniAppId: '' };
const CALLER = { appId: '1', sellerId: '', appAuthToken: '', appCertSerial: '', rootCertSerial: '' };

const asked = {
  storeId: 'S1',
  operatorId: 'O1',
  terminalId: 'T1',
  sysServiceProviderId: '2088000000000007',
  passbackParams: 'a=1&b=2',
  enablePayChannels: ['balance', 'pcredit'],
  goods: [{ id: 'G1', name: 'tea', quantity: 2, price: 617 }],
};
const passedOn = {
  store_id: 'S1',
  extend_params: { sys_service_provider_id: '2088000000000007' },
  enable_pay_channels: 'balance,pcredit',
  goods_detail: [{ goods_id: 'G1', goods_name: 'tea', quantity: 2, price: '6.17' }],
};

test('a create has our number, yuan with two decimals and the expiry in UTC+8', (t) => {
  const { method, content, notifyUrl } = placeCall(order, 'qr', {
    sellerId: SELLER_ID,
    qrProductCode: '',
    miniAppId: '',
  });
  t.is(method, 'alipay.trade.precreate');
  t.is(notifyUrl, order.notifyUrl);
  t.deepEqual(content, {
    out_trade_no: order.orderNo,
    total_amount: '12.34',
    subject: 'A cup of tea',
    time_expire: '2026-03-01 14:00:00',
    seller_id: SELLER_ID,
  });
});

test('a QR code has the configured product code, and each other scene its own', (t) => {
  const seller = { sellerId: '', qrProductCode: 'QR_CODE_OFFLINE', miniAppId: '' };
  t.is(placeCall(order, 'qr', seller).content.product_code, 'QR_CODE_OFFLINE');
  t.is(placeCall(order, 'page', seller).content.product_code, 'FAST_INSTANT_TRADE_PAY');
});

test('a mini program sends its id and user, and a till sends the scanned code', (t) => {
  const create = (scene: 'mini' | 'jsapi' | 'code', also: object) =>
    placeCall({ ...order, ...also, scene }, scene, { ...NOBODY, miniAppId: '2021000000000005' });
  const mini = create('mini', { openId: '074a-x_Y' });
  t.is(mini.method, 'alipay.trade.create');
  t.like(mini.content, { product_code: 'JSAPI_PAY', op_app_id: '2021000000000005', buyer_open_id: '074a-x_Y' });
  const page = create('jsapi', { openId: '2088000000000009' });
  t.like(page.content, { op_app_id: '2021000000000005', buyer_id: '2088000000000009' });
  t.false('buyer_open_id' in page.content);
  const till = create('code', { payCode: '280000000000000001', options: { alipay: asked } });
  t.is(till.method, 'alipay.trade.pay');
  t.like(till.content, { scene: 'bar_code', auth_code: '280000000000000001', product_code: 'FACE_TO_FACE_PAYMENT' });
  t.like(till.content, { operator_id: 'O1', terminal_id: 'T1', passback_params: 'a=1&b=2' });
});

test('a code payment is cancelled, and any other order is closed', async (t) => {
  for (const scene of ['code', 'qr', 'mini', 'page'] as const) {
    const { channel, sent } = channelWith(({ about }) => said(about.call, {}));
    await channel.close({ ...refund, scene });
    t.is(sent[0]?.about.call, scene === 'code' ? 'alipay.trade.cancel' : 'alipay.trade.close');
  }
});

test('a subject loses the characters that Alipay forbids and is cut between characters', (t) => {
  const subject = (text: string) => String(placeCall({ ...order, subject: text }, 'qr', NOBODY).content.subject);
  t.is(subject('tea/milk=2&\u0000cake\n'), 'tea\uff0fmilk\uff1d2\uff06 cake');
  t.is(subject('\u0007'), order.orderNo);
  const long = subject(`${'a'.repeat(255)}\u{1f375}`);
  t.is(long, 'a'.repeat(255));
  t.true(subject('\ud800tea').isWellFormed());
});

test("only the known merchant options are passed on, under Alipay's names", (t) => {
  const plain = placeCall(order, 'qr', NOBODY).content;
  const options = { alipay: asked, wechat: { attach: 'no' } };
  const { content } = placeCall({ ...order, options }, 'qr', NOBODY);
  t.deepEqual(content, { ...plain, ...passedOn, operator_id: 'O1', terminal_id: 'T1', passback_params: 'a=1&b=2' });
  const { content: disabled } = placeCall(
    { ...order, options: { alipay: { disablePayChannels: ['pcredit'] } } },
    'qr',
    NOBODY,
  );
  t.deepEqual(disabled, { ...plain, disable_pay_channels: 'pcredit' });
});

test('a page, wap or app order has no till members, and its passback text is escaped', (t) => {
  for (const scene of ['page', 'wap', 'app'] as const) {
    const plain = placeCall(order, scene, NOBODY).content;
    const { content } = placeCall({ ...order, options: { alipay: asked } }, scene, NOBODY);
    t.deepEqual(content, { ...plain, ...passedOn, passback_params: 'a%3D1%26b%3D2' }, scene);
  }
});

test('a refund uses the trade number if known, because ours may belong to another payment', (t) => {
  const known = { ...refund, reason: '', channelTradeNo: '2026112822' };
  t.deepEqual(refundCall(known).content, {
    trade_no: '2026112822',
    out_request_no: refund.refundNo,
    refund_amount: '2.34',
    query_options: ['deposit_back_info'],
  });
  t.deepEqual(refundCall({ ...known, paymentNo: '2026112833' }).content['trade_no'], '2026112833');
  t.deepEqual(refundQueryCall(known).content['trade_no'], '2026112822');
});

test('a refund has its own number, and empty values are not sent', (t) => {
  t.deepEqual(refundCall({ ...refund, reason: '' }).content, {
    out_trade_no: order.orderNo,
    out_request_no: refund.refundNo,
    refund_amount: '2.34',
    query_options: ['deposit_back_info'],
  });
  t.deepEqual(Object.keys(parametersOf(refundCall(refund), CALLER, NOW)), [
    'app_id',
    'method',
    'format',
    'charset',
    'sign_type',
    'timestamp',
    'version',
    'biz_content',
  ]);
});

test('the refund query requests the time of the refund', (t) => {
  t.deepEqual(refundQueryCall(refund).content, {
    out_trade_no: order.orderNo,
    out_request_no: refund.refundNo,
    query_options: ['gmt_refund_pay'],
  });
});

test('the charset is in the URL and is signed like other members', async (t) => {
  const { channel, sent } = channelWith(({ about }) => said(about.call, {}));
  await channel.query(refund);
  const [request] = sent;
  const address = new URL(request!.url);
  t.is(address.search, '?charset=utf-8');
  const params = Object.fromEntries([...address.searchParams, ...new URLSearchParams(request!.body)]);
  t.false(request!.body!.includes('charset'));
  t.true(verifyRsa2(requestText(params), params.sign ?? '', createPublicKey(keys.app)));
});

test('times are formatted and parsed in UTC+8', (t) => {
  t.is(chinaTime(new Date('2026-02-28T16:00:00Z')), '2026-03-01 00:00:00');
  t.is(readChinaTime('2026-03-01 00:00:00')?.toISOString(), '2026-02-28T16:00:00.000Z');
  for (const bad of ['', '2026-03-01', '2026-13-01 00:00:00', 'x', 1, undefined]) t.is(readChinaTime(bad), undefined);
});

test('a repeated request is identical within ten minutes, and later only timestamp and sign change', async (t) => {
  const bodies = [];
  for (const minutes of [0, 9, 11]) {
    const now = new Date(NOW.getTime() + minutes * 60_000);
    const { channel, sent } = channelWith(({ about }) => said(about.call, {}), { now });
    await channel.place(order);
    bodies.push(sent[0]?.body ?? '');
  }
  t.is(bodies[0], bodies[1]);
  const [first, , late] = bodies.map((body) => Object.fromEntries(new URLSearchParams(body)));
  t.not(first?.timestamp, late?.timestamp);
  t.is(first?.biz_content, late?.biz_content);
  t.is(createTime(NOW, new Date(NOW.getTime() + 600_001)).getTime(), NOW.getTime() + 600_001);
});

test('page, wap and app orders are signed locally and nothing is sent', async (t) => {
  const { channel, sent } = channelWith(() => t.fail() as never);
  for (const [scene, method] of [
    ['page', 'alipay.trade.page.pay'],
    ['wap', 'alipay.trade.wap.pay'],
    ['app', 'alipay.trade.app.pay'],
  ] as const) {
    const outcome = await channel.place({ ...order, scene });
    const pay = outcome.kind === 'pending' ? outcome.pay : undefined;
    const text = pay?.params?.orderString ?? new URL(pay?.url ?? '').search.slice(1);
    const params = Object.fromEntries(new URLSearchParams(text));
    t.is(params.method, method);
    t.is(params.return_url, scene === 'app' ? undefined : order.returnUrl);
    t.is(JSON.parse(params.biz_content ?? '{}').quit_url, scene === 'wap' ? order.cancelUrl : undefined);
    t.true(verifyRsa2(requestText(params), params.sign ?? '', createPublicKey(keys.app)));
  }
  t.is(sent.length, 0);
});

test('certificate mode sends the serials of the app and root certificates', async (t) => {
  const { channel, sent } = channelWith(({ about }) => said(about.call, {}), { pems: certificateMode });
  await channel.query({ ...refund });
  const params = new URLSearchParams(sent[0]?.body);
  t.is(params.get('app_cert_sn'), serialOf('app.crt'));
  t.regex(params.get('alipay_root_cert_sn') ?? '', /^[0-9a-f]{32}$/);
});

test('an unsupported currency or scene is definitely refused and nothing is sent', async (t) => {
  const channel = channelSaying({});
  for (const wrong of [{ scene: 'h5' as const }, { amount: { minor: 1n, currency: 'USD' } }]) {
    const outcome = await channel.place({ ...order, ...wrong });
    t.like(outcome, { kind: 'declined', code: 'not_supported', definite: true });
  }
});
