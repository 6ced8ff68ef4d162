import test from 'ava';
import { notificationText, signRsa2 } from '../../../../server/channels/alipay/signature.ts';
import { NotificationNotGenuine, type Channel } from '../../../../server/payments/channel.ts';
import { APP_ID, certificateMode, channelWith, keys, NOW, order, SELLER_ID } from './fixture.ts';

const fields = { appId: APP_ID, sellerId: SELLER_ID };
const { channel } = channelWith(
  () => {
    throw new Error('a notice asks nothing');
  },
  { fields },
);

const paid = {
  notify_id: 'n1',
  notify_type: 'trade_status_sync',
  app_id: APP_ID,
  charset: 'utf-8',
  sign_type: 'RSA2',
  trade_no: '2026030122001',
  out_trade_no: order.orderNo,
  seller_id: SELLER_ID,
  trade_status: 'TRADE_SUCCESS',
  total_amount: '12.34',
  gmt_payment: '2026-03-01 11:59:00',
  subject: '\u8336 & 100% + cake=1',
};

async function form(params: Record<string, string>, key = keys.channel): Promise<string> {
  return new URLSearchParams({ ...params, sign: await signRsa2(notificationText(params), key) }).toString();
}

const read = (body: string | Buffer, by: Channel = channel) => by.readNotification({}, Buffer.from(body));

const genuine = await form(paid);
const refused: [string, string, NotificationNotGenuine['why']][] = [
  ['another key', await form(paid, keys.next), 'signature_invalid'],
  ["the app's own key", await form(paid, keys.app), 'signature_invalid'],
  ['a changed amount', genuine.replace('12.34', '12.35'), 'signature_invalid'],
  ['another parameter', `${genuine}&extra=1`, 'signature_invalid'],
  ['one parameter less', genuine.replace(/&subject=[^&]*/, ''), 'signature_invalid'],
  ['RSA1 by name', genuine.replace('sign_type=RSA2', 'sign_type=RSA'), 'signature_invalid'],
  ['no sign_type', genuine.replace('&sign_type=RSA2', ''), 'signature_invalid'],
  ['no sign', genuine.replace(/&sign=[^&]*/, ''), 'unsigned'],
  ['an empty sign', genuine.replace(/&sign=[^&]*/, '&sign='), 'unsigned'],
  ['a repeated key', `${genuine}&total_amount=0.01`, 'duplicate_key'],
  ['an escaped repeated key', `${genuine}&total%5Famount=0.01`, 'duplicate_key'],
  ['nothing', '', 'malformed'],
  ['JSON', '{"trade_status":"TRADE_SUCCESS"}', 'malformed'],
  ['a broken escape', `${genuine}&x=%zz`, 'malformed'],
  ['too many parameters', Array.from({ length: 300 }, (_, n) => `p${n}=1`).join('&'), 'malformed'],
  ['another app', await form({ ...paid, app_id: '2021000000000002' }), 'wrong_account'],
  ['another seller', await form({ ...paid, seller_id: '2088000000000002' }), 'wrong_account'],
  ['no app', await form({ ...paid, app_id: '' }), 'wrong_account'],
  ['an invalid amount', await form({ ...paid, total_amount: '12,34' }), 'malformed'],
  ['no id', await form({ ...paid, notify_id: '' }), 'malformed'],
  ['success without a trade number', await form({ ...paid, trade_no: '' }), 'malformed'],
];

const message = {
  notify_id: 'm1',
  msg_method: 'alipay.merchant.tradecomplain.changed',
  app_id: APP_ID,
  charset: 'GBK',
  sign_type: 'RSA2',
  utc_timestamp: '1516797622752',
  version: '1.1',
  biz_content: '{"complain_event_id":"2020092300102000000001459758"}',
};

test('a non-payment message of Alipay is genuine, but belongs to no merchant and no order', async (t) => {
  t.deepEqual(await read(await form(message)), {
    notificationId: 'm1',
    account: APP_ID,
    event: message.msg_method,
    orderNo: null,
    refundNo: null,
    isShared: true,
    verifiedBy: { certId: null, since: null },
  });
  const more = { ...message, out_trade_no: order.orderNo, trade_status: 'TRADE_SUCCESS', total_amount: '12.34' };
  t.like(await read(await form(more)), { orderNo: null, outcome: undefined });
  const why = async (params: Record<string, string>, key = keys.channel) =>
    (await t.throwsAsync<NotificationNotGenuine>(async () => read(await form(params, key))))?.why;
  t.is(await why(message, keys.next), 'signature_invalid');
  t.is(await why({ ...message, app_id: '2021000000000002' }), 'wrong_account');
  t.is(await why({ ...message, notify_id: '' }), 'malformed');
});

test('a bank message about a refund counts only if the bank rejected the refund', async (t) => {
  const bank = (content: object | string) =>
    form({
      ...message,
      msg_method: 'alipay.trade.refund.depositback.completed',
      biz_content: typeof content === 'string' ? content : JSON.stringify(content),
    });
  const about = { trade_no: '2026', out_trade_no: order.orderNo, out_request_no: 'R1' };
  const refused = await read(await bank({ ...about, dback_status: 'F' }));
  t.like(refused, { orderNo: order.orderNo, refundNo: 'R1', bankRefused: true, isShared: true });
  t.is(refused.outcome, undefined);
  const taken = await read(await bank({ ...about, dback_status: 'S', dback_amount: '1.01' }));
  t.like(taken, { orderNo: null, refundNo: null, bankRefused: undefined });
  for (const content of ['', '[]', '{"dback_status":"F"}', '{"dback_status":"F","dback_status":"S"}'])
    t.is(
      (await t.throwsAsync<NotificationNotGenuine>(async () => read(await bank(content))))?.why,
      'malformed',
      content,
    );
});

test('a payment is settled from its notification', async (t) => {
  t.deepEqual(await read(await form(paid)), {
    notificationId: 'n1',
    account: APP_ID,
    event: 'TRADE_SUCCESS',
    orderNo: order.orderNo,
    refundNo: null,
    verifiedBy: { certId: null, since: null },
    outcome: {
      kind: 'paid',
      channelNo: paid.trade_no,
      amount: order.amount,
      at: new Date('2026-03-01T03:59:00Z'),
      payer: undefined,
    },
  });
});

test('the notified amount is reported unchanged', async (t) => {
  const { outcome } = await read(await form({ ...paid, total_amount: '0.01' }));
  t.like(outcome, { kind: 'paid', amount: { minor: 1n, currency: 'CNY' } });
});

test('a partial refund repeats the success, names the refund and leaves its amount to a query', async (t) => {
  const notification = await read(
    await form({ ...paid, refund_fee: '2.34', out_biz_no: 'R1', gmt_refund: '2026-03-01 12:00:00' }),
  );
  t.like(notification, { refundNo: 'R1', outcome: { kind: 'paid', refundsHint: true, amount: order.amount } });
  t.is(notification.refund, undefined);
});

test('a closed trade is closed if unpaid, and paid if fully refunded', async (t) => {
  const { gmt_payment: _, ...unpaid } = { ...paid, trade_status: 'TRADE_CLOSED' };
  t.deepEqual((await read(await form(unpaid))).outcome, { kind: 'closed' });
  t.like((await read(await form({ ...unpaid, gmt_refund: '2026-03-01 12:00:00', refund_fee: '12.34' }))).outcome, {
    kind: 'paid',
    refundsHint: true,
  });
});

test('a closed trade with a refunded sum was paid, and one with a zero sum was not', async (t) => {
  const { gmt_payment: _, ...unpaid } = { ...paid, trade_status: 'TRADE_CLOSED' };
  t.like((await read(await form({ ...unpaid, refund_fee: '12.34' }))).outcome, { kind: 'paid', at: NOW });
  t.deepEqual((await read(await form({ ...unpaid, refund_fee: '0.00' }))).outcome, { kind: 'closed' });
});

test('an unlisted status is pending, and a notification about another subject is a hint', async (t) => {
  t.deepEqual((await read(await form({ ...paid, trade_status: 'TRADE_NEW' }))).outcome, { kind: 'pending' });
  const { trade_status: _, ...other } = { ...paid, notify_type: 'dut_user_sign' };
  const notification = await read(await form(other));
  t.is(notification.event, 'dut_user_sign');
  t.is(notification.outcome, undefined);
});

test('a GBK signature is verified over the received bytes', async (t) => {
  const subject = Buffer.from([0xb2, 0xe8]);
  const params: Record<string, string> = { ...paid, charset: 'GBK', subject: subject.toString('latin1') };
  const sign = await signRsa2(Buffer.from(notificationText(params), 'latin1'), keys.channel);
  const body = Object.entries({ ...params, sign })
    .map(([key, value]) => `${key}=${key === 'subject' ? '%B2%E8' : encodeURIComponent(value)}`)
    .join('&');
  t.like((await read(body)).outcome, { kind: 'paid' });
});

for (const [name, body, why] of refused) {
  test(`not genuine: ${name} is ${why}`, async (t) => {
    const error = await t.throwsAsync(read(body), { instanceOf: NotificationNotGenuine });
    t.is(error?.why, why);
  });
}

test('every changed byte of the signed part is refused', async (t) => {
  const end = genuine.indexOf('&sign=');
  for (let at = 0; at < end; at += 7) {
    const changed = Buffer.from(genuine);
    changed[at] = changed[at] === 0x39 ? 0x38 : 0x39;
    await t.throwsAsync(read(changed), { instanceOf: NotificationNotGenuine }, `byte ${at}`);
  }
});

test('certificate mode verifies notifications with any of its certificates, but not with a simulator key', async (t) => {
  const { channel: certificates } = channelWith(
    () => {
      throw new Error('unused');
    },
    { fields, pems: certificateMode },
  );
  t.like((await read(genuine, certificates)).outcome, { kind: 'paid' });
  await t.throwsAsync(read(await form(paid, keys.next), certificates), { instanceOf: NotificationNotGenuine });
});

test('only the exact acknowledgement stops further deliveries', (t) => {
  t.like(channel.ackNotification('accepted'), { status: 200, body: 'success' });
  t.not(channel.ackNotification('refused').body, 'success');
  t.is(channel.ackNotification('refused').status, 400);
  t.like(channel.ackNotification('again'), { status: 503, body: 'fail' });
});
