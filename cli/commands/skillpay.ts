import { PAY_WAYS } from '../../server/domain.ts';
import type { Command } from 'commander';
import { type JsonWebKey, createPublicKey, randomUUID, verify } from 'node:crypto';
import { resolve } from 'node:path';
import { addAction } from '../action.ts';
import type { ApiClient, Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { credentialFiles } from '../credential-files.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { amount, changes, choice, examples, given, instant, json, needs } from '../options.ts';
import { drawQr } from '../qr.ts';
import { type Resource, type RowFlags, projectFlag, projectQuery, segment } from '../resource.ts';
import { type Change, type ChangeFlags, confirmChange, targetLine } from '../safety.ts';
import { readSecretFile, readSecretStdin } from '../secrets.ts';
import { type Row, type View, plain } from '../values.ts';
import { merchantApi } from './api.ts';

interface MerchantFlags {
  app?: string;
  secretFile?: string;
}

const SKILLPAY = '/api/v2/skillpay';

const VIEW: View = {
  noun: 'skillpay',
  id: 'outTradeNo',
  columns: [
    { field: 'outTradeNo', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'fulfilment', kind: 'status' },
    { field: 'amount', kind: 'money' },
    { field: 'resource' },
    { field: 'payWay' },
    { field: 'expiresAt', kind: 'time' },
  ],
};

function merchantFlags(command: Command): Command {
  return needs(command, 'application')
    .option('--app <client_id>', 'authenticate as this application')
    .option('--secret-file <file>', 'file with the client_secret of the application');
}

async function asMerchant(context: Context, flags: MerchantFlags): Promise<ApiClient> {
  if (flags.app) return merchantApi(context, flags.app, flags.secretFile);
  if (flags.secretFile !== undefined) throw new UsageError('--secret-file requires --app.', 'add --app CLIENT_ID');
  if (await context.application()) return context.api;
  throw new UsageError(
    'This command requires the client id and the secret of an API application.',
    'add --app CLIENT_ID --secret-file FILE, or payctl login --client-id CLIENT_ID',
  );
}

const PRICE = {
  noun: 'resource',
  id: 'resource',
  columns: [
    { field: 'resource', kind: 'id' },
    { field: 'price', kind: 'money' },
    { field: 'payWays' },
    { field: 'name' },
  ],
} as const;

function defineList(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun.command('list').description('List the resources that can be called, with their prices.'),
  );
  examples(
    command,
    'payctl skillpay list --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay list --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret --json',
  ).action((flags: MerchantFlags) => runList(context(), flags));
}

async function runList(context: Context, flags: MerchantFlags): Promise<void> {
  const { body } = await (await asMerchant(context, flags)).call({ method: 'GET', path: `${SKILLPAY}/resources` });
  await context.print.list((body as { data?: Row[] } | undefined)?.data ?? [], PRICE);
}

function defineGet(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun.command('get').description('Show a pay-per-call order and its fulfilment.').argument('<outTradeNo>'),
  );
  examples(
    command,
    'payctl skillpay get X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay get X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret --fields status',
  ).action((no: string, flags: MerchantFlags) => runGet(context(), no, flags));
}

async function runGet(context: Context, outTradeNo: string, flags: MerchantFlags): Promise<void> {
  await context.print.item(
    await (await asMerchant(context, flags)).get(`${SKILLPAY}/query/${segment(outTradeNo)}`),
    VIEW,
  );
}

type OfferFlags = Row & MerchantFlags & { idempotencyKey?: string; dryRun?: boolean };

function defineOffer(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun
      .command('offer')
      .description('Call a resource without payment and get the offer (HTTP 402) with its payment code and QR code.')
      .argument('[resource]', 'resource to call, as with --resource'),
  );
  command
    .option('--resource <code>', 'resource to call')
    .option('--input <json>', 'input of the resource', json)
    .addOption(choice('--pay-way <channel>', 'channel to pay with', PAY_WAYS));
  command
    .option('--idempotency-key <key>', 'key of an earlier attempt; a retry with the same key never runs twice')
    .option('--dry-run', 'print the request without sending it');
  examples(
    command,
    'payctl skillpay offer --resource weather --input \'{"city":"Paris"}\' --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay offer --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret --fields outTradeNo,payUrl',
  ).action((resource: string | undefined, flags: OfferFlags) => {
    if (resource !== undefined && flags['resource'] !== undefined)
      throw new UsageError('Give the resource once: as the argument, or with --resource.');
    return runOffer(context(), { resource, ...flags });
  });
}

async function runOffer(context: Context, flags: OfferFlags): Promise<void> {
  const { print, terminal, target } = context;
  const body = given(flags, ['resource', 'input', 'payWay']);
  const path = `${SKILLPAY}/resource`;
  if (flags.dryRun) return print.item({ dryRun: true, method: 'POST', path, body }, VIEW);
  await print.note(targetLine(terminal, await target()));
  const api = await asMerchant(context, flags);
  const offer = await api.data({
    method: 'POST',
    path,
    body,
    accept: [402],
    idempotencyKey: flags.idempotencyKey ?? randomUUID(),
  });
  if (terminal.err.isTerminal && typeof offer['qrCode'] === 'string')
    await terminal.err.write((await drawQr(offer['qrCode'], terminal.err)) ?? '');
  await print.item(offer, VIEW);
  await print.done(`Next: pay, then payctl skillpay redeem ${String(offer['outTradeNo'])}`);
}

type RedeemFlags = MerchantFlags & { content?: boolean };

function defineRedeem(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun
      .command('redeem')
      .description(
        'Get the paid content. Exits with 1 if the order is not paid yet. Safe to repeat: it is fulfilled only once.',
      )
      .argument('<outTradeNo>'),
  );
  command.option('--content', 'print only the content');
  examples(
    command,
    'payctl skillpay redeem X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay redeem X202611210558007K2MQX9WBT --content --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
  ).action((no: string, flags: RedeemFlags) => runRedeem(context(), no, flags));
}

async function runRedeem(context: Context, outTradeNo: string, flags: RedeemFlags): Promise<void> {
  const { print, terminal } = context;
  const api = await asMerchant(context, flags);
  const { status, body } = await api.call({
    method: 'POST',
    path: `${SKILLPAY}/resource`,
    headers: { 'x-out-trade-no': outTradeNo },
    accept: [402],
  });
  const data = (body as { data?: Record<string, unknown> } | undefined)?.data ?? {};
  if (status === 402)
    throw new CliError(
      'payment_required',
      EXIT.failed,
      `${outTradeNo} is not paid (${plain(data['status']) || 'unknown'}).`,
      {
        status,
        hint: typeof data['payUrl'] === 'string' ? `pay at ${data['payUrl']}` : `payctl skillpay get ${outTradeNo}`,
      },
    );
  if (data['status'] === 'refunded')
    throw new CliError(
      'refunded',
      EXIT.failed,
      `Order ${outTradeNo} was refunded, because the paid content could not be delivered.`,
      {
        status,
        hint: plain(data['refundReason']) || `payctl skillpay get ${outTradeNo}`,
      },
    );
  if (flags.content) return terminal.out.write(`${text(data['content'])}\n`);
  await print.item(data, VIEW);
}

function text(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}

interface RefundFlags extends ChangeFlags, MerchantFlags {
  amount?: string;
  reason?: string;
}

function defineRefund(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun
      .command('refund')
      .description('Refund a pay-per-call order; without --amount, the full remaining amount.')
      .argument('<outTradeNo>'),
  );
  command.option('--amount <amount>', 'amount to refund, in major units', amount).option('--reason <text>', 'reason');
  examples(
    changes(command, { money: true }),
    'payctl skillpay refund X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay refund X202611210558007K2MQX9WBT --amount 0.05 -y --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
  ).action((no: string, flags: RefundFlags) => runRefund(context(), no, flags));
}

async function runRefund(context: Context, outTradeNo: string, flags: RefundFlags): Promise<void> {
  const { print, prompts, target, terminal } = context;
  const body = {
    outTradeNo,
    ...(flags.amount ? { refundAmount: flags.amount } : {}),
    ...(flags.reason ? { reason: flags.reason } : {}),
  };
  const path = `${SKILLPAY}/refund`;
  if (flags.dryRun) return print.item({ dryRun: true, method: 'POST', path, body }, VIEW);
  const place = await target();
  const api = await asMerchant(context, flags);
  const label = await context.label(api);
  await print.note(targetLine(terminal, place));
  await confirmChange(
    prompts,
    {
      what: `refund ${flags.amount ?? 'the full remaining amount'} of ${outTradeNo}`,
      name: outTradeNo,
      risk: label === 'prod' ? 'severe' : 'moderate',
    },
    flags,
    place.context ?? place.origin,
  );
  const idempotencyKey = flags.idempotencyKey ?? randomUUID();
  const row = await api.data({ method: 'POST', path, body, idempotencyKey });
  context.run.completedChange = `refund ${plain(row['refundNo'])} of ${outTradeNo}`;
  await print.item(row, {
    ...VIEW,
    columns: [
      { field: 'refundNo', kind: 'id' },
      { field: 'status', kind: 'status' },
      { field: 'refundAmount', kind: 'money' },
    ],
  });
}

const TYPES = new Set(['pay-code+jws', 'pay-receipt+jws']);

function defineVerifyCode(noun: Command, context: ContextOf): void {
  const command = noun
    .command('verify-code')
    .description(
      'Verify the signature of a payment code or receipt with the public keys of the service, and show its claims. Exits with 1 if it is invalid.',
    )
    .option('--file <file>', 'read the code from a file instead of stdin');
  examples(
    needs(command, 'none'),
    'payctl skillpay verify-code < code.txt',
    'payctl skillpay verify-code --file receipt.txt --json',
  ).action((flags: { file?: string }) => runVerifyCode(context(), flags));
}

/** The code to verify is a payment code or a receipt. Its header names the service's public key for the signature. */
async function runVerifyCode({ api, print, terminal }: Context, flags: { file?: string }): Promise<void> {
  const code = (
    flags.file ? await readSecretFile(terminal, flags.file) : await readSecretStdin(terminal, 'verify-code')
  ).trim();
  const { body } = await api.call({ method: 'GET', path: '/.well-known/jwks.json', anonymous: true });
  const keys = (body as { keys?: Row[] } | undefined)?.keys ?? [];
  const { header, claims } = verifyCode(code, keys);
  const expired = typeof claims['exp'] === 'number' && claims['exp'] * 1000 < terminal.now().getTime();
  await print.item(
    { valid: true, expired, type: header['typ'], keyId: header['kid'], ...claims },
    {
      noun: 'code',
      id: 'outTradeNo',
      columns: [
        { field: 'valid', kind: 'yesno' },
        { field: 'expired', kind: 'yesno' },
        { field: 'outTradeNo', kind: 'id' },
      ],
    },
  );
}

/** Verifies a compact JWS (EdDSA only). For an invalid token, throws a CliError with exit code 1. */
function verifyCode(code: string, keys: readonly Row[]): { header: Row; claims: Row } {
  const [head = '', payload = '', signature = '', ...rest] = code.split('.');
  if (rest.length > 0 || signature === '')
    throw new UsageError('Not a payment code: expected a compact JWS of three parts.');
  const header = readPart(head);
  const key = keys.find((known) => known['kid'] === header['kid']);
  if (header['alg'] !== 'EdDSA' || !TYPES.has(String(header['typ'])) || !key)
    throw falseCode('the code was not signed with a key of this service');
  const publicKey = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
  if (!verify(null, Buffer.from(`${head}.${payload}`), publicKey, Buffer.from(signature, 'base64url')))
    throw falseCode('the signature does not match');
  return { header, claims: readPart(payload) };
}

function readPart(part: string): Row {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Row;
  } catch {
    throw falseCode('the header or the claims are not valid JSON');
  }
}

function falseCode(why: string): CliError {
  return new CliError('code_false', EXIT.failed, `The payment code or receipt is invalid: ${why}.`);
}

const STATS = {
  noun: 'resource',
  id: 'resource',
  columns: [
    { field: 'resource', kind: 'id' },
    { field: 'clientId', title: 'APP' },
    { field: 'offered' },
    { field: 'paid' },
    { field: 'fulfilled' },
    { field: 'failed' },
    { field: 'refunded' },
    { field: 'revenue', kind: 'money' },
  ],
} as const;

function defineStats(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('stats')
      .description('Show offers, payments, fulfilments, failures, refunds and revenue per application and resource.'),
  );
  command.option('--from <time>', 'start of the period', instant).option('--to <time>', 'end of the period', instant);
  examples(command, 'payctl skillpay stats', 'payctl skillpay stats --from 2026-11-01 --json').action((flags: Row) =>
    runStats(context(), flags),
  );
}

async function runStats({ api, print }: Context, flags: Row): Promise<void> {
  const { rows } = await api.page('/api/v1/stats/skillpay', given(flags, ['from', 'to', 'project']) as Query);
  await print.list(rows, STATS);
}

/** With WeChat agent pay, AI agents pay by WeChat payment codes. Each project has at most one configuration. */
const agentPay: Resource = {
  noun: 'agent-pay',
  plural: 'configurations of WeChat agent pay',
  path: '/api/v1/skillpay/agent-pay',
  idName: 'project',
  inProject: true,
  view: {
    noun: 'agent-pay',
    id: 'project',
    columns: [
      { field: 'project', kind: 'id' },
      { field: 'mode', kind: 'status' },
      { field: 'developerId' },
      { field: 'keyId' },
      { field: 'skills' },
      { field: 'lastSuccessAt', kind: 'time' },
      { field: 'lastFailureAt', kind: 'time' },
      { field: 'lastFailure' },
    ],
  },
};

const TESTED_AGENT: View = {
  noun: 'agent-pay',
  id: 'project',
  columns: [{ field: 'ok', kind: 'yesno' }, { field: 'message' }],
};

function defineAgent(noun: Command, context: ContextOf): void {
  const agent = noun
    .command('agent')
    .description('Configure WeChat agent pay: the SkillHub developer that requests payment codes for agents.');
  const get = projectFlag(agent.command('get').description('Show the configuration, and the last response of WeChat.'));
  examples(get, 'payctl skillpay agent get', 'payctl skillpay agent get --project shop-eu --json').action(
    async (flags: RowFlags) => {
      const { api, print } = context();
      await print.item(await api.get(agentPay.path, projectQuery(agentPay, flags)), agentPay.view);
    },
  );
  addAction(agent, context, agentPay, {
    verb: 'set',
    words: 'Set the SkillHub developer, its key, and the skill id of each product. Omitted fields keep their values.',
    lines: [
      'payctl skillpay agent set --developer-id sh-1A2B3C4D --key-id PUB_KEY_408B07E7 --private-key-file skillhub.pem',
      'payctl skillpay agent set --skills \'{"weather":{"id":"weather-report","version":"1.0.0"}}\'',
    ],
    id: false,
    fields: [
      { name: 'developerId', value: 'id', help: 'developer at SkillHub, sh-…' },
      { name: 'keyId', value: 'id', help: 'id of the public key at SkillHub, PUB_KEY_…' },
      { name: 'privateKeyFile', value: 'file', help: 'PEM file with the private key' },
      {
        name: 'skills',
        value: 'json',
        help: 'by product: {"weather":{"id":"weather-report","version":"1.0.0"}}',
        read: json,
      },
    ],
    method: 'PUT',
    request: setAgent,
    risk: 'moderate',
  });
  addAction(agent, context, agentPay, {
    verb: 'test',
    words: 'Request a payment code without an order; exits with 1 if the key is refused.',
    lines: ['payctl skillpay agent test', 'payctl skillpay agent test --json'],
    id: false,
    request: () => ({ what: 'test WeChat agent pay' }),
    async print({ print }, row) {
      await print.item(row, TESTED_AGENT);
      if (row['ok'] === true) return;
      throw new CliError('agent_pay_test_failed', EXIT.failed, `WeChat agent pay failed: ${String(row['message'])}`, {
        hint: 'payctl skillpay agent set',
      });
    },
  });
  addAction(agent, context, agentPay, {
    verb: 'delete',
    words: 'Remove the configuration; issued payment codes stay valid.',
    lines: ['payctl skillpay agent delete', 'payctl skillpay agent delete -y'],
    id: false,
    method: 'DELETE',
    request: () => ({ what: 'remove the configuration of WeChat agent pay', path: agentPay.path }),
    risk: 'moderate',
  });
}

/** --dry-run does not show the private key. */
async function setAgent(_id: string, body: Row, { terminal }: Context): Promise<Partial<Change>> {
  const { privateKeyFile: file, ...named } = body;
  const request = { what: 'configure WeChat agent pay', path: agentPay.path, body: named };
  if (typeof file !== 'string') return request;
  const privateKey = (await credentialFiles(terminal.now())).text(resolve(terminal.cwd, file), file);
  return { ...request, body: { ...named, privateKey }, shown: { ...named, privateKey: '***' } };
}

/** Adds the subcommands of `payctl skillpay`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Pay-per-call (HTTP 402): request an offer, pay for it, redeem it once.');
  for (const addVerb of [
    defineList,
    defineGet,
    defineOffer,
    defineRedeem,
    defineRefund,
    defineVerifyCode,
    defineStats,
    defineAgent,
  ])
    addVerb(noun, context);
}
