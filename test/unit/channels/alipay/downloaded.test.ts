import { createPrivateKey, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { certSerial, readCertificates, signRsa2 } from '../../../../server/channels/alipay/signature.ts';
import type { WireRequest } from '../../../../server/payments/channel.ts';
import { issueCertificate, type DistinguishedName } from '../../../../server/simulator/certificates.ts';
import { APP_ID, fixture, http, keys, ref } from './fixture.ts';

const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const named = (CN: string): DistinguishedName => ({ C: 'CN', O: 'Ant Financial', OU: 'Test', CN });

interface Authority {
  pem: string;
  name: DistinguishedName;
  signer: KeyObject;
}

function authority(CN: string, by?: Authority, days = 3650): Authority {
  const { publicKey, privateKey } = newKeys();
  const [issuer, signer] = [by?.name ?? named(CN), by?.signer ?? privateKey];
  const pem = issueCertificate({ subject: named(CN), issuer, publicKey, signer, ca: true, days });
  return { pem, name: named(CN), signer: privateKey };
}

const CLASS_2 = 'Ant Financial Certification Authority Class 2 R1';
const COMPANY = '支付宝(中国)网络技术有限公司';
const PID = '2088000000000009';
const HOLDER = `${COMPANY}-${PID}`;

const root = authority('Ant Financial Certification Authority R1');
const class2 = authority(CLASS_2, root);
const nextClass2 = authority('Ant Financial Certification Authority Class 2 R2', root);
const class1 = authority('Ant Financial Certification Authority Class 1 R1', root);
const strangers = authority('Ant Financial Certification Authority R1');
const strangersClass2 = authority(CLASS_2, strangers);

/** A certificate for Alipay's next key, followed by its issuer. */
function issued(by: Authority, holder = HOLDER, { days = 800, key = keys.next, alone = false } = {}): string {
  const publicKey = new X509Certificate(fixture('alipay2.crt')).publicKey;
  const subjectKey = key === keys.next ? publicKey : key;
  const request = {
    subject: named(holder),
    issuer: by.name,
    publicKey: subjectKey,
    signer: by.signer,
    ca: false,
    days,
  };
  return issueCertificate(request) + (alone ? '' : by.pem);
}

const serialOf = (pem: string) => certSerial(readCertificates(pem)[0]!);
const current = (() => {
  const { publicKey, privateKey } = newKeys();
  const request = { subject: named(HOLDER), issuer: class2.name, publicKey, signer: class2.signer, ca: false };
  return { pem: issueCertificate(request) + class2.pem, key: privateKey };
})();
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** A channel whose responses are signed with the next key and name `pem`, with records of downloads and stored certificates. */
function changed(
  pem: string,
  { offered = pem, distrusted = [] as string[], now = new Date(), named = serialOf(pem) } = {},
) {
  const downloads: string[] = [];
  const kept: string[] = [];
  const paid = { code: '10000', out_trade_no: ref.orderNo, trade_no: '1', trade_status: 'TRADE_SUCCESS' };
  const answer = async ({ about, body }: WireRequest) => {
    const { call } = about;
    if (!call.endsWith('alipaycert.download')) return signed(call, { ...paid, total_amount: '12.34' });
    downloads.push(
      (JSON.parse(new URLSearchParams(body).get('biz_content')!) as Record<string, string>).alipay_cert_sn!,
    );
    return signed(call, { code: '10000', alipay_cert_content: Buffer.from(offered).toString('base64') });
  };
  const signed = async (call: string, content: object) => {
    const raw = JSON.stringify(content);
    const member = `${call.replaceAll('.', '_')}_response`;
    return http(`{"${member}":${raw},"alipay_cert_sn":"${named}","sign":"${await signRsa2(raw, keys.next)}"}`);
  };
  const channel = alipayKind.create({
    mode: 'live',
    fields: { appId: APP_ID },
    pems: {
      alipay_app_key: [fixture('app.key')],
      alipay_app_cert: [fixture('app.crt')],
      alipay_public_cert: [current.pem],
      alipay_root_cert: [root.pem],
    },
    distrusted: { alipay_public_cert: distrusted },
    keep: (kind, text) => void kept.push(`${kind} ${text}`),
    simulatorUrl: null,
    now: () => now,
    send: answer,
  });
  return { channel, downloads, kept };
}

const good: [string, string][] = [
  ['the same authority', issued(class2)],
  ['the next authority of the same class', issued(nextClass2)],
  ['the same authority, present only in the previous file', issued(class2, HOLDER, { alone: true })],
  ['its file in reverse order', class2.pem + issued(class2, HOLDER, { alone: true })],
];
for (const [name, offered] of good) {
  test(`Alipay's next certificate verifies after its download and is stored completely: ${name}`, async (t) => {
    const leaf = readCertificates(offered).find(({ ca }) => !ca)!;
    const { channel, downloads, kept } = changed(leaf.toString(), { offered });
    for (let n = 0; n < 3; n += 1) t.like(await channel.query(ref), { kind: 'paid' });
    t.deepEqual(downloads, [certSerial(leaf)], 'once');
    const [, pem] = /^alipay_public_cert ([^]*)$/.exec(kept[0] ?? '') ?? [];
    t.is(kept.length, 1);
    t.notThrows(() =>
      alipayKind.create({
        mode: 'live',
        fields: { appId: APP_ID },
        pems: {
          alipay_app_key: [fixture('app.key')],
          alipay_app_cert: [fixture('app.crt')],
          alipay_public_cert: [pem!],
          alipay_root_cert: [root.pem],
        },
        simulatorUrl: null,
        now: () => new Date(),
        send: async () => http(''),
      }),
    );
  });
}

const wrong: [string, string, Parameters<typeof changed>[1]?][] = [
  ['issued by the app authority', issued(class1)],
  ['issued by the app authority to an app', issued(class1, `${PID}-${APP_ID}`)],
  ['issued by the root itself', issued(root)],
  ['issued by an authority of the right name below another root', issued(strangersClass2)],
  ['issued by that authority, with its root', issued(strangersClass2) + strangers.pem],
  ["issued by the holder of an app's certificate", issued({ ...class1, name: class2.name })],
  ['for another merchant', issued(class2, `${COMPANY}-2088000000000008`)],
  ['for another holder', issued(class2, `Alipay-${PID}`)],
  ['for the name with a suffix', issued(class2, `${HOLDER} `)],
  ['ended', issued(class2, HOLDER, { days: -0.5 })],
  ['not yet valid', issued(class2), { now: new Date(Date.now() - 3 * 86_400_000) }],
  ['issued by an expired authority', issued(authority(CLASS_2, root, -0.5))],
  ['with another serial', issued(class2), { offered: current.pem }],
  ['with an elliptic-curve key', issued(class2, HOLDER, { key: elliptic.publicKey })],
  ['not a certificate', issued(class2), { offered: 'garbage' }],
];
for (const [name, pem, options] of wrong) {
  test(`a downloaded certificate is rejected and not stored: ${name}`, async (t) => {
    const { channel, downloads, kept } = changed(pem, options);
    t.like(await channel.query(ref), { kind: 'unknown', cause: 'serial_unknown' });
    t.is(downloads.length, 1);
    t.deepEqual(kept, []);
  });
}

test('an invalid serial causes no download', async (t) => {
  for (const named of ['', 'F'.repeat(32), '1'.repeat(33)]) {
    const { channel, downloads } = changed(issued(class2), { named });
    t.like(await channel.query(ref), { kind: 'unknown', cause: 'serial_unknown' });
    t.deepEqual(downloads, [], named);
  }
});

test('a certificate distrusted by an administrator is not requested', async (t) => {
  const pem = issued(class2);
  const { channel, downloads, kept } = changed(pem, { distrusted: [pem] });
  t.like(await channel.query(ref), { kind: 'unknown', cause: 'serial_unknown' });
  t.deepEqual([downloads, kept], [[], []]);
});

test('a notification signed by a freshly downloaded key needs confirmation', async (t) => {
  const pem = issued(class2);
  const now = new Date();
  const { channel } = changed(pem, { now });
  await channel.query(ref);
  const fields = {
    app_id: APP_ID,
    notify_id: 'n1',
    out_trade_no: ref.orderNo,
    trade_no: '1',
    trade_status: 'TRADE_SUCCESS',
    total_amount: '12.34',
  };
  const text = Object.entries(fields)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');
  const sign = await signRsa2(text, createPrivateKey(fixture('alipay2.key')));
  const body = new URLSearchParams({ ...fields, sign_type: 'RSA2', sign }).toString();
  const notification = await channel.readNotification({}, Buffer.from(body));
  t.deepEqual(notification.verifiedBy, { certId: null, since: now });
});
