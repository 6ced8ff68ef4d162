import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { ChannelMisconfigured } from '../../../../server/payments/channel.ts';
import { APP_ID, certificateMode, channelWith, fixture, http, keyMode, keys, publicPem, ref, said } from './fixture.ts';

const paid = {
  code: '10000',
  out_trade_no: ref.orderNo,
  trade_no: '1',
  trade_status: 'TRADE_SUCCESS',
  total_amount: '12.34',
};
const bare = (pem: string): string => pem.replace(/-----[^-]+-----/g, '').trim();
const pkcs1 = keys.app.export({ type: 'pkcs1', format: 'pem' }).toString();
const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = (key: typeof small.privateKey): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

const keyForms: [string, Record<string, string[]>][] = [
  ['PEM', keyMode],
  ['PKCS #1', { ...keyMode, alipay_app_key: [pkcs1] }],
  ['bare PKCS #1', { ...keyMode, alipay_app_key: [bare(pkcs1)] }],
  ['bare PKCS #8', { ...keyMode, alipay_app_key: [bare(fixture('app.key')).replaceAll('\n', '')] }],
  ['bare public key', { ...keyMode, alipay_public_key: [` ${bare(publicPem(keys.channel))}\r\n`] }],
];
for (const [name, pems] of keyForms) {
  test(`a key is accepted as ${name}`, async (t) => {
    const { channel } = channelWith(({ about }) => said(about.call, paid), { pems });
    t.like(await channel.query(ref), { kind: 'paid' });
  });
}

const wrong: [string, Record<string, string[]>, string][] = [
  ['no app key', { ...keyMode, alipay_app_key: [] }, 'alipay_app_key'],
  ['a public key as app key', { ...keyMode, alipay_app_key: [publicPem(keys.app)] }, 'alipay_app_key'],
  ['a short key', { ...keyMode, alipay_app_key: [pem(small.privateKey)] }, 'alipay_app_key'],
  ['an elliptic key', { ...keyMode, alipay_app_key: [pem(elliptic.privateKey)] }, 'alipay_app_key'],
  ['garbage', { ...keyMode, alipay_app_key: ['garbage'] }, 'alipay_app_key'],
  ['no public key', { ...keyMode, alipay_public_key: [] }, 'alipay_public_key'],
  ['a private key as public key', { ...keyMode, alipay_public_key: [fixture('alipay.key')] }, 'alipay_public_key'],
  ["the app's own public key", { ...keyMode, alipay_public_key: [publicPem(keys.app)] }, 'alipay_public_key'],
  ['a bad second public key', { ...keyMode, alipay_public_key: [publicPem(keys.channel), 'x'] }, 'alipay_public_key'],
  ["another key's certificate", { ...certificateMode, alipay_app_cert: [fixture('alipay.crt')] }, 'alipay_app_cert'],
  ['no root', { ...certificateMode, alipay_root_cert: [] }, 'alipay_root_cert'],
  ['an empty root', { ...certificateMode, alipay_root_cert: ['none'] }, 'alipay_root_cert'],
  ['no public certificate', { ...certificateMode, alipay_public_cert: [] }, 'alipay_public_cert'],
  [
    'a truncated certificate',
    { ...certificateMode, alipay_public_cert: [fixture('alipay.crt').slice(0, 200)] },
    'alipay_public_cert',
  ],
];
for (const [name, pems, field] of wrong) {
  test(`misconfigured: ${name} reports ${field} and shows no key`, (t) => {
    const error = t.throws(() => channelWith(() => http(''), { pems }), { instanceOf: ChannelMisconfigured });
    t.is(error?.field, field);
    t.notRegex(`${error?.message}${String(error?.cause)}`, /BEGIN|MII|garbage/);
  });
}

test('missing fields are reported', (t) => {
  const missing = (kinds: string[], fields = {}) => alipayKind.missing('live', fields, new Set(kinds));
  t.deepEqual(missing([]), ['appId', 'alipay_app_key', 'alipay_public_key']);
  t.deepEqual(missing(['alipay_app_cert'], { appId: APP_ID }), [
    'alipay_app_key',
    'alipay_public_cert',
    'alipay_root_cert',
  ]);
  t.deepEqual(missing(Object.keys(keyMode), { appId: APP_ID }), []);
  t.deepEqual(missing(Object.keys(certificateMode), { appId: APP_ID }), []);
});

test('an order pins the app id', (t) => {
  t.is(alipayKind.accountOf({ appId: APP_ID }), APP_ID);
  t.is(channelWith(() => http('')).channel.account, APP_ID);
});

test('the gateway follows from the mode', async (t) => {
  const urls: string[] = [];
  for (const mode of ['live', 'sandbox', 'simulator'] as const) {
    const channel = alipayKind.create({
      mode,
      fields: { appId: APP_ID },
      pems: keyMode,
      simulatorUrl: 'http://127.0.0.1:1/',
      now: () => new Date(),
      send: async ({ url }) => (urls.push(url), http('', 502)),
    });
    await channel.query(ref);
  }
  t.deepEqual(urls, [
    'https://openapi.alipay.com/gateway.do?charset=utf-8',
    'https://openapi-sandbox.dl.alipaydev.com/gateway.do?charset=utf-8',
    'http://127.0.0.1:1/alipay/gateway.do?charset=utf-8',
  ]);
  t.throws(
    () =>
      alipayKind.create({
        mode: 'simulator',
        fields: { appId: APP_ID },
        pems: keyMode,
        simulatorUrl: null,
        now: () => new Date(),
        send: async () => http(''),
      }),
    { instanceOf: ChannelMisconfigured },
  );
});

const probes: [string, object, boolean, object][] = [
  ['a signed "not exist"', { code: '40004', sub_code: 'ACQ.TRADE_NOT_EXIST' }, true, { ok: true }],
  ['an unsigned "not exist"', { code: '40004', sub_code: 'ACQ.TRADE_NOT_EXIST' }, false, { ok: false, field: null }],
  [
    'a wrong app key',
    { code: '40002', sub_code: 'isv.invalid-signature' },
    false,
    { ok: false, field: 'alipay_app_key' },
  ],
  ['a wrong app id', { code: '40002', sub_code: 'isv.invalid-app-id' }, false, { ok: false, field: 'appId' }],
  ['a wrong app id, signed', { code: '40002', sub_code: 'isv.invalid-app-id' }, true, { ok: false, field: 'appId' }],
  [
    'a missing permission',
    { code: '40006', sub_code: 'isv.insufficient-isv-permissions' },
    true,
    { ok: false, field: null, code: 'isv.insufficient-isv-permissions' },
  ],
];
for (const [name, content, isSigned, expected] of probes) {
  test(`probe: ${name}`, async (t) => {
    const { channel } = channelWith(({ about }) =>
      isSigned ? said(about.call, content) : http(JSON.stringify({ alipay_trade_query_response: content })),
    );
    t.like(await channel.probe(), expected);
  });
}

const forbidden = { code: '40004', sub_code: 'ACQ.ACCESS_FORBIDDEN' };
const noPermission = { code: '40006', sub_code: 'isv.insufficient-isv-permissions' };
const products: [name: string, refusals: Record<string, object>, qrProductCode: string, says: RegExp | null][] = [
  ['has the default product', { QR_CODE_OFFLINE: forbidden }, '', null],
  ['has the configured product', { FACE_TO_FACE_PAYMENT: forbidden }, 'QR_CODE_OFFLINE', null],
  ['has only the other product', { FACE_TO_FACE_PAYMENT: forbidden }, '', /set qrProductCode to QR_CODE_OFFLINE/],
  ['has only the other product', { QR_CODE_OFFLINE: noPermission }, 'QR_CODE_OFFLINE', /to FACE_TO_FACE_PAYMENT/],
  ['has none', { FACE_TO_FACE_PAYMENT: forbidden, QR_CODE_OFFLINE: forbidden }, '', /Sign a contract for/],
];
for (const [name, refusals, qrProductCode, says] of products) {
  test(`probe: the merchant ${name} (${qrProductCode || 'no code configured'})`, async (t) => {
    const reply = (body: string | undefined) => {
      const content = JSON.parse(new URLSearchParams(body).get('biz_content') ?? '{}') as Record<string, string>;
      return refusals[content.product_code ?? ''] ?? { code: '40004', sub_code: 'ACQ.TRADE_NOT_EXIST' };
    };
    const { channel, sent } = channelWith(({ about, body }) => said(about.call, reply(body)), {
      fields: { appId: APP_ID, qrProductCode },
    });
    const result = await channel.probe();
    t.true(result.ok);
    if (says) t.regex((result.ok && result.note?.message) || '', says);
    else t.like(result, { ok: true, note: undefined });
    t.true(
      sent.every(({ body }) => !body?.includes('notify_url')),
      'the test code has no notification',
    );
  });
}

test('probe: a response signed with another key reports the verification key of the mode', async (t) => {
  const probe = (pems: Record<string, string[]>) =>
    channelWith(({ about }) => said(about.call, {}, { key: keys.app }), { pems }).channel.probe();
  t.like(await probe(keyMode), { ok: false, field: 'alipay_public_key', code: 'signature_invalid' });
  t.like(await probe(certificateMode), { ok: false, field: 'alipay_public_cert', code: 'serial_unknown' });
});
