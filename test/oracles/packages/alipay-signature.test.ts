import { createPublicKey } from 'node:crypto';
import { AlipaySdk } from 'alipay-sdk';
import test from 'ava';
import {
  certSerial,
  notificationText,
  readCertificates,
  requestText,
  rootCertSerial,
  signRsa2,
  verifyRsa2,
} from '../../../server/channels/alipay/signature.ts';
import { APP_ID, fixture, keys, publicPem } from '../../unit/channels/alipay/fixture.ts';

const sdk = new AlipaySdk({
  appId: APP_ID,
  privateKey: fixture('app.key'),
  keyType: 'PKCS8',
  alipayPublicKey: publicPem(keys.channel),
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
