import {
  type PayWay,
  type Transport,
  TransportFailed,
  type WireAnswer,
  type WireRequest,
} from '../../../server/payments/channel.ts';
import type { Deliver, Receipt } from '../../../server/simulator/notification.ts';
import type { FaultName } from '../../../server/simulator/faults.ts';
import { lowered } from './channel-door.ts';
import type { Life } from './clockwork.ts';
import { aspectOf } from './fates.ts';
import { type Step, StepLabel, type World } from './world.ts';

/** The service's time-out for a channel (Channels.TimeoutMs). */
const TIMEOUT_MS = 6_000;

/** The faults of a call on its way there and back. */
const CALLS = [
  ['well', 1000],
  ['lost', 35],
  ['unheard', 45],
  ['late', 20],
  ['refused', 10],
  ['500', 12],
  ['half', 8],
  ['slow', 40],
] as const;

const WORDS: Readonly<Record<(typeof CALLS)[number][0], string>> = {
  well: '',
  lost: ', which is lost on its way',
  unheard: ', whose answer is lost',
  late: ', which arrives when nobody waits any more',
  refused: ', and finds no connection',
  '500': ', which is done and answered with 500',
  half: ', which is done and half answered',
  slow: ', slowly',
};

/** The channel's own faults by call. */
const WHIMS: Readonly<Record<PayWay, Readonly<Record<string, readonly (readonly [Whim, number])[]>>>> = {
  alipay: {
    create: [
      ['', 1000],
      ['refused ACCESS_FORBIDDEN', 15],
      ['refused SYSTEM_ERROR', 10],
    ],
    query: [
      ['', 1000],
      ['query-lag', 40],
      ['refused SYSTEM_ERROR', 10],
    ],
    close: [
      ['', 1000],
      ['refused SYSTEM_ERROR', 25],
    ],
    refund: [
      ['', 1000],
      ['lost-refund', 25],
      ['refused SYSTEM_ERROR', 20],
      ['refused SELLER_BALANCE_NOT_ENOUGH', 20],
    ],
    'refund-query': [
      ['', 1000],
      ['query-lag', 30],
    ],
  },
  wechat: {
    query: [
      ['', 1000],
      ['query-lag', 40],
    ],
    refund: [
      ['', 1000],
      ['payment-not-found', 20],
      ['pending-refund', 20],
      ['abnormal-refund', 20],
      ['refund-success-then-fail', 20],
    ],
    'refund-query': [
      ['', 1000],
      ['query-lag', 30],
    ],
  },
  paypal: {
    create: [
      ['', 1000],
      ['refused PAYEE_ACCOUNT_RESTRICTED', 15],
      ['refused INTERNAL_SERVER_ERROR', 10],
    ],
    query: [
      ['', 1000],
      ['query-lag', 40],
    ],
    capture: [
      ['', 1000],
      ['capture-pending', 60],
      ['capture-declined', 30],
      ['refused INSTRUMENT_DECLINED', 50],
      ['refused TRANSACTION_REFUSED', 20],
    ],
    refund: [
      ['', 1000],
      ['pending-refund', 40],
      ['refund-success-then-fail', 20],
    ],
    'refund-query': [
      ['', 1000],
      ['query-lag', 30],
      ['refused INTERNAL_SERVER_ERROR', 20],
    ],
  },
};

/** Answers that must be rejected. */
const FORGERIES = [
  ['', 1000],
  ['wrong-key', 5],
  ['tampered', 5],
  ['no-signature', 5],
] as const satisfies readonly (readonly [Whim, number])[];

type Whim = '' | FaultName | `refused ${string}`;

const PACE = aspectOf('pace of ');
const WHIM = aspectOf('whim of ');
const FORGERY = aspectOf('forgery of ');

/** How the replicas of a world reach its channels. */
export function transportOf(world: World, payWay: PayWay): Transport {
  const { fates, counts } = world;
  return (request) => {
    const step = world.nextStep();
    const { life } = step.task;
    if (life.dead) return new Promise(() => {});
    const fate = fates.draw(step, CALLS);
    const label = new StepLabel(step, ` asks ${payWay}: ${wordsOf(request)}${WORDS[fate]}`);
    const luck = fates.of(step, PACE);
    const began = world.now;
    counts.calls += 1;
    return new Promise((resolve, reject) => {
      const { clockwork } = world;
      const silence = () => reject(new TransportFailed('timeout', `No complete response within ${TIMEOUT_MS} ms.`));
      const giveUp = () => clockwork.at(began + TIMEOUT_MS, new StepLabel(step, ' hears nothing'), silence, life);
      if (fate === 'refused')
        return clockwork.at(
          began + 2,
          label,
          () => reject(new TransportFailed('network', 'fetch failed: ECONNREFUSED')),
          life,
        );
      if (fate === 'lost') {
        world.note(label);
        return giveUp();
      }
      const there =
        fate === 'late'
          ? TIMEOUT_MS + luck.whole(1, 240_000)
          : fate === 'slow'
            ? luck.whole(500, 4_500)
            : luck.whole(15, 120);
      if (fate === 'late') giveUp();
      return clockwork.at(began + there, label, async () => {
        const answer = await serve(world, payWay, step, request);
        if (fate === 'late') return;
        const back = fate === 'slow' ? luck.whole(200, 3_000) : luck.whole(10, 90);
        const isInTime = world.now + back < began + TIMEOUT_MS;
        if (!answer || fate === 'unheard' || !isInTime) return void giveUp();
        const told = new StepLabel(step, `: ${answer.status}`);
        clockwork.at(world.now + back, told, () => resolve(spoilt(answer, fate)), life);
      });
    });
  };
}

function spoilt(answer: WireAnswer, fate: string): WireAnswer {
  if (fate === '500') return { status: 500, headers: {}, body: Buffer.from('') };
  return fate === 'half' ? { ...answer, body: answer.body.subarray(0, answer.body.length >> 1) } : answer;
}

/** The request's name in the service's timeline. */
function wordsOf({ about: { call, orderNo, refundNo } }: WireRequest): string {
  return [call, orderNo, refundNo].filter(Boolean).join(' ');
}

/** The channel performs a call, possibly with a fault. */
async function serve(world: World, payWay: PayWay, step: Step, request: WireRequest): Promise<WireAnswer | undefined> {
  const { faults } = world.core;
  const call = callOf(payWay, request);
  const whim: Whim =
    world.fates.draw(step, WHIMS[payWay][call] ?? [['', 1]], WHIM) ||
    (payWay === 'paypal' ? '' : world.fates.draw(step, FORGERIES, FORGERY));
  if (whim) {
    const [fault, word] = whim.split(' ') as [FaultName, string?];
    faults.set({ payWay, fault, call: '*', times: 1, ...(word ? { word } : {}) });
    world.note(`${payWay} has a whim: ${whim}`);
  }
  const { method, url, headers, body = '', bytes } = request;
  const answer = await world.channels.ask({ method, url, headers, body: bytes ?? Buffer.from(body) });
  faults.clear();
  return answer;
}

/** The simulator's name of the call. */
function callOf(payWay: PayWay, { about, url }: WireRequest): string {
  if (payWay === 'alipay') return ALIPAY_CALLS[about.call] ?? about.call;
  const [path] = url.split('?');
  for (const [pattern, call] of PATHS) if (pattern.test(path!)) return call;
  return about.call;
}

const ALIPAY_CALLS: Readonly<Record<string, string>> = {
  'alipay.trade.precreate': 'create',
  'alipay.trade.pay': 'create',
  'alipay.trade.cancel': 'close',
  'alipay.trade.query': 'query',
  'alipay.trade.close': 'close',
  'alipay.trade.refund': 'refund',
  'alipay.trade.fastpay.refund.query': 'refund-query',
};

const PATHS = [
  [/\/(native|jsapi|h5|app|codepay)$/, 'create'],
  [/\/(close|reverse)$/, 'close'],
  [/\/v3\/refund\/domestic\/refunds$/, 'refund'],
  [/\/v3\/refund\/domestic\/refunds\//, 'refund-query'],
  [/\/out-trade-no\/[^/]+$/, 'query'],
  [/\/v2\/checkout\/orders$/, 'create'],
  [/\/capture$/, 'capture'],
  [/\/refund$/, 'refund'],
  [/\/v2\/payments\/refunds\//, 'refund-query'],
  [/\/v2\/(checkout\/orders|payments\/captures)\//, 'query'],
] as const;

/** The faults of a channel message. */
const NOTICES = [
  ['well', 1000],
  ['lost', 120],
  ['unheard', 60],
  ['twice', 60],
  ['late', 50],
] as const;

/** A receiver of messages. */
export interface Hearer {
  readonly life: Life;
  hear(payWay: PayWay, project: string, name: string, headers: Record<string, string>, body: Buffer): Promise<Receipt>;
}

/** How the channels of a world reach its replicas. */
export function deliverTo(world: World, replicas: readonly Hearer[]): Deliver {
  const { fates, counts, clockwork } = world;
  return (url, { headers, body }, timeoutMs) => {
    const [, payWay = '', project = ''] = /\/notify\/(\w+)\/([\w-]+)$/.exec(new URL(url).pathname) ?? [];
    const { orderNo = '', event = '' } = world.core.notifications.deliveries.at(-1) ?? {};
    const name = world.nameOf(`${payWay} tells ${world.planned(orderNo)}: ${event}`);
    const fate = fates.draw(name, NOTICES);
    const luck = fates.of(name, PACE);
    counts.notices += 1;
    const nothing: Receipt = { status: null, body: '' };
    return new Promise((resolve) => {
      // The receiving replica may die during it.
      const hearsNothing = `${name}, and nobody answers`;
      const answered = clockwork.at(world.now + timeoutMs, hearsNothing, () => resolve(nothing));
      if (fate === 'lost' || !url.startsWith('http')) return;
      const hears = (receipt: Receipt) => {
        if (fate === 'unheard') return;
        answered();
        resolve(receipt);
      };
      const comes = (delay: number, told: (receipt: Receipt) => void) =>
        clockwork.at(world.now + delay, `${name}${fate === 'well' ? '' : ` (${fate})`}`, () => {
          const to = replicas[luck.whole(0, replicas.length - 1)]!;
          if (to.life.dead) return told(nothing);
          // The channel waits for the response; the world does not.
          void to.hear(payWay as PayWay, project, name, inSmallLetters(headers), body).then(told);
        });
      if (fate === 'twice') comes(luck.whole(1, 400), () => {});
      return comes(fate === 'late' ? luck.whole(20_000, 1_500_000) : luck.whole(5, 80), hears);
    });
  };
}

function inSmallLetters(headers: Readonly<Record<string, string>>): Record<string, string> {
  const small: Record<string, string> = {};
  for (const name in headers) small[lowered(name)] = headers[name]!;
  return small;
}
