/** Verifies and reads WeChat Pay's notifications, and registers the URL for complaints. */
import { z } from 'zod';
import {
  type FetchBudget,
  type Mode,
  type Notification,
  NotificationNotGenuine,
  type NotificationsRegistered,
  type ProbeCheck,
} from '../../payments/channel.ts';
import { notReached, passed, wanting } from '../checks.ts';
import { readRefund, readTrade, strangerIn } from './answers.ts';
import {
  type Ask,
  type Headers,
  type Judge,
  type Members,
  type Reply,
  UnreadableJson,
  objectIn,
  readObject,
  textIn,
} from './reply.ts';
import { type Account, merchantOf } from './requests.ts';
import { openText } from './signature.ts';

interface NotificationReader extends Account {
  appIds: readonly string[];
  apiV3Key: Buffer;
  judge: Judge;
}

/**
 * Reads a notification: verifies the RSA signature over the raw bytes, decrypts the resource, and checks the merchant
 * and the app. Throws NotificationNotGenuine. `outcome.amount` is WeChat Pay's amount in fen; payments/core compares it
 * with the amount of the order.
 */
export async function readNotification(
  reader: NotificationReader,
  headers: Headers,
  rawBody: Buffer,
  receivedAt: Date,
  budget?: FetchBudget,
): Promise<Notification> {
  const { doubt, signer } = await reader.judge(headers, rawBody, budget);
  if (doubt) throw new NotificationNotGenuine(doubt.cause, doubt.detail);
  const envelope = readMembers(rawBody);
  const resource = openResource(objectIn(envelope, 'resource'), reader.apiV3Key);
  const event = textIn(envelope, 'event_type');
  if (event.startsWith('COMPLAINT.')) return complaintNotification(reader, event, envelope, resource);
  if (!isOfPayment(event, resource)) return otherNotification(reader, event, envelope);
  const isRefund = event.startsWith('REFUND.');
  // The notification of a refund contains no app id.
  const appIds = isRefund ? undefined : knownApps(reader, resource);
  const stranger = strangerIn(resource, merchantOf(reader));
  if (stranger) throw new NotificationNotGenuine('wrong_account', stranger);
  const notificationId = textIn(envelope, 'id');
  const orderNo = textIn(resource, 'out_trade_no');
  if (!notificationId || !orderNo)
    throw new NotificationNotGenuine('malformed', 'The notification has no id or no out_trade_no.');
  const verifiedBy = { certId: signer.certId, since: signer.since };
  const notification = { notificationId, account: reader.mchid, event, orderNo, refundNo: null, verifiedBy };
  return appIds === undefined
    ? { ...notification, ...refundPart(resource, receivedAt) }
    : { ...notification, appIds, ...tradePart(resource, receivedAt) };
}

/** Profit sharing also sends TRANSACTION.SUCCESS, but without an order number and a trade state. */
function isOfPayment(event: string, resource: Members): boolean {
  const isTrade = event.startsWith('TRANSACTION.') && ('out_trade_no' in resource || 'trade_state' in resource);
  return isTrade || event.startsWith('REFUND.');
}

/**
 * Reads a notification of another product (profit sharing, transfers, coupons). It is for this merchant, because it
 * could be decrypted with the merchant's APIv3 key.
 */
function otherNotification({ mchid: account }: NotificationReader, event: string, envelope: Members): Notification {
  const notificationId = textIn(envelope, 'id');
  if (!notificationId || !event)
    throw new NotificationNotGenuine('malformed', 'The notification has no id or no event_type.');
  return { notificationId, account, event, orderNo: null, refundNo: null, isShared: true };
}

/** In partner mode the app ids of a trade are the partner's and, if the trade contains it, the sub-merchant's. */
function knownApps({ appIds, sub }: NotificationReader, resource: Members): string[] {
  const members = sub ? ['sp_appid', ...(textIn(resource, 'sub_appid') ? ['sub_appid'] : [])] : ['appid'];
  return members.map((member) => {
    const appId = textIn(resource, member);
    if (appIds.includes(appId)) return appId;
    throw new NotificationNotGenuine('wrong_account', `${member} is ${appId}.`);
  });
}

/** A complaint contains no merchant number; it is about this merchant, because its APIv3 key decrypted it. */
function complaintNotification(
  { mchid: account }: NotificationReader,
  event: string,
  envelope: Members,
  resource: Members,
): Notification {
  const notificationId = textIn(envelope, 'id');
  const disputeId = textIn(resource, 'complaint_id');
  if (!notificationId || !disputeId)
    throw new NotificationNotGenuine('malformed', 'The notification has no id or no complaint_id.');
  // All systems of the merchant share one URL for complaints, so the order may belong to a different system.
  return { notificationId, account, event, orderNo: null, refundNo: null, disputeId, isShared: true };
}

function tradePart(resource: Members, receivedAt: Date): Pick<Notification, 'outcome'> {
  const outcome = readTrade(resource, receivedAt);
  if (outcome.kind === 'unknown') throw new NotificationNotGenuine('malformed', outcome.detail ?? 'Unreadable trade.');
  // WeChat Pay sends notifications only for successful payments, so any other state is not used as a result.
  return outcome.kind === 'paid' ? { outcome } : {};
}

function refundPart(resource: Members, receivedAt: Date): Pick<Notification, 'refund' | 'refundNo'> {
  const refundNo = textIn(resource, 'out_refund_no');
  if (!refundNo) throw new NotificationNotGenuine('malformed', 'The notification has no out_refund_no.');
  const refund = readRefund(resource, textIn(resource, 'refund_status'), receivedAt);
  if (refund.kind === 'unknown') throw new NotificationNotGenuine('malformed', refund.detail ?? 'Unreadable refund.');
  return { refundNo, refund };
}

/**
 * Decrypts the resource of a notification. The signature is already verified, so a failed decryption means that the
 * configured APIv3 key is wrong.
 */
function openResource(encrypted: Members, apiV3Key: Buffer): Members {
  if (textIn(encrypted, 'algorithm') !== 'AEAD_AES_256_GCM') {
    throw new NotificationNotGenuine('malformed', 'The resource is not encrypted with AEAD_AES_256_GCM.');
  }
  const [ciphertext, nonce, associatedData] = ['ciphertext', 'nonce', 'associated_data'].map((name) =>
    textIn(encrypted, name),
  );
  return readMembers(
    openOrThrow({ ciphertext: ciphertext ?? '', nonce: nonce ?? '', associatedData: associatedData ?? '' }, apiV3Key),
  );
}

function openOrThrow(encrypted: Parameters<typeof openText>[0], apiV3Key: Buffer): string {
  try {
    return openText(encrypted, apiV3Key);
  } catch {
    throw new NotificationNotGenuine('misconfigured', 'The resource cannot be decrypted with the APIv3 key.');
  }
}

function readMembers(bytes: Buffer | string): Members {
  try {
    return readObject(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableJson)) throw error;
    throw new NotificationNotGenuine(error.why === 'duplicate_key' ? 'duplicate_key' : 'malformed', error.message);
  }
}

const TARGET = '/v3/merchant-service/complaint-notifications';
const Registered = z.object({ url: z.string().min(1) });

interface ComplaintNotifications {
  ask: Ask;
  mode: Mode;
  notifyUrl?: string | undefined;
}

/**
 * Registers the URL for complaints. WeChat Pay stores one URL per merchant. A URL on a different host is not replaced,
 * because the system on that host would stop receiving complaints. A URL on the same host is replaced.
 */
export async function registerComplaintNotifications({
  ask,
  mode,
  notifyUrl,
}: ComplaintNotifications): Promise<NotificationsRegistered> {
  if (notifyUrl === undefined) return failed('no_notify_url', 'The public URL is missing: set Server.PublicUrl.');
  if (mode !== 'simulator' && !notifyUrl.startsWith('https://'))
    return failed('not_https', `WeChat Pay calls only https URLs, but the notify URL is ${notifyUrl}.`);
  const known = await readUrl(ask);
  if ('ok' in known) return known;
  if (known.url === notifyUrl) return { ok: true, fields: {} };
  if (known.url !== null && !isSameHost(known.url, notifyUrl)) return failed('complaint_url', elsewhere(known.url));
  const method = known.url === null ? 'POST' : 'PUT';
  const body = JSON.stringify({ url: notifyUrl });
  const reply = await ask({ method, target: TARGET, body, about: { call: 'webhooks' } });
  return reply.kind === 'answered' ? { ok: true, fields: {} } : notKnown(reply);
}

const ADDRESS = 'Address for complaints';

/**
 * Checks the registered URL for complaints in a test of the configuration. The simulator may have no registered URL,
 * because it uses the URL of each order.
 */
export async function complaintChecks({ ask, mode, notifyUrl }: ComplaintNotifications): Promise<ProbeCheck[]> {
  if (notifyUrl === undefined) return [];
  const known = await readUrl(ask);
  if ('ok' in known) return [lacking(known.code, `The address for complaints cannot be read: ${known.message}`)];
  if (known.url === notifyUrl || (known.url === null && mode === 'simulator'))
    return [passed('notifications', ADDRESS)];
  const none =
    'No address is registered for complaints, so they are found within the hour. Register it: payctl channel set wechat';
  return [lacking('complaint_url', known.url === null ? none : elsewhere(known.url))];
}

/** Builds the check of the URL for complaints with the result "not tested". */
export function untestedComplaints({ notifyUrl }: Pick<ComplaintNotifications, 'notifyUrl'>): ProbeCheck[] {
  return notifyUrl === undefined ? [] : [notReached('notifications', ADDRESS)];
}

async function readUrl(ask: Ask): Promise<{ url: string | null } | Extract<NotificationsRegistered, { ok: false }>> {
  const reply = await ask({ method: 'GET', target: TARGET, about: { call: 'webhooks' } });
  // WeChat Pay's document states HTTP 400 for this code. The status is not checked, only the code.
  if (reply.kind === 'refused' && reply.code === 'RESOURCE_NOT_EXISTS') return { url: null };
  if (reply.kind !== 'answered') return notKnown(reply);
  const url = Registered.safeParse(reply.members).data?.url;
  return url === undefined ? failed('unparsable', "WeChat Pay's response has no URL.") : { url };
}

function notKnown(reply: Exclude<Reply, { kind: 'answered' }>): Extract<NotificationsRegistered, { ok: false }> {
  if (reply.kind === 'unknown') return failed(reply.cause, reply.detail ?? 'WeChat Pay did not respond.');
  return failed(reply.code, `WeChat Pay refused: ${reply.message}`);
}

function elsewhere(url: string): string {
  return `WeChat Pay sends complaints to ${url}; this service finds its own within the hour. A merchant has one address: remove it at WeChat Pay to register this service.`;
}

function isSameHost(one: string, other: string): boolean {
  return URL.parse(one)?.host === URL.parse(other)?.host;
}

function lacking(code: string | null, message: string): ProbeCheck {
  return wanting('notifications', ADDRESS, 'lacking', { code, message });
}

function failed(code: string, message: string): Extract<NotificationsRegistered, { ok: false }> {
  return { ok: false, field: null, code, message };
}
