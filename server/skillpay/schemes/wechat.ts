// The payment scheme for AI agents that pay with WeChat, and the payment codes that WeChat issues for them.
import type { KeyObject } from 'node:crypto';
import type { Place } from '../../db/encryption.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { AgentPayRow } from '../../db/entities/skillpay.ts';
import { within } from '../../payments/ports.ts';
import type { SkillPorts } from '../ports.ts';
import type { ChallengeParts, PaymentScheme, SkillPair } from './scheme.ts';

/** WeChat's agents read WeChat's payment code from this header. The service's own code is never sent in it. */
const AGENT_CODE = 'WeixinPay-Required';

/** The instruction for agents that read only the body. It has the same wording as WeChat's demo for merchants. */
const AGENT_PROMPT =
  '本次使用微信支付，请将 WeixinPay-Required 的值作为 paymentCode 交给 weixinpay_pay，以向用户申请支付授权。';

/**
 * The payment scheme for AI agents that pay with WeChat. The 402 contains the payment code that WeChat issued, in a
 * header and in the body. The proof of payment is the order number.
 */
export function weixinAgentScheme(withAgentCode: WithAgentCode, now: () => Date): PaymentScheme {
  return {
    name: 'weixin-agent',
    exposes: [AGENT_CODE],
    prepare: withAgentCode,
    challenge(pair): ChallengeParts {
      const code = liveAgentCode(pair, now());
      if (code === undefined) return { headers: {} };
      return {
        headers: { [AGENT_CODE]: code },
        members: { WeixinPay: { [AGENT_CODE]: code, prompt: AGENT_PROMPT } },
      };
    },
  };
}

/** Longest time for which a payment code is valid (seconds), according to WeChat's documentation. */
const MOST_SECONDS = 900;

/** After a timeout of WeChat, no payment code is requested for this time (ms), so that later 402s are not delayed. */
const SILENCE_MS = 30_000;

/** `payData` is the payment data that the order already has. */
interface CodeRequest {
  orderNo: string;
  mode: AgentPayRow['mode'];
  skill: { id: string; version: string };
  payData: { type: 'code_url' | 'h5_url'; value: string };
  seconds: number;
}

interface AgentCredentials {
  developerId: string;
  keyId: string;
  key: KeyObject;
}

/** WeChat's response: a payment code, or the reason why WeChat issued none. */
export type CodeAnswer = { code: string } | { fault: string };

/** Requests a payment code from WeChat; never throws. */
export type RequestCode = (agent: AgentCredentials, request: CodeRequest) => Promise<CodeAnswer>;

interface AgentCodePorts extends Pick<SkillPorts, 'store' | 'now' | 'log' | 'patience'> {
  open: (place: Place, encrypted: string) => string;
  readKey: (pem: string) => KeyObject;
  requestCode: RequestCode;
  /** Counts the responses of WeChat for the metrics. */
  count: (result: 'given' | 'failed') => void;
}

/** Adds WeChat's payment code to an order. If there is no payment code, returns the order unchanged. */
export type WithAgentCode = (pair: SkillPair) => Promise<SkillPair>;

/** The row and column of a project's key. The key is encrypted for them: a copy elsewhere cannot be decrypted. */
export function agentKeyPlace(project: string): Place {
  return { table: 'agent_pays', id: project, column: 'encrypted', version: 1 };
}

function liveAgentCode({ skill }: SkillPair, now: Date): string | undefined {
  const { agentCode, agentCodeUntil } = skill;
  return agentCode !== null && agentCodeUntil !== null && agentCodeUntil > now ? agentCode : undefined;
}

/**
 * Creates the function that adds payment codes. It calls WeChat outside any transaction. If two concurrent requests
 * receive a code, only the first one is stored and used.
 */
export function withAgentCode(ports: AgentCodePorts): WithAgentCode {
  const { store, now, log, count } = ports;
  /** After a timeout, no code is requested until this time. One entry for each project and mode (e.g. `live`). */
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
    const found = await within(ports.patience.agentCode, requestAndStore(row, request, pair, until));
    if (found) return found;
    silent.set(`${project} ${mode}`, new Date(now().getTime() + SILENCE_MS));
    log('warn', 'agent pay did not answer in time; a later answer may have the code', { orderNo, project });
    return pair;
  };

  /** After a timeout the request continues in the background, so that the next 402 can contain the code. */
  async function requestAndStore(
    row: AgentPayRow,
    request: CodeRequest,
    pair: SkillPair,
    until: Date,
  ): Promise<SkillPair> {
    const answer = await requestCode(row, request);
    if ('code' in answer) return keep(pair, answer.code, until);
    log('warn', 'agent pay gave no payment code', {
      orderNo: request.orderNo,
      project: row.project,
      reason: answer.fault,
    });
    return pair;
  }

  async function requestCode(row: AgentPayRow, request: CodeRequest): Promise<CodeAnswer> {
    const answer = await answerTo(row, request);
    count('code' in answer ? 'given' : 'failed');
    const seen =
      'code' in answer ? { lastSuccessAt: now() } : { lastFailureAt: now(), lastFailure: answer.fault.slice(0, 500) };
    // Storing the result for the administrator is not essential. If storing fails, the caller still gets the 402.
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
      return await ports.requestCode({ developerId, keyId, key }, request);
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
    if (!skill) throw new TypeError(`The pay-per-call row of the order ${orderNo} does not exist any more.`);
    return { order, skill };
  }
}

function payDataOf({ payWay, state, credential }: OrderRow): CodeRequest['payData'] | undefined {
  if (payWay !== 'wechat' || state !== 'pending' || credential === null) return undefined;
  if (credential.qrCode !== undefined) return { type: 'code_url', value: credential.qrCode };
  return credential.url === undefined ? undefined : { type: 'h5_url', value: credential.url };
}
