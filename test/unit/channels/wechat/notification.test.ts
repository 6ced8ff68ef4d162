import test from 'ava';
import { NotificationNotGenuine, type Notification } from '../../../../server/payments/channel.ts';
import { encryptText } from '../../../../server/channels/wechat/signature.ts';
import {
  API_V3_KEY,
  APP_ID,
  channelWith,
  MCHID,
  NOW,
  OTHER_PLATFORM,
  PLATFORM,
  PUBLIC,
  publicKeyInput,
  signedHeaders,
  trade,
  unsigned,
  type SignedHow,
} from './fake.ts';

const KEY = Buffer.from(API_V3_KEY);

interface Changes extends SignedHow {
  event?: string;
  resource?: object;
  encrypted?: (resource: Record<string, string>) => object;
  envelope?: object;
  /** Changes the bytes after signing. */
  body?: (text: string) => string;
}

function notification({ event = 'TRANSACTION.SUCCESS', resource = trade(), ...changes }: Changes = {}) {
  const { ciphertext, nonce } = encryptText(JSON.stringify(resource), 'abcdefghijkl', 'transaction', KEY);
  const encrypted = { algorithm: 'AEAD_AES_256_GCM', ciphertext, nonce, associated_data: 'transaction' };
  const text = JSON.stringify({
    id: 'EV-1',
    create_time: '2026-03-04T13:05:00+08:00',
    event_type: event,
    resource_type: 'encrypt-resource',
    resource: changes.encrypted?.(encrypted) ?? encrypted,
    ...changes.envelope,
  });
  return { headers: signedHeaders(text, changes), body: Buffer.from(changes.body?.(text) ?? text) };
}

function read(changes: Changes = {}): Promise<Notification> {
  const { headers, body } = notification(changes);
  return channelWith(() => unsigned(404)).channel.readNotification(headers, body);
}

const refund = {
  mchid: MCHID,
  out_trade_no: 'ORDER00001',
  transaction_id: '42',
  out_refund_no: 'REFUND0001',
  refund_id: '50',
  refund_status: 'SUCCESS',
  success_time: '2026-03-04T13:06:00+08:00',
  amount: { total: 1234, refund: 100, payer_total: 1234, payer_refund: 100 },
};

test('a payment notification has its order, account, number, amount and time', async (t) => {
  t.deepEqual(await read(), {
    notificationId: 'EV-1',
    account: MCHID,
    event: 'TRANSACTION.SUCCESS',
    orderNo: 'ORDER00001',
    refundNo: null,
    appIds: [APP_ID],
    verifiedBy: { certId: null, since: null },
    outcome: {
      kind: 'paid',
      channelNo: '4200001234202603040000000001',
      amount: { minor: 1234n, currency: 'CNY' },
      at: new Date('2026-03-04T05:05:00Z'),
      payer: 'openid-1',
    },
  });
});

for (const [word, expected] of [
  ['SUCCESS', { kind: 'succeeded', amount: { minor: 100n, currency: 'CNY' }, at: new Date('2026-03-04T05:06:00Z') }],
  ['ABNORMAL', { kind: 'abnormal', channelRefundNo: '50' }],
  ['CLOSED', { kind: 'failed', code: 'CLOSED' }],
] as const) {
  test(`a refund notification with ${word} is ${expected.kind}`, async (t) => {
    const told = await read({ event: `REFUND.${word}`, resource: { ...refund, refund_status: word } });
    t.like(told, { orderNo: 'ORDER00001', refundNo: 'REFUND0001', event: `REFUND.${word}` });
    t.like(told.refund, expected);
    t.is(told.outcome, undefined);
  });
}

const shared = {
  mchid: MCHID,
  transaction_id: '42',
  order_id: '3008',
  out_order_no: 'P1',
  success_time: '2026-03-04T13:06:00+08:00',
};
for (const [event, resource] of [
  ['TRANSACTION.SUCCESS', shared],
  ['PROFITSHARING.SUCCESS', shared],
  ['MCHTRANSFER.BILL.FINISHED', { mch_id: MCHID, out_bill_no: 'B1', state: 'SUCCESS' }],
  ['COUPON.USE', { stock_creator_mchid: '1900000001', stock_id: '7', status: 'USED' }],
  ['PAYSCORE.USER_PAID', { mchid: MCHID, out_order_no: 'S1', state: 'DONE' }],
] as const)
  test(`${event} without an order belongs to no order, and is genuine only if signed and decrypted`, async (t) => {
    const other = {
      notificationId: 'EV-1',
      account: MCHID,
      event,
      orderNo: null,
      refundNo: null,
      isShared: true,
    } as const;
    t.deepEqual(await read({ event, resource }), other);
    await t.throwsAsync(read({ event, resource, signer: OTHER_PLATFORM, serial: PLATFORM.serial }), {
      instanceOf: NotificationNotGenuine,
    });
    await t.throwsAsync(read({ event, resource, body: (text) => text.replace('EV-1', 'EV-2') }), {
      instanceOf: NotificationNotGenuine,
    });
    const torn = (encrypted: Record<string, string>) => ({ ...encrypted, associated_data: 'x' });
    await t.throwsAsync(read({ event, resource, encrypted: torn }), { instanceOf: NotificationNotGenuine });
  });

test('a notification without a success is only a hint', async (t) => {
  const told = await read({ resource: trade({ trade_state: 'CLOSED' }) });
  t.is(told.outcome, undefined);
  t.is(told.orderNo, 'ORDER00001');
});

test('the state in the encrypted resource counts, not the event next to it', async (t) => {
  t.is((await read({ resource: trade({ trade_state: 'NOTPAY' }) })).outcome, undefined);
  const told = await read({ event: 'REFUND.SUCCESS', resource: { ...refund, refund_status: 'PROCESSING' } });
  t.is(told.refund?.kind, 'pending');
});

const refused: Record<string, [why: NotificationNotGenuine['why'], changes: Changes]> = {
  'a key of another signer': ['signature_invalid', { signer: { ...OTHER_PLATFORM, serial: PLATFORM.serial } }],
  'an unknown serial': ['serial_unknown', { signer: OTHER_PLATFORM }],
  'a public key id in platform mode': ['serial_unknown', { signer: PUBLIC }],
  'a SIGNTEST probe': ['signature_invalid', { signature: 'WECHATPAY/SIGNTEST/c2lnbmF0dXJl' }],
  'a clock 10 minutes ahead': ['clock_skew', { at: new Date(NOW.getTime() + 600_000) }],
  'a clock 10 minutes behind': ['clock_skew', { at: new Date(NOW.getTime() - 600_000) }],
  're-serialised JSON': ['signature_invalid', { body: (text) => JSON.stringify(JSON.parse(text), null, 1) }],
  'a changed body': ['signature_invalid', { body: (text) => text.replace('EV-1', 'EV-2') }],
  'a bad tag': [
    'misconfigured',
    {
      encrypted({ ciphertext = '', ...rest }) {
        const bytes = Buffer.from(ciphertext, 'base64');
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
        return { ...rest, ciphertext: bytes.toString('base64') };
      },
    },
  ],
  'a short tag': [
    'misconfigured',
    {
      encrypted: ({ ciphertext = '', ...rest }) => ({
        ...rest,
        ciphertext: Buffer.from(ciphertext, 'base64').subarray(0, 12).toString('base64'),
      }),
    },
  ],
  'other associated data': [
    'misconfigured',
    { encrypted: (encrypted) => ({ ...encrypted, associated_data: 'refund' }) },
  ],
  'no associated data': [
    'misconfigured',
    { encrypted: ({ algorithm, ciphertext, nonce }) => ({ algorithm, ciphertext, nonce }) },
  ],
  'another algorithm': ['malformed', { encrypted: (encrypted) => ({ ...encrypted, algorithm: 'NONE' }) }],
  'no resource': ['malformed', { encrypted: () => ({}) }],
  "another merchant's payment": ['wrong_account', { resource: trade({ mchid: '1900000999' }) }],
  "another app's payment": ['wrong_account', { resource: trade({ appid: 'wx0000000000000002' }) }],
  "another merchant's refund": ['wrong_account', { event: 'REFUND.SUCCESS', resource: { ...refund, mchid: '1' } }],
  'no order number': ['malformed', { resource: trade({ out_trade_no: undefined }) }],
  'no refund number': ['malformed', { event: 'REFUND.SUCCESS', resource: { ...refund, out_refund_no: '' } }],
  'no amount': ['malformed', { resource: trade({ amount: undefined }) }],
  'no id': ['malformed', { envelope: { id: '' } }],
};

for (const [what, [why, changes]] of Object.entries(refused)) {
  test(`a notification with ${what} is not genuine (${why})`, async (t) => {
    const error = await t.throwsAsync(read(changes), { instanceOf: NotificationNotGenuine });
    t.is(error.why, why, error.message);
  });
}

test('a signed notification with a duplicate member is refused', async (t) => {
  const { body } = notification();
  const text = body.toString().replace(/}$/, ',"id":"EV-2"}');
  const { channel } = channelWith(() => unsigned(404));
  const error = await t.throwsAsync(channel.readNotification(signedHeaders(text), Buffer.from(text)), {
    instanceOf: NotificationNotGenuine,
  });
  t.is(error.why, 'duplicate_key');
});

for (const name of ['timestamp', 'nonce', 'signature', 'serial']) {
  test(`a notification without Wechatpay-${name} is unsigned`, async (t) => {
    const { headers, body } = notification();
    delete headers[`wechatpay-${name}`];
    const { channel } = channelWith(() => unsigned(404));
    const error = await t.throwsAsync(channel.readNotification(headers, body), { instanceOf: NotificationNotGenuine });
    t.is(error.why, 'unsigned');
  });
}

test('empty associated data is accepted', async (t) => {
  const told = await read({
    encrypted(encrypted) {
      const { ciphertext } = encryptText(JSON.stringify(trade()), 'abcdefghijkl', '', KEY);
      return { ...encrypted, ciphertext, associated_data: '' };
    },
  });
  t.is(told.outcome?.kind, 'paid');
});

test('a notification signed by the public key is genuine in public-key mode', async (t) => {
  const { fields, pems } = publicKeyInput();
  const { headers, body } = notification({ signer: PUBLIC });
  const { channel } = channelWith(() => unsigned(404), { fields, pems });
  t.is((await channel.readNotification(headers, body)).outcome?.kind, 'paid');
});

test('a notification is acknowledged with 200, and a refusal causes another delivery', (t) => {
  const { channel } = channelWith(() => unsigned(404));
  t.is(channel.ackNotification('accepted').status, 200);
  t.is(channel.ackNotification('refused').status, 400);
  t.is(channel.ackNotification('again').status, 503);
  t.is((JSON.parse(channel.ackNotification('refused').body) as { code: string }).code, 'FAIL');
});
