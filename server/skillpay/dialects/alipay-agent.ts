import type { AgentProof } from '../../payments/agent-desk.ts';
import type { SkillCaller, SkillPair } from '../pair.ts';
import { ProofInvalid } from '../refusals.ts';
import type { Dialect } from './dialect.ts';
import { HeaderMalformed, objectOf, readHeaderObject } from './strict-json.ts';

const HEADER = 'Payment-Proof';

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
    paid: ({ order, skill: { agentTradeNo, resource } }) =>
      agentTradeNo === null
        ? ({} as Record<string, string>)
        : {
            'Payment-Validation': encode({
              result: 'success',
              out_trade_no: order.orderNo,
              trade_no: agentTradeNo,
              resource_id: resource,
            }),
          },
  };
  return dialect;
}

/** Reads `Payment-Proof` (standard base64 of JSON, unlike the bill); throws ProofInvalid. */
export function readProof(header: string): AgentProof {
  try {
    const { protocol, method } = readHeaderObject(header, 'base64');
    const { payment_proof: paymentProof, trade_no: tradeNo } = objectOf(protocol, 'has no protocol');
    const { client_session: clientSession } = objectOf(method ?? {}, 'has a malformed method');
    if (typeof paymentProof !== 'string' || paymentProof === '' || paymentProof.length > 2048)
      throw new HeaderMalformed('has no protocol.payment_proof');
    if (typeof tradeNo !== 'string' || !/^\d{16,64}$/.test(tradeNo))
      throw new HeaderMalformed('has no protocol.trade_no');
    if (clientSession !== undefined && (typeof clientSession !== 'string' || clientSession.length > 512))
      throw new HeaderMalformed('has a malformed method.client_session');
    return { paymentProof, tradeNo, clientSession };
  } catch (error) {
    throw error instanceof HeaderMalformed ? new ProofInvalid(HEADER, error.message) : error;
  }
}

/** Some integrations send this header, Alipay's guide does not ask for it (inferred). */
function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
