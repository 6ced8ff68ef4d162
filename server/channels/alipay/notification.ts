import { z } from 'zod';
import { NotificationNotGenuine, type Notification } from '../../payments/channel.ts';
import { readMajorText } from '../../money.ts';
import { readTrade } from './answers.ts';
import { decoderOf } from './reply.ts';
import { notificationText, signerIn } from './signature.ts';
import type { KeyRing } from '../key-ring.ts';
import { hasUniqueMembers } from '../unique-members.ts';

/** Alipay sends fewer parameters; a body with more is rejected before it is parsed. */
const MAX_PARAMETERS = 200;

interface NotificationReader {
  appId: string;
  /** The configured seller id; empty = the seller of a notification is not checked. */
  sellerId: string;
  ring: KeyRing;
}

/**
 * Reads a notification. First verifies the RSA2 signature over the decoded bytes, then checks app_id and seller_id.
 * Throws NotificationNotGenuine. `outcome.amount` is total_amount in fen; payments/core compares it with the amount of
 * the order.
 */
export function readNotification(
  { appId, sellerId, ring }: NotificationReader,
  rawBody: Buffer,
  receivedAt: Date,
): Notification {
  const fields = splitForm(rawBody);
  const sign = fields.get('sign')?.toString('latin1') ?? '';
  if (sign === '') throw new NotificationNotGenuine('unsigned', 'The notification has no parameter sign.');
  const signType = fields.get('sign_type')?.toString('latin1');
  if (signType !== 'RSA2') throw new NotificationNotGenuine('signature_invalid', 'The sign_type is not RSA2.');
  const signer = signerIn(ring, signedBytes(fields), sign);
  if (!signer) {
    throw new NotificationNotGenuine('signature_invalid', 'The signature does not match a configured key of Alipay.');
  }
  const params = decodeFields(fields);
  if (params.app_id !== appId)
    throw new NotificationNotGenuine('wrong_account', `The notification is for a different app_id: ${params.app_id}.`);
  const { certId, since } = signer;
  const verifiedBy = { certId, since };
  if (params.msg_method) return { ...messageOf(params.msg_method, params), verifiedBy };
  if (sellerId !== '' && params.seller_id !== sellerId) {
    throw new NotificationNotGenuine(
      'wrong_account',
      `The notification is for a different seller_id: ${params.seller_id}.`,
    );
  }
  return { ...notificationOf(params, receivedAt), verifiedBy };
}

/** The message "收单退款冲退完成通知": the payer's bank has accepted or rejected a refund to a bank card. */
const BANK_RESULT = 'alipay.trade.refund.depositback.completed';

const BankResult = z.object({
  out_trade_no: z.string().min(1),
  out_request_no: z.string().min(1),
  dback_status: z.string(),
});

/**
 * Reads a message that Alipay sent to the app gateway. All systems that use the app share this gateway, so most
 * messages are not for this service. The only message that is used is the bank's result of a refund. With
 * `dback_status` F the bank rejected the refund and Alipay credited the payer's Alipay balance
 * ("银行卡冲退失败，资金自动转入用户支付宝余额").
 */
function messageOf(event: string, params: Readonly<Record<string, string>>): Notification {
  const { notify_id: notificationId, app_id: account = '', biz_content: content = '' } = params;
  if (!notificationId) throw new NotificationNotGenuine('malformed', 'The message has no notify_id.');
  const message = { notificationId, account, event, isShared: true } as const;
  const result = event === BANK_RESULT ? BankResult.safeParse(readContent(content)) : undefined;
  if (result?.success === false)
    throw new NotificationNotGenuine('malformed', 'The message about a refund has no refund number or no status.');
  if (result?.data.dback_status !== 'F') return { ...message, orderNo: null, refundNo: null };
  const { out_trade_no: orderNo, out_request_no: refundNo } = result.data;
  return { ...message, orderNo, refundNo, bankRefused: true };
}

function readContent(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return hasUniqueMembers(text, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A notification about a refund contains only the sum of all refunds, so the caller queries the refund `refundNo`. */
function notificationOf(params: Readonly<Record<string, string>>, receivedAt: Date): Notification {
  if (!params.notify_id) throw new NotificationNotGenuine('malformed', 'The notification has no notify_id.');
  const sum = readMajorText(params.refund_fee, 'CNY');
  const refunded = Boolean(params.gmt_refund) || (sum !== undefined && sum.minor > 0n);
  const notification = {
    notificationId: params.notify_id,
    account: params.app_id ?? '',
    event: params.trade_status ?? params.notify_type ?? '',
    orderNo: params.out_trade_no || null,
    refundNo: (refunded && params.out_biz_no) || null,
  };
  if (!params.trade_status) return notification;
  // A refunded trade was paid, even if the notification has no time of payment.
  const paidAt = params.gmt_payment || params.gmt_refund || (refunded ? params.refund_fee : '');
  const outcome = readTrade(params, paidAt, receivedAt);
  if (outcome.kind === 'unknown')
    throw new NotificationNotGenuine('malformed', outcome.detail ?? 'Unreadable notification.');
  if (outcome.kind === 'paid' && refunded) {
    const total = sum && sum.minor > 0n ? { refundedTotal: sum.minor } : {};
    return { ...notification, outcome: { ...outcome, refundsHint: true, ...total } };
  }
  return { ...notification, outcome };
}

function splitForm(body: Buffer): Map<string, Buffer> {
  const fields = new Map<string, Buffer>();
  const pairs = body.toString('latin1').split('&', MAX_PARAMETERS + 1);
  if (pairs.length > MAX_PARAMETERS)
    throw new NotificationNotGenuine('malformed', 'The notification has more parameters than the service accepts.');
  for (const pair of pairs) {
    const [, rawKey = '', rawValue = ''] = /^([^=]*)=?([^]*)$/.exec(pair) ?? [];
    const key = percentDecode(rawKey).toString('latin1');
    if (!/^\w{1,64}$/.test(key))
      throw new NotificationNotGenuine('malformed', 'A parameter of the notification has an invalid name.');
    if (fields.has(key))
      throw new NotificationNotGenuine('duplicate_key', `The notification has the parameter ${key} more than once.`);
    fields.set(key, percentDecode(rawValue));
  }
  return fields;
}

function percentDecode(text: string): Buffer {
  const plain = text.replaceAll('+', ' ');
  if (/%(?![0-9A-Fa-f]{2})/.test(plain))
    throw new NotificationNotGenuine('malformed', 'The body of the notification is not form-encoded.');
  const bytes = plain.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}

/** The signature covers bytes in the charset of the message; latin1 keeps each byte unchanged. */
function signedBytes(fields: ReadonlyMap<string, Buffer>): Buffer {
  const values = Array.from(fields, ([key, bytes]) => [key, bytes.toString('latin1')] as const);
  return Buffer.from(notificationText(Object.fromEntries(values)), 'latin1');
}

function decodeFields(fields: ReadonlyMap<string, Buffer>): Record<string, string> {
  const charset = fields.get('charset')?.toString('latin1') ?? 'utf-8';
  const decoder = decoderOf(charset);
  try {
    return Object.fromEntries(Array.from(fields, ([key, bytes]) => [key, decoder.decode(bytes)]));
  } catch {
    throw new NotificationNotGenuine('malformed', `The notification is not valid ${charset} text.`);
  }
}
