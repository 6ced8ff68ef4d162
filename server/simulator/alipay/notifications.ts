import { randomBytes } from 'node:crypto';
import { signRsa2 } from '../../channels/alipay/signature.ts';
import type { FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import type { NotificationRecord, SignedNotification } from '../notification.ts';
import { SimulatorRefusal } from '../requests.ts';
import { type Refund, type Trade, paymentOf } from '../trade.ts';
import type { AlipayAccount } from './account.ts';
import { type Charset, charsetOf, chinaTime, encode } from './answers.ts';
import { formEncode, receivedOf, refundedSum, sellerOf, tradeNoOf, tradeStatus, yuan } from './requests.ts';
import { CANCELLED } from './trades.ts';

/** Notifies the trade's notify_url of a payment or of `refund`; without a notify_url, nothing is sent. */
export function sendNotification(core: Core, trade: Trade, account: AlipayAccount, refund?: Refund): void {
  const payment = paymentOf(trade);
  if (trade.notifyUrl === null || payment === undefined) return;
  const status = tradeStatus(trade, core.clock.now());
  const facts = {
    notify_type: 'trade_status_sync',
    version: '1.0',
    app_id: account.appId,
    auth_app_id: account.appId,
    charset: String(trade.details['charset'] ?? 'utf-8'),
    trade_no: tradeNoOf(trade),
    out_trade_no: trade.orderNo,
    seller_id: sellerOf(trade, account),
    buyer_id: '2088000000000001',
    subject: trade.subject,
    trade_status: status,
    total_amount: yuan(trade, trade.minor),
    ...receivedOf(trade, payment),
    gmt_create: chinaTime(trade.createdAt),
    gmt_payment: chinaTime(payment.at),
    fund_bill_list: JSON.stringify([{ amount: yuan(trade, payment.minor), fundChannel: 'ALIPAYACCOUNT' }]),
    ...(trade.details['passback'] === undefined ? {} : { passback_params: String(trade.details['passback']) }),
    ...refundFacts(core, trade, refund, status),
  };
  const id = core.trades.newNumber(
    () => `${chinaTime(core.clock.now()).replace(/\D/g, '')}${randomBytes(10).toString('hex')}`,
  );
  core.notifications.send(
    trade,
    { id, event: refund ? 'refund' : status, url: trade.notifyUrl, facts },
    core.notificationDelay(trade),
  );
}

/**
 * Notifies the merchant of the bank's result of a refund ("收单退款冲退完成通知", alipay.trade.refund.depositback.completed).
 * Alipay sends it to the app's gateway address; the simulator uses the trade's notify_url. The result F means that
 * Alipay credited the payer's balance. Throws SimulatorRefusal for a refund without `deposit_back_info`, because Alipay
 * does not notify of it.
 */
export function notifyBank(core: Core, trade: Trade, account: AlipayAccount, refund: Refund): void {
  if (!refund.notifiesBank)
    throw new SimulatorRefusal(
      409,
      'not_asked_for',
      'Alipay reports the result of the bank only for refunds that were requested with deposit_back_info.',
    );
  if (trade.notifyUrl === null) return;
  const at = core.clock.now();
  const content = {
    trade_no: tradeNoOf(trade),
    out_trade_no: trade.orderNo,
    out_request_no: refund.refundNo,
    dback_status: refund.bankSaid,
    ...(refund.bankSaid === 'S' ? { dback_amount: yuan(trade, refund.minor) } : {}),
    bank_ack_time: chinaTime(at),
  };
  const facts = {
    utc_timestamp: String(at),
    msg_method: 'alipay.trade.refund.depositback.completed',
    app_id: account.appId,
    version: '1.1',
    charset: 'utf-8',
    biz_content: JSON.stringify(content),
  };
  const id = core.trades.newNumber(() => randomBytes(16).toString('hex'));
  core.notifications.send(
    trade,
    { id, event: facts.msg_method, url: trade.notifyUrl, facts },
    core.notificationDelay(trade),
  );
}

/** Encodes and signs a notification for one delivery; only `notify_time` and the signature differ each time. */
export async function signNotification(
  core: Core,
  account: AlipayAccount,
  notification: NotificationRecord,
  fault: FaultName | undefined,
): Promise<SignedNotification> {
  const charset = charsetOf(String(notification.facts['charset'])) ?? 'utf-8';
  const params: Record<string, string> = {
    ...(notification.facts as Record<string, string>),
    notify_id: notification.id,
    ...('msg_method' in notification.facts ? {} : { notify_time: chinaTime(Date.now()) }),
  };
  if (fault === 'wrong-amount') params['total_amount'] = (Number(params['total_amount']) + 0.01).toFixed(2);
  const key = fault === 'wrong-key' || fault === 'unknown-serial' ? core.strangerKey : account.alipayKey;
  const sign =
    fault === 'signtest' ? randomBytes(256).toString('base64') : await signRsa2(signedText(params, charset), key);
  const signature: [string, string][] = fault === 'no-signature' ? [] : [['sign', sign]];
  const again: [string, string][] = fault === 'duplicate-key' ? [['trade_status', 'TRADE_SUCCESS']] : [];
  const pairs = [...Object.entries(params), ['sign_type', 'RSA2'] as const, ...signature, ...again];
  const body = pairs.map(([name, value]) => `${name}=${formEncode(encode(value, charset))}`).join('&');
  return {
    headers: {
      'Content-Type': `application/x-www-form-urlencoded; text/html; charset=${charset}`,
      'User-Agent': 'Mozilla/4.0',
    },
    body: Buffer.from(body, 'latin1'),
  };
}

function signedText(params: Readonly<Record<string, string>>, charset: Charset): Buffer {
  const text = Object.keys(params)
    .toSorted()
    .map((name) => `${name}=${params[name]}`);
  return encode(text.join('&'), charset);
}

function refundFacts(core: Core, trade: Trade, refund: Refund | undefined, status: string): Record<string, string> {
  if (refund === undefined) return {};
  return {
    ...(refund.refundNo.startsWith(CANCELLED) ? {} : { out_biz_no: refund.refundNo }),
    refund_fee: yuan(trade, refundedSum(trade)),
    gmt_refund: `${chinaTime(refund.doneAt ?? core.clock.now())}.000`,
    ...(status === 'TRADE_CLOSED' ? { gmt_close: chinaTime(core.clock.now()) } : {}),
  };
}
