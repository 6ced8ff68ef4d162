import { createPrivateKey, X509Certificate } from 'node:crypto';
import test from 'ava';
import { issueCertificate, newRsaKeys, openAuthority, serialOf } from '../../../server/simulator/certificates.ts';
import { newDir } from './world.ts';

test('a certificate is readable, signed by the root and matches its key', async (t) => {
  const authority = await openAuthority(newDir());
  const { certificate, privateKey } = await authority.issue('messages.paypal.com', {
    dnsNames: ['messages.paypal.com'],
    unit: 'Channel',
  });
  const read = new X509Certificate(certificate);
  const root = new X509Certificate(authority.root);
  t.true(read.verify(root.publicKey));
  t.true(read.checkIssued(root));
  t.true(root.ca);
  t.false(read.ca);
  t.true(read.checkPrivateKey(createPrivateKey(privateKey)));
  t.is(read.checkHost('messages.paypal.com'), 'messages.paypal.com');
  t.is(read.subject, 'C=CN\nO=Payment Simulator\nOU=Channel\nCN=messages.paypal.com');
  t.is(serialOf(certificate), read.serialNumber);
  t.true(Date.parse(read.validTo) > Date.now());
});

test('the authority is created once', async (t) => {
  const dir = newDir();
  const first = await openAuthority(dir);
  t.is((await openAuthority(dir)).root, first.root);
  t.false(first.otherRoot === first.root);
});

test('a certificate that expires after 2049 is readable', async (t) => {
  const keys = await newRsaKeys();
  const name = { C: 'CN', O: 'Long', OU: 'Life', CN: '长' };
  const pem = issueCertificate({
    subject: name,
    issuer: name,
    publicKey: keys.publicKey,
    signer: keys.privateKey,
    ca: true,
    days: 36_500,
  });
  t.true(Date.parse(new X509Certificate(pem).validTo) > Date.parse('2100-01-01'));
});
