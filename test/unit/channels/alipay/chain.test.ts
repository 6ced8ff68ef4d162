import { generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import test from 'ava';
import { leadsTo } from '../../../../server/channels/alipay/settings.ts';
import { readCertificates } from '../../../../server/channels/alipay/signature.ts';
import { issueCertificate, type DistinguishedName } from '../../../../server/simulator/certificates.ts';
import { fixture } from '../../credentials/material.ts';

const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const named = (CN: string): DistinguishedName => ({ C: 'CN', O: 'Test', OU: 'Test', CN });

interface Authority {
  certificate: X509Certificate;
  name: DistinguishedName;
  signer: KeyObject;
}

function authority(name: string, by?: Authority, { ca = true, days = 3650 } = {}): Authority {
  const { publicKey, privateKey } = newKeys();
  const issuer = by?.name ?? named(name);
  const signer = by?.signer ?? privateKey;
  const pem = issueCertificate({ subject: named(name), issuer, publicKey, signer, ca, days });
  return { certificate: new X509Certificate(pem), name: named(name), signer: privateKey };
}

const root = authority('root');
const middle = authority('middle', root);
const lower = authority('lower', middle);
const merchant = authority('merchant', middle, { ca: false });
const leafOf = (by: Authority) => authority('leaf', by, { ca: false }).certificate;

test('a certificate leads to the root directly or through certificates of its own file, in any order', (t) => {
  const anchors = [root.certificate];
  t.true(leadsTo(anchors, leafOf(root), []));
  t.true(leadsTo(anchors, leafOf(middle), [middle.certificate]));
  t.true(leadsTo(anchors, leafOf(lower), [middle.certificate, lower.certificate]));
  t.true(leadsTo(anchors, leafOf(lower), [lower.certificate, merchant.certificate, middle.certificate]));
  t.true(leadsTo(readCertificates(fixture('root.crt')), readCertificates(fixture('alipay.crt'))[0]!, []));
});

test('an expired root is accepted, because Alipay publishes such roots', (t) => {
  const ended = authority('ended', undefined, { days: -0.5 });
  t.true(leadsTo([ended.certificate], leafOf(ended), []));
});

test('any other certificate is refused', (t) => {
  const anchors = [root.certificate];
  const other = authority('other');
  // Another key under the name of the root.
  const twin = authority('root');
  const wrong: [string, X509Certificate, X509Certificate[]][] = [
    ['signed by itself', other.certificate, []],
    ['with a root of its own', leafOf(other), [other.certificate]],
    ['the name of the root, not its key', leafOf(twin), [twin.certificate]],
    ['the intermediate is left out', leafOf(middle), []],
    ['one of two intermediates is left out', leafOf(lower), [lower.certificate]],
    [
      "issued by a merchant's certificate, which may not issue",
      leafOf(merchant),
      [merchant.certificate, middle.certificate],
    ],
    ['in a circle', leafOf(other), [other.certificate, other.certificate]],
  ];
  for (const [name, certificate, others] of wrong) t.false(leadsTo(anchors, certificate, others), name);
  t.false(leadsTo([], leafOf(root), [root.certificate]), 'a root that only the file itself names');
});
