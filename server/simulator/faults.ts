/** The faults that can be set, and functions that alter responses and notifications. */
import { randomUUID } from 'node:crypto';
import type { PayWay } from '../payments/channel.ts';
import { SimulatorRefusal } from './requests.ts';

/** Calls for which a fault (a deliberate error) can be set; `*` = all but `notice`, the delivery of a notification. */
export const CALLS = [
  'create',
  'query',
  'close',
  'agent-preorder',
  'agent-verify',
  'agent-confirm',
  'capture',
  'refund',
  'refund-query',
  'dispute',
  'dispute-deed',
  'dispute-image',
  'token',
  'certificates',
  'certificate',
  'webhooks',
  'verify-webhook',
  'bill',
  'balances',
  'bill-file',
  'notice',
  '*',
] as const;
export type Call = (typeof CALLS)[number];

const ALIASES: Readonly<Record<string, Call>> = {
  place: 'create',
  pay: 'create',
  precreate: 'create',
  queryRefund: 'refund-query',
  'query-refund': 'refund-query',
  notify: 'notice',
  any: '*',
};

/** Faults for which the channel does not perform the call; with `timeout-then-commit` it performs the call later. */
const BEFORE = ['timeout', '502', 'redirect', 'timeout-then-commit'] as const;
/** Faults for which the channel performs the call, but the response is lost, altered or late. */
const AFTER = ['commit-then-timeout', '500-after-commit', 'html', 'half-body', 'delay'] as const;
/** Faults that give the response or notification a wrong signature or wrong bytes. */
const ON_ANSWER = [
  'wrong-key',
  'tampered',
  'no-signature',
  'duplicate-key',
  'clock-skew',
  'unknown-serial',
  'signtest',
  'bad-tag',
  'bad-aad',
  'wrong-amount',
] as const;
/** Faults that change the result of the call, such as a refund that fails later. */
const EFFECT = [
  'query-lag',
  'pending-refund',
  'abnormal-refund',
  'closed-refund',
  'lost-refund',
  'refund-success-then-fail',
  'success-after-failed',
  'foreign-refund',
  'payment-not-found',
  'capture-pending',
  'capture-declined',
  'same-id-concurrent-refusal',
  'refused',
  'refused-in-gbk',
] as const;
/** Faults that apply when a notification is delivered. Their `call` is always `notice`. */
const ON_NOTIFICATION = ['drop-notify', 'duplicate-notify', 'bad-notify-signature'] as const;

export const FAULTS = [...BEFORE, ...AFTER, ...ON_ANSWER, ...EFFECT, ...ON_NOTIFICATION] as const;
export type FaultName = (typeof FAULTS)[number];

/** `times`: how many matching calls the fault applies to. `probability`: the chance that it applies to one. */
export interface FaultRule {
  id: string;
  payWay: PayWay;
  call: Call;
  fault: FaultName;
  times: number | null;
  probability: number | null;
  delayMs: number | null;
  /** How long a connection on which no response is sent stays open (ms); by default `delayMs`. */
  hangUpMs: number | null;
  account: string | null;
  orderNo: string | null;
  /** The channel's error code with which the simulator refuses the call, or its reason for a pending capture. */
  word: string | null;
  hits: number;
}

/** The fault that applies to one call. `word` is an error code or a reason of the channel. */
export interface Strike {
  name: FaultName;
  delayMs: number;
  hangUpMs: number;
  word: string | undefined;
}

export interface Target {
  payWay: PayWay;
  account: string;
  call: Call;
  orderNo?: string | undefined;
}

export interface Faults {
  set(rule: Pick<FaultRule, 'payWay' | 'fault'> & { call?: string } & Partial<Omit<FaultRule, 'call'>>): FaultRule;
  list(): readonly FaultRule[];
  clear(id?: string): void;
  /** Returns the first fault that applies to this call and increases its `hits` by one. Undefined = none applies. */
  draw(target: Target): Strike | undefined;
}

const DEFAULT_DELAY_MS: Readonly<Partial<Record<FaultName, number>>> = { delay: 1000 };

/** How long a connection stays open without a response, by default (ms); longer than any client of a channel waits. */
export const SILENCE_MS = 8000;

/** Creates an empty list of faults. `random` decides whether a fault with a `probability` applies. */
export function createFaults(random: () => number = Math.random): Faults {
  let rules: FaultRule[] = [];
  return {
    set(input) {
      const times = input.times ?? (input.probability == null ? 1 : null);
      const { payWay, fault, probability = null, delayMs = null, hangUpMs = null } = input;
      const { account = null, orderNo = null, word = null } = input;
      if (fault.startsWith('refused') && word === null)
        throw new SimulatorRefusal(
          400,
          'word_missing',
          `The fault ${fault} requires the field "word" with an error code of the channel.`,
        );
      const rule: FaultRule = {
        id: randomUUID(),
        payWay,
        fault,
        call: callOf(input.call, fault),
        times,
        probability,
        delayMs,
        hangUpMs,
        account,
        orderNo,
        word,
        hits: 0,
      };
      rules.push(rule);
      return rule;
    },
    list: () => rules,
    clear(id) {
      rules = id === undefined ? [] : rules.filter((rule) => rule.id !== id);
    },
    draw(target) {
      const rule = rules.find((candidate) => matches(candidate, target) && random() < (candidate.probability ?? 1));
      if (rule === undefined) return undefined;
      rule.hits += 1;
      const { fault: name, word } = rule;
      const delayMs = rule.delayMs ?? DEFAULT_DELAY_MS[name] ?? SILENCE_MS;
      return { name, delayMs, hangUpMs: rule.hangUpMs ?? delayMs, word: word ?? undefined };
    },
  };
}

/**
 * Returns when a fault takes effect. `before`: instead of the call. `after`: after the call. `answer`: when the
 * response is signed. `effect`: during the call. `notice`: at the delivery of a notification.
 */
export function stageOf(fault: FaultName): 'before' | 'after' | 'answer' | 'effect' | 'notice' {
  const within = (list: readonly string[]) => list.includes(fault);
  if (within(BEFORE)) return 'before';
  if (within(AFTER)) return 'after';
  if (within(ON_ANSWER)) return 'answer';
  return within(EFFECT) ? 'effect' : 'notice';
}

function matches(rule: FaultRule, { payWay, account, call, orderNo }: Target): boolean {
  return (
    rule.payWay === payWay &&
    (rule.call === call || (rule.call === '*' && call !== 'notice')) &&
    (rule.times === null || rule.hits < rule.times) &&
    (rule.account === null || rule.account === account) &&
    (rule.orderNo === null || rule.orderNo === orderNo)
  );
}

function callOf(word: string | undefined, fault: FaultName): Call {
  if (stageOf(fault) === 'notice') return 'notice';
  const call =
    word === undefined ? '*' : Object.hasOwn(ALIASES, word) ? ALIASES[word]! : CALLS.find((known) => known === word);
  if (call === undefined)
    throw new SimulatorRefusal(400, 'unknown_call', `The field call must be one of ${CALLS.join(', ')}.`);
  return call;
}

/** Changes the first digit of a body, so that the body stays well-formed but does not match its signature. */
export function tamper(body: Buffer): Buffer {
  const text = body.toString('latin1');
  const changed = text.replace(/(?<![%0-9A-Fa-f])\d/, (digit) => String((Number(digit) % 9) + 1));
  return Buffer.from(changed === text ? `${text} ` : changed, 'latin1');
}

/** Appends a second field with the name of a JSON object's first field; any other text is returned unchanged. */
export function duplicateFirstKey(json: string, value = '"twice"'): string {
  const key = /^\s*\{\s*("(?:[^"\\]|\\.)*")/.exec(json)?.[1];
  return key === undefined ? json : json.replace(/\}\s*$/, `,${key}:${value}}`);
}

export const GATEWAY_PAGE =
  '<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>The request could not be served.</body></html>';
