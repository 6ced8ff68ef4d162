// The payment scheme for AI agents that pay with Alipay: the bill in the 402, the proof of payment that the agent
// sends, and the confirmation of the delivery to Alipay.
import type { OrderRow } from '../../db/entities/orders.ts';
import { AppError, NotFound } from '../../errors.ts';
import type { AgentProof, Channel } from '../../payments/channel.ts';
import { later } from '../../payments/core/plan.ts';
import { readPair } from '../claim.ts';
import type { SkillPorts } from '../ports.ts';
import { ProofInvalid, ProofUnverified } from '../errors.ts';
import type { PaymentScheme, SkillCaller, SkillPair } from './scheme.ts';
import { HeaderMalformed, objectOf, readHeaderObject } from './strict-json.ts';

const HEADER = 'Payment-Proof';
/** Maximum size (bytes): the largest field, Alipay's client session, may have 4 KB; proxies accept a header of 8 KB. */
const MAX_HEADER_BYTES = 8192;
const MAX_PROOF_BYTES = 2048;
const MAX_SESSION_BYTES = 4096;

interface AlipayAgents {
  /** Adds the bill for Alipay's agents to an offer, if the merchant's account accepts payments by agents. */
  withBill(pair: SkillPair): Promise<SkillPair>;
  /** Finds the order of a proof, marks it as paid and returns its number. Throws if the proof is refused. */
  orderOf(caller: SkillCaller, proof: AgentProof): Promise<string>;
}

/**
 * The payment scheme for AI agents that pay with Alipay. The header `Payment-Needed` contains the bill. The header
 * `Payment-Proof` contains the proof of payment, which only Alipay can verify.
 */
export function alipayAgentScheme(agents: AlipayAgents): PaymentScheme {
  const scheme: PaymentScheme = {
    name: 'alipay-agent',
    exposes: ['Payment-Needed', 'Payment-Validation'],
    prepare: (pair) => agents.withBill(pair),
    challenge: ({ skill: { paymentNeeded } }) => ({
      headers: paymentNeeded ? { 'Payment-Needed': paymentNeeded } : ({} as Record<string, string>),
    }),
    read({ 'payment-proof': header }, caller) {
      if (header === undefined) return undefined;
      const proof = readProof(header);
      return {
        scheme,
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
  return scheme;
}

/**
 * Throws ProofInvalid. The header may be base64 or base64url, with or without padding, because Alipay's documentation
 * and test programs use different forms. The fields are sent to Alipay unchanged.
 */
function readProof(header: string): AgentProof {
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

/** Whether Alipay receives a text unchanged: no control characters, no lone surrogates, and not too long. */
function isSendable(value: unknown, maxBytes: number): value is string {
  return typeof value === 'string' && Buffer.byteLength(value) <= maxBytes && !/[\p{Cc}\p{Cs}]/u.test(value);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/**
 * Pauses between the attempts to confirm a delivery (seconds). After the last attempt an exception (a case for an
 * operator) is opened.
 */
const PAUSES = [5, 30, 120, 600, 3600, 6 * 3600, 12 * 3600] as const;

type Needs = Pick<SkillPorts, 'store' | 'now' | 'log' | 'checkpoint'> & {
  channels: SkillPorts['channels'];
  payments: Pick<SkillPorts['payments'], 'settleProven' | 'raise'>;
};

/** Creates the operations for payments by Alipay's agents: bills, proofs of payment, and confirmations of delivery. */
export function alipayAgents({ store, now, log, checkpoint, channels, payments }: Needs) {
  return { withBill, orderOf, confirm } satisfies AlipayAgents & { confirm: unknown };

  /**
   * Creates the bill if the offer has none, and stores it, so that every 402 has the same bill. If the account accepts
   * no payments by agents, an empty bill is stored, so that no further attempt is made.
   */
  async function withBill(pair: SkillPair): Promise<SkillPair> {
    const { order, skill } = pair;
    if (order.payWay !== 'alipay' || order.state !== 'pending' || skill.paymentNeeded !== null) return pair;
    const { orderNo } = order;
    try {
      const paymentNeeded = await agentBill(await channels.forOrder(order), order, skill.resource);
      await store.autocommit((tx) => tx.skillOrders.update({ orderNo, paymentNeeded: null }, { paymentNeeded }));
      return readPairOf(orderNo);
    } catch (error) {
      log('warn', 'an offer has no bill for Alipay agents; the next 402 tries again', { orderNo, error });
      return pair;
    }
  }

  async function readPairOf(orderNo: string): Promise<SkillPair> {
    return store.read((tx) => readPair(tx, orderNo));
  }

  /**
   * Returns the number of the order that a proof pays. If the proof was verified before, Alipay is not called again.
   * Otherwise Alipay's response contains the order number, and the order is marked as paid.
   */
  async function orderOf(caller: SkillCaller, proof: AgentProof): Promise<string> {
    const { clientId, project } = caller;
    const { tradeNo } = proof;
    const where = { clientId, payWay: 'alipay', channelTradeNo: tradeNo } as const;
    const proven = await store.read(async (tx) => {
      const order = await tx.orders.find(where);
      return order && tx.skillOrders.find({ orderNo: order.orderNo, agentTradeNo: tradeNo });
    });
    if (proven) return proven.orderNo;
    const { channel, mode, account } = await channels.forNew(project, 'alipay');
    const { agents } = channel;
    if (!agents) throw invalid('is not accepted: the Alipay configuration of the project has no service id for agents');
    const answer = await agents.verify(proof);
    if (answer.kind === 'unknown') {
      log('warn', 'a proof of an agent was not verified', { tradeNo, cause: answer.cause, detail: answer.detail });
      throw answer.cause === 'mismatch' ? invalid('does not belong to protocol.trade_no') : new ProofUnverified();
    }
    if (answer.kind === 'refused') throw invalid(`was refused by Alipay (${answer.code})`);
    const { order, skill } = await pairOf(answer.orderNo, caller);
    // Alipay verified the proof only for the account and mode (e.g. `live`) that the project uses now.
    if (order.mode !== mode || order.account !== account)
      throw invalid('is for an order of another Alipay account or of another mode (simulator, sandbox or live)');
    if (order.payWay !== 'alipay' || answer.resourceId !== skill.resource)
      throw invalid('is a proof of payment for another pay-per-call resource');
    checkpoint('agent.verified');
    const { channelNo, amount, at } = answer;
    const settled = await payments.settleProven(order, { kind: 'paid', channelNo, amount, at, payer: undefined });
    checkpoint('agent.settled');
    // The order was not paid with the payment of this proof.
    if (settled.paid === 0n && settled.channelTradeNo !== channelNo)
      throw invalid('proves a payment that did not pay the order it names');
    return noteProof(order.orderNo, tradeNo);
  }

  async function pairOf(orderNo: string, caller: SkillCaller): Promise<SkillPair> {
    try {
      return await store.read((tx) => readPair(tx, orderNo, caller));
    } catch (error) {
      throw error instanceof NotFound ? invalid('is for no order of the application that sent the request') : error;
    }
  }

  /** Stores the first proof of an order. From then on, a delivery of the content must be confirmed to Alipay. */
  async function noteProof(orderNo: string, tradeNo: string): Promise<string> {
    await store.transaction(async (tx) => {
      const skill = await tx.skillOrders.lock({ orderNo });
      if (!skill || skill.agentTradeNo !== null) return;
      const isGiven = skill.fulfilment === 'done';
      await tx.skillOrders.update({ orderNo }, { agentTradeNo: tradeNo, ...(isGiven && { confirmAt: now() }) });
    });
    return orderNo;
  }

  /** Job: confirms a delivery to Alipay. After the last failed attempt, opens an exception (a case for an operator). */
  async function confirm(orderNo: string): Promise<void> {
    const { order, skill } = await store.read((tx) => readPair(tx, orderNo));
    const tradeNo = skill.agentTradeNo;
    if (tradeNo === null || skill.confirmAt === null) return;
    const message = await sendConfirmation(order, tradeNo);
    if (message === undefined) {
      await store.autocommit((tx) => tx.skillOrders.update({ orderNo }, { confirmAt: null }));
      return;
    }
    const tries = skill.confirmTries + 1;
    const pause = PAUSES[tries - 1];
    await store.transaction(async (tx) => {
      const held = await tx.orders.lock({ orderNo });
      const confirmAt = pause === undefined ? null : later(now(), pause);
      const isStill = await tx.skillOrders.update(
        { orderNo, confirmTries: skill.confirmTries },
        { confirmAt, confirmTries: tries },
      );
      if (held && isStill === 1 && confirmAt === null)
        await payments.raise(tx, held, {
          kind: 'delivery_unconfirmed',
          dedupe: String(tries),
          detail: { message, tries },
        });
    });
  }

  /** Returns undefined on success, otherwise the reason of the failure. */
  async function sendConfirmation(order: SkillPair['order'], tradeNo: string): Promise<string | undefined> {
    try {
      const { agents } = await channels.forOrder(order);
      if (!agents) return 'The account has no service id for agents any more.';
      const answer = await agents.confirm(tradeNo, { orderNo: order.orderNo });
      if (answer.kind === 'done') return undefined;
      return answer.kind === 'refused' ? `${answer.code} ${answer.reason}` : `${answer.cause}: ${answer.detail}`;
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  }
}

/**
 * Returns the header `Payment-Needed`, with which Alipay's agents pay an order; empty if the account accepts no payments
 * by agents.
 */
export async function agentBill({ agents }: Channel, order: OrderRow, resourceId: string): Promise<string> {
  const { orderNo, amount, currency, expiresAt, subject } = order;
  if (!agents) return '';
  return agents.bill({
    orderNo,
    amount: { minor: amount, currency },
    resourceId,
    expiresAt,
    goodsName: nameOf(subject),
  });
}

function invalid(detail: string): ProofInvalid {
  return new ProofInvalid('Payment-Proof', detail);
}

/** Shortens the name of the goods, because a header contains it. */
function nameOf(subject: string): string {
  return [...subject].slice(0, 16).join('');
}
