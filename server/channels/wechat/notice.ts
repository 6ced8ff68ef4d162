import { type FetchBudget, NoticeNotGenuine, type Notice } from '../../payments/channel.ts';
import { openText } from './aead.ts';
import { readRefund, readTrade, strangerIn } from './answers.ts';
import type { Headers, Judge } from './genuine.ts';
import { objectIn, readObject, textIn, UnreadableJson, type Members } from './json.ts';
import { type Account, merchantOf } from './requests.ts';

/** Whose notices are genuine. */
export interface NoticeReader extends Account {
  /** Every app of the configuration. */
  appIds: readonly string[];
  apiV3Key: Buffer;
  judge: Judge;
}

/**
 * Reads a notice: RSA signature over the raw bytes, then the sealed resource, then merchant and app; throws NoticeNotGenuine.
 * `outcome.amount` is what WeChat names: whether it is the order's is for settling to compare.
 */
export async function readNotice(
  reader: NoticeReader,
  headers: Headers,
  rawBody: Buffer,
  receivedAt: Date,
  budget?: FetchBudget,
): Promise<Notice> {
  const { doubt, signer } = await reader.judge(headers, rawBody, budget);
  if (doubt) throw new NoticeNotGenuine(doubt.cause, doubt.detail);
  const envelope = readMembers(rawBody);
  const resource = openResource(objectIn(envelope, 'resource'), reader.apiV3Key);
  const event = textIn(envelope, 'event_type');
  if (event.startsWith('COMPLAINT.')) return complaintNotice(reader, event, envelope, resource);
  if (!isOfPayment(event, resource)) return otherNotice(reader, event, envelope);
  const isRefund = event.startsWith('REFUND.');
  // A refund's resource names no app.
  const appIds = isRefund ? undefined : knownApps(reader, resource);
  const stranger = strangerIn(resource, merchantOf(reader));
  if (stranger) throw new NoticeNotGenuine('wrong_account', stranger);
  const noticeId = textIn(envelope, 'id');
  const orderNo = textIn(resource, 'out_trade_no');
  if (!noticeId || !orderNo) throw new NoticeNotGenuine('malformed', 'The notification has no id or no out_trade_no.');
  const verifiedBy = { certId: signer.certId, since: signer.since };
  const notice = { noticeId, account: reader.mchid, event, orderNo, refundNo: null, verifiedBy };
  return appIds === undefined
    ? { ...notice, ...refundPart(resource, receivedAt) }
    : { ...notice, appIds, ...tradePart(resource, receivedAt) };
}

/** Profit sharing is told as TRANSACTION.SUCCESS, too, but names neither an order nor its state. */
function isOfPayment(event: string, resource: Members): boolean {
  const isTrade = event.startsWith('TRANSACTION.') && ('out_trade_no' in resource || 'trade_state' in resource);
  return isTrade || event.startsWith('REFUND.');
}

/** Of another product of the merchant's (profit sharing, transfers, coupons); that its resource opens says whose it is. */
function otherNotice({ mchid: account }: NoticeReader, event: string, envelope: Members): Notice {
  const noticeId = textIn(envelope, 'id');
  if (!noticeId || !event) throw new NoticeNotGenuine('malformed', 'The notification has no id or no event_type.');
  return { noticeId, account, event, orderNo: null, refundNo: null, isShared: true };
}

/**
 * The app of a trade, in partner mode the partner's and, if the trade names it, the sub-merchant's; whether one is that of the
 * order is for whoever has the order to compare.
 */
function knownApps({ appIds, sub }: NoticeReader, resource: Members): string[] {
  const members = sub ? ['sp_appid', ...(textIn(resource, 'sub_appid') ? ['sub_appid'] : [])] : ['appid'];
  return members.map((member) => {
    const appId = textIn(resource, member);
    if (appIds.includes(appId)) return appId;
    throw new NoticeNotGenuine('wrong_account', `${member} is ${appId}.`);
  });
}

/** A complaint names no merchant; that its resource opens with the merchant's own key says whose it is. */
function complaintNotice(
  { mchid: account }: NoticeReader,
  event: string,
  envelope: Members,
  resource: Members,
): Notice {
  const noticeId = textIn(envelope, 'id');
  const disputeId = textIn(resource, 'complaint_id');
  if (!noticeId || !disputeId)
    throw new NoticeNotGenuine('malformed', 'The notification has no id or no complaint_id.');
  // The address is one for all systems of the merchant.
  return { noticeId, account, event, orderNo: null, refundNo: null, disputeId, isShared: true };
}

function tradePart(resource: Members, receivedAt: Date): Pick<Notice, 'outcome'> {
  const outcome = readTrade(resource, receivedAt);
  if (outcome.kind === 'unknown') throw new NoticeNotGenuine('malformed', outcome.detail ?? 'Unreadable trade.');
  // Only success is ever notified; anything else is a hint.
  return outcome.kind === 'paid' ? { outcome } : {};
}

function refundPart(resource: Members, receivedAt: Date): Pick<Notice, 'refund' | 'refundNo'> {
  const refundNo = textIn(resource, 'out_refund_no');
  if (!refundNo) throw new NoticeNotGenuine('malformed', 'The notification has no out_refund_no.');
  const refund = readRefund(resource, textIn(resource, 'refund_status'), receivedAt);
  if (refund.kind === 'unknown') throw new NoticeNotGenuine('malformed', refund.detail ?? 'Unreadable refund.');
  return { refundNo, refund };
}

/** The signature was genuine, so a resource that does not open means another APIv3 key. */
function openResource(sealed: Members, apiV3Key: Buffer): Members {
  if (textIn(sealed, 'algorithm') !== 'AEAD_AES_256_GCM') {
    throw new NoticeNotGenuine('malformed', 'The resource is not encrypted with AEAD_AES_256_GCM.');
  }
  const [ciphertext, nonce, associatedData] = ['ciphertext', 'nonce', 'associated_data'].map((name) =>
    textIn(sealed, name),
  );
  return readMembers(
    openOrThrow({ ciphertext: ciphertext ?? '', nonce: nonce ?? '', associatedData: associatedData ?? '' }, apiV3Key),
  );
}

function openOrThrow(sealed: Parameters<typeof openText>[0], apiV3Key: Buffer): string {
  try {
    return openText(sealed, apiV3Key);
  } catch {
    throw new NoticeNotGenuine('misconfigured', 'The resource cannot be decrypted with the APIv3 key.');
  }
}

function readMembers(bytes: Buffer | string): Members {
  try {
    return readObject(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableJson)) throw error;
    throw new NoticeNotGenuine(error.why === 'duplicate_key' ? 'duplicate_key' : 'malformed', error.message);
  }
}
