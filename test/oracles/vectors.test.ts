import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { certSerial, notificationText, readCertificates, verifyRsa2 } from '../../server/channels/alipay/signature.ts';
import { webhookText } from '../../server/channels/paypal/signature.ts';
import {
  answerText,
  openText,
  plainSerial,
  readAuthorization,
  requestText,
  encryptText,
  signRsa,
  verifyRsa,
  writeAuthorization,
} from '../../server/channels/wechat/signature.ts';
import { readForm, signedBytes } from '../../server/simulator/alipay/requests.ts';

/** A test vector of a vendor's own client; each names its repository, commit and file. */
type Vector = Record<string, string>;
const vectorsOf = <Vectors>(channel: string): Vectors =>
  JSON.parse(readFileSync(`${import.meta.dirname}/vectors/${channel}.json`, 'utf8')) as Vectors;

const wechat = vectorsOf<Record<string, Vector>>('wechat');
const alipay = vectorsOf<{
  notice: { publicKey: string; params: Record<string, string> };
  serials: { certificate: string; serial: string }[];
}>('alipay');
const paypal = vectorsOf<Record<string, Vector>>('paypal');

test('WeChat Pay: a signature has the same bytes as in wechatpay-go', async (t) => {
  const { privateKey = '', message = '', signature = '' } = wechat['signature']!;
  t.is(await signRsa(Buffer.from(message), createPrivateKey(privateKey)), signature);
});

test('WeChat Pay: a signature is verified by certificate and by public key as in wechatpay-go', (t) => {
  const { message = '', signature = '' } = wechat['signature']!;
  const { certificate = '', publicKey = '', serial = '' } = wechat['verification']!;
  for (const key of [new X509Certificate(certificate).publicKey, createPublicKey(publicKey)]) {
    t.true(verifyRsa(Buffer.from(message), signature, key));
    t.false(verifyRsa(Buffer.from(`wrong ${message}`), signature, key));
    t.false(verifyRsa(Buffer.from(message), 'invalid base64 signature', key));
  }
  t.is(plainSerial(new X509Certificate(certificate).serialNumber), serial);
  const other = wechat['serial']!;
  t.is(plainSerial(new X509Certificate(other['certificate']!).serialNumber), plainSerial(other['serial']!));
});

test('WeChat Pay: the notification of wechatpay-go verifies, and a changed one does not', (t) => {
  const { certificate = '', timestamp = '', nonce = '', body = '', signature = '' } = wechat['notice']!;
  const { publicKey } = new X509Certificate(certificate);
  t.true(verifyRsa(answerText(timestamp, nonce, Buffer.from(body)), signature, publicKey));
  t.false(
    verifyRsa(answerText(timestamp, nonce, Buffer.from(body.replace('PAYSCORE', 'PAYSCORF'))), signature, publicKey),
  );
  t.false(verifyRsa(answerText(`${timestamp}0`, nonce, Buffer.from(body)), signature, publicKey));
});

test('WeChat Pay: the signed text and the header of a request match wechatpay-go', (t) => {
  const {
    mchid = '',
    nonce = '',
    timestamp,
    serial = '',
    method = '',
    target = '',
    body = '',
    text = '',
  } = wechat['authorization']!;
  const at = Number(timestamp);
  t.is(requestText({ method, target, timestamp: String(at), nonce, body }).toString(), text);
  const header = writeAuthorization({ mchid, nonce, timestamp: String(at), serial, signature: 'abc=' });
  const members = `mchid="${mchid}",nonce_str="${nonce}",timestamp="${at}",serial_no="${serial}",signature="abc="`;
  t.deepEqual(readAuthorization(header), readAuthorization(`WECHATPAY2-SHA256-RSA2048 ${members}`));
  t.like(readAuthorization(header), { mchid, nonce, serial, signature: 'abc=' });
});

test('WeChat Pay: a text is encrypted and decrypted as in wechatpay-java', (t) => {
  const { apiV3Key = '', nonce = '', associatedData = '', ciphertext = '', text = '' } = wechat['sealed']!;
  const key = Buffer.from(apiV3Key);
  t.is(openText({ ciphertext, nonce, associatedData }, key), text);
  t.is(encryptText(text, nonce, associatedData, key).ciphertext, ciphertext);
  t.throws(() => openText({ ciphertext, nonce, associatedData: 'another' }, key));
});

test('WeChat Pay: the platform certificate of wechatpay-java is decrypted and has its serial', (t) => {
  const { nonce = '', associatedData = '', ciphertext = '', serial = '' } = wechat['sealedCertificate']!;
  const pem = openText({ ciphertext, nonce, associatedData }, Buffer.from(wechat['sealed']!['apiV3Key']!));
  t.is(plainSerial(new X509Certificate(pem).serialNumber), serial);
});

test('Alipay: a notification signed by Alipay verifies, and a changed one does not', (t) => {
  const { publicKey, params } = alipay.notice;
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  t.true(verifyRsa2(notificationText(params), params['sign']!, key));
  t.false(verifyRsa2(notificationText({ ...params, total_amount: '0.11' }), params['sign']!, key));
  // The simulator must sign the same text, read from the form that Alipay posts.
  const form = readForm(new URLSearchParams(params).toString());
  form.values.delete('sign_type');
  t.is(signedBytes(form).toString(), notificationText(params));
});

test('Alipay: certificate serials match the official client', (t) => {
  for (const { certificate, serial } of alipay.serials) t.is(certSerial(readCertificates(certificate)[0]!), serial);
});

test("PayPal: the signed text of a webhook matches PayPal's own client", (t) => {
  const { transmissionId = '', time = '', webhookId = '', body = '', text = '' } = paypal['webhook']!;
  t.is(webhookText(transmissionId, time, webhookId, Buffer.from(body)), text);
  t.not(webhookText(transmissionId, time, webhookId, Buffer.from(`${body} `)), text);
});
