/** Simulates WeChat agent pay: developer accounts at SkillHub, the preorder call, and the payment code it returns. */
import type { Context } from 'koa';
import { type KeyObject, createHmac, createPublicKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { isFresh, preorderText, verifyRsa } from '../../channels/wechat/signature.ts';
import type { Account } from '../accounts.ts';
import { newRsaKeys, pkcs8, spki } from '../certificates.ts';
import type { Answer } from '../exchange.ts';
import type { Core } from '../channel-simulator.ts';
import { SimulatorRefusal, rawBodyOf } from '../requests.ts';
import type { Trade } from '../trade.ts';
import { refuse, success } from './requests.ts';

/** A developer account at SkillHub. It has one valid key. One merchant receives the payments for its skills. */
interface Developer {
  developerId: string;
  keyId: string;
  privateKey: string;
  publicKey: string;
  skills: string[];
}

/**
 * Gives the developer of an account a new key. Creates the developer if the account has none. `skills` replaces the
 * published skills; undefined keeps them.
 */
export async function giveDeveloper(core: Core, name: string, skills: string[] | undefined): Promise<Developer> {
  const account = core.accounts.get('wechat', name);
  if (!account) throw new SimulatorRefusal(404, 'no_such_account', `The account ${name} does not exist.`);
  const known = developerOf(account);
  const { privateKey, publicKey } = await newRsaKeys();
  const developer: Developer = {
    developerId: known?.developerId ?? `sh-${randomBytes(4).toString('hex').toUpperCase()}`,
    keyId: `PUB_KEY_${randomBytes(16).toString('hex').toUpperCase()}`,
    privateKey: pkcs8(privateKey),
    publicKey: spki(publicKey),
    skills: skills ?? known?.skills ?? ['demo-skill'],
  };
  account.secrets = { ...account.secrets, skillhub: JSON.stringify(developer) };
  core.accounts.save();
  return developer;
}

function developerOf({ secrets }: Account): Developer | undefined {
  return secrets['skillhub'] ? (JSON.parse(secrets['skillhub']) as Developer) : undefined;
}

function developersIn(core: Core): { account: Account; developer: Developer }[] {
  return core.accounts.of('wechat').flatMap((account) => {
    const developer = developerOf(account);
    return developer ? [{ account, developer }] : [];
  });
}

function publicKeyOf({ publicKey }: Developer): KeyObject {
  return createPublicKey(publicKey);
}

/** The value that a create call returned and that an app or browser uses to start the payment. */
interface PayData {
  type: 'code_url' | 'prepay_id' | 'h5_url';
  value: string;
}

const FORM = /^PAYCODE_([\w-]+)\.(\d+)\.([0-9a-f]{16})\.([0-9a-f]{32})$/;

/**
 * Returns a code that pays the trade until `until` (simulated clock, ms). The code is not stored, because its MAC (a
 * keyed hash) proves that the simulator issued it.
 */
function newPaymentCode(account: Account, trade: Trade, until: number): string {
  const text = `${trade.id}.${until}.${randomBytes(8).toString('hex')}`;
  return `PAYCODE_${text}.${macOf(account, text)}`;
}

/** Returns the trade that a payment code pays; throws SimulatorRefusal if the code is unknown or has expired. */
export function tradeOfCode(core: Core, code: string): Trade {
  const [, id = '', until = '0', salt = '', mac = ''] = FORM.exec(code) ?? [];
  const trade = core.trades.byId(id);
  const account = trade?.payWay === 'wechat' ? core.accounts.get('wechat', trade.account) : undefined;
  const isGenuine = account && timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(account, `${id}.${until}.${salt}`)));
  if (!trade || !isGenuine) throw new SimulatorRefusal(404, 'payment_code_unknown', 'The payment code is unknown.');
  if (Number(until) <= core.clock.now())
    throw new SimulatorRefusal(410, 'payment_code_expired', 'The payment code has expired.');
  return trade;
}

/** Returns the trade whose create call returned this payment data; undefined if the account has no such trade. */
function tradeOfPayData(core: Core, account: Account, { type, value }: PayData): Trade | undefined {
  const trade = core.trades.byId(idIn(core, type, value) ?? '');
  return trade?.payWay === 'wechat' && trade.account === account.name && trade.details['product'] === PRODUCTS[type]
    ? trade
    : undefined;
}

/** A prepay_id must be of JSAPI, not of an app payment (inferred). */
const PRODUCTS = { code_url: 'native', prepay_id: 'jsapi', h5_url: 'h5' } as const;

function idIn(core: Core, type: PayData['type'], value: string): string | undefined {
  if (type === 'prepay_id') return /^wx(.+)$/.exec(value)?.[1];
  if (type === 'h5_url') return URL.parse(value)?.searchParams.get('prepay_id')?.slice(2);
  const root = `${core.url}/pay/wechat/`;
  return value.startsWith(root) ? value.slice(root.length) : undefined;
}

function macOf({ secrets }: Account, text: string): string {
  return createHmac('sha256', secrets['apiV3Key'] ?? '')
    .update(text)
    .digest('hex')
    .slice(0, 32);
}

/*
 * WeChat Pay publishes which requests it refuses, but not the error codes. All error codes in this file are inferred.
 */

const Envelope = z.strictObject({
  signature_type: z.literal('SKILLHUB-SHA256-RSA2048'),
  developer_platform: z.literal('SKILLHUB'),
  developer_id: z.string(),
  pub_key_id: z.string(),
  nonce_str: z.string(),
  timestamp: z.string(),
  signature: z.string(),
  payment_required: z.string(),
});

const Preorder = z.strictObject({
  skill_info: z.strictObject({ skill_id: z.string().min(1), skill_version: z.string().min(1) }),
  pay_type: z.literal('SKILL_PAY'),
  pay_mode: z.literal('AUTH_AND_PAY'),
  pay_items: z.tuple([
    z.strictObject({
      product_id: z.string().regex(/^SP[0-9A-F]{8}$/),
      pay_data: z.strictObject({ type: z.enum(['code_url', 'prepay_id', 'h5_url']), value: z.string().min(1) }),
    }),
  ]),
  expires_at: z.string().regex(/^\d{10}$/),
});

/** The longest lifetime of a payment code, in seconds. */
const MOST_SECONDS = 900;

const STANDARD_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The end of the time for which a nonce is remembered (real time, ms). A repeated nonce is refused. */
const seen = new WeakMap<Core, Map<string, number>>();

/** Serves the preorder call. Each cause for a refusal that WeChat Pay publishes has its own error. */
export async function servePreorder(ctx: Context, core: Core): Promise<void> {
  const body = rawBodyOf(ctx).toString('utf8');
  const entered = enter(core, body);
  const account = 'status' in entered ? 'default' : entered.account.name;
  const trade = 'status' in entered ? undefined : tradeOfPayData(core, entered.account, entered.payData);
  await core.answer(ctx, {
    payWay: 'wechat',
    account,
    call: 'agent-preorder',
    ...(trade ? { orderNo: trade.orderNo } : {}),
    act: () => ('status' in entered ? entered : answerPreorder(core, entered)),
    // WeChat Pay does not sign this response.
    sign: (answer) => answer,
  });
}

interface Entered {
  account: Account;
  payData: PayData;
  seconds: number;
}

function answerPreorder(core: Core, { account, payData, seconds }: Entered): Answer {
  const trade = tradeOfPayData(core, account, payData);
  if (!trade) return refuse(400, 'PAY_DATA_UNKNOWN', 'pay_data does not belong to any order of the merchant');
  if (trade.state !== 'open') return refuse(400, 'ORDER_NOT_PAYABLE', `the order is ${trade.state}`);
  return success({ payment_code: newPaymentCode(account, trade, core.clock.now() + seconds * 1000) });
}

/** The times of a request are compared with real time; the simulated clock is used only for expiry. */
function enter(core: Core, text: string): Entered | Answer {
  const envelope = Envelope.safeParse(parse(text));
  if (!envelope.success) return refuse(400, 'PARAM_ERROR', fieldOf(envelope.error, ''));
  const sent = envelope.data;
  if (/^\d{13}$/.test(sent.timestamp)) return refuse(400, 'TIMESTAMP_IN_MILLISECONDS', 'timestamp must be in seconds');
  if (!isFresh(sent.timestamp, new Date()))
    return refuse(400, 'TIMESTAMP_EXPIRED', 'timestamp is not within 5 minutes of now');
  if (!/^[A-Za-z0-9]{32}$/.test(sent.nonce_str))
    return refuse(400, 'NONCE_INVALID', 'nonce_str must have 32 letters or digits');
  if (!STANDARD_BASE64.test(sent.signature) || !STANDARD_BASE64.test(sent.payment_required))
    return refuse(400, 'NOT_STANDARD_BASE64', 'signature and payment_required must be standard Base64');
  const owner = developersIn(core).find(({ developer }) => developer.developerId === sent.developer_id);
  if (!owner) return refuse(401, 'DEVELOPER_UNKNOWN', 'no developer has this developer_id');
  const wrong = checkSignature(core, owner.developer, sent);
  if (wrong) return wrong;
  if (isReplay(core, `${sent.developer_id} ${sent.nonce_str}`))
    return refuse(400, 'NONCE_REUSED', 'nonce_str was already used');
  return readAgentRequest(owner, sent.payment_required);
}

function checkSignature(core: Core, developer: Developer, sent: z.infer<typeof Envelope>): Answer | undefined {
  const { timestamp, nonce_str: nonce, payment_required: preorder, signature, pub_key_id: keyId } = sent;
  const signed = preorderText(timestamp, nonce, preorder);
  const key = publicKeyOf(developer);
  const isSigned = verifyRsa(signed, signature, key);
  if (keyId !== developer.keyId)
    return refuse(401, 'KEY_PAIR_MISMATCH', 'pub_key_id does not belong to the signing key');
  if (isSigned) return undefined;
  if (verifyRsa(signed.subarray(0, -1), signature, key))
    return refuse(401, 'SIGN_TEXT_UNENDED', 'the signed text must end with a line feed');
  const others = developersIn(core).filter((other) => other.developer.developerId !== developer.developerId);
  return others.some((other) => verifyRsa(signed, signature, publicKeyOf(other.developer)))
    ? refuse(401, 'KEY_PAIR_MISMATCH', 'pub_key_id does not belong to the signing key')
    : refuse(401, 'SIGN_ERROR', 'the signature does not match the request');
}

function isReplay(core: Core, nonce: string): boolean {
  const [known, now] = [seen.get(core) ?? new Map<string, number>(), Date.now()];
  seen.set(core, known);
  for (const [one, until] of known) if (until <= now) known.delete(one);
  if (known.has(nonce)) return true;
  // A nonce is remembered for ten minutes, because a timestamp is valid from five minutes before to five minutes
  // after the current time.
  known.set(nonce, now + 600_000);
  return false;
}

function readAgentRequest(
  { account, developer }: { account: Account; developer: Developer },
  encoded: string,
): Entered | Answer {
  const content = parse(Buffer.from(encoded, 'base64').toString('utf8'));
  if (/"(?:amount|total|total_fee|price|currency)"\s*:/.test(JSON.stringify(content ?? null)))
    return refuse(400, 'AMOUNT_NOT_ALLOWED', 'the request must not contain an amount or a currency');
  const preorder = Preorder.safeParse(content);
  if (!preorder.success) return refuse(400, 'PARAM_ERROR', fieldOf(preorder.error, 'payment_required.'));
  const { skill_info: skill, pay_items: items, expires_at: expiresAt } = preorder.data;
  if (!developer.skills.includes(skill.skill_id))
    return refuse(403, 'SKILL_UNKNOWN', 'the developer has no skill with this skill_id');
  const seconds = Number(expiresAt) - Math.floor(Date.now() / 1000);
  if (seconds <= 0 || seconds > MOST_SECONDS)
    return refuse(400, 'EXPIRES_AT_INVALID', 'expires_at must be within 15 minutes from now');
  return { account, payData: items[0].pay_data, seconds };
}

function fieldOf({ issues: [issue] }: z.ZodError, prefix: string): string {
  return `${prefix}${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
