import { createVerify, X509Certificate } from 'node:crypto';
import test from 'ava';
import { readAuthorization } from '../../../../server/channels/wechat/signature.ts';
import { plainText } from '../../../../server/channels/transport.ts';
import { beijingTime } from '../../../../server/channels/wechat/requests.ts';
import {
  APP_ID,
  channelWith,
  MCHID,
  MERCHANT,
  orderRef,
  placeOrder,
  PUBLIC_KEY_ID,
  publicKeyInput,
  refundOrder,
  signed,
  unsigned,
} from './fake.ts';

test('a request is signed with the merchant key over the sent bytes', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.place(placeOrder());
  await channel.query(orderRef());
  const key = new X509Certificate(MERCHANT.pem).publicKey;
  for (const { method, url, headers, body = '' } of sent) {
    const { mchid, nonce, timestamp, serial, signature } = readAuthorization(headers.authorization)!;
    const { pathname, search } = new URL(url);
    const text = `${method}\n${pathname}${search}\n${timestamp}\n${nonce}\n${body}\n`;
    t.true(createVerify('RSA-SHA256').update(text).verify(key, signature, 'base64'));
    t.is(mchid, MCHID);
    t.is(serial, MERCHANT.serial);
    t.truthy(headers['user-agent']);
    t.is(headers.accept, 'application/json');
  }
  t.is(sent.length, 2);
  t.is(sent[1]?.url, `https://api.mch.weixin.qq.com/v3/pay/transactions/out-trade-no/ORDER00001?mchid=${MCHID}`);
});

test('Wechatpay-Serial requests the public key, only in public-key mode', async (t) => {
  const plain = channelWith(() => unsigned(500));
  await plain.channel.query(orderRef());
  t.false('wechatpay-serial' in plain.sent[0]!.headers);
  const { fields, pems } = publicKeyInput();
  const two = { ...fields, publicKeyId: `${PUBLIC_KEY_ID}, PUB_KEY_ID_OLD` };
  const modern = channelWith(() => unsigned(500), { fields: two, pems });
  await modern.channel.query(orderRef());
  t.is(modern.sent[0]?.headers['wechatpay-serial'], PUBLIC_KEY_ID);
});

test('a native order has exactly the documented members', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.place(placeOrder({ notifyUrl: 'https://pay.example.com/notify/wechat/default?x=1#y' }));
  t.is(sent[0]?.url, 'https://api.mch.weixin.qq.com/v3/pay/transactions/native');
  t.deepEqual(JSON.parse(sent[0]?.body ?? ''), {
    appid: APP_ID,
    mchid: MCHID,
    description: 'A cup of tea',
    out_trade_no: 'ORDER00001',
    time_expire: '2026-03-04T15:00:00+08:00',
    notify_url: 'https://pay.example.com/notify/wechat/default',
    amount: { total: 1234, currency: 'CNY' },
  });
});

test('a repeated order or refund request is byte-identical at any time', async (t) => {
  let now = new Date('2026-03-04T05:06:07Z');
  const { channel, sent } = channelWith(() => unsigned(500), { now: () => now });
  for (const round of [0, 1]) {
    now = new Date(now.getTime() + round * 3_600_000);
    await channel.place(placeOrder());
    await channel.refund(refundOrder());
  }
  t.is(sent[0]?.body, sent[2]?.body);
  t.is(sent[1]?.body, sent[3]?.body);
  t.not(sent[0]?.headers.authorization, sent[2]?.headers.authorization);
});

test('h5 and jsapi orders carry the members of their scene, and are not sent without them', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.place(placeOrder({ scene: 'h5', clientIp: '192.0.2.7' }));
  await channel.place(placeOrder({ scene: 'jsapi', openId: 'openid-1' }));
  t.deepEqual(JSON.parse(sent[0]?.body ?? '').scene_info, { payer_client_ip: '192.0.2.7', h5_info: { type: 'Wap' } });
  t.deepEqual(JSON.parse(sent[1]?.body ?? '').payer, { openid: 'openid-1' });
  for (const order of [
    { scene: 'h5' },
    { scene: 'jsapi' },
    { scene: 'page' },
    { amount: { minor: 1n, currency: 'USD' } },
  ] as const) {
    const outcome = await channel.place(placeOrder(order));
    t.true(outcome.kind === 'declined' && outcome.definite, JSON.stringify(outcome));
  }
  t.is(sent.length, 2);
});

test('close, refund, refund query and abnormal refund retry send the documented requests', async (t) => {
  const { channel, sent } = channelWith(({ method }) =>
    method === 'GET'
      ? signed(200, {
          refund_id: '5030/1',
          out_refund_no: 'REFUND0001',
          out_trade_no: 'ORDER00001',
          status: 'ABNORMAL',
          amount: { total: 1234, refund: 100 },
        })
      : unsigned(500),
  );
  await channel.close(orderRef());
  await channel.refund(refundOrder({ reason: '' }));
  await channel.retryAbnormalRefund?.({ ...refundOrder(), channelRefundNo: null });
  const [close, refund, query, retry] = sent.map(({ method, url, body }) => [method, new URL(url).pathname, body]);
  t.deepEqual(close, ['POST', '/v3/pay/transactions/out-trade-no/ORDER00001/close', JSON.stringify({ mchid: MCHID })]);
  t.deepEqual(JSON.parse(String(refund?.[2])), {
    out_trade_no: 'ORDER00001',
    out_refund_no: 'REFUND0001',
    notify_url: 'https://pay.example.com/notify/wechat/default',
    amount: { refund: 100, total: 1234, currency: 'CNY' },
  });
  t.deepEqual(query, ['GET', '/v3/refund/domestic/refunds/REFUND0001', undefined]);
  t.is(retry?.[1], '/v3/refund/domestic/refunds/5030%2F1/apply-abnormal-refund');
  t.is(JSON.parse(String(retry?.[2])).out_refund_no, 'REFUND0001');
});

test("a refund names the payment by WeChat Pay's number once known, and never by both numbers", async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  for (const known of [{}, { channelTradeNo: '42001' }, { channelTradeNo: '42001', paymentNo: '42002' }])
    await channel.refund(refundOrder(known));
  const names = sent.map(({ body }) => {
    const { out_trade_no, transaction_id } = JSON.parse(body ?? '') as Record<string, unknown>;
    return { out_trade_no, transaction_id };
  });
  t.deepEqual(names, [
    { out_trade_no: 'ORDER00001', transaction_id: undefined },
    { out_trade_no: undefined, transaction_id: '42001' },
    { out_trade_no: undefined, transaction_id: '42002' },
  ]);
});

test('text is cut to the channel limit between characters', (t) => {
  const characters = (text: string) => plainText(text, 127, 'characters');
  t.is(characters('a\u0000b\nc'), 'a b c');
  t.is(characters('x'.repeat(200)).length, 127);
  t.is(characters(`${'x'.repeat(126)}😀`), 'x'.repeat(126));
  t.is(characters('茶'.repeat(200)), '茶'.repeat(127));
  t.is(characters('a\ud800b'), 'a b');
  const bytes = (text: string) => plainText(text, 80, 'bytes');
  t.is(bytes('x'.repeat(81)), 'x'.repeat(80));
  t.is(bytes('茶'.repeat(27)), '茶'.repeat(26));
  t.is(bytes(`${'x'.repeat(77)}😀`), 'x'.repeat(77));
  t.is(bytes(`${'x'.repeat(76)}😀y`), `${'x'.repeat(76)}😀`);
});

test('a refund reason has at most 80 bytes, an order description at most 127 characters', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.refund(refundOrder({ reason: '茶'.repeat(80) }));
  await channel.place(placeOrder({ subject: '茶'.repeat(200) }));
  t.is(JSON.parse(sent[0]?.body ?? '').reason, '茶'.repeat(26));
  t.is(JSON.parse(sent[1]?.body ?? '').description, '茶'.repeat(127));
});

test('a subject of only control characters becomes the order number', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.place(placeOrder({ subject: '\u0001' }));
  t.is(JSON.parse(sent[0]?.body ?? '').description, 'ORDER00001');
});

test('times are written in UTC+8 and never rounded up', (t) => {
  t.is(beijingTime(new Date('2026-12-31T16:00:00.999Z')), '2027-01-01T00:00:00+08:00');
});
