import { createPublicKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { formOf } from '../../cli/credential-files.ts';
import { readCertificates } from '../../server/channels/alipay/signature.ts';
import { CHANNEL_KINDS } from '../../server/channels/registry.ts';
import type { CertKindSpec } from '../../server/payments/channel.ts';
import { runPayctl } from './payctl.ts';
import { temporaryFolder } from '../support/folder.ts';
import { certificateFor, ecKey, fixture, keyOf, pemOf, publicOf, smallKey } from '../unit/credentials/material.ts';
import { startService } from '../unit/credentials/service.ts';

const key = keyOf('app.key');
const pkcs8 = pemOf(key);
const pkcs1 = String(key.export({ type: 'pkcs1', format: 'pem' }));
const spki = publicOf(fixture('alipay.key'));
const publicPkcs1 = String(createPublicKey(spki).export({ type: 'pkcs1', format: 'pem' }));
const PASSPHRASE = 'open sesame';
const locked = pemOf(key, PASSPHRASE);
const lockedAsOnce = String(
  key.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: PASSPHRASE }),
);
const certificate = fixture('app.crt');
const other = pemOf(keyOf('alipay.key'));

const BOM = '\uFEFF';
const bare = (pem: string): string => pem.replaceAll(/-----[^-]+-----|\s/g, '');
const blanks = (pem: string): string => pem.trim().replaceAll('\n', ' ');
const glued = (pem: string): string => pem.replaceAll('\n', '');
const escaped = (pem: string): string => pem.replaceAll('\n', '\\n');
const indented = (pem: string): string => pem.replaceAll(/^/gm, '    ');
const named = (pem: string, label: string): string => pem.replaceAll(/(BEGIN|END) [A-Z ]+-----/g, `$1 ${label}-----`);
const wide = (text: string, order: 'LE' | 'BE'): Buffer => {
  const bytes = Buffer.from(BOM + text, 'utf16le');
  return order === 'LE' ? bytes : bytes.swap16();
};

const NO_PRIVATE = 'is not a private key';
const NO_PUBLIC = 'is not a public key';
const NO_CERTIFICATE = 'is not a certificate in PEM form';
const NO_TEXT = 'is neither PEM text nor a DER certificate';
const ARCHIVE = `${NO_TEXT}; archives are not supported`;
const SMALL = 'has 1024 bits; RSA keys must have at least 2048';

/** A form of a file with the expected verdict (accepted or the error text) and an optional passphrase. */
type Form = [name: string, bytes: string | Buffer, verdict: true | string, passphrase?: string];

const FORMS: Readonly<Record<string, readonly Form[]>> = {
  alipay_app_cert: [
    ['PEM', certificate, true],
    ['PEM with a BOM and CRLF', BOM + certificate.replaceAll('\n', '\r\n'), true],
    ['DER', readCertificates(certificate)[0]!.raw, true],
    ['one line with blanks', blanks(certificate), true],
    ['one line without blanks', glued(certificate), true],
    ['literal \\n in quotes', `"${escaped(certificate)}"`, true],
    ['indented', indented(certificate), true],
    ['with its private key', certificate + pkcs8, 'contains a private key; upload only the certificate'],
    ['a public key', spki, NO_CERTIFICATE],
    ['broken', certificate.replace('MII', 'MIX'), 'contains a certificate that cannot be parsed'],
    ['cut off', certificate.slice(0, 400), NO_CERTIFICATE],
    ['expired', certificateFor(key, { days: -0.5 }), 'has expired'],
    ['1024 bits', certificateFor(smallKey()), SMALL],
    ['.p12', Buffer.concat([Buffer.from('308209c9020103', 'hex'), Buffer.alloc(2000, 7)]), ARCHIVE],
    ['UTF-16 BE', wide(certificate, 'BE'), NO_TEXT],
  ],
  alipay_app_key: [
    ['PKCS #8', pkcs8, true],
    ['PKCS #1', pkcs1, true],
    ['PEM with CRLF', pkcs8.replaceAll('\n', '\r\n'), true],
    ['PEM with a BOM', BOM + pkcs8, true],
    ['bare PKCS #8 in one line, as the key tool of Alipay writes it', bare(pkcs8), true],
    ['the same with a BOM and a line break', `${BOM}${bare(pkcs8)}\r\n`, true],
    ['bare PKCS #1 in one line', bare(pkcs1), true],
    ['bare PKCS #1 with a BOM', BOM + bare(pkcs1), true],
    ['bare base64 in lines with blanks behind them', bare(pkcs8).replaceAll(/.{64}/g, '$&  \n'), true],
    ['PEM in one line with blanks', blanks(pkcs8), true],
    ['PEM in one line without blanks', glued(pkcs8), true],
    ['PKCS #1 in one line with blanks', blanks(pkcs1), true],
    ['literal \\n', escaped(pkcs8), true],
    ['literal \\r\\n', pkcs8.replaceAll('\n', '\\r\\n'), true],
    ['literal \\n in double quotes', `"${escaped(pkcs8)}"`, true],
    ['lines in single quotes', `'${pkcs8}'`, true],
    ['JSON of PHP, slashes escaped', JSON.stringify(pkcs8).replaceAll('/', '\\/'), true],
    ['indented', indented(pkcs8), true],
    ['PKCS #1 under PRIVATE KEY', named(pkcs1, 'PRIVATE KEY'), true],
    ['PKCS #1 under PRIVATE KEY in one line', glued(named(pkcs1, 'PRIVATE KEY')), true],
    ['PKCS #8 under RSA PRIVATE KEY', named(pkcs8, 'RSA PRIVATE KEY'), true],
    ['two keys: the first one', pkcs8 + other, true],
    ['a certificate before its key', certificate + pkcs8, true],
    ['encrypted, without a passphrase', locked, 'is encrypted; a passphrase is required'],
    ['encrypted, with another passphrase', locked, 'cannot be decrypted with this passphrase', 'no'],
    ['encrypted, with its passphrase', locked, true, PASSPHRASE],
    ['encrypted in one line', blanks(locked), true, PASSPHRASE],
    ['encrypted as before PKCS #8', lockedAsOnce, true, PASSPHRASE],
    ['the same in one line', blanks(lockedAsOnce), true, PASSPHRASE],
    ['an EC key', pemOf(ecKey()), 'is not an RSA key'],
    ['an EC key in one line', glued(pemOf(ecKey())), 'is not an RSA key'],
    ['1024 bits', pemOf(smallKey()), SMALL],
    ['1024 bits, bare', bare(pemOf(smallKey())), SMALL],
    ['the public key', spki, NO_PRIVATE],
    ['the bare public key', bare(spki), NO_PRIVATE],
    ['a certificate', certificate, NO_PRIVATE],
    ['cut off', pkcs8.slice(0, 600), NO_PRIVATE],
    ['cut off within its frame', named(pkcs8.replace(/.{200}\n-----END/s, '\n-----END'), 'PRIVATE KEY'), NO_PRIVATE],
    ['bare and cut off', bare(pkcs8).slice(0, 800), NO_PRIVATE],
    ['words', 'no key at all', NO_PRIVATE],
    ['empty', '', 'is empty'],
    ['DER', key.export({ type: 'pkcs8', format: 'der' }), ARCHIVE],
    ['.p12', Buffer.concat([Buffer.from('308209c9020103', 'hex'), Buffer.alloc(2000, 7)]), ARCHIVE],
    ['UTF-16 LE', wide(pkcs8, 'LE'), NO_TEXT],
    ['UTF-16 BE', wide(bare(pkcs8), 'BE'), NO_TEXT],
  ],
  alipay_public_key: [
    ['SPKI', spki, true],
    ['PKCS #1', publicPkcs1, true],
    ['bare, as the console of Alipay shows it', bare(spki), true],
    ['bare with a BOM', BOM + bare(spki), true],
    ['bare PKCS #1', bare(publicPkcs1), true],
    ['one line with blanks', blanks(spki), true],
    ['one line without blanks', glued(spki), true],
    ['literal \\n in quotes', `'${escaped(spki)}'`, true],
    ['indented', indented(spki), true],
    ['PKCS #1 under PUBLIC KEY', named(publicPkcs1, 'PUBLIC KEY'), true],
    ['SPKI under RSA PUBLIC KEY', glued(named(spki, 'RSA PUBLIC KEY')), true],
    ['a private key', pkcs8, 'is a private key'],
    ['a bare private key', bare(pkcs8), 'is a private key'],
    ['a private key under PUBLIC KEY', named(pkcs1, 'PUBLIC KEY'), 'is a private key'],
    ['a certificate', certificate, 'is a certificate, not a public key'],
    ['1024 bits', publicOf(pemOf(smallKey())), SMALL],
    ['cut off', spki.slice(0, 200), NO_PUBLIC],
    ['UTF-16 LE', wide(spki, 'LE'), NO_TEXT],
  ],
};

/** True, or the error text of the rejection. */
type Verdict = true | string;

const ends: (() => unknown)[] = [];
const { call, url } = await startService({ teardown: (end) => void ends.push(end) });
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

for (const [kind, forms] of Object.entries(FORMS))
  for (const [name, file, verdict, passphrase] of forms)
    test.serial(`API, cert upload and channel set return the same verdict: ${kind}: ${name}`, async (t) => {
      const bytes = Buffer.from(file);
      const folder = temporaryFolder(t, { passphrase: `${passphrase}\n`, 'set.toml': tomlOf(kind) });
      await writeFile(join(folder, 'given'), bytes);

      const about = { payWay: 'alipay', kind, ...(passphrase && { passphrase }) };
      const form = new FormData();
      for (const [member, value] of Object.entries(about)) form.append(member, value);
      form.append('file', new Blob([bytes]), 'given');
      const upload = async (body: unknown): Promise<Verdict> => {
        const { status, body: answer, text } = await call('POST', '/api/v1/certs/upload', { body });
        if (status === 201 || answer.code === 'certificate_exists') return true;
        t.is(status, 400, text);
        return String(answer.errors[0].detail);
      };
      t.is(await upload(form), verdict, 'multipart');
      if (typeof file === 'string') t.is(await upload({ ...about, content: file }), verdict, 'JSON');

      const payctl = async (...argv: string[]): Promise<Verdict> => {
        const env = { PAYCTL_CONFIG_DIR: folder, PAYCTL_SERVER: url, PAYCTL_TOKEN: 'root' };
        const run = await runPayctl([...argv, '--json'], { cwd: folder, env, now: () => new Date() });
        if (run.code === 0) return true;
        const { error } = JSON.parse(run.stderr);
        if (error.code === 'certificate_exists') return true;
        if (error.fields) return String(error.fields[0].detail);
        t.is(error.exitCode, 2, run.stderr);
        t.regex(error.message, /^(set\.toml: \w+: )?given .*\.$/);
        return String(/given (.*)\.$/.exec(error.message)?.[1]);
      };
      const more = passphrase === undefined ? [] : ['--passphrase-file', 'passphrase'];
      t.is(await payctl('cert', 'upload', 'given', '--kind', kind, ...more), verdict, 'payctl cert upload');
      // A configuration file cannot contain a passphrase.
      const asked = passphrase === undefined ? verdict : 'is encrypted; a passphrase is required';
      t.is(await payctl('channel', 'set', 'alipay', '-f', 'set.toml'), asked, 'payctl channel set');
    });

/** Encodings of a file by tools and secret stores. */
const WRITTEN: Readonly<Record<string, (pem: string) => string>> = {
  'as OpenSSL writes it': (pem) => pem,
  'one line with blanks (an environment variable that was not quoted)': blanks,
  'one line without blanks': glued,
  'literal \\n (a .env file)': escaped,
  'literal \\n in double quotes': (pem) => `"${escaped(pem)}"`,
  'literal \\n escaped once more (JSON in JSON)': (pem) => JSON.stringify(JSON.stringify(pem)),
  'JSON of .NET, + and line breaks as \\u': (pem) => pem.replaceAll('+', '\\u002B').replaceAll('\n', '\\u000a'),
  'indented (a block of YAML)': indented,
  'lines continued with a backslash (a shell script)': (pem) => pem.trim().replaceAll('\n', '\\\n'),
  'base64 of the file (Kubernetes, Vault)': (pem) => Buffer.from(pem).toString('base64'),
  'the same in lines of 76': (pem) => Buffer.from(pem).toString('base64').replaceAll(/.{76}/g, '$&\n'),
  'bare base64': bare,
  'bare base64 in quotes': (pem) => `"${bare(pem)}"\n`,
  'base64 of bare base64': (pem) => Buffer.from(bare(pem)).toString('base64'),
};

/** Samples of a kind: for keys, the same key under each PEM label. */
function samplesOf({ kind, form }: CertKindSpec): string[] {
  if (form === 'private-key') return [pkcs8, pkcs1, named(pkcs1, 'PRIVATE KEY')];
  if (form === 'public-key') return [spki, publicPkcs1, named(publicPkcs1, 'PUBLIC KEY')];
  // The second certificate of the file issued the Alipay certificate; the first is an SM2 root.
  if (kind === 'alipay_root_cert') return [String(readCertificates(fixture('root.crt'))[1])];
  return [certificate];
}

function tomlOf(kind: string): string {
  return `mode = "sandbox"\nappId = "2021000000000001"\n${kind} = { file = "given" }\n`;
}

test.serial('API and payctl reject a file that is too large with the same message', async (t) => {
  const folder = temporaryFolder(t, { given: 'x'.repeat(64 * 1024 + 1) });
  const body = { payWay: 'alipay', kind: 'alipay_app_key', content: 'x'.repeat(64 * 1024 + 1) };
  const answer = await call('POST', '/api/v1/certs/upload', { body });
  t.is(answer.status, 413);
  const env = { PAYCTL_CONFIG_DIR: folder, PAYCTL_SERVER: url, PAYCTL_TOKEN: 'root' };
  const run = await runPayctl(['cert', 'upload', 'given', '--kind', 'alipay_app_key', '--json'], { cwd: folder, env });
  t.is(run.code, 2);
  t.is(JSON.parse(run.stderr).error.message, `given: ${answer.body.detail}`);
});

test.serial('cert upload accepts a passphrase for a WeChat Pay merchant key', async (t) => {
  const folder = temporaryFolder(t, { given: locked, passphrase: `${PASSPHRASE}\n` });
  const env = { PAYCTL_CONFIG_DIR: folder, PAYCTL_SERVER: url, PAYCTL_TOKEN: 'root' };
  const argv = ['cert', 'upload', 'given', '--kind', 'wechat_merchant_key', '--passphrase-file', 'passphrase'];
  const run = await runPayctl(argv, { cwd: folder, env });
  t.is(run.code, 0, run.stderr);
});

for (const { payWay, certKinds } of CHANNEL_KINDS.values())
  for (const spec of certKinds)
    test.serial(`API and payctl read every encoding of a file: ${spec.kind}`, async (t) => {
      const { kind } = spec;
      const folder = temporaryFolder(t, {});
      const env = { PAYCTL_CONFIG_DIR: folder, PAYCTL_SERVER: url, PAYCTL_TOKEN: 'root' };
      const [sample = ''] = samplesOf(spec);
      const upload = (content: string) => call('POST', '/api/v1/certs/upload', { body: { payWay, kind, content } });
      const made = await upload(sample);
      const id: unknown = made.status === 201 ? made.body.data.id : made.body.id;
      t.truthy(id, made.text);
      for (const [name, write] of Object.entries(WRITTEN))
        for (const pem of samplesOf(spec)) {
          const answer = await upload(write(pem));
          t.like(answer.body, { code: 'certificate_exists', id }, `${name}: ${answer.text}`);
          await writeFile(join(folder, 'given'), write(pem));
          const run = await runPayctl(['cert', 'upload', 'given', '--kind', kind, '--json'], { cwd: folder, env });
          t.is(JSON.parse(run.stderr).error.code, 'certificate_exists', `${name}: ${run.stderr}`);
        }
    });

test('payctl and the service agree on the file form of each certificate kind', (t) => {
  const specs = [...CHANNEL_KINDS.values()].flatMap(({ certKinds }) => certKinds);
  for (const { kind, form } of specs) t.is(formOf(kind), form === 'certificate-chain' ? 'certificate' : form, kind);
});
