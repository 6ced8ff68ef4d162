/**
 * Payments by Alipay's AI agents for single API calls. The field names are those of Alipay's product document and
 * interface contract (repository alipay/ai on GitHub: `A2M智能收产品对接文档`, `aipay-interface-contract`). The Alipay calls for
 * agents are only in this file.
 */
import type { KeyObject } from 'node:crypto';
import type { AgentBill, AgentDesk, AgentProof, AgentVerdict } from '../../payments/channel.ts';
import { majorText, readMajorText } from '../../money.ts';
import { CODE, type Reply, type SignedAnswer, type Unknown, unknown, unknownRefusal } from './reply.ts';
import type { AlipayCall } from './requests.ts';
import { requestText, signRsa2 } from './signature.ts';

const VERIFY = 'alipay.aipay.agent.payment.verify';
const CONFIRM = 'alipay.aipay.agent.fulfillment.confirm';

/** `serviceId` is the id of the service that Alipay registered for agent payments. */
export interface AgentSeller {
  appId: string;
  sellerId: string;
  serviceId: string;
  sellerName: string;
}

interface Needs {
  seller: AgentSeller;
  key: KeyObject;
  request: (call: AlipayCall, about: { orderNo?: string }) => Promise<Reply>;
  now: () => Date;
}

/** Creates the adapter that writes bills (requests for payment to an AI agent) and verifies proofs of payment. */
export function alipayAgents({ seller, key, request, now }: Needs): AgentDesk {
  return {
    bill: (order) => billText(seller, key, order),
    async verify(proof) {
      const { paymentProof, tradeNo, clientSession } = proof;
      const session = clientSession === undefined ? {} : { client_session: clientSession };
      const content = { payment_proof: paymentProof, trade_no: tradeNo, ...session };
      const reply = await request({ method: VERIFY, content }, {});
      return reply.kind === 'answered' ? readVerified(reply.answer, proof, now()) : reply;
    },
    async confirm(tradeNo, { orderNo }) {
      const reply = await request({ method: CONFIRM, content: { trade_no: tradeNo } }, { orderNo });
      if (reply.kind !== 'answered') return reply;
      const { code, subCode, message } = reply.answer;
      if (code === CODE.ok) return { kind: 'done' };
      return unknownRefusal(reply.answer) ?? { kind: 'refused', code: subCode || code, reason: message };
    },
  };
}

/** Builds a bill (a request for payment to an agent) as JSON in base64url. Eight fields, sorted by name, are signed. */
async function billText(
  { appId, sellerId, serviceId, sellerName }: AgentSeller,
  key: KeyObject,
  { orderNo, amount, resourceId, goodsName, expiresAt }: AgentBill,
): Promise<string> {
  const yuan = majorText(amount);
  const payBefore = expiresAt.toISOString().replace(/\.\d{3}Z$/, 'Z');
  const facts = {
    amount: yuan,
    currency: amount.currency,
    out_trade_no: orderNo,
    pay_before: payBefore,
    resource_id: resourceId,
  };
  const text = requestText({ ...facts, goods_name: goodsName, seller_id: sellerId, service_id: serviceId });
  const bill = {
    protocol: {
      ...facts,
      seller_signature: await signRsa2(text, key),
      seller_sign_type: 'RSA2',
      seller_unique_id: sellerId,
    },
    method: {
      seller_name: sellerName,
      seller_id: sellerId,
      seller_app_id: appId,
      goods_name: goodsName,
      seller_unique_id_key: 'seller_id',
      service_id: serviceId,
    },
  };
  return Buffer.from(JSON.stringify(bill)).toString('base64url');
}

/**
 * The response names no seller. Alipay signs it for a request of this account, so the payment belongs to this account.
 */
function readVerified(answer: SignedAnswer, proof: AgentProof, receivedAt: Date): AgentVerdict | Unknown {
  const { content, code, subCode, message } = answer;
  if (code !== CODE.ok) return unknownRefusal(answer) ?? { kind: 'refused', code: subCode || code, reason: message };
  const { active, amount: yuan, out_trade_no: orderNo, trade_no: tradeNo, resource_id: resourceId } = content;
  if (active !== true && active !== 'true')
    return { kind: 'refused', code: 'not_active', reason: 'Alipay reports that the payment proof is not valid now.' };
  const amount = readMajorText(yuan, 'CNY');
  if (!amount || typeof orderNo !== 'string' || typeof resourceId !== 'string')
    return unknown('unparsable', 'The response has no amount, out_trade_no or resource_id.');
  if (tradeNo !== proof.tradeNo) return unknown('mismatch', `The response is about trade ${String(tradeNo)}.`);
  return { kind: 'paid', orderNo, resourceId, channelNo: proof.tradeNo, amount, at: receivedAt };
}
