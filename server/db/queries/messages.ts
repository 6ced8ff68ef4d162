import { hash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { ChannelMessageRow } from '../entities/orders.ts';
import { asJson } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';

/**
 * The preset dictionary with which channel messages are compressed (RFC 1951). It contains the field names that the
 * channels document, in the sequence in which they occur in messages. A dictionary must never change after its first
 * use, because stored messages would become unreadable. A better dictionary gets the next number.
 */
const FIRST = [
  // Texts for the dictionary: error responses of the channels, and responses that occur rarely.
  `{"code":"PARAM_ERROR","message":"","detail":{"location":"body","value":""}}{"code":"ORDER_NOT_EXIST","message":"订单不存在"}`,
  `"code":"40004","msg":"Business Failed","sub_code":"ACQ.TRADE_NOT_EXIST","sub_msg":"交易不存在"`,
  `{"name":"RESOURCE_NOT_FOUND","details":[{"issue":"INVALID_RESOURCE_ID","description":"Specified resource ID does not exist. Please check the resource ID and try again."}],"message":"The specified resource does not exist.","debug_id":""}`,
  `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"","description":""}],"message":"The requested action could not be performed, semantically incorrect, or failed business validation."`,
  // Refunds.
  `{"refund_id":"5030","out_refund_no":"R2026","transaction_id":"4200","out_trade_no":"P2026","channel":"ORIGINAL","user_received_account":"支付用户零钱","success_time":"2026-","create_time":"2026-","status":"PROCESSING","funds_account":"UNSETTLED","amount":{"total":,"refund":,"from":[],"payer_total":,"payer_refund":,"settlement_refund":,"settlement_total":,"discount_refund":0,"currency":"CNY","refund_fee":0},"promotion_detail":[]}`,
  `{"alipay_trade_refund_response":{"code":"10000","msg":"Success","buyer_logon_id":"***","buyer_user_id":"2088","fund_change":"Y","out_trade_no":"P2026","refund_fee":"","send_back_fee":"","trade_no":"2026"},"sign":"***"}`,
  `{"alipay_trade_fastpay_refund_query_response":{"code":"10000","msg":"Success","out_request_no":"R2026","out_trade_no":"P2026","refund_amount":"","refund_status":"REFUND_SUCCESS","total_amount":"","trade_no":"2026"},"sign":"***"}`,
  `{"id":"","status":"COMPLETED","amount":{"currency_code":"USD","value":""},"note_to_payer":"","seller_payable_breakdown":{"gross_amount":{"currency_code":"USD","value":""},"paypal_fee":{"currency_code":"USD","value":"0.00"},"net_amount":{"currency_code":"USD","value":""},"total_refunded_amount":{"currency_code":"USD","value":""}},"custom_id":"P2026","invoice_id":"R2026","links":[{"href":"https://api-m.paypal.com/v2/payments/refunds/","rel":"self","method":"GET"}`,
  // Texts for the dictionary: responses to requests that close or query an order.
  `{"alipay_trade_close_response":{"code":"10000","msg":"Success","out_trade_no":"P2026","trade_no":"2026"},"sign":"***"}`,
  `{"alipay_trade_query_response":{"code":"10000","msg":"Success","buyer_logon_id":"***","buyer_open_id":"","buyer_user_id":"2088","buyer_user_type":"PRIVATE","buyer_pay_amount":"0.00","invoice_amount":"0.00","out_trade_no":"P2026","point_amount":"0.00","receipt_amount":"0.00","send_pay_date":"2026-","total_amount":"","trade_no":"2026","trade_status":"WAIT_BUYER_PAY"},"sign":"***"}`,
  `{"amount":{"currency":"CNY","payer_currency":"CNY","payer_total":,"total":},"appid":"wx","attach":"","bank_type":"OTHERS","mchid":"1","out_trade_no":"P2026","payer":{"openid":"o"},"promotion_detail":[],"success_time":"2026-","trade_state":"NOTPAY","trade_state_desc":"订单未支付","trade_type":"NATIVE","transaction_id":"4200"}`,
  // Notifications.
  `gmt_create=2026-&charset=utf-8&seller_email=&notify_time=2026-&subject=&sign=***&buyer_open_id=&buyer_id=2088&invoice_amount=&version=1.0&notify_id=&fund_bill_list=%5B%7B%22amount%22%3A%22%22%2C%22fundChannel%22%3A%22PCREDIT%22%7D%5D&notify_type=trade_status_sync&out_trade_no=P2026&total_amount=0.01&trade_status=TRADE_SUCCESS&trade_no=2026&auth_app_id=2021&receipt_amount=&point_amount=0.00&app_id=2021&buyer_pay_amount=&sign_type=RSA2&seller_id=2088&gmt_payment=2026-&notify_time=2026-&buyer_logon_id=***`,
  `{"id":"","create_time":"2026-","resource_type":"encrypt-resource","event_type":"TRANSACTION.SUCCESS","summary":"支付成功","resource":{"mchid":"1","appid":"wx","out_trade_no":"P2026","transaction_id":"4200","trade_type":"NATIVE","trade_state":"SUCCESS","trade_state_desc":"支付成功","bank_type":"OTHERS","attach":"","success_time":"2026-","payer":{"openid":"o"},"amount":{"total":1,"payer_total":1,"currency":"CNY","payer_currency":"CNY"}}}{"code":"SUCCESS","message":"OK"}`,
  `{"id":"WH-","event_version":"1.0","create_time":"2026-","resource_type":"checkout-order","resource_version":"2.0","event_type":"CHECKOUT.ORDER.APPROVED","summary":"An order has been approved by buyer","resource":{`,
  `{"id":"WH-","event_version":"1.0","create_time":"2026-","resource_type":"capture","resource_version":"2.0","event_type":"PAYMENT.CAPTURE.COMPLETED","summary":"Payment completed for USD ","resource":{"id":"","status":"COMPLETED","amount":{"currency_code":"USD","value":""},"final_capture":true,"seller_protection":{"status":"ELIGIBLE","dispute_categories":["ITEM_NOT_RECEIVED","UNAUTHORIZED_TRANSACTION"]},"seller_receivable_breakdown":{"gross_amount":{"currency_code":"USD","value":""},"paypal_fee":{"currency_code":"USD","value":""},"net_amount":{"currency_code":"USD","value":""}},"custom_id":"P2026","invoice_id":"P2026","payee":{"email_address":"","merchant_id":""},"supplementary_data":{"related_ids":{"order_id":""}},"create_time":"2026-","update_time":"2026-","links":[{"href":"https://api.paypal.com/v2/payments/captures/","rel":"self","method":"GET"},{"href":"https://api.paypal.com/v2/payments/captures//refund","rel":"refund","method":"POST"},{"href":"https://api.paypal.com/v2/checkout/orders/","rel":"up","method":"GET"}]}}`,
  // Texts for the dictionary: requests and responses that create an order at the channel or capture its payment. These
  // messages are the most frequent ones.
  `{"id":"","intent":"CAPTURE","status":"COMPLETED","payment_source":{"paypal":{"email_address":"","account_id":"","account_status":"VERIFIED","name":{"given_name":"","surname":""},"address":{"country_code":"US"}}},"purchase_units":[{"reference_id":"default","amount":{"currency_code":"USD","value":""},"payee":{"email_address":"","merchant_id":""},"description":"","custom_id":"P2026","invoice_id":"P2026","payments":{"captures":[{"id":"","status":"COMPLETED","amount":{"currency_code":"USD","value":""},"final_capture":true,"seller_receivable_breakdown":{"gross_amount":{"currency_code":"USD","value":""},"paypal_fee":{"currency_code":"USD","value":"0.00"},"net_amount":{"currency_code":"USD","value":""}},"seller_protection":{"status":"ELIGIBLE","dispute_categories":["ITEM_NOT_RECEIVED","UNAUTHORIZED_TRANSACTION"]},"custom_id":"P2026","invoice_id":"P2026","create_time":"2026-","update_time":"2026-","links":[]}]}}],"payer":{"name":{"given_name":"","surname":""},"email_address":"","payer_id":"","address":{"country_code":"US"}},"create_time":"2026-","update_time":"2026-"}`,
  `{"intent":"CAPTURE","purchase_units":[{"reference_id":"default","amount":{"currency_code":"USD","value":""},"description":"","custom_id":"P2026","invoice_id":"P2026"}],"payment_source":{"paypal":{"experience_context":{"return_url":"https:///return/paypal/P2026","cancel_url":"https:///return/paypal/P2026?cancelled=1","user_action":"PAY_NOW","shipping_preference":"NO_SHIPPING"}}}}{"id":"","status":"PAYER_ACTION_REQUIRED","payment_source":{"paypal":{}},"links":[{"href":"https://api-m.paypal.com/v2/checkout/orders/","rel":"self","method":"GET"},{"href":"https://www.paypal.com/checkoutnow?token=","rel":"payer-action","method":"GET"}]}{"href":"http://127.0.0.1:/paypal/v2/checkout/orders//capture","rel":"capture","method":"POST"}]}`,
  `{"appid":"wx","mchid":"1","description":"","out_trade_no":"P2026","time_expire":"2026-T+08:00","notify_url":"https:///notify/wechat/default","amount":{"total":1,"currency":"CNY"}}{"code_url":"weixin://wxpay/bizpayurl?pr="}{"code_url":"http://127.0.0.1:/pay/wechat/`,
  `app_id=2021&method=alipay.trade.precreate&format=JSON&sign_type=RSA2&timestamp=2026-%20%3A&version=1.0&notify_url=https%3A%2F%2F%2Fnotify%2Falipay%2Fdefault&biz_content=%7B%22out_trade_no%22%3A%22P2026%22%2C%22total_amount%22%3A%220.01%22%2C%22subject%22%3A%22%22%2C%22time_expire%22%3A%222026-%20%3A%22%2C%22seller_id%22%3A%222088%22%7D&sign=***`,
  `{"alipay_trade_precreate_response":{"code":"10000","msg":"Success","out_trade_no":"P2026","qr_code":"https:\\/\\/qr.alipay.com\\/bax"},"sign":"***"}"qr_code":"http:\\/\\/127.0.0.1:\\/pay\\/alipay\\/`,
].join('\n');

const NEWEST = 1;

/** Every dictionary, by its number. The first byte of a packed message contains this number. */
export const DICTIONARIES: Readonly<Record<number, Buffer>> = { 1: Buffer.from(FIRST) };

interface MessageTexts {
  request: string | null;
  answer: string | null;
}

/** A small window saves memory. Messages are short, so a larger window would not compress them better. */
const WINDOW_BITS = 14;
const MEM_LEVEL = 6;

/** Compresses request and response together (RFC 1951) to about a quarter of their size; null if there is no text. */
export function packTexts({ request, answer }: MessageTexts, about: About): Buffer | null {
  if (request === null && answer === null) return null;
  const text = [request, answer].map(marked).join(BETWEEN);
  const dictionary = dictionaryOf(NEWEST, about);
  return Buffer.concat([
    Buffer.of(NEWEST),
    deflateRawSync(text, { dictionary, windowBits: WINDOW_BITS, memLevel: MEM_LEVEL }),
  ]);
}

/** Unpacks the column `texts`. Both texts are null if a later release compressed them with its own dictionary. */
export function readTexts({ texts, ...about }: About & Pick<ChannelMessageRow, 'texts'>): MessageTexts {
  const dictionary = texts && dictionaryOf(texts[0]!, about);
  if (!dictionary) return { request: null, answer: null };
  const [request = '', answer = ''] = inflateRawSync(texts.subarray(1), { dictionary }).toString().split(BETWEEN);
  return { request: unmarked(request), answer: unmarked(answer) };
}

/** The columns of a message whose values most texts repeat. They never change. */
type About = Pick<ChannelMessageRow, 'orderNo' | 'at'>;

/** The dictionary of this number, followed by the order number and the time in the forms that the channels use. */
function dictionaryOf(number: number, { orderNo, at }: About): Buffer | undefined {
  const words = DICTIONARIES[number];
  const [utc, china] = [0, CHINA_MS].map((ms) => new Date(at.getTime() + ms).toISOString().slice(0, 19));
  return words && Buffer.concat([words, Buffer.from(`${utc}Z${china}+08:00${china!.replace('T', ' ')}${orderNo}`)]);
}

/** Alipay and WeChat Pay write times of Asia/Shanghai. */
const CHINA_MS = 8 * 3_600_000;

/** The separator between request and response. No message text contains this character. */
const BETWEEN = '\0';

function marked(text: string | null): string {
  return text === null ? '' : `+${text}`;
}

function unmarked(text: string): string | null {
  return text === '' ? null : text.slice(1);
}

/** Fields that differ in each response but have no meaning for the payment. */
const VOLATILE = /"(?:debug_id|trace_id)"\s*:\s*"[^"]*"/g;

/** The first 64 bits of the SHA-256 of a response as a PostgreSQL bigint, without `debug_id` and `trace_id`. */
export function digestOf(answer: string | null): string | null {
  if (answer === null) return null;
  return Buffer.from(hash('sha256', answer.replaceAll(VOLATILE, ''), 'buffer'))
    .readBigInt64BE()
    .toString();
}

export type NewMessage = Omit<ChannelMessageRow, 'id' | 'texts' | 'digest' | keyof Counted | 'verifiedBy'> &
  Partial<Counted & Pick<ChannelMessageRow, 'verifiedBy'>> &
  MessageTexts;

/** A message that is not stored yet. If it occurs again before that, only `times` and `lastAt` change. */
export type Waiting = NewMessage & Counted;

type Counted = Pick<ChannelMessageRow, 'times' | 'lastAt' | 'supportId'>;

export type ReadMessage = Omit<ChannelMessageRow, 'texts' | 'digest' | 'verifiedBy'> & MessageTexts;

/** The stored messages of an order, oldest first. */
export async function listMessages(tx: ReadTx, orderNo: string, limit: number): Promise<ReadMessage[]> {
  const rows = await tx.messages.list({ orderNo }, { orderBy: { id: 'asc' }, limit });
  return rows.map(({ texts, digest: _digest, verifiedBy, ...row }) => ({
    ...row,
    note: verifiedBy === null ? row.note : `${row.note}; verified with the key of account ${verifiedBy}`,
    ...readTexts({ ...row, texts }),
  }));
}

/** The `call` of a row that stands for messages that were not stored; the timeline then says that they are missing. */
export const MISSING = 'missing';

/** Whether a request queries something or closes an order; a repetition with the same response is only counted. */
export function isRepeatable({ direction, call }: Pick<NewMessage, 'direction' | 'call'>): boolean {
  return direction === 'out' && /query|close/.test(call);
}

/**
 * Stores messages in one statement. If a query or close gets the same response again, only `times` of the stored row is
 * increased; if another replica has locked that row, the message is stored as a new row.
 */
export async function writeMessages(tx: Tx, batch: readonly Waiting[]): Promise<void> {
  const seen = new Set<string>();
  const rows = batch.map(({ request, answer, ...message }, place) => {
    const topic = JSON.stringify([message.orderNo, message.refundNo, message.payWay, message.call]);
    const digest = isRepeatable(message) ? digestOf(answer) : null;
    // A topic is one kind of channel call for one order or refund. Only the first message of a topic in `batch` follows
    // directly on the stored row, so only this message is compared with that row.
    const asks = digest !== null && !seen.has(topic);
    seen.add(topic);
    return {
      ...message,
      place,
      asks,
      digest,
      texts: packTexts({ request, answer }, message)?.toString('base64') ?? null,
    };
  });
  await tx.sql`
     with fresh as materialized (
       select * from jsonb_to_recordset(${asJson(rows)}) as f
         ("place" int, "asks" boolean, "orderNo" text, "refundNo" text, "payWay" text, "direction" text, "call" text, "status" int,
          "durationMs" int, "supportId" text, "texts" text, "digest" bigint, "note" text, "verifiedBy" text, "at" timestamptz, "times" int, "lastAt" timestamptz)),
     last as materialized (
       select f.place, m.id from fresh f
        cross join lateral (
          select c.id, c.status, c.note, c.digest from channel_messages c
           where c.order_no = f."orderNo" and c.refund_no is not distinct from f."refundNo" and c.pay_way = f."payWay"
             and c.direction = f.direction and c.call = f.call
           order by c.id desc limit 1) m
        where f.asks and m.status is not distinct from f.status and m.note is not distinct from f.note
          and m.digest = f.digest),
     held as materialized (
       select id from channel_messages where id in (select id from last) order by id for update skip locked),
     counted as (
       update channel_messages m set times = m.times + f.times, last_at = greatest(m.last_at, coalesce(f."lastAt", f.at)),
             support_id = coalesce(f."supportId", m.support_id)
         from held h join last l on l.id = h.id join fresh f on f.place = l.place
        where m.id = h.id
       returning f.place)
     insert into channel_messages (order_no, refund_no, pay_way, direction, call, status, duration_ms, support_id, texts, digest, note, verified_by, at, times, last_at)
     select "orderNo", "refundNo", "payWay", direction, call, status, "durationMs", "supportId", decode(texts, 'base64'), digest, note, "verifiedBy", at, times, "lastAt"
       from fresh where place not in (select place from counted) order by place`;
}
