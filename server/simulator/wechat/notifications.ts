/** Encrypts and signs notifications. Serves the calls that register the URL for complaint notifications. */
import { z } from 'zod';
import type { Account } from '../accounts.ts';
import { duplicateFirstKey, type FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import type { NotificationRecord, SignedNotification } from '../notification.ts';
import { type Merchant, type SigningKey, signingKeyOf } from './account.ts';
import { beijingTime, encrypted, signHeaders, withWrongAmount } from './answers.ts';
import {
  type WechatRequest,
  type CallRoute,
  type Planned,
  badParameter,
  empty,
  readBody,
  refuse,
  settled,
  success,
} from './requests.ts';

/** The URL must be https, as at WeChat Pay. The simulator also accepts http on this machine. */
const Body = z.object({
  url: z
    .string()
    .max(255)
    .regex(/^https:\/\/|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]/),
});

const PATH = /^\/v3\/merchant-service\/complaint-notifications$/;

/** A merchant has one URL for complaint notifications (pay.weixin.qq.com, chapter10_2_2 to 10_2_5 of API v3). */
export const COMPLAINT_NOTIFICATION_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: PATH, call: 'webhooks', plan: (request) => ({ act: () => show(request) ?? absent() }) },
  { method: 'POST', path: PATH, call: 'webhooks', plan: (request) => planUrl(request, (url) => create(request, url)) },
  { method: 'PUT', path: PATH, call: 'webhooks', plan: (request) => planUrl(request, (url) => change(request, url)) },
  { method: 'DELETE', path: PATH, call: 'webhooks', plan: (request) => ({ act: () => remove(request) }) },
];

/** Returns the registered URL for complaint notifications; undefined if no URL is registered. */
export function complaintUrlOf({ secrets }: Account): string | undefined {
  return secrets['complaintUrl'] || undefined;
}

type Reply = ReturnType<typeof success>;

function planUrl({ rawBody }: WechatRequest, act: (url: string) => Reply): Planned {
  const read = readBody(Body, rawBody);
  return read.ok ? { act: () => act(read.body.url) } : settled(badParameter(read.field, read.issue));
}

function show({ account, merchant: { mchid } }: WechatRequest): Reply | undefined {
  const url = complaintUrlOf(account);
  return url === undefined ? undefined : success({ mchid, url });
}

function create(request: WechatRequest, url: string): Reply {
  if (complaintUrlOf(request.account) !== undefined) return refuse(400, 'INVALID_REQUEST', '投诉通知回调地址已存在');
  return write(request, url);
}

function change(request: WechatRequest, url: string): Reply {
  return complaintUrlOf(request.account) === undefined ? absent() : write(request, url);
}

function remove({ core, account }: WechatRequest): Reply {
  keep(core, account, '');
  return empty(204);
}

function write(request: WechatRequest, url: string): Reply {
  const { core, account } = request;
  keep(core, account, url);
  return show(request) ?? absent();
}

function keep(core: Core, account: Account, complaintUrl: string): void {
  account.secrets = { ...account.secrets, complaintUrl };
  core.accounts.save();
}

function absent(): Reply {
  return refuse(400, 'RESOURCE_NOT_EXISTS', '查询的通知回调不存在');
}

/** Encrypts and signs a notification. Every delivery has the same content and a new nonce. */
export async function encryptNotification(
  core: Core,
  merchant: Merchant,
  notification: NotificationRecord,
  fault: FaultName | undefined,
): Promise<SignedNotification> {
  const plain = JSON.stringify(notificationOf(merchant, notification, fault));
  const body = fault === 'duplicate-key' ? duplicateFirstKey(plain) : plain;
  const headers = await signHeaders(core, notificationKeyOf(merchant, notification), body, fault);
  return {
    headers: { 'Content-Type': 'application/json', 'User-Agent': 'Mozilla/4.0', ...headers },
    body: Buffer.from(body),
  };
}

/**
 * Selects the key that signs a delivery. A merchant that changes to public keys accepts public keys and certificates.
 * Its deliveries then use a public key and a certificate alternately.
 */
function notificationKeyOf(merchant: Merchant, { attempts }: NotificationRecord): SigningKey {
  const newest = merchant.publicKeys[0]?.serial;
  return signingKeyOf(merchant, merchant.verifyMode === 'both' && attempts % 2 === 1 ? '' : newest);
}

function notificationOf(
  { apiV3Key }: Merchant,
  { id, event, facts, createdAt }: NotificationRecord,
  fault: FaultName | undefined,
) {
  const kind = KINDS[event.split('.')[0] ?? ''] ?? 'transaction';
  const resource = fault === 'wrong-amount' ? withWrongAmount(facts) : facts;
  return {
    id,
    create_time: beijingTime(createdAt),
    resource_type: 'encrypt-resource',
    event_type: event,
    summary: SUMMARIES[kind],
    resource: { original_type: kind, ...encrypted(JSON.stringify(resource), kind, apiV3Key, fault) },
  };
}

const KINDS: Readonly<Record<string, string>> = { REFUND: 'refund', COMPLAINT: 'complaint' };
const SUMMARIES: Readonly<Record<string, string>> = {
  refund: '退款通知',
  complaint: '投诉通知',
  transaction: '支付成功',
};
