import { randomBytes, type KeyObject } from 'node:crypto';
import { sealText } from '../../channels/wechat/aead.ts';
import { answerText, SIGNTEST, signRsa } from '../../channels/wechat/signature.ts';
import type { Core } from '../half.ts';
import type { Answer } from '../exchange.ts';
import type { FaultName } from '../faults.ts';
import type { NoticeRecord, SignedNotice } from '../notice.ts';
import { duplicateFirstKey } from '../spoil.ts';
import { privateKeyOf, signingKeyOf, type Merchant, type SigningKey } from './account.ts';
import { beijingTime } from './present.ts';

/** Seconds by which `clock-skew` is off. */
const SKEW = 600;

/** Signs an answer with the key that the request asked for, or wrongly as the fault says. */
export async function sealAnswer(
  core: Core,
  merchant: Merchant,
  askedSerial: string,
  answer: Answer,
  fault: FaultName | undefined,
): Promise<Answer> {
  const body = fault === 'duplicate-key' ? duplicateFirstKey(answer.body) : answer.body;
  const headers = await signHeaders(core, signingKeyOf(merchant, askedSerial), body, fault);
  const type: Record<string, string> = body === '' ? {} : { 'Content-Type': 'application/json; charset=utf-8' };
  return { ...answer, body, headers: { ...answer.headers, ...type, ...headers } };
}

/** Seals the facts of a notice with the APIv3 key and signs it: the same facts each time, under a new nonce. */
export async function sealNotice(
  core: Core,
  merchant: Merchant,
  notice: NoticeRecord,
  fault: FaultName | undefined,
): Promise<SignedNotice> {
  const plain = JSON.stringify(noticeOf(merchant, notice, fault));
  const body = fault === 'duplicate-key' ? duplicateFirstKey(plain) : plain;
  const headers = await signHeaders(core, noticeKeyOf(merchant, notice), body, fault);
  return {
    headers: { 'Content-Type': 'application/json', 'User-Agent': 'Mozilla/4.0', ...headers },
    body: Buffer.from(body),
  };
}

/** An encrypted member as WeChat writes it; `bad-tag` and `bad-aad` are signed like any other and do not open. */
export function encrypted(
  text: string,
  associatedData: string,
  apiV3Key: string,
  fault?: FaultName,
): Record<string, string> {
  const key = Buffer.from(apiV3Key);
  const { ciphertext, nonce } = sealText(text, randomBytes(6).toString('hex'), associatedData, key);
  return {
    algorithm: 'AEAD_AES_256_GCM',
    ciphertext: fault === 'bad-tag' ? withBadTag(ciphertext) : ciphertext,
    associated_data: fault === 'bad-aad' ? `${associatedData}s` : associatedData,
    nonce,
  };
}

function withBadTag(ciphertext: string): string {
  const bytes = Buffer.from(ciphertext, 'base64');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return bytes.toString('base64');
}

/** While a merchant changes over, every other delivery is signed the new way. */
function noticeKeyOf(merchant: Merchant, { attempts }: NoticeRecord): SigningKey {
  const newest = merchant.publicKeys[0]?.serial;
  return signingKeyOf(merchant, merchant.verifyMode === 'both' && attempts % 2 === 1 ? '' : newest);
}

function noticeOf({ apiV3Key }: Merchant, { id, event, facts, createdAt }: NoticeRecord, fault: FaultName | undefined) {
  const kind = KINDS[event.split('.')[0] ?? ''] ?? 'transaction';
  const told = fault === 'wrong-amount' ? withWrongAmount(facts) : facts;
  return {
    id,
    create_time: beijingTime(createdAt),
    resource_type: 'encrypt-resource',
    event_type: event,
    summary: SUMMARIES[kind],
    resource: { original_type: kind, ...encrypted(JSON.stringify(told), kind, apiV3Key, fault) },
  };
}

const KINDS: Readonly<Record<string, string>> = { REFUND: 'refund', COMPLAINT: 'complaint' };
const SUMMARIES: Readonly<Record<string, string>> = {
  refund: '退款通知',
  complaint: '投诉通知',
  transaction: '支付成功',
};

/** Facts whose amounts are one fen too high. */
export function withWrongAmount(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const amount = facts.amount as Record<string, unknown> | undefined;
  const wrong = Object.entries(amount ?? {}).map(([name, value]) => [
    name,
    typeof value === 'number' ? value + 1 : value,
  ]);
  return { ...facts, amount: Object.fromEntries(wrong) };
}

async function signHeaders(
  core: Core,
  key: SigningKey,
  body: string,
  fault: FaultName | undefined,
): Promise<Record<string, string>> {
  if (fault === 'no-signature') return {};
  const timestamp = String(Math.floor(Date.now() / 1000) - (fault === 'clock-skew' ? SKEW : 0));
  const nonce = randomBytes(16).toString('hex');
  const signature = await signRsa(answerText(timestamp, nonce, Buffer.from(body)), keyFor(core, key, fault));
  return {
    'Wechatpay-Timestamp': timestamp,
    'Wechatpay-Nonce': nonce,
    'Wechatpay-Signature': fault === 'signtest' ? SIGNTEST + signature : signature,
    'Wechatpay-Signature-Type': 'WECHATPAY2-SHA256-RSA2048',
    'Wechatpay-Serial': fault === 'unknown-serial' ? randomBytes(20).toString('hex').toUpperCase() : key.serial,
  };
}

function keyFor(core: Core, key: SigningKey, fault: FaultName | undefined): KeyObject {
  return fault === 'wrong-key' ? core.strangerKey : privateKeyOf(key.privateKey);
}
