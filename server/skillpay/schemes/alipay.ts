// The dialect of Alipay's agents, with their bills, their proofs and the confirmation of a delivery.
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
/** A session of 4 KB in base64, and the rest; also what usual proxies take as one header. */
const MAX_HEADER_BYTES = 8192;
const MAX_PROOF_BYTES = 2048;
const MAX_SESSION_BYTES = 4096;

/** What the dialect needs to know from elsewhere. */
interface AlipayAgents {
  /** The pair with what agents are asked with, where the account takes payments of agents. */
  withBill(pair: SkillPair): Promise<SkillPair>;
  /** The order that a proof pays, settled; throws a refusal. */
  orderOf(caller: SkillCaller, proof: AgentProof): Promise<string>;
}

/** The dialect of Alipay's agents: the bill in `Payment-Needed`, the proof in `Payment-Proof`, which only Alipay can read. */
export function alipayAgentScheme(agents: AlipayAgents): PaymentScheme {
  const scheme: PaymentScheme = {
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
 * Reads `Payment-Proof`; throws ProofInvalid. Alipay's product document says base64url, its demos take either alphabet with or
 * without padding, and its acceptance script sends padded base64. What it carries goes to Alipay as it came.
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

/** Text that comes to Alipay as it was sent: without control characters and halves of characters. */
function isSendable(value: unknown, maxBytes: number): value is string {
  return typeof value === 'string' && Buffer.byteLength(value) <= maxBytes && !/[\p{Cc}\p{Cs}]/u.test(value);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Seconds between the tries to confirm a delivery; after the last one a person is told. */
const PAUSES = [5, 30, 120, 600, 3600, 6 * 3600, 12 * 3600] as const;

type Needs = Pick<SkillPorts, 'store' | 'now' | 'log' | 'checkpoint'> & {
  channels: SkillPorts['channels'];
  payments: Pick<SkillPorts['payments'], 'settleProven' | 'raise'>;
};

/** Payments by Alipay's agents: their bills, their proofs, and the confirmations that are due for them. */
export function alipayAgents({ store, now, log, checkpoint, channels, payments }: Needs) {
  return { withBill, orderOf, confirm } satisfies AlipayAgents & { confirm: unknown };

  /** Of an offer that was written without: made once and kept, the same words for the life of the order, and no second look at an account without agents. */
  async function withBill(pair: SkillPair): Promise<SkillPair> {
    const { order, skill } = pair;
    if (order.payWay !== 'alipay' || order.state !== 'pending' || skill.paymentNeeded !== null) return pair;
    const { orderNo } = order;
    try {
      const paymentNeeded = await agentBill(await channels.forOrder(order), order, skill.resource);
      await store.autocommit((tx) => tx.skillOrders.update({ orderNo, paymentNeeded: null }, { paymentNeeded }));
      return readPairOf(orderNo);
    } catch (error) {
      log('warn', 'an offer has no bill for agents', { orderNo, error });
      return pair;
    }
  }

  async function readPairOf(orderNo: string): Promise<SkillPair> {
    return store.read((tx) => readPair(tx, orderNo));
  }

  /** A proof that was verified is not asked about again; whose it is Alipay's answer says, and settling what it means. */
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
    if (!agents) throw invalid('is not taken here: the project has no service id for agents');
    const said = await agents.verify(proof);
    if (said.kind === 'unknown') {
      log('warn', 'a proof of an agent was not verified', { tradeNo, cause: said.cause, detail: said.detail });
      throw said.cause === 'mismatch' ? invalid('is of another payment') : new ProofUnverified();
    }
    if (said.kind === 'refused') throw invalid(`was refused by Alipay (${said.code})`);
    const { order, skill } = await pairOf(said.orderNo, caller);
    // An account's answer counts only for orders of the same account and mode.
    if (order.mode !== mode || order.account !== account) throw invalid('is of another account');
    if (order.payWay !== 'alipay' || said.resourceId !== skill.resource) throw invalid('is of another resource');
    checkpoint('agent.verified');
    const { channelNo, amount, at } = said;
    const settled = await payments.settleProven(order, { kind: 'paid', channelNo, amount, at, payer: undefined });
    checkpoint('agent.settled');
    // Another order has it.
    if (settled.paid === 0n && settled.channelTradeNo !== channelNo) throw invalid('is of another payment');
    return noteProof(order.orderNo, tradeNo);
  }

  async function pairOf(orderNo: string, caller: SkillCaller): Promise<SkillPair> {
    try {
      return await store.read((tx) => readPair(tx, orderNo, caller));
    } catch (error) {
      throw error instanceof NotFound ? invalid('is of no order of this application') : error;
    }
  }

  /** From the first proof on a confirmation is owed, when the content is given. */
  async function noteProof(orderNo: string, tradeNo: string): Promise<string> {
    await store.transaction(async (tx) => {
      const skill = await tx.skillOrders.lock({ orderNo });
      if (!skill || skill.agentTradeNo !== null) return;
      const isGiven = skill.fulfilment === 'done';
      await tx.skillOrders.update({ orderNo }, { agentTradeNo: tradeNo, ...(isGiven && { confirmAt: now() }) });
    });
    return orderNo;
  }

  /** For the job: tells Alipay that the payer has the content; what fails comes again, and is listed when all tries failed. */
  async function confirm(orderNo: string): Promise<void> {
    const { order, skill } = await store.read((tx) => readPair(tx, orderNo));
    const tradeNo = skill.agentTradeNo;
    if (tradeNo === null || skill.confirmAt === null) return;
    const message = await tell(order, tradeNo);
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

  /** Undefined when Alipay knows; otherwise why not. */
  async function tell(order: SkillPair['order'], tradeNo: string): Promise<string | undefined> {
    try {
      const { agents } = await channels.forOrder(order);
      if (!agents) return 'The account has no service id for agents any more.';
      const said = await agents.confirm(tradeNo, { orderNo: order.orderNo });
      if (said.kind === 'done') return undefined;
      return said.kind === 'refused' ? `${said.code} ${said.reason}` : `${said.cause}: ${said.detail}`;
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  }
}

/** The bill that agents pay an order by; empty where the account takes no payments of agents. */
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

/** The name stands in a header, so it is short. */
function nameOf(subject: string): string {
  return [...subject].slice(0, 16).join('');
}
