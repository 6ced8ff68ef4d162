/** Notices: genuine, and about which order, refund or complaint; and the registered address of complaints. */
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

/** Whose notices are genuine. */
interface NotificationReader extends Account {
  /** Every app of the configuration. */
  appIds: readonly string[];
  apiV3Key: Buffer;
  judge: Judge;
}

/**
 * Reads a notice: RSA signature over the raw bytes, then the sealed resource, then merchant and app; throws NotificationNotGenuine.
 * `outcome.amount` is what WeChat names: whether it is the order's is for settling to compare.
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
  // A refund's resource names no app.
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

/** Profit sharing is told as TRANSACTION.SUCCESS, too, but names neither an order nor its state. */
function isOfPayment(event: string, resource: Members): boolean {
  const isTrade = event.startsWith('TRANSACTION.') && ('out_trade_no' in resource || 'trade_state' in resource);
  return isTrade || event.startsWith('REFUND.');
}

/** Of another product of the merchant's (profit sharing, transfers, coupons); that its resource opens says whose it is. */
function otherNotification({ mchid: account }: NotificationReader, event: string, envelope: Members): Notification {
  const notificationId = textIn(envelope, 'id');
  if (!notificationId || !event)
    throw new NotificationNotGenuine('malformed', 'The notification has no id or no event_type.');
  return { notificationId, account, event, orderNo: null, refundNo: null, isShared: true };
}

/**
 * The app of a trade, in partner mode the partner's and, if the trade names it, the sub-merchant's; whether one is that of the
 * order is for whoever has the order to compare.
 */
function knownApps({ appIds, sub }: NotificationReader, resource: Members): string[] {
  const members = sub ? ['sp_appid', ...(textIn(resource, 'sub_appid') ? ['sub_appid'] : [])] : ['appid'];
  return members.map((member) => {
    const appId = textIn(resource, member);
    if (appIds.includes(appId)) return appId;
    throw new NotificationNotGenuine('wrong_account', `${member} is ${appId}.`);
  });
}

/** A complaint names no merchant; that its resource opens with the merchant's own key says whose it is. */
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
  // The address is one for all systems of the merchant.
  return { notificationId, account, event, orderNo: null, refundNo: null, disputeId, isShared: true };
}

function tradePart(resource: Members, receivedAt: Date): Pick<Notification, 'outcome'> {
  const outcome = readTrade(resource, receivedAt);
  if (outcome.kind === 'unknown') throw new NotificationNotGenuine('malformed', outcome.detail ?? 'Unreadable trade.');
  // Only success is ever notified; anything else is a hint.
  return outcome.kind === 'paid' ? { outcome } : {};
}

function refundPart(resource: Members, receivedAt: Date): Pick<Notification, 'refund' | 'refundNo'> {
  const refundNo = textIn(resource, 'out_refund_no');
  if (!refundNo) throw new NotificationNotGenuine('malformed', 'The notification has no out_refund_no.');
  const refund = readRefund(resource, textIn(resource, 'refund_status'), receivedAt);
  if (refund.kind === 'unknown') throw new NotificationNotGenuine('malformed', refund.detail ?? 'Unreadable refund.');
  return { refundNo, refund };
}

/** The signature was genuine, so a resource that does not open means another APIv3 key. */
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

/** Where the notices of complaints are to come. */
interface ComplaintNotifications {
  ask: Ask;
  mode: Mode;
  notifyUrl?: string | undefined;
}

/**
 * WeChat Pay tells complaints of a merchant at one address, which is found, or made where there is none. One of another system stays
 * as it is, because that would hear of nothing any more; one of another path of ours is changed.
 */
export async function registerComplaintNotifications({
  ask,
  mode,
  notifyUrl,
}: ComplaintNotifications): Promise<NotificationsRegistered> {
  if (notifyUrl === undefined) return failed('no_notify_url', 'The service does not know its own public URL.');
  if (mode !== 'simulator' && !notifyUrl.startsWith('https://'))
    return failed('not_https', `WeChat Pay calls https addresses only; the notify URL is ${notifyUrl}.`);
  const known = await readUrl(ask);
  if ('ok' in known) return known;
  if (known.url === notifyUrl) return { ok: true, fields: {} };
  if (known.url !== null && !isSameHost(known.url, notifyUrl)) return failed('complaint_url', elsewhere(known.url));
  const method = known.url === null ? 'POST' : 'PUT';
  const body = JSON.stringify({ url: notifyUrl });
  const reply = await ask({ method, target: TARGET, body, about: { call: 'webhooks' } });
  return reply.kind === 'said' ? { ok: true, fields: {} } : notKnown(reply);
}

const ADDRESS = 'Address for complaints';

/** How a test of the account finds the address; the simulator tells the address of each order. */
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

/** The same, when the credentials do not work. */
export function untestedComplaints({ notifyUrl }: Pick<ComplaintNotifications, 'notifyUrl'>): ProbeCheck[] {
  return notifyUrl === undefined ? [] : [notReached('notifications', ADDRESS)];
}

async function readUrl(ask: Ask): Promise<{ url: string | null } | Extract<NotificationsRegistered, { ok: false }>> {
  const reply = await ask({ method: 'GET', target: TARGET, about: { call: 'webhooks' } });
  // With 400, says the document of API v3; as everywhere the code counts.
  if (reply.kind === 'refused' && reply.code === 'RESOURCE_NOT_EXISTS') return { url: null };
  if (reply.kind !== 'said') return notKnown(reply);
  const url = Registered.safeParse(reply.members).data?.url;
  return url === undefined ? failed('unparsable', 'The response names no address.') : { url };
}

function notKnown(reply: Exclude<Reply, { kind: 'said' }>): Extract<NotificationsRegistered, { ok: false }> {
  if (reply.kind === 'unknown') return failed(reply.cause, reply.detail ?? 'WeChat Pay did not answer.');
  return failed(reply.code, `WeChat Pay refused: ${reply.message}`);
}

function elsewhere(url: string): string {
  return `Complaints are told to ${url}; those about this service are found within the hour. WeChat Pay has one address for a merchant: remove it there to register this service.`;
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
