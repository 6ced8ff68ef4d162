import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import type { Answer, ApiClient, Call, Query } from '../api-client.ts';
import { administratorNeeded } from '../application.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { readTextFile } from '../files.ts';
import { choice, examples, json } from '../options.ts';
import { readClientFile } from '../secrets.ts';
import { targetLine } from '../safety.ts';
import { redact } from '../http.ts';
import type { Row } from '../values.ts';

interface ApiFlags {
  method?: string;
  field?: Row;
  jsonField?: Row;
  body?: unknown;
  input?: string;
  paginate?: boolean;
  app?: string;
  secretFile?: string;
  idempotencyKey?: string;
  dryRun?: boolean;
}

/** Defines `payctl api`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Call any API endpoint and print the response as JSON, with the login in use or, with --app, as an application.',
    )
    .argument('<path>')
    .addOption(
      choice('-X, --method <method>', 'HTTP method; GET by default, POST if there is a body', [
        'GET',
        'POST',
        'PUT',
        'DELETE',
      ]),
    )
    .option(
      '-f, --field <k=v>',
      'string field of the body, or query parameter for GET',
      pair((text) => text),
    )
    .option('-F, --json-field <k=json>', 'field with a JSON value: number, boolean, array, object', pair(json))
    .option('--body <json>', 'request body as JSON', json)
    .option('--input <file>', 'read the request body from a file')
    .option('--paginate', 'fetch all pages of a list into one JSON array')
    .option('--app <client_id>', 'authenticate as this application')
    .option('--secret-file <file>', 'file with the client_secret of the application')
    .option('--idempotency-key <key>', 'Idempotency-Key header, makes a retry safe')
    .option('--dry-run', 'print the request without sending it');
  examples(
    command,
    'payctl api "/api/v1/orders?status=paid&limit=5"',
    'payctl api /api/v1/orders -f status=paid --paginate',
    'payctl api /api/v2/payment/pay --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret -f subject=Test -F amount=0.01 -f payWay=alipay',
    'payctl api -X PUT /api/v1/api-apps/app_7Kd2mQxW9bTzR4vLp1Ns -f name=shop --dry-run',
  ).action((path: string, flags: ApiFlags) => run(context(), path, flags));
}

function pair(read: (text: string) => unknown): (text: string, before: Row | undefined) => Row {
  return (text, before = {}) => {
    const at = text.indexOf('=');
    if (at < 1) throw new InvalidArgumentError('Expected name=value.');
    return { ...before, [text.slice(0, at)]: read(text.slice(at + 1)) };
  };
}

async function run(context: Context, path: string, flags: ApiFlags): Promise<void> {
  if (!path.startsWith('/') || path.startsWith('//'))
    throw new UsageError(
      'The path must begin with a single slash; choose the server with -C or --server.',
      'payctl api /api/v1/orders',
    );
  if (flags.secretFile !== undefined && flags.app === undefined)
    throw new UsageError('--secret-file requires --app.', 'add --app CLIENT_ID');
  const acting = flags.app === undefined && path.startsWith('/api/v1/') ? await context.application() : undefined;
  if (acting) throw administratorNeeded(acting, path.replace(/\?.*/, ''));
  const call = await readCall(context, path, flags);
  const { terminal, print } = context;
  if (flags.dryRun)
    return terminal.out.write(
      `${JSON.stringify({ dryRun: true, method: call.method, path, query: call.query ?? null, body: redact(call.body) ?? null }, null, 2)}\n`,
    );
  if (call.method !== 'GET') await print.note(targetLine(terminal, await context.target()));
  const api = flags.app ? await merchantApi(context, flags.app, flags.secretFile) : context.api;
  if (flags.paginate) return terminal.out.write(`${JSON.stringify(await allRows(api, path, call.query), null, 2)}\n`);
  if (call.method === 'GET') return terminal.out.write(textOf(await api.call(call)));
  // The response may contain a secret that is shown only once, so payctl checks first that it can be written.
  const { reserveOutput } = await import('../reserved-output.ts');
  const reserved = await reserveOutput(terminal, { shared: false });
  try {
    const answer = await api.call(call);
    context.run.completedChange = `${call.method} ${path}`;
    await terminal.out.write(textOf(answer));
    reserved.settle();
  } finally {
    reserved.release();
  }
}

function textOf({ body, text }: Answer): string {
  if (body === undefined) return text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return `${JSON.stringify(body, null, 2)}\n`;
}

async function readCall({ terminal }: Context, path: string, flags: ApiFlags): Promise<Call> {
  const fields = { ...flags.field, ...flags.jsonField };
  const hasFields = Object.keys(fields).length > 0;
  const whole = flags.input ? json(await readTextFile(resolve(terminal.cwd, flags.input), flags.input)) : flags.body;
  if (whole !== undefined && hasFields)
    throw new UsageError('Fields (-f, -F) cannot be combined with --body or --input.');
  const method = flags.method ?? (flags.paginate || (whole === undefined && !hasFields) ? 'GET' : 'POST');
  const key = flags.idempotencyKey ? { idempotencyKey: flags.idempotencyKey } : {};
  if (method === 'GET') return { method, path, ...(hasFields ? { query: fields as Query } : {}) };
  const body = whole ?? (hasFields ? fields : undefined);
  return { method, path, ...key, ...(body === undefined ? {} : { body }) };
}

async function allRows(api: ApiClient, path: string, query: Query | undefined): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of api.pages(path, query)) rows.push(...page.rows);
  return rows;
}

/** Creates a client that acts as the application of `--app`. */
export async function merchantApi(
  { apiOf, terminal }: Context,
  clientId: string,
  secretFile: string | undefined,
): Promise<ApiClient> {
  if (!secretFile) throw new UsageError('--app requires the secret of the application.', 'add --secret-file FILE');
  return apiOf({ clientId, secret: (await readClientFile(terminal, secretFile, clientId)).secret }).api;
}
