import { X509Certificate, type KeyObject } from 'node:crypto';
import test from 'ava';
import { CertificateRefused, judgeKey, type Trust } from '../../../../server/channels/paypal/signature.ts';
import { issueCertificate, newRsaKeys, type KeyPair } from '../../../../server/simulator/certificates.ts';
import { CN } from './signer.ts';

const [rootKeys, middleKeys, otherKeys, leafKeys] = (await Promise.all(
  Array.from({ length: 4 }, () => newRsaKeys()),
)) as [KeyPair, KeyPair, KeyPair, KeyPair];

const PAST = -0.5;

function issue(
  subject: string,
  publicKey: KeyObject,
  issuer: string,
  signer: KeyObject,
  ca: boolean,
  days = 10,
): string {
  const named = (name: string) => ({ C: 'US', O: 'Test', OU: 'Test', CN: name });
  return issueCertificate({ subject: named(subject), issuer: named(issuer), publicKey, signer, ca, days });
}

const root = issue('Root', rootKeys.publicKey, 'Root', rootKeys.privateKey, true);
const pastRoot = issue('Root', rootKeys.publicKey, 'Root', rootKeys.privateKey, true, PAST);
const middle = issue('Middle', middleKeys.publicKey, 'Root', rootKeys.privateKey, true);
const pastMiddle = issue('Middle', middleKeys.publicKey, 'Root', rootKeys.privateKey, true, PAST);
const leaf = issue(CN, leafKeys.publicKey, 'Middle', middleKeys.privateKey, false);

function judge(file: string, roots: readonly string[] = [root], intermediates: readonly string[] = []) {
  const read = (pems: readonly string[]) => pems.map((pem) => new X509Certificate(pem));
  const trust: Trust = { roots: read(roots), intermediates: read(intermediates) };
  return judgeKey(file, trust, new Date());
}

for (const [name, file, roots] of [
  ['an expired intermediate before its successor', leaf + pastMiddle + middle, [root]],
  ['a valid intermediate before an expired one', leaf + middle + pastMiddle, [root]],
  ['an expired root before its successor', leaf + middle, [pastRoot, root]],
] as const)
  test(`a chain is found next to ${name} of the same name and key`, (t) => {
    t.true(judge(file, roots).isChained);
  });

test('a certificate path without a root does not hide the valid path', (t) => {
  const aside = issue('Middle', middleKeys.publicKey, 'Elsewhere', otherKeys.privateKey, true);
  t.true(judge(leaf + aside, [root], [middle]).isChained);
  t.false(judge(leaf + aside).isChained, 'alone it is incomplete');
});

const byOther = issue('Middle', otherKeys.publicKey, 'Other', leafKeys.privateKey, true);
const loop = [
  issue('Middle', middleKeys.publicKey, 'Other', otherKeys.privateKey, true),
  issue('Other', otherKeys.publicKey, 'Middle', middleKeys.privateKey, true),
].join('');
const long = Array.from({ length: 7 }, (_, at) =>
  issue(
    `Step ${at}`,
    middleKeys.publicKey,
    at === 0 ? 'Root' : `Step ${at - 1}`,
    at === 0 ? rootKeys.privateKey : middleKeys.privateKey,
    true,
  ),
);

for (const [name, file, roots, intermediates] of [
  ['the only intermediate has expired', leaf + pastMiddle, [root], []],
  ['the root has expired', leaf + middle, [pastRoot], []],
  ['the root is not a CA', leaf + middle, [issue('Root', rootKeys.publicKey, 'Root', rootKeys.privateKey, false)], []],
  [
    'the intermediate is not a CA',
    leaf + issue('Middle', middleKeys.publicKey, 'Root', rootKeys.privateKey, false),
    [root],
    [],
  ],
  ['an authority of the same name did not sign it', leaf + byOther, [root], []],
  ['the authorities only sign each other', leaf + loop, [root], []],
  ['the chain is too long', issue(CN, leafKeys.publicKey, 'Step 6', middleKeys.privateKey, false), [root], long],
  [
    'the leaf has expired',
    issue(CN, leafKeys.publicKey, 'Middle', middleKeys.privateKey, false, PAST) + middle,
    [root],
    [],
  ],
] as [string, string, string[], string[]][])
  test(`a certificate is refused when ${name}`, (t) => {
    t.throws(() => judge(file, roots, intermediates), { instanceOf: CertificateRefused });
  });
