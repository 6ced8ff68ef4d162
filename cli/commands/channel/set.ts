import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { credentialFiles, type CredentialFiles } from '../../credential-files.ts';
import { CliError, codeOf, EXIT, UsageError } from '../../errors.ts';
import { readTextFile, textFrom } from '../../files.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag, segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { readSecretText } from '../../secrets.ts';
import { plain, type Row } from '../../values.ts';
import { inProject, lacking } from '../doctor/finding.ts';
import { askFields } from './ask.ts';
import { printConfig } from './registrations.ts';
import { checkFields, readSchema } from './schema.ts';
import { channel } from './view.ts';

/** The flags of `channel set`. */
export interface SetFlags extends ChangeFlags {
  project?: string;
  file?: string;
}

/** Adds `channel set`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('set')
      .description(
        'Configure a channel from a TOML or JSON file, or interactively: every field with its help, checked at once. Omitted fields keep their values.',
      )
      .argument('<payWay>'),
  );
  command.option(
    '-f, --file <file>',
    'TOML or JSON file with the fields; { file = "key.pem" } reads a value from that file',
  );
  examples(
    changes(command),
    'payctl channel set alipay',
    'payctl channel set alipay -f alipay.toml',
    'payctl channel set alipay -f alipay.toml --dry-run',
  ).action((payWay: string, flags: SetFlags) => run(context(), payWay, flags));
}

/** Sends a new version of a configuration; a live one is confirmed with the channel's name. */
export async function run(context: Context, payWay: string, flags: SetFlags): Promise<void> {
  const path = `${channel.path}/${segment(payWay)}`;
  const query = flags.project === undefined ? {} : { project: flags.project };
  const body = flags.file ? await readChecked(context, path, query, flags.file) : await askFields(context, path, query);
  const isLive = body['mode'] === 'live';
  // Every value may be a secret here; what may be shown is only which fields are set.
  const shown = Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, name === 'mode' ? value : '***']),
  );
  const row = await context.change(
    {
      what: `configure ${payWay}${isLive ? ' for live payments' : ''}`,
      name: payWay,
      risk: isLive ? 'severe' : 'plain',
      method: 'POST',
      path,
      query,
      body,
      shown,
    },
    flags,
  );
  if (!row) return;
  await printConfig(context, row, channel.view);
  if (HANDS_OUT_CERTS.has(payWay) && row['configured'] === true) await download(context, `${path}/certificates`, query);
  if (payWay === 'paypal' && !body['webhookId']) await register(context, `${path}/notices`, query);
  if (payWay === 'wechat') await registerForComplaints(context, `${path}/notices`, query);
  await context.print.done(nextStep(flags.project ?? 'default', payWay, row));
}

/** What is still to be uploaded or set; a channel that lacks nothing is tested. */
function nextStep(project: string, payWay: string, row: Row): string {
  const missing = Array.isArray(row['missing']) ? row['missing'].map(plain) : [];
  if (missing.length === 0) return `Configured ${payWay}. Next: payctl channel test ${payWay}${inProject(project)}`;
  const others = Array.isArray(row['ofOtherAccounts']) ? (row['ofOtherAccounts'] as Row[]) : [];
  const { detail, fix } = lacking(project, payWay, missing, true, others);
  return `Stored ${payWay}; ${detail}. Next: ${fix}`;
}

/** The channels that hand out the certificates by which they are verified. */
const HANDS_OUT_CERTS: ReadonlySet<string> = new Set(['alipay', 'wechat']);

/** Says what was downloaded, until when it is valid, and what is left to do by hand; a failure leaves the configuration as it is. */
async function download({ api, print }: Context, path: string, query: { project?: string }): Promise<void> {
  const answer = await api.data({ method: 'POST', path, query });
  if (answer['ok'] === false) return print.done(`Certificates could not be downloaded: ${String(answer['message'])}`);
  const certificates = Array.isArray(answer['certificates']) ? (answer['certificates'] as Row[]) : [];
  for (const { id, kind, serialNumber, notAfter, isNew, trust } of certificates) {
    const what = `${String(kind)} ${String(serialNumber)}, valid until ${String(notAfter).slice(0, 10)}`;
    await print.done(`${isNew ? 'Downloaded' : 'Known'}: ${what}, ${String(trust)}`);
    if (trust === 'waiting') await print.done(`  compare the fingerprint: payctl cert trust ${String(id)}`);
  }
  if (typeof answer['byHand'] === 'string') await print.done(answer['byHand']);
}

/** PayPal tells only those who registered: its webhook for this service is found or made, and its id kept. */
async function register({ api, print }: Context, path: string, query: { project?: string }): Promise<void> {
  const answer = await api.data({ method: 'POST', path, query });
  if (answer['ok'] === true) return print.done('PayPal sends its notifications to this service.');
  const message = `PayPal's webhook could not be registered: ${String(answer['message'])}`;
  throw new CliError('webhook_not_registered', EXIT.failed, message, { hint: 'payctl channel set paypal' });
}

/** WeChat Pay tells of complaints only where it is registered; without it they are found within the hour, so this is no failure. */
async function registerForComplaints(
  { api, print }: Context,
  path: string,
  query: { project?: string },
): Promise<void> {
  const answer = await api.data({ method: 'POST', path, query });
  if (answer['ok'] === true) return print.done('WeChat Pay tells complaints to this service.');
  await print.note(
    `WeChat Pay does not tell complaints to this service: ${String(answer['message'])} Once the keys are uploaded, set the channel again.`,
  );
}

/** Reads the fields from a file, and checks them by what the channel wants to know. */
async function readChecked({ api, terminal }: Context, path: string, query: Query, file: string): Promise<Row> {
  const schema = await readSchema(api, path, query);
  const certKinds = new Set(schema.certKinds.map(({ kind }) => kind));
  const fields = await readFields(resolve(terminal.cwd, file), file, certKinds, terminal.now());
  checkFields(fields, schema, file);
  return fields;
}

/** Reads the fields of a configuration from a file; `{ file = "…" }` names a file whose text is the value. Faults name the file as `shown`, and the field. */
async function readFields(file: string, shown: string, certKinds: ReadonlySet<string>, now: Date): Promise<Row> {
  const text = await readTextFile(file, shown);
  const { parse } = file.endsWith('.json') ? JSON : await import('smol-toml');
  let fields: Row;
  try {
    fields = parse(text) as Row;
  } catch (error) {
    throw new UsageError(`${shown}: ${syntaxFault(error)}`);
  }
  const folder = resolve(file, '..');
  const files = Object.keys(fields).some((name) => certKinds.has(name)) ? await credentialFiles(now) : undefined;
  const entries = Object.entries(fields).map(async ([name, value]) => {
    const credentialText = certKinds.has(name) ? files?.text : undefined;
    return [name, await valueOf(value, folder, `${shown}: ${name}`, credentialText)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Where the syntax is wrong. Both parsers quote what they read, which may be a secret. */
function syntaxFault(error: unknown): string {
  if (error instanceof SyntaxError) return 'is not valid JSON';
  const { message, line } = error as Error & { line?: number };
  return `${message.split('\n', 1).join('')}${line === undefined ? '' : ` (line ${line})`}`;
}

async function valueOf(
  value: unknown,
  folder: string,
  where: string,
  credentialText: CredentialFiles['text'] | undefined,
): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  const { file } = value as { file?: unknown };
  if (typeof file !== 'string') throw new UsageError(`${where} must be a string, a number or { file = "…" }.`);
  const path = resolve(folder, file);
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new UsageError(`${where}: ${file} cannot be read (${codeOf(error) ?? String(error)}).`);
  });
  if (credentialText) return credentialText(path, `${where}: ${file}`);
  return readSecretText(textFrom(bytes, `${where}: ${file}`), `${where}: ${file}`);
}
