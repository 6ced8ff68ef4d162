// The dialect of WeChat's agents, and the payment codes that WeChat gives for them.
import type { KeyObject } from 'node:crypto';
import type { Place } from '../../db/encryption.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { AgentPayRow } from '../../db/entities/skillpay.ts';
import { within } from '../../payments/ports.ts';
import type { SkillPorts } from '../ports.ts';
import type { Asked, PaymentScheme, SkillPair } from './scheme.ts';

/** Where agents of WeChat read a payment code of WeChat's own; ours never stands there. */
const AGENT_CODE = 'WeixinPay-Required';

/** What an agent that reads bodies only is told to do, in the words of the vendor's merchant demo. */
const AGENT_PROMPT =
  '本次使用微信支付，请将 WeixinPay-Required 的值作为 paymentCode 交给 weixinpay_pay，以向用户申请支付授权。';

/** The dialect of WeChat's agents: WeChat's own payment code, in a header and in the body. The proof is the number, as ever. */
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

/** A payment code lives at most this long (seconds), as its operator says. */
const MOST_SECONDS = 900;

/** After nobody answered, no 402 waits for a while (ms). */
const SILENCE_MS = 30_000;

/** What is asked for: a code for what the payer would pay with anywhere else. */
interface CodeRequest {
  orderNo: string;
  mode: AgentPayRow['mode'];
  skill: { id: string; version: string };
  payData: { type: 'code_url' | 'h5_url'; value: string };
  seconds: number;
}

/** Who asks. */
interface AgentCredentials {
  developerId: string;
  keyId: string;
  key: KeyObject;
}

/** What the operator said: a code, or in words why there is none. */
export type CodeAnswer = { code: string } | { fault: string };

/** Port: asks the operator for a payment code; never throws. */
export type AskCode = (agent: AgentCredentials, request: CodeRequest) => Promise<CodeAnswer>;

/** What is needed to hold the codes of agents. */
interface AgentCodePorts extends Pick<SkillPorts, 'store' | 'now' | 'log' | 'patience'> {
  open: (place: Place, encrypted: string) => string;
  readKey: (pem: string) => KeyObject;
  ask: AskCode;
  /** Counts an answer. */
  count: (result: 'given' | 'failed') => void;
}

/** The pair with a code that pays now, where the project has one; a failure leaves the pair as it is. */
export type WithAgentCode = (pair: SkillPair) => Promise<SkillPair>;

/** Where the private key of a project is sealed. */
export function agentKeyPlace(project: string): Place {
  return { table: 'agent_pays', id: project, column: 'encrypted', version: 1 };
}

/** The code that pays at this moment. */
function liveAgentCode({ skill }: SkillPair, now: Date): string | undefined {
  const { agentCode, agentCodeUntil } = skill;
  return agentCode !== null && agentCodeUntil !== null && agentCodeUntil > now ? agentCode : undefined;
}

/** The operation over its ports: asked outside any transaction, kept under the row's lock, the first of two answers wins. */
export function withAgentCode(ports: AgentCodePorts): WithAgentCode {
  const { store, now, log, count } = ports;
  /** By project and mode: until when nobody is made to wait. */
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
    log('warn', 'agent pay is silent: its code comes with a later answer, if it comes', { orderNo, project });
    return pair;
  };

  /** Goes on when nobody waits for it any more: the next 402 has the code. */
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
    // What is only told of the past must not stop an offer.
    await store
      .autocommit((tx) => tx.agentPays.update({ project: row.project }, seen))
      .catch((error: unknown) => log('warn', 'the state of agent pay was not kept', { error }));
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
      log('error', 'agent pay cannot be asked', { project, error });
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

/** What a WeChat order in this state can be paid with. */
function payDataOf({ payWay, state, credential }: OrderRow): CodeRequest['payData'] | undefined {
  if (payWay !== 'wechat' || state !== 'pending' || credential === null) return undefined;
  if (credential.qrCode !== undefined) return { type: 'code_url', value: credential.qrCode };
  return credential.url === undefined ? undefined : { type: 'h5_url', value: credential.url };
}
