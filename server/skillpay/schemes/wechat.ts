// The payment scheme of WeChat's agents, and the payment codes that WeChat issues for them.
import type { KeyObject } from 'node:crypto';
import type { Place } from '../../db/encryption.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { AgentPayRow } from '../../db/entities/skillpay.ts';
import { within } from '../../payments/ports.ts';
import type { SkillPorts } from '../ports.ts';
import type { Asked, PaymentScheme, SkillPair } from './scheme.ts';

/** The header from which WeChat's agents read WeChat's own payment code; the service's code is never sent in it. */
const AGENT_CODE = 'WeixinPay-Required';

/** The instruction for agents that only read bodies, worded as in the vendor's merchant demo. */
const AGENT_PROMPT =
  '本次使用微信支付，请将 WeixinPay-Required 的值作为 paymentCode 交给 weixinpay_pay，以向用户申请支付授权。';

/** The scheme of WeChat's agents: WeChat's payment code in a header and in the body. The proof is the order number. */
export function weixinAgentScheme(withAgentCode: WithAgentCode, now: () => Date): PaymentScheme {
  return {
    name: 'weixin-agent',
    exposes: [AGENT_CODE],
    prepare: withAgentCode,
    ask(pair): Asked {
      const code = liveAgentCode(pair, now());
      if (code === undefined) return { headers: {} };
      return {
        headers: { [AGENT_CODE]: code },
        members: { WeixinPay: { [AGENT_CODE]: code, prompt: AGENT_PROMPT } },
      };
    },
  };
}

/** Longest life of a payment code (seconds), as WeChat documents it. */
const MOST_SECONDS = 900;

/** After a timeout, no code is requested for this time (ms), so that no 402 waits for one. */
const SILENCE_MS = 30_000;

/** A request for a code that WeChat issues for an order's ordinary payment data. */
interface CodeRequest {
  orderNo: string;
  mode: AgentPayRow['mode'];
  skill: { id: string; version: string };
  payData: { type: 'code_url' | 'h5_url'; value: string };
  seconds: number;
}

/** The developer account with which codes are requested, and its key. */
interface AgentCredentials {
  developerId: string;
  keyId: string;
  key: KeyObject;
}

/** WeChat's response: a code, or the reason why there is none. */
export type CodeAnswer = { code: string } | { fault: string };

/** Requests a payment code from WeChat; never throws. */
export type AskCode = (agent: AgentCredentials, request: CodeRequest) => Promise<CodeAnswer>;

/** What requesting and storing codes needs. */
interface AgentCodePorts extends Pick<SkillPorts, 'store' | 'now' | 'log' | 'patience'> {
  open: (place: Place, encrypted: string) => string;
  readKey: (pem: string) => KeyObject;
  ask: AskCode;
  /** Counts the answers. */
  count: (result: 'given' | 'failed') => void;
}

/** Adds a valid code to an order if the project is configured for it. If that fails, returns the order unchanged. */
export type WithAgentCode = (pair: SkillPair) => Promise<SkillPair>;

/** The place of a project's private key in the database, to which its encryption is bound. */
export function agentKeyPlace(project: string): Place {
  return { table: 'agent_pays', id: project, column: 'encrypted', version: 1 };
}

/** Returns the stored code while it is valid. */
function liveAgentCode({ skill }: SkillPair, now: Date): string | undefined {
  const { agentCode, agentCodeUntil } = skill;
  return agentCode !== null && agentCodeUntil !== null && agentCodeUntil > now ? agentCode : undefined;
}

/**
 * Creates the operation. The request runs outside any transaction. If two responses arrive, the first one stored under
 * the row's lock is used.
 */
export function withAgentCode(ports: AgentCodePorts): WithAgentCode {
  const { store, now, log, count } = ports;
  /** By project and mode: the time until which no code is requested after a timeout. */
  const silent = new Map<string, Date>();
  return async (pair) => {
    const { order, skill } = pair;
    const payData = payDataOf(order);
    if (!payData || liveAgentCode(pair, now())) return pair;
    const seconds = Math.min(MOST_SECONDS, Math.floor((order.expiresAt.getTime() - now().getTime()) / 1000));
    if (seconds < 1) return pair;
    const row = await store.read((tx) => tx.agentPays.find({ project: order.project, mode: order.mode }));
    const known = row?.skills[skill.resource];
    if (!row || !known) return pair;
    const until = new Date(now().getTime() + seconds * 1000);
    const { orderNo, mode, project } = order;
    const resumesAt = silent.get(`${project} ${mode}`);
    if (resumesAt !== undefined && resumesAt > now()) return pair;
    const request = { orderNo, mode, skill: known, payData, seconds };
    const found = await within(ports.patience.agentCode, askAndKeep(row, request, pair, until));
    if (found) return found;
    silent.set(`${project} ${mode}`, new Date(now().getTime() + SILENCE_MS));
    log('warn', 'agent pay did not answer in time; a later answer may have the code', { orderNo, project });
    return pair;
  };

  /** Requests a code and stores it. This continues after the 402 stopped waiting, so that the next 402 has the code. */
  async function askAndKeep(row: AgentPayRow, request: CodeRequest, pair: SkillPair, until: Date): Promise<SkillPair> {
    const answer = await ask(row, request);
    if ('code' in answer) return keep(pair, answer.code, until);
    log('warn', 'agent pay gave no payment code', {
      orderNo: request.orderNo,
      project: row.project,
      reason: answer.fault,
    });
    return pair;
  }

  async function ask(row: AgentPayRow, request: CodeRequest): Promise<CodeAnswer> {
    const answer = await answerTo(row, request);
    count('code' in answer ? 'given' : 'failed');
    const seen =
      'code' in answer ? { lastSuccessAt: now() } : { lastFailureAt: now(), lastFailure: answer.fault.slice(0, 500) };
    // If this status cannot be stored, the offer is still made.
    await store
      .autocommit((tx) => tx.agentPays.update({ project: row.project }, seen))
      .catch((error: unknown) => log('warn', 'the status of agent pay was not stored', { error }));
    return answer;
  }

  async function answerTo(
    { project, developerId, keyId, encrypted }: AgentPayRow,
    request: CodeRequest,
  ): Promise<CodeAnswer> {
    try {
      const key = ports.readKey(ports.open(agentKeyPlace(project), encrypted));
      return await ports.ask({ developerId, keyId, key }, request);
    } catch (error) {
      log('error', 'agent pay cannot be called', { project, error });
      return { fault: 'The stored private key cannot be used; set it again.' };
    }
  }

  async function keep({ order, skill: { orderNo } }: SkillPair, code: string, until: Date): Promise<SkillPair> {
    const skill = await store.transaction(async (tx) => {
      const held = await tx.skillOrders.lock({ orderNo });
      if (!held || liveAgentCode({ order, skill: held }, now())) return held;
      await tx.skillOrders.update({ orderNo }, { agentCode: code, agentCodeUntil: until });
      return { ...held, agentCode: code, agentCodeUntil: until };
    });
    if (!skill) throw new TypeError(`${orderNo} has no pay-per-call part any more`);
    return { order, skill };
  }
}

/** The payment data of a pending WeChat order. */
function payDataOf({ payWay, state, credential }: OrderRow): CodeRequest['payData'] | undefined {
  if (payWay !== 'wechat' || state !== 'pending' || credential === null) return undefined;
  if (credential.qrCode !== undefined) return { type: 'code_url', value: credential.qrCode };
  return credential.url === undefined ? undefined : { type: 'h5_url', value: credential.url };
}
