import type { AgentProof } from '../../payments/channel.ts';
import type { SkillCaller, SkillPair } from '../pair.ts';
import { ProofInvalid } from '../refusals.ts';
import type { Dialect } from './dialect.ts';
import { HeaderMalformed, objectOf, readHeaderObject } from './strict-json.ts';

const HEADER = 'Payment-Proof';
/** A session of 4 KB in base64, and the rest; also what usual proxies take as one header. */
const MAX_HEADER_BYTES = 8192;
const MAX_PROOF_BYTES = 2048;
const MAX_SESSION_BYTES = 4096;

/** What the dialect needs to know from elsewhere. */
export interface AlipayAgents {
  /** The pair with what agents are asked with, where the account takes payments of agents. */
  withBill(pair: SkillPair): Promise<SkillPair>;
  /** The order that a proof pays, settled; throws a refusal. */
  orderOf(caller: SkillCaller, proof: AgentProof): Promise<string>;
}

/** The dialect of Alipay's agents: the bill in `Payment-Needed`, the proof in `Payment-Proof`, which only Alipay can read. */
export function alipayAgentDialect(agents: AlipayAgents): Dialect {
  const dialect: Dialect = {
    name: 'alipay-agent',
    exposes: ['Payment-Needed', 'Payment-Validation'],
    prepare: (pair) => agents.withBill(pair),
    ask: ({ skill: { paymentNeeded } }) => ({
      headers: paymentNeeded ? { 'Payment-Needed': paymentNeeded } : ({} as Record<string, string>),
    }),
    read({ 'payment-proof': header }, caller) {
      if (header === undefined) return undefined;
      const proof = readProof(header);
      return {
        dialect,
        header: HEADER,
        outTradeNo: undefined,
        find: () => agents.orderOf(caller, proof),
        check: () => {},
      };
    },
    paid: ({ order: { orderNo }, skill: { agentTradeNo, resource } }, { content, replayed }) => {
      if (agentTradeNo === null) return {};
      const named = { resource_id: resource, trade_no: agentTradeNo, out_trade_no: orderNo };
      return {
        headers: { 'Payment-Validation': encode({ result: 'success', validated: true, ...named }) },
        members: { ...named, content, already_fulfilled: replayed },
      };
    },
  };
  return dialect;
}

/**
 * Reads `Payment-Proof`; throws ProofInvalid. Alipay's product document says base64url, its demos take either alphabet with or
 * without padding, and its acceptance script sends padded base64. What it carries goes to Alipay as it came.
 */
export function readProof(header: string): AgentProof {
  try {
    const { protocol, method } = readHeaderObject(header, 'either', MAX_HEADER_BYTES);
    const { payment_proof: paymentProof, trade_no: tradeNo } = objectOf(protocol, 'has no protocol');
    const { client_session: clientSession } = objectOf(method ?? {}, 'has a malformed method');
    if (paymentProof === '' || !isSendable(paymentProof, MAX_PROOF_BYTES))
      throw new HeaderMalformed('has no protocol.payment_proof');
    if (typeof tradeNo !== 'string' || !/^\d{16,64}$/.test(tradeNo))
      throw new HeaderMalformed('has no protocol.trade_no');
    const session = clientSession ?? '';
    if (!isSendable(session, MAX_SESSION_BYTES)) throw new HeaderMalformed('has a malformed method.client_session');
    return { paymentProof, tradeNo, clientSession: session || undefined };
  } catch (error) {
    throw error instanceof HeaderMalformed ? new ProofInvalid(HEADER, error.message) : error;
  }
}

/** Text that comes to Alipay as it was sent: without control characters and halves of characters. */
function isSendable(value: unknown, maxBytes: number): value is string {
  return typeof value === 'string' && Buffer.byteLength(value) <= maxBytes && !/[\p{Cc}\p{Cs}]/u.test(value);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
