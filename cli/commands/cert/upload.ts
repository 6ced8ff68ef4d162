import { X509Certificate, createPrivateKey } from 'node:crypto';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { credentialFiles, formOf, type ReadCredential } from '../../credential-files.ts';
import { UsageError } from '../../errors.ts';
import { changes, choice, examples } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { readSecretFile } from '../../secrets.ts';
import { withSpinner } from '../../spinner.ts';
import type { Row } from '../../values.ts';
import { CERTS, KINDS, MODES, VIEW } from './view.ts';

/** The flags of `cert upload`. */
export interface UploadFlags extends ChangeFlags {
  kind?: string;
  key?: string;
  name?: string;
  passphraseFile?: string;
  project?: string;
  mode?: string;
  account?: string;
}

/** Adds `cert upload`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('upload')
      .description(
        'Upload a certificate or key: PEM, a DER certificate, or the bare base64 of a key tool. It is checked locally first; with --key, the matching private key is verified and uploaded too. It is used in one mode and for one account only: those of the configuration, or of --mode and --account, so keys for live can be there before the channel is.',
      )
      .argument('<file>'),
  );
  command
    .addOption(choice('--kind <kind>', 'kind of certificate or key', KINDS).makeOptionMandatory())
    .option('--key <file>', 'private key of the certificate')
    .option('--name <name>', 'display name')
    .addOption(choice('--mode <mode>', 'mode of the account that it is for, if not that of the configuration', MODES))
    .option('--account <id>', 'the account: app id, merchant number or client id')
    .option('--passphrase-file <file>', 'file with the passphrase of the private key');
  examples(
    changes(command),
    'payctl cert upload app.crt --kind alipay_app_cert --key app.key',
    'payctl cert upload merchant.crt --kind wechat_merchant_cert --dry-run',
    'payctl cert upload app.crt --kind alipay_app_cert --mode live --account 2021000000000001',
  ).action((file: string, flags: UploadFlags) => run(context(), file, flags));
}

/** Checks the files as the service will, shows what they are, and uploads them: the key first, then its certificate. */
export async function run(context: Context, file: string, flags: UploadFlags): Promise<void> {
  const { terminal, print } = context;
  const kind = flags.kind ?? '';
  const passphrase = flags.passphraseFile ? await readSecretFile(terminal, flags.passphraseFile) : undefined;
  if ((flags.mode === undefined) !== (flags.account === undefined))
    throw new UsageError('--mode and --account belong together: a key is for one account in one mode.');
  const files = await credentialFiles(terminal.now());
  const read = (path: string, asKind: string): ReadCredential =>
    files.read(resolve(terminal.cwd, path), path, { kind: asKind, form: formOf(asKind), passphrase });
  const given = read(file, kind);
  const certificate = formOf(kind) === 'certificate' ? new X509Certificate(given.publicPem) : undefined;
  if (certificate) await print.note(describe(certificate, terminal.now()));
  // The key first: a certificate becomes the default at once only when its key is there.
  const parts = [
    ...(flags.key ? [{ kind: keyKindOf(kind), content: matchingKey(read, certificate, flags.key, kind) }] : []),
    { kind, content: given.content },
  ];
  const rows: Row[] = [];
  for (const part of parts) {
    const body = {
      payWay: part.kind.split('_')[0],
      kind: part.kind,
      content: part.content,
      ...(flags.name ? { name: flags.name } : {}),
      ...(flags.mode ? { mode: flags.mode, account: flags.account } : {}),
      ...(passphrase && formOf(part.kind) === 'private-key' ? { passphrase } : {}),
    };
    const query = flags.project === undefined ? {} : { project: flags.project };
    const row = await withSpinner(terminal.err, `Uploading ${part.kind}`, () =>
      context.change(
        { what: `upload ${part.kind}`, name: part.kind, method: 'POST', path: `${CERTS}/upload`, query, body },
        flags,
      ),
    );
    if (row) rows.push(row);
  }
  const uploaded = rows.at(-1);
  if (!uploaded) return;
  await (rows.length === 1 ? print.item(uploaded, VIEW) : print.list(rows, VIEW));
  if (uploaded['isDefault'] === false && uploaded['trust'] !== 'trusted')
    await print.done(`Uploaded, but not in use yet. Next: payctl cert set-default ${String(uploaded['id'])}`);
}

function describe(certificate: X509Certificate, now: Date): string {
  const days = Math.floor((certificate.validToDate.getTime() - now.getTime()) / 86_400_000);
  const left = days < 0 ? `expired ${-days} days ago` : `${days} days left`;
  return `${certificate.subject.replaceAll('\n', ', ')}  serial ${certificate.serialNumber}  ${left}`;
}

function matchingKey(
  read: (path: string, kind: string) => ReadCredential,
  certificate: X509Certificate | undefined,
  file: string,
  kind: string,
): string {
  if (!certificate)
    throw new UsageError('--key can only be used with a certificate.', 'upload the key on its own, with its --kind');
  const { content, privatePem } = read(file, keyKindOf(kind));
  if (!certificate.checkPrivateKey(createPrivateKey(privatePem ?? '')))
    throw new UsageError(`${file} does not belong to this certificate; nothing was sent.`, undefined, 'key_mismatch');
  return content;
}

function keyKindOf(kind: string): string {
  if (kind === 'alipay_app_cert') return 'alipay_app_key';
  if (kind === 'wechat_merchant_cert') return 'wechat_merchant_key';
  throw new UsageError(`--key cannot be used with --kind ${kind}: its private key belongs to the channel.`);
}
