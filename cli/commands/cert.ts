import type { Command } from 'commander';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { resolve } from 'node:path';
import { CERT_KINDS, CERT_PAIRS, MODES, PAY_WAYS } from '../../server/domain.ts';
import { addAction, addDelete } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { type ReadCredential, credentialFiles, formOf } from '../credential-files.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { reserveFile } from '../files.ts';
import { type OfflineFlags, changeDatabase, offlineFlags } from '../offline.ts';
import { changes, choice, examples, given } from '../options.ts';
import { type Resource, projectFlag, rowPath } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { readSecretFile } from '../secrets.ts';
import { withSpinner } from '../terminal.ts';
import { type Row, plain } from '../values.ts';

export const CERT_ID = '01935b2e-7c41-7a90-9d3f-5f0c2b6e8a17';

const cert: Resource = {
  noun: 'certificate',
  plural: 'certificates',
  path: '/api/v1/certs',
  idName: 'id',
  view: {
    noun: 'cert',
    id: 'id',
    columns: [
      { field: 'id', kind: 'id' },
      { field: 'kind', kind: 'id' },
      { field: 'isDefault', title: 'DEFAULT', kind: 'yesno' },
      { field: 'trust', kind: 'status' },
      { field: 'mode', kind: 'id' },
      { field: 'account', kind: 'id' },
      { field: 'daysLeft', title: 'DAYS LEFT', kind: 'id' },
      { field: 'serialNumber', title: 'SERIAL' },
      { field: 'subject' },
      { field: 'name' },
      { field: 'project' },
      { field: 'fingerprint' },
      { field: 'trustedBy', title: 'TRUSTED BY' },
      { field: 'trustedAt', title: 'TRUSTED AT', kind: 'time' },
      { field: 'createdBy', title: 'UPLOADED BY' },
      { field: 'notAfter', kind: 'time' },
    ],
  },
};

type ListFlags = Row & { project?: string | undefined };

function defineList(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun.command('list').description('List certificates and keys with the days until they expire.'),
  );
  command
    .addOption(choice('--pay-way <channel>', 'filter by channel', PAY_WAYS))
    .addOption(choice('--kind <kind>', 'filter by kind', CERT_KINDS));
  examples(command, 'payctl cert list', 'payctl cert list --pay-way wechat --fields kind,daysLeft,serialNumber').action(
    (flags: ListFlags) => runList(context(), flags),
  );
}

async function runList(context: Context, flags: ListFlags): Promise<void> {
  await context.print.list(await findCerts(context, flags), cert.view);
}

async function findCert(context: Context, id: string, flags: { project?: string }): Promise<Row> {
  const row = (await findCerts(context, { project: flags.project })).find((row) => row['id'] === id);
  if (row) return row;
  throw new CliError('not_found', EXIT.notFound, `Certificate ${id} not found.`, { hint: 'payctl cert list' });
}

/** The API lists certificates by POST. */
async function findCerts({ api }: Context, flags: ListFlags): Promise<Row[]> {
  const { body } = await api.call({
    method: 'POST',
    path: `${cert.path}/list`,
    query: { project: flags.project },
    body: given(flags, ['payWay', 'kind']),
  });
  return ((body as { data?: Row[] } | undefined)?.data ?? []).filter((row) => typeof row === 'object');
}

function defineGet(noun: Command, context: ContextOf): void {
  const command = projectFlag(noun.command('get').description('Show one certificate.').argument('<id>'));
  examples(command, `payctl cert get ${CERT_ID}`, `payctl cert get ${CERT_ID} --json`).action(
    (id: string, flags: { project?: string }) => runGet(context(), id, flags),
  );
}

async function runGet(context: Context, id: string, flags: { project?: string }): Promise<void> {
  await context.print.item(await findCert(context, id, flags), cert.view);
}

interface UploadFlags extends ChangeFlags {
  kind?: string;
  key?: string;
  name?: string;
  passphraseFile?: string;
  project?: string;
  mode?: string;
  account?: string;
}

function defineUpload(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('upload')
      .description(
        'Upload a certificate or key: PEM, a DER certificate, or the bare base64 of a key tool. It is checked locally first; with --key, the matching private key is verified and uploaded too. It is used in one mode and for one account only: those of the configuration, or of --mode and --account. So keys for live can be uploaded before the channel is live.',
      )
      .argument('<file>'),
  );
  command
    .addOption(choice('--kind <kind>', 'kind of certificate or key', CERT_KINDS).makeOptionMandatory())
    .option('--key <file>', 'private key of the certificate')
    .option('--name <name>', 'display name')
    .addOption(choice('--mode <mode>', 'mode of its account, if not the mode of the configuration', MODES))
    .option('--account <id>', 'the account: app id, merchant number or client id')
    .option('--passphrase-file <file>', 'file with the passphrase of the private key');
  examples(
    changes(command),
    'payctl cert upload app.crt --kind alipay_app_cert --key app.key',
    'payctl cert upload merchant.crt --kind wechat_merchant_cert --dry-run',
    'payctl cert upload app.crt --kind alipay_app_cert --mode live --account 2021000000000001',
  ).action((file: string, flags: UploadFlags) => runUpload(context(), file, flags));
}

async function runUpload(context: Context, file: string, flags: UploadFlags): Promise<void> {
  const { terminal, print } = context;
  const kind = flags.kind ?? '';
  const passphrase = flags.passphraseFile ? await readSecretFile(terminal, flags.passphraseFile) : undefined;
  if ((flags.mode === undefined) !== (flags.account === undefined))
    throw new UsageError('--mode and --account must be given together: a key is for one account in one mode.');
  const files = await credentialFiles(terminal.now());
  const read = (path: string, asKind: string): ReadCredential =>
    files.read(resolve(terminal.cwd, path), path, { kind: asKind, form: formOf(asKind), passphrase });
  const given = read(file, kind);
  const certificate = formOf(kind) === 'certificate' ? new X509Certificate(given.publicPem) : undefined;
  if (certificate) await print.note(describe(certificate, terminal.now()));
  // The private key is uploaded first, because the service needs it as soon as it uses the certificate.
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
    const row = await withSpinner(terminal.err, `Uploading ${part.kind}`, () =>
      context.change(
        {
          what: `upload ${part.kind}`,
          name: part.kind,
          method: 'POST',
          path: `${cert.path}/upload`,
          query: { project: flags.project },
          body,
        },
        flags,
      ),
    );
    if (row) rows.push(row);
  }
  const uploaded = rows.at(-1);
  if (!uploaded) return;
  await (rows.length === 1 ? print.item(uploaded, cert.view) : print.list(rows, cert.view));
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
    throw new UsageError('--key can only be used with a certificate.', 'upload the key separately, with its --kind');
  const { content, privatePem } = read(file, keyKindOf(kind));
  if (!certificate.checkPrivateKey(createPrivateKey(privatePem ?? '')))
    throw new UsageError(
      `The key in ${file} does not belong to this certificate; nothing was sent.`,
      undefined,
      'key_mismatch',
    );
  return content;
}

function keyKindOf(kind: string): string {
  const key = CERT_PAIRS.get(kind);
  if (key !== undefined) return key;
  throw new UsageError(`--key cannot be used with --kind ${kind}: only the channel has the private key of this kind.`);
}

function defineDownload(noun: Command, context: ContextOf): void {
  const command = noun
    .command('download')
    .description('Print a certificate or public key as PEM, or write it to a new file.')
    .argument('<id>')
    .option('--file <file>', 'write to a new file');
  examples(
    command,
    `payctl cert download ${CERT_ID} > app.crt`,
    `payctl cert download ${CERT_ID} --file app.crt`,
  ).action((id: string, flags: { file?: string }) => runDownload(context(), id, flags));
}

async function runDownload({ api, terminal, print }: Context, id: string, flags: { file?: string }): Promise<void> {
  const file = flags.file ? await reserveFile(resolve(terminal.cwd, flags.file)) : undefined;
  try {
    const { text, body } = await api.call({
      method: 'POST',
      path: `${rowPath(cert, id)}/download`,
      headers: { accept: '*/*' },
    });
    const content = (body as { data?: { content?: string } } | undefined)?.data?.content ?? text;
    if (!file) return await terminal.out.write(content.endsWith('\n') ? content : `${content}\n`);
    await file.commit(content);
    await print.done(`Wrote ${flags.file}.`);
  } finally {
    await file?.discard();
  }
}

interface TrustFlags extends ChangeFlags {
  project?: string;
}

function defineTrust(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('trust')
      .description(
        "Trust a certificate or key to verify the messages of its channel. Compare its fingerprint with the channel's console first: the holder of the private key can report orders as paid.",
      )
      .argument('<id>'),
  );
  examples(changes(command), `payctl cert trust ${CERT_ID}`, `payctl cert trust ${CERT_ID} -y`).action(
    (id: string, flags: TrustFlags) => runTrust(context(), id, flags, 'trust'),
  );
}

async function runTrust(context: Context, id: string, flags: TrustFlags, verb: 'trust' | 'distrust'): Promise<void> {
  const found = await findCert(context, id, flags);
  const fingerprint = plain(found['fingerprint']);
  await context.print.note(
    [
      plain(found['kind']),
      plain(found['subject']),
      `uploaded by ${plain(found['createdBy'])}`,
      `SHA-256 ${fingerprint}`,
    ]
      .filter((part) => part !== '')
      .join('  '),
  );
  const row = await context.change(
    {
      what: `${verb} the ${plain(found['kind'])} with the fingerprint ${fingerprint}`,
      name: id,
      risk: 'moderate',
      method: 'POST',
      path: `${rowPath(cert, id)}/${verb}`,
    },
    flags,
  );
  if (row) await context.print.item(row, cert.view);
}

type DistrustFlags = TrustFlags & OfflineFlags & { offline?: boolean };

const OTHER_MODES = {
  noun: 'cert',
  id: 'id',
  columns: [{ field: 'id' }, { field: 'kind' }, { field: 'mode' }, { field: 'payWay' }, { field: 'project' }],
};

function defineDistrust(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('distrust')
      .description(
        'Stop verifying with a certificate or key on every replica. Always possible, also while orders are open. With --offline and without an id: distrust, in the database, all keys whose mode differs from the mode of their channel, such as keys of the simulator.',
      )
      .argument('[id]'),
  );
  command.option('--offline', 'change the database directly, if the service does not start');
  examples(
    changes(offlineFlags(command)),
    `payctl cert distrust ${CERT_ID}`,
    `payctl cert distrust ${CERT_ID} -y`,
    'payctl cert distrust --offline',
  ).action((id: string | undefined, flags: DistrustFlags) => runEither(context(), id, flags));
}

async function runEither(context: Context, id: string | undefined, flags: DistrustFlags): Promise<void> {
  if (flags.offline && id === undefined) return otherModes(context, flags);
  if (flags.offline || id === undefined)
    throw new UsageError(
      'Give either the id of one certificate or key, or --offline for all keys of modes that their channel no longer uses.',
    );
  return runTrust(context, id, flags, 'distrust');
}

/**
 * Distrusts every key whose mode (e.g. sandbox) its channel no longer uses. Keys of the live mode stay trusted. A
 * service that starts without the simulator makes the same change.
 */
async function otherModes(context: Context, flags: DistrustFlags): Promise<void> {
  const result = await changeDatabase(
    context,
    flags,
    { what: 'distrust the keys of other modes' },
    { row: ({ place }) => ({ place }), view: OTHER_MODES },
    (offline, actor) => offline.distrustOtherModes({ actor }),
  );
  if (!result) return;
  await context.print.list(
    result.keys.map((key) => ({ ...key })),
    OTHER_MODES,
  );
  await context.print.done(`${result.keys.length} keys of other modes are no longer trusted.`);
}

/** Adds the subcommands of `payctl cert`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage channel certificates and keys. Private keys can never be downloaded.');
  for (const addVerb of [defineList, defineGet, defineUpload, defineTrust, defineDistrust]) addVerb(noun, context);
  addAction(noun, context, cert, {
    verb: 'set-default',
    words: 'Make a certificate or key the default of its kind, used to sign and verify from then on.',
    lines: [`payctl cert set-default ${CERT_ID}`, `payctl cert set-default ${CERT_ID} -y`],
    below: 'default',
    request: (id) => ({ what: `make certificate ${id} the default of its kind` }),
    risk: 'moderate',
  });
  defineDownload(noun, context);
  addDelete(
    noun,
    context,
    cert,
    [`payctl cert delete ${CERT_ID}`, `payctl cert delete ${CERT_ID} --confirm ${CERT_ID}`],
    {
      words:
        'Delete a certificate or key. A signing certificate or key must be neither the default nor in use; a verification certificate or key can always be deleted.',
      method: 'POST',
      request: (id) => ({ path: `${rowPath(cert, id)}/delete` }),
    },
  );
}
