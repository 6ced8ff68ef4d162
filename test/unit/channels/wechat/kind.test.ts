import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { ChannelMisconfigured, type ChannelInput } from '../../../../server/payments/channel.ts';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import {
  certifiedKey,
  MCHID,
  MERCHANT,
  MERCHANT_KEY_PEM,
  orderRef,
  platformInput,
  PUBLIC,
  PUBLIC_KEY_ID,
  signed,
  trade,
} from './fake.ts';

const OTHER = certifiedKey();
const SMALL = generateKeyPairSync('rsa', { modulusLength: 1024 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

function create(changes: { fields?: object; pems?: object; mode?: ChannelInput['mode']; simulatorUrl?: string }) {
  const input = platformInput();
  return wechatKind.create({
    ...input,
    ...changes,
    fields: { ...input.fields, ...changes.fields },
    pems: { ...input.pems, ...changes.pems },
  });
}

for (const [what, field, changes] of [
  ['no merchant key', 'wechat_merchant_key', { pems: { wechat_merchant_key: [] } }],
  ['an invalid merchant key', 'wechat_merchant_key', { pems: { wechat_merchant_key: ['x'] } }],
  [
    'a weak merchant key',
    'wechat_merchant_key',
    { pems: { wechat_merchant_key: [SMALL], wechat_merchant_cert: [] }, fields: { merchantSerial: 'AB' } },
  ],
  ['a certificate of another key', 'wechat_merchant_key', { pems: { wechat_merchant_cert: [OTHER.pem] } }],
  ['an invalid certificate', 'wechat_merchant_cert', { pems: { wechat_merchant_cert: ['x'] } }],
  ['neither certificate nor serial', 'merchantSerial', { pems: { wechat_merchant_cert: [] } }],
  ['a serial of another certificate', 'merchantSerial', { fields: { merchantSerial: 'ABCDEF' } }],
  ['a short APIv3 key', 'apiV3Key', { fields: { apiV3Key: 'short' } }],
  ['no merchant number', 'mchid', { fields: { mchid: '' } }],
  ['no app', 'appId', { fields: { appId: '' } }],
  ['a public key id without key', 'wechat_public_key', { fields: { publicKeyId: PUBLIC_KEY_ID } }],
  [
    'a certificate as public key',
    'wechat_public_key',
    { fields: { publicKeyId: PUBLIC_KEY_ID }, pems: { wechat_public_key: [OTHER.pem] } },
  ],
  [
    'a private key as public key',
    'wechat_public_key',
    { fields: { publicKeyId: PUBLIC_KEY_ID }, pems: { wechat_public_key: [MERCHANT_KEY_PEM] } },
  ],
  ['an invalid platform certificate', 'wechat_platform_cert', { pems: { wechat_platform_cert: ['x'] } }],
  ['no simulator', 'mode', { mode: 'simulator' }],
] as const) {
  test(`${what} is misconfigured: ${field}`, (t) => {
    const error = t.throws(() => create(changes), { instanceOf: ChannelMisconfigured });
    t.is(error.field, field);
    t.false(error.message.includes('PRIVATE'));
    t.is(error.cause, undefined);
  });
}

test('the certificate serial may have other leading zeros and case', (t) => {
  t.notThrows(() => create({ fields: { merchantSerial: `00${MERCHANT.serial.toLowerCase()}` } }));
});

test('the simulator is called below its own path, and the path is signed', async (t) => {
  const urls: string[] = [];
  const channel = wechatKind.create({
    ...platformInput(),
    mode: 'simulator',
    simulatorUrl: 'http://127.0.0.1:8081/',
    send: async ({ url }) => (urls.push(url), signed(200, trade())),
  });
  t.is((await channel.query(orderRef())).kind, 'paid');
  t.is(urls[0], `http://127.0.0.1:8081/wechat/v3/pay/transactions/out-trade-no/ORDER00001?mchid=${MCHID}`);
});

test('missing fields are reported, and one of the verification methods is enough', (t) => {
  const { fields } = platformInput();
  const keys = new Set(['wechat_merchant_key', 'wechat_merchant_cert']);
  t.deepEqual(wechatKind.missing('live', {}, new Set()), [
    'mchid',
    'appId',
    'apiV3Key',
    'wechat_merchant_key',
    'wechat_merchant_cert',
  ]);
  t.deepEqual(wechatKind.missing('live', fields, keys), []);
  t.deepEqual(wechatKind.missing('live', { ...fields, merchantSerial: 'AB' }, new Set(['wechat_merchant_key'])), []);
  t.deepEqual(wechatKind.missing('live', { ...fields, publicKeyId: PUBLIC_KEY_ID }, keys), ['wechat_public_key']);
  t.deepEqual(wechatKind.missing('live', fields, new Set([...keys, 'wechat_public_key'])), ['publicKeyId']);
});

test('fields accept the formats of WeChat Pay and refuse others', (t) => {
  const pattern = (name: string) => wechatKind.fields.find((field) => field.name === name)?.pattern ?? /$^/;
  t.regex(PUBLIC_KEY_ID, pattern('publicKeyId'));
  t.regex(`${PUBLIC_KEY_ID}, PUB_KEY_ID_02`, pattern('publicKeyId'));
  t.notRegex('0119', pattern('publicKeyId'));
  t.regex(MCHID, pattern('mchid'));
  t.notRegex('19000001 09', pattern('mchid'));
  t.notRegex('x'.repeat(31), pattern('apiV3Key'));
});

test('an order pins the merchant number', (t) => {
  t.is(wechatKind.accountOf({ mchid: MCHID }), MCHID);
  t.is(create({ fields: { publicKeyId: PUBLIC_KEY_ID }, pems: { wechat_public_key: [PUBLIC.pem] } }).account, MCHID);
});
