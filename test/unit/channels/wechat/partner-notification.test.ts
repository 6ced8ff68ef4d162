import test from 'ava';
import { encryptText } from '../../../../server/channels/wechat/signature.ts';
import { NotificationNotGenuine, type Notification } from '../../../../server/payments/channel.ts';
import {
  API_V3_KEY,
  APP_ID,
  channelWith,
  MCHID,
  partnerTrade,
  platformInput,
  PUBLIC,
  publicKeyInput,
  signedHeaders,
  SUB_MCHID,
  trade,
  unsigned,
} from './fake.ts';

const SUB_APP = 'wx00000000000000d1';
const OTHER_APP = 'wx00000000000000d9';

const REFUND = {
  sp_mchid: MCHID,
  sub_mchid: SUB_MCHID,
  out_trade_no: 'ORDER00001',
  transaction_id: '42',
  out_refund_no: 'REFUND0001',
  refund_id: '50',
  refund_status: 'SUCCESS',
  success_time: '2026-03-04T13:06:00+08:00',
  amount: { total: 1234, refund: 100, payer_total: 1234, payer_refund: 100 },
};

/** Reads a notification as the channel of a partner; without a sub-merchant as a direct merchant. */
function read(resource: object, event = 'TRANSACTION.SUCCESS', subMchId = SUB_MCHID, base = platformInput()) {
  const { ciphertext, nonce } = encryptText(
    JSON.stringify(resource),
    'abcdefghijkl',
    'transaction',
    Buffer.from(API_V3_KEY),
  );
  const encrypted = { algorithm: 'AEAD_AES_256_GCM', ciphertext, nonce, associated_data: 'transaction' };
  const text = JSON.stringify({ id: 'EV-1', event_type: event, resource: encrypted });
  const fields = subMchId === '' ? base.fields : { ...base.fields, subMchId, subAppId: SUB_APP };
  const { channel } = channelWith(() => unsigned(404), { fields, pems: base.pems });
  const how = base.fields.publicKeyId ? { signer: PUBLIC } : {};
  return channel.readNotification(signedHeaders(text, how), Buffer.from(text));
}

for (const base of [platformInput(), publicKeyInput()]) {
  const way = base.fields.publicKeyId ? 'a public key' : 'a certificate';

  test(`a payment of the sub-merchant is verified by ${way} and reported with every app in it`, async (t) => {
    const bySp: Notification = await read(partnerTrade(), undefined, undefined, base);
    t.like(bySp, { account: MCHID, orderNo: 'ORDER00001', appIds: [APP_ID], outcome: { kind: 'paid', payer: 'sp-1' } });
    t.deepEqual((await read(partnerTrade({ sub_appid: '' }), undefined, undefined, base)).appIds, [APP_ID]);
    const payer = { sp_openid: 'sp-1', sub_openid: 'sub-1' };
    const bySub = await read(partnerTrade({ sub_appid: SUB_APP, payer }), undefined, undefined, base);
    t.like(bySub, { appIds: [APP_ID, SUB_APP], outcome: { kind: 'paid', payer: 'sub-1' } });
    const refund = await read(REFUND, 'REFUND.SUCCESS', undefined, base);
    t.like(refund, { account: MCHID, refundNo: 'REFUND0001', refund: { kind: 'succeeded' } });
    t.is(refund.appIds, undefined);
  });
}

for (const [what, resource, event] of [
  ['another sub-merchant', partnerTrade({ sub_mchid: '1900000307' })],
  ['no sub-merchant', partnerTrade({ sub_mchid: undefined })],
  ['another partner', partnerTrade({ sp_mchid: '1900000999' })],
  ['the partner as a direct merchant', trade()],
  ['the sub-merchant as a direct merchant', trade({ mchid: SUB_MCHID, appid: SUB_APP })],
  ['another app of the partner', partnerTrade({ sp_appid: OTHER_APP })],
  ['another app of the sub-merchant', partnerTrade({ sub_appid: OTHER_APP })],
  ['no app of the partner', partnerTrade({ sp_appid: undefined, sub_appid: SUB_APP })],
  ['a refund of another sub-merchant', { ...REFUND, sub_mchid: '1900000307' }, 'REFUND.SUCCESS'],
  ['a refund of another partner', { ...REFUND, sp_mchid: '1900000999' }, 'REFUND.SUCCESS'],
  ['a refund of the partner as a direct merchant', { ...REFUND, sp_mchid: undefined, mchid: MCHID }, 'REFUND.SUCCESS'],
] as const) {
  test(`a notification of ${what} is not for this account`, async (t) => {
    const error = await t.throwsAsync(read(resource, event), { instanceOf: NotificationNotGenuine });
    t.is(error.why, 'wrong_account');
  });
}

test('a notification of a partner is not accepted by a direct merchant of the same number', async (t) => {
  for (const [resource, event] of [
    [partnerTrade(), 'TRANSACTION.SUCCESS'],
    [REFUND, 'REFUND.SUCCESS'],
  ] as const) {
    const error = await t.throwsAsync(read(resource, event, ''), { instanceOf: NotificationNotGenuine });
    t.is(error.why, 'wrong_account');
  }
});
