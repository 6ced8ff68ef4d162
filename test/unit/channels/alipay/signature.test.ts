import { createPublicKey } from 'node:crypto';
import { AlipaySdk } from 'alipay-sdk';
import test from 'ava';
import fc from 'fast-check';
import {
  certSerial,
  notificationText,
  readCertificates,
  requestText,
  rootCertSerial,
  signRsa2,
  verifyRsa2,
} from '../../../../server/channels/alipay/signature.ts';
import { APP_ID, fixture, keys, publicPem } from './fixture.ts';

const sdk = new AlipaySdk({
  appId: APP_ID,
  privateKey: fixture('app.key'),
  keyType: 'PKCS8',
  alipayPublicKey: publicPem(keys.channel),
});

test('the request text omits sign and empty values, sorts by key and keeps values unescaped', (t) => {
  const params = { b: '2&=', sign_type: 'RSA2', a: '1', sign: 'x', empty: '', A: '\u4f60' };
  t.is(requestText(params), 'A=\u4f60&a=1&b=2&=&sign_type=RSA2');
});

test('the notification text omits sign and sign_type', (t) => {
  t.is(notificationText({ b: '2', sign_type: 'RSA2', a: '', sign: 'x' }), 'a=&b=2');
});

test('a request signed by alipay-sdk is verified', (t) => {
  const text = sdk.sdkExecute('alipay.trade.app.pay', {
    bizContent: { subject: '\u8336 & cake', total_amount: '1.00' },
  });
  const params = Object.fromEntries(new URLSearchParams(text));
  t.true(verifyRsa2(requestText(params), params.sign ?? '', createPublicKey(keys.app)));
  t.false(verifyRsa2(requestText({ ...params, app_id: '1' }), params.sign ?? '', createPublicKey(keys.app)));
});

test('alipay-sdk verifies our signed notification and refuses a changed one', async (t) => {
  const params = { app_id: APP_ID, trade_status: 'TRADE_SUCCESS', subject: '\u8336 100%', sign_type: 'RSA2' };
  const sign = await signRsa2(notificationText(params), keys.channel);
  t.true(sdk.checkNotifySignV2({ ...params, sign }));
  t.false(sdk.checkNotifySignV2({ ...params, trade_status: 'TRADE_CLOSED', sign }));
});

test('alipay-sdk verifies our signed response and refuses a changed one', async (t) => {
  const raw = '{"code":"10000","msg":"Success","qr_code":"https:\\/\\/qr.example.test\\/1"}';
  const sign = await signRsa2(raw, keys.channel);
  const check = (content: string) => () =>
    sdk.checkResponseSign(`{"x_response":${content},"sign":"${sign}"}`, 'x_response', sign, 'trace');
  t.notThrows(check(raw));
  t.throws(check(raw.replace('qr.example', 'qr.other')));
});

test('certificate serials match alipay-sdk, with an SM2 root in the file and a comma in an issuer', (t) => {
  const { config } = new AlipaySdk({
    appId: APP_ID,
    privateKey: fixture('app.key'),
    keyType: 'PKCS8',
    appCertContent: fixture('app.crt'),
    alipayPublicCertContent: fixture('alipay.crt'),
    alipayRootCertContent: fixture('root.crt'),
  });
  const serials = ['app.crt', 'alipay.crt'].flatMap((name) => readCertificates(fixture(name)).map(certSerial));
  t.deepEqual(serials, [config.appCertSn, config.alipayCertSn]);
  const roots = readCertificates(fixture('root.crt'));
  t.is(roots.length, 2);
  t.is(rootCertSerial(roots), config.alipayRootCertSn);
});

test('a signature is valid for exactly one text and key, and invalid input returns false without throwing', async (t) => {
  const sign = await signRsa2('text', keys.channel);
  const key = createPublicKey(keys.channel);
  t.true(verifyRsa2('text', sign, key));
  t.false(verifyRsa2('text ', sign, key));
  t.false(verifyRsa2('text', sign, createPublicKey(keys.next)));
  for (const bad of ['', '!', `${sign} `, sign.slice(4), sign.replace(/^./, (char) => (char === 'A' ? 'B' : 'A'))]) {
    t.false(verifyRsa2('text', bad, key), bad);
  }
});

test('a signed text verifies for any values', async (t) => {
  const key = createPublicKey(keys.app);
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), async (params) => {
      const text = requestText(params).toWellFormed();
      return verifyRsa2(text, await signRsa2(text, keys.app), key);
    }),
    { numRuns: 30 },
  );
  t.pass();
});
