import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT, FlagRequired, UsageError } from '../../errors.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag, segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { readSecretText } from '../../secrets.ts';
import type { Row } from '../../values.ts';
import { printConfig } from './registrations.ts';
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
      .description('Configure a channel from a TOML or JSON file, or interactively. Omitted fields keep their values.')
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
  const body = flags.file
    ? await readFields(resolve(context.terminal.cwd, flags.file))
    : await askFields(context, path, query);
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
  await context.print.done(`Configured ${payWay}. Next: payctl channel test ${payWay}`);
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

/** Reads the fields of a configuration from a file; `{ file = "…" }` names a file whose text is the value. */
export async function readFields(file: string): Promise<Row> {
  const text = await readFile(file, 'utf8');
  const fields: Row = file.endsWith('.json') ? (JSON.parse(text) as Row) : (await import('smol-toml')).parse(text);
  const folder = resolve(file, '..');
  const entries = Object.entries(fields).map(async ([name, value]) => [name, await valueOf(value, folder)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function valueOf(value: unknown, folder: string): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  const { file } = value as { file?: unknown };
  if (typeof file !== 'string') throw new UsageError('A field must be a string, a number or { file = "…" }.');
  return readSecretText(await readFile(resolve(folder, file), 'utf8'), file);
}

interface SchemaField {
  name: string;
  label?: string;
  secret?: boolean;
  requiredIn?: readonly string[];
  help?: string;
}

async function askFields({ api, prompts, terminal }: Context, path: string, query: { project?: string }): Promise<Row> {
  if (!prompts.possible) throw new FlagRequired('--file');
  const schema = (await api.get(`${path}/schema`, query)) as {
    modes?: string[];
    fields?: SchemaField[];
    certKinds?: { kind: string; label?: string }[];
  };
  const mode = await prompts.choose(
    { message: 'Mode', flag: '--file' },
    (schema.modes ?? ['simulator', 'live']).map((value) => ({ value })),
  );
  const body: Row = { mode };
  for (const field of schema.fields ?? []) {
    const answer = await askField(prompts, field, mode);
    if (answer !== '') body[field.name] = answer;
  }
  for (const { kind, label } of schema.certKinds ?? []) {
    const file = await prompts.text({
      message: `PEM file for ${label ?? kind} (leave empty to keep the current value)`,
      flag: '--file',
    });
    if (file !== '') body[kind] = readSecretText(await readFile(resolve(terminal.cwd, file), 'utf8'), file);
  }
  return body;
}

async function askField(prompts: Context['prompts'], field: SchemaField, mode: string): Promise<string> {
  const needed = field.requiredIn?.includes(mode) ? 'required; ' : '';
  const question = {
    message: `${field.label ?? field.name} (${needed}leave empty to keep the current value)`,
    flag: '--file',
  };
  return field.secret ? prompts.secret(question) : prompts.text(question);
}
