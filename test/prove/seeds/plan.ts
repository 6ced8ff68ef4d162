import { type Chance, createChance } from '../chance.ts';

/** The channel of an order, and the scene of its payment. */
export const WAYS = {
  'alipay qr': { payWay: 'alipay', scene: 'qr' },
  'alipay page': { payWay: 'alipay', scene: 'page' },
  'alipay code': { payWay: 'alipay', scene: 'code' },
  'wechat qr': { payWay: 'wechat', scene: 'qr' },
  'wechat h5': { payWay: 'wechat', scene: 'h5' },
  'wechat code': { payWay: 'wechat', scene: 'code' },
  paypal: { payWay: 'paypal', scene: 'redirect' },
} as const;

/** An action on an order. */
export type Step =
  | 'place'
  | 'query'
  | 'close'
  | 'capture'
  | 'refund'
  | 'payer pays'
  | 'payer declines'
  | 'money crosses the close'
  | 'payer comes back'
  | 'portal refund'
  | 'channel repeats'
  | 'somebody forges'
  | 'capture ends'
  | 'sync'
  | 'sync refunds'
  | 'retry refunds'
  | 'end a refund'
  | 'end what is listed'
  | 'console close';

/** One action on an order, at a time after the order's first. */
export interface Act {
  /** Stable when other acts are left out. */
  readonly id: string;
  readonly at: number;
  readonly step: Step;
  /** The replica that is called, if it is up. */
  readonly replica: number;
  /** The amount of a refund, in minor units. */
  readonly amount?: number;
  /** The merchant's own number of a refund. */
  readonly number?: string;
  /** Its Idempotency-Key. */
  readonly key?: string;
}

/** An order and all its actions. */
export interface OrderPlan {
  readonly id: string;
  readonly way: keyof typeof WAYS;
  /** Minor units. */
  readonly amount: number;
  readonly shop: string;
  readonly merchantOrderNo?: string;
  readonly key?: string;
  readonly expireSeconds: number;
  readonly acts: readonly Act[];
}

/** An event of the service itself. */
export type Weather =
  | { readonly id: string; readonly at: number; readonly kind: 'death'; readonly replica: number; readonly ms: number }
  | { readonly id: string; readonly at: number; readonly kind: 'clock'; readonly replica: number; readonly ms: number };

/** Everything planned in a world, except the fates of its steps. */
export interface Plan {
  readonly seed: number;
  readonly orders: readonly OrderPlan[];
  readonly weather: readonly Weather[];
}

export const REPLICAS = 2;
export const SHOPS = ['app_1', 'app_2'] as const;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** The first action of every order is within this time. */
const BEGIN_WITHIN = 10 * MINUTE;

const WAY_WEIGHTS = {
  'alipay qr': 4,
  'alipay page': 1,
  'alipay code': 1,
  'wechat qr': 4,
  'wechat h5': 1,
  'wechat code': 1,
  paypal: 5,
} as const;

/** The actions besides the first request, by weight. */
const DEED_WEIGHTS: Readonly<Record<Step, number>> = {
  place: 6,
  query: 8,
  close: 6,
  capture: 2,
  refund: 18,
  'payer pays': 5,
  'payer declines': 1,
  'money crosses the close': 1,
  'payer comes back': 4,
  'portal refund': 2,
  'channel repeats': 3,
  'somebody forges': 0.5,
  'capture ends': 1.5,
  sync: 3,
  'sync refunds': 1,
  'retry refunds': 3,
  'end a refund': 0.7,
  'end what is listed': 1.5,
  'console close': 1,
};

/** The actions on a paid order. */
const AFTERWARDS: ReadonlySet<Step> = new Set([
  'refund',
  'portal refund',
  'channel repeats',
  'capture ends',
  'sync refunds',
  'retry refunds',
  'end a refund',
  'end what is listed',
]);

/** Creates the plan of a seed. */
export function createPlan(seed: number, orders: number): Plan {
  const chance = createChance(seed);
  return {
    seed,
    orders: Array.from({ length: orders }, (_, at) => orderPlan(`o${at + 1}`, chance.fork())),
    weather: weatherOf(chance.fork()),
  };
}

function orderPlan(id: string, chance: Chance): OrderPlan {
  const way = chance.weighted(WAY_WEIGHTS);
  const begin = chance.whole(0, BEGIN_WITHIN);
  const expireSeconds = chance.pick([60, 120, 300, 900]);
  const amount = chance.happens(0.08) ? chance.whole(3, 6) : chance.whole(100, 9_000);
  const refunds = refundIdentities(chance, amount);
  // Most acts about an order come in a few bursts, so that they collide: when it begins, is paid, is refunded, and ends.
  const life = expireSeconds * SECOND;
  const paid = chance.happens(0.7)
    ? chance.whole(4 * SECOND, 50 * SECOND)
    : life + chance.whole(-20 * SECOND, 2 * MINUTE);
  const refunded = paid + chance.whole(2 * SECOND, 4 * MINUTE);
  const early = [0, Math.floor(chance.next() * MINUTE), paid, paid, life + MINUTE + chance.whole(-20 * SECOND, MINUTE)];
  const steps = Array.from({ length: chance.whole(2, 6) }, () => chance.weighted(DEED_WEIGHTS));
  if (chance.happens(0.7)) steps.push('payer pays');
  const acts = steps.map((step, at): Act => {
    const moment = step === 'payer pays' ? paid : AFTERWARDS.has(step) ? refunded : chance.pick(early);
    const when = begin + moment + Math.floor(chance.next() ** 3 * 8 * SECOND);
    const base = { id: `${id}.${at + 1}`, at: when, step, replica: chance.whole(0, REPLICAS - 1) };
    if (step === 'refund') return { ...base, ...chance.pick(refunds) };
    if (step === 'portal refund') return { ...base, amount: chance.whole(1, Math.ceil(amount / 3)) };
    return base;
  });
  const first: Act = { id: `${id}.0`, at: begin, step: 'place', replica: chance.whole(0, REPLICAS - 1) };
  return {
    id,
    way,
    amount,
    shop: chance.pick(SHOPS),
    ...(chance.happens(0.6) ? { merchantOrderNo: `M-${id}` } : {}),
    ...(chance.happens(0.5) ? { key: `k-${id}` } : {}),
    expireSeconds,
    acts: [first, ...acts].toSorted((a, b) => a.at - b.at),
  };
}

/** A few refunds that may be repeated unchanged: their sum may exceed the order. */
function refundIdentities(chance: Chance, amount: number): readonly Pick<Act, 'amount' | 'number' | 'key'>[] {
  return [1, 2, 3].map((at) => ({
    amount: chance.happens(0.25) ? amount : chance.whole(1, Math.ceil(amount * 0.6)),
    ...(chance.happens(0.5) ? { number: `F${at}` } : {}),
    ...(chance.happens(0.4) ? { key: `f${at}` } : {}),
  }));
}

function weatherOf(chance: Chance): Weather[] {
  const until = BEGIN_WITHIN + 15 * MINUTE;
  const deaths = Array.from({ length: chance.whole(0, 5) }, (_, at): Weather => ({
    id: `death-${at + 1}`,
    at: chance.whole(0, until),
    kind: 'death',
    replica: chance.whole(0, REPLICAS - 1),
    ms: chance.whole(SECOND, 2 * MINUTE),
  }));
  const clocks = Array.from({ length: chance.whole(0, 3) }, (_, at): Weather => ({
    id: `clock-${at + 1}`,
    at: chance.whole(0, until),
    kind: 'clock',
    replica: chance.whole(0, REPLICAS - 1),
    ms: chance.whole(-10 * SECOND, 10 * SECOND),
  }));
  return [...deaths, ...clocks].toSorted((a, b) => a.at - b.at);
}
