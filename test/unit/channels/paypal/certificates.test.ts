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
  ['an intermediate that ended before the one that followed it', leaf + pastMiddle + middle, [root]],
  ['the one that followed before an intermediate that ended', leaf + middle + pastMiddle, [root]],
  ['a root that ended before the one that followed it', leaf + middle, [pastRoot, root]],
] as const)
  test(`a chain is found beside ${name}, of the same name and key`, (t) => {
    t.true(judge(file, roots).isChained);
  });

test('a way that leads to no root does not hide the one that does', (t) => {
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
  ['an intermediate that ended is the only one', leaf + pastMiddle, [root], []],
  ['the root has ended', leaf + middle, [pastRoot], []],
  [
    'the root is no authority',
    leaf + middle,
    [issue('Root', rootKeys.publicKey, 'Root', rootKeys.privateKey, false)],
    [],
  ],
  [
    'the intermediate is no authority',
    leaf + issue('Middle', middleKeys.publicKey, 'Root', rootKeys.privateKey, false),
    [root],
    [],
  ],
  ['somebody of the same name did not sign it', leaf + byOther, [root], []],
  ['authorities only sign each other', leaf + loop, [root], []],
  ['the way is too long', issue(CN, leafKeys.publicKey, 'Step 6', middleKeys.privateKey, false), [root], long],
  [
    'the leaf has ended',
    issue(CN, leafKeys.publicKey, 'Middle', middleKeys.privateKey, false, PAST) + middle,
    [root],
    [],
  ],
] as [string, string, string[], string[]][])
  test(`a certificate is refused when ${name}`, (t) => {
    t.throws(() => judge(file, roots, intermediates), { instanceOf: CertificateRefused });
  });
