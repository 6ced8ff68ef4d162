import type { Outcome, PlaceOrder } from '../../payments/channel.ts';
import { readMajorText } from '../../payments/money.ts';
import { hasText, otherThing, readChinaTime } from './answers.ts';
import { createDoubt, isRefusedForGood } from './create-refusals.ts';
import { unknown, unknownRefusal, type Said } from './reply.ts';
import { CODE, saysNoProduct } from './status.ts';

/** The answer to precreate: pending with the QR text. */
export function readCode(said: Said, order: PlaceOrder): Outcome {
  const { content } = said;
  const refused = refusalOf(said, order);
  if (refused) return refused;
  if (typeof content.qr_code !== 'string' || content.qr_code === '')
    return unknown('unparsable', 'The response has no qr_code.');
  return { kind: 'pending', pay: { type: 'qr', qrCode: content.qr_code } };
}

/** Alipay's own words, which do not name the product that is missing. */
function reasonOf(said: Said): string {
  if (!saysNoProduct(said)) return said.message;
  return `${said.message} The merchant has not signed for the product of this scene; the test of the configuration says which one.`;
}

/** The answer to the create of a mini program: pending with the number that the program hands to Alipay's own `tradePay`. */
export function readCreated(said: Said, order: PlaceOrder): Outcome {
  const refused = refusalOf(said, order);
  if (refused) return refused;
  const { trade_no: tradeNO } = said.content;
  if (!hasText(tradeNO)) return unknown('unparsable', 'The response has no trade_no.');
  return { kind: 'pending', pay: { type: 'jsapi', params: { tradeNO } } };
}

/**
 * The answer to a payer's code: 10000 is the payment, 10003 a payer who still has to confirm it. Success carries the amount that
 * Alipay names, also when it is not the order's (settling decides).
 */
export function readPaidByCode(said: Said, order: PlaceOrder, receivedAt: Date): Outcome {
  const { content, code } = said;
  if (code === CODE.waiting) return content.out_trade_no === order.orderNo ? { kind: 'pending' } : otherThing(content);
  const refused = refusalOf(said, order);
  if (refused) return refused;
  const amount = readMajorText(content.total_amount, 'CNY');
  if (!amount) return unknown('mismatch', `total_amount "${String(content.total_amount)}" is not an amount.`);
  const { trade_no: channelNo, gmt_payment: paidAt } = content;
  if (!hasText(channelNo)) return unknown('unparsable', 'The response has no trade_no.');
  const payer = [content.buyer_user_id, content.buyer_open_id].find(hasText);
  return { kind: 'paid', channelNo, amount, at: readChinaTime(paidAt) ?? receivedAt, payer };
}

/**
 * Anything but the success of this very order. A refusal is definite only for a code that the list of its call has or for one of
 * the gateway, which turns a request away before any trade can be made.
 */
function refusalOf(said: Said, order: PlaceOrder): Outcome | undefined {
  const { content, code, subCode } = said;
  if (code === '') return unknown('unparsable', 'The response has no code.');
  if (code === CODE.ok) return content.out_trade_no === order.orderNo ? undefined : otherThing(content);
  const nothing = unknownRefusal(said);
  if (nothing && nothing.cause !== 'misconfigured') return nothing;
  const definite = nothing ? subCode.startsWith('isv.') : code === CODE.business && isRefusedForGood(subCode);
  const refused = { kind: 'declined', code: subCode || code, reason: reasonOf(said), definite } as const;
  return definite ? refused : { ...refused, doubt: createDoubt(subCode) };
}
