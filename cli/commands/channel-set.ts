import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CHANNELS, PAY_WAYS, type PayWay } from '../../server/domain.ts';
import type { CertKindSpec } from '../../server/payments/channel.ts';
import type { ApiClient, Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { type CredentialFiles, credentialFiles, formOf } from '../credential-files.ts';
import { CliError, EXIT, FlagRequired, UsageError, codeOf } from '../errors.ts';
import { readTextFile, textFrom } from '../files.ts';
import { english } from '../language.ts';
import { changes, examples } from '../options.ts';
import { type Resource, projectFlag, rowPath } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { readSecretText } from '../secrets.ts';
import { wrap } from '../terminal-text.ts';
import { type Row, type View, plain, visible } from '../values.ts';
import { CHANNEL_CONFIGS, inProject, lacking } from './doctor/finding.ts';

export const channel: Resource = {
  noun: 'channel',
  plural: 'channel configurations',
  path: CHANNEL_CONFIGS,
  idName: 'payWay',
  inProject: true,
  view: {
    noun: 'channel',
    id: 'payWay',
    columns: [
      { field: 'payWay', title: 'CHANNEL', kind: 'id' },
      { field: 'mode', kind: 'status' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'status', kind: 'status' },
      { field: 'fault' },
      { field: 'account' },
      { field: 'version', kind: 'id' },
      { field: 'missing' },
      { field: 'project' },
      { field: 'updatedAt', kind: 'time' },
      { field: 'refusedNotices.why', title: 'REFUSED NOTICES' },
      { field: 'lastNoticeAt', title: 'LAST NOTICE', kind: 'time' },
    ],
  },
};

interface SchemaField {
  name: string;
  label?: string;
  secret?: boolean;
  requiredIn?: readonly string[];
  /** A regular expression that the whole value matches. */
  pattern?: string | null;
  help?: string;
}

interface SchemaCert {
  kind: string;
  label?: string;
  form?: CertKindSpec['form'];
  help?: string;
}

interface Schema {
  modes: readonly string[];
  fields: readonly SchemaField[];
  certKinds: readonly SchemaCert[];
}

async function readSchema(api: ApiClient, path: string, query: Query): Promise<Schema> {
  const { modes, fields, certKinds } = (await api.get(`${path}/schema`, query)) as unknown as Partial<Schema>;
  return { modes: modes ?? ['simulator', 'live'], fields: fields ?? [], certKinds: certKinds ?? [] };
}

/** If a field has one of these values, the service keeps the stored value. */
const UNCHANGED_VALUES: ReadonlySet<unknown> = new Set([undefined, null, '***']);

function fieldFault({ pattern }: SchemaField, value: string): string | undefined {
  return typeof pattern !== 'string' || matches(pattern, value.trim()) ? undefined : 'has an invalid format';
}

/** Returns true if this Node.js cannot compile the pattern, because the service checks the value again. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

function checkFields(fields: Row, { fields: known, certKinds, modes }: Schema, source: string): void {
  const names = ['mode', ...known.map(({ name }) => name), ...certKinds.map(({ kind }) => kind)];
  for (const [name, value] of Object.entries(fields)) {
    if (!names.includes(name)) throw new UsageError(`${source}: unknown field "${name}".`, adviceFor(name, names));
    if (UNCHANGED_VALUES.has(value)) continue;
    if (name === 'mode' && !modes.includes(String(value)))
      throw new UsageError(`${source}: mode is "${String(value)}".`, `use one of ${modes.join(', ')}`);
    const field = known.find((one) => one.name === name);
    const fault = field && fieldFault(field, String(value));
    if (fault) throw new UsageError(`${source}: ${name} ${fault}.`, field.help);
  }
}

function adviceFor(name: string, names: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const meant = names.find((one) => plain(one) === plain(name));
  return meant === undefined ? `fields: ${names.join(', ')}` : `did you mean ${meant}?`;
}

interface QuestionContext {
  mode: string;
  stored: Row;
}

/** An empty answer keeps the stored value. */
async function askFields(context: Context, path: string, query: Query): Promise<Row> {
  const { api, prompts } = context;
  if (!prompts.possible) throw new FlagRequired('--file');
  const [{ modes, fields, certKinds }, info, current] = await Promise.all([
    readSchema(api, path, query),
    api.get('/api/v1/info'),
    api.get(path, query),
  ]);
  const refused = info['debug'] === true || info['environment'] === 'staging' ? 'live' : 'simulator';
  const offered = modes.filter((mode) => mode !== refused);
  const mode = await prompts.choose(
    { message: 'Mode', flag: '--file' },
    offered.map((value) => ({ value })),
  );
  const stored = (current['fields'] ?? {}) as Row;
  const body: Row = { mode };
  for (const field of fields) {
    const answer = await askField(context, field, { mode, stored });
    if (answer !== '') body[field.name] = answer.trim();
  }
  const files = await credentialFiles(context.terminal.now());
  for (const cert of certKinds) {
    const file = await askCert(context, cert, files);
    if (file !== '') body[cert.kind] = files.text(resolve(context.terminal.cwd, file), file);
  }
  return body;
}

async function askField(context: Context, field: SchemaField, { mode, stored }: QuestionContext): Promise<string> {
  const { prompts } = context;
  const { name, label = name, secret, help } = field;
  const before = stored[name];
  const isNeeded = field.requiredIn?.includes(mode) === true && before === undefined;
  await printHelp(context, help);
  const question = {
    message: `${label} (${before === undefined ? (isNeeded ? 'required' : 'optional') : `leave empty to keep ${secret ? 'it' : visible(String(before))}`})`,
    flag: '--file',
    validate(answer: string): true | string {
      if (answer === '') return !isNeeded || `${label} is required in mode ${mode}.`;
      const fault = fieldFault(field, answer);
      return fault === undefined || `${label} ${fault}.`;
    },
  };
  return secret ? prompts.secret(question) : prompts.text(question);
}

async function askCert(context: Context, cert: SchemaCert, files: CredentialFiles): Promise<string> {
  const { kind, label = kind, form = formOf(kind), help } = cert;
  await printHelp(context, help);
  return context.prompts.text({
    message: `File with ${label} (leave empty to keep the stored one)`,
    flag: '--file',
    validate(file) {
      if (file === '') return true;
      try {
        files.read(resolve(context.terminal.cwd, file), file, { kind, form });
        return true;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  });
}

async function printHelp({ terminal: { err } }: Context, help: string | undefined): Promise<void> {
  if (!help) return;
  const lines = wrap(visible(help), Math.max(20, err.columns - 2));
  await err.write(lines.map((line) => `${err.style('dim', `  ${line}`)}\n`).join(''));
}

/** Prints a configuration. A table is followed by the URLs and values to register at the channel. */
export async function printConfig(context: Context, row: Row, view: View): Promise<void> {
  const { registrations, ...config } = row;
  if (!isForPeople(context)) return context.print.item(row, view);
  await context.print.item(config, view);
  await printRegistrations(context, registrations);
}

/** Prints the values that the operator must register at the channel, but only in table format. */
export async function printRegistrations(context: Context, registrations: unknown): Promise<void> {
  const { out } = context.terminal;
  if (!isForPeople(context) || !Array.isArray(registrations) || registrations.length === 0) return;
  const lines = (registrations as Row[]).flatMap((row) => linesOf(row, out.columns, out.style));
  await out.write(`\n${out.style('bold', 'To be registered at the channel')}\n${lines.join('\n')}\n`);
}

function isForPeople({ print, flags }: Context): boolean {
  return print.format === 'table' && !print.fields && flags.quiet !== true;
}

function linesOf(row: Row, columns: number, style: Context['terminal']['out']['style']): string[] {
  const texts = (name: string): string[] => (Array.isArray(row[name]) ? row[name].map(plain) : []);
  const scenes = texts('scenes').join(', ');
  const by = row['by'] === 'payctl' ? 'payctl channel set does it' : 'by hand';
  const indented = (text: string, indent: string) =>
    wrap(visible(text), Math.max(20, columns - indent.length)).map((line) => indent + line);
  return [
    ...indented(`${plain(row['name'])} (${scenes}; ${by})`, '  '),
    ...texts('values').map((value) => `      ${style('cyan', visible(value))}`),
    ...indented(`at: ${plain(row['where'])}`, '    '),
    ...(row['note'] ? indented(plain(row['note']), '    ') : []),
  ];
}

interface SetFlags extends ChangeFlags {
  project?: string;
  file?: string;
}

/** Adds the subcommand `channel set`, which stores a configuration from a file or from answers to prompts. */
export function defineSet(noun: Command, context: ContextOf): void {
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
  ).action((payWay: string, flags: SetFlags) => runSet(context(), payWay, flags));
}

/** For live mode, the operator must type the channel's name as confirmation. */
async function runSet(context: Context, payWay: string, flags: SetFlags): Promise<void> {
  const path = rowPath(channel, payWay);
  const query = { project: flags.project };
  const body = flags.file ? await readChecked(context, path, query, flags.file) : await askFields(context, path, query);
  const isLive = body['mode'] === 'live';
  // Any value may be a secret, so --dry-run shows only the names of the fields.
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
  const known = PAY_WAYS.find((one) => one === payWay);
  if (known !== undefined) await registerAt(context, known, { path, query, row, body });
  await context.print.done(nextStep(flags.project ?? 'default', payWay, row));
}

/** Downloads certificates and registers for notifications or complaints, if the channel's API supports it. */
async function registerAt(
  context: Context,
  payWay: PayWay,
  { path, query, row, body }: { path: string; query: Query; row: Row; body: Row },
): Promise<void> {
  const { handsOutCerts, registers } = CHANNELS[payWay];
  if (handsOutCerts && row['configured'] === true) await download(context, `${path}/certificates`, query);
  if (registers === 'notifications' && !body['webhookId']) await register(context, payWay, `${path}/notices`, query);
  if (registers === 'complaints') await registerForComplaints(context, payWay, `${path}/notices`, query);
}

function nextStep(project: string, payWay: string, row: Row): string {
  const missing = Array.isArray(row['missing']) ? row['missing'].map(plain) : [];
  if (missing.length === 0) return `Configured ${payWay}. Next: payctl channel test ${payWay}${inProject(project)}`;
  const others = Array.isArray(row['ofOtherAccounts']) ? (row['ofOtherAccounts'] as Row[]) : [];
  const { detail, fix } = lacking(project, payWay, missing, true, others);
  return `Stored ${payWay}; ${english(detail)}. Next: ${english(fix ?? '')}`;
}

/** A failed download leaves the configuration unchanged. */
async function download({ api, print }: Context, path: string, query: { project?: string }): Promise<void> {
  const answer = await api.data({ method: 'POST', path, query });
  if (answer['ok'] === false) return print.done(`Certificates could not be downloaded: ${String(answer['message'])}`);
  const certificates = Array.isArray(answer['certificates']) ? (answer['certificates'] as Row[]) : [];
  for (const { id, kind, serialNumber, notAfter, isNew, trust } of certificates) {
    const what = `${String(kind)} ${String(serialNumber)}, valid until ${String(notAfter).slice(0, 10)}`;
    await print.done(`${isNew ? 'Downloaded' : 'Already stored'}: ${what}, ${String(trust)}`);
    if (trust === 'waiting') await print.done(`  compare the fingerprint: payctl cert trust ${String(id)}`);
  }
  if (typeof answer['byHand'] === 'string') await print.done(answer['byHand']);
}

/** The channel sends notifications only to a registered webhook. The service finds or creates it at the channel. */
async function register({ api, print }: Context, payWay: PayWay, path: string, query: Query): Promise<void> {
  const answer = await api.data({ method: 'POST', path, query });
  const name = CHANNELS[payWay].name.en;
  if (answer['ok'] === true) return print.done(`${name} sends its notifications to this service.`);
  const message = `${name}'s webhook could not be registered: ${String(answer['message'])}`;
  throw new CliError('webhook_not_registered', EXIT.failed, message, {
    hint: `payctl channel set ${payWay}${inProject(String(query['project'] ?? 'default'))}`,
  });
}

/** A failed registration prints only a note: the service also finds complaints by polling, within an hour. */
async function registerForComplaints(
  { api, print }: Context,
  payWay: PayWay,
  path: string,
  query: Query,
): Promise<void> {
  const answer = await api.data({ method: 'POST', path, query });
  const name = CHANNELS[payWay].name.en;
  if (answer['ok'] === true) return print.done(`${name} sends complaints to this service.`);
  await print.note(
    `${name} does not send complaints to this service: ${String(answer['message'])} Upload the keys, then run payctl channel set again.`,
  );
}

async function readChecked({ api, terminal }: Context, path: string, query: Query, file: string): Promise<Row> {
  const schema = await readSchema(api, path, query);
  const certKinds = new Set(schema.certKinds.map(({ kind }) => kind));
  const fields = await readFields(resolve(terminal.cwd, file), file, certKinds, terminal.now());
  checkFields(fields, schema, file);
  return fields;
}

/** `{ file = "…" }` is replaced by the content of that file. Error messages name the configuration file as `shown`. */
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

/** Gives only the position of a syntax error, because the parsers' messages quote the input, which may be a secret. */
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
