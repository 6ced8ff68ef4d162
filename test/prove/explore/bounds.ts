import type { Flavour } from './truth.ts';

/** How often each event may happen on one path through the states. */
export interface Bounds {
  /** Pay requests of one merchantOrderNo. */
  readonly pay: number;
  readonly close: number;
  readonly query: number;
  /** Returns of the payer's browser. */
  readonly capture: number;
  readonly refund: number;
  /** Deliveries of messages; each message may be delivered repeatedly. */
  readonly notice: number;
  /** Jobs claimed by a replica. */
  readonly job: number;
  /** Actions of an administrator: a query, a retry or a resolution. */
  readonly operator: number;
  /** Actions of the payer. */
  readonly payer: number;
  /** Payments of another amount than that of the order. */
  readonly otherAmount: number;
  /** Disputes of the payer, and won appeals of lost disputes. */
  readonly dispute: number;
  /** A refund in the channel's portal. */
  readonly portal: number;
  /** Succeeded refunds that are returned, and failed ones that succeed. */
  readonly comesBack: number;
  /** The channel's own actions: a refund or a review ends, a trade expires, a create or a capture is refused. */
  readonly channel: number;
  /** Lost answers of the channel: the call was not made, was made, or is made later. */
  readonly silence: number;
  /** Connections that break at COMMIT, with or without its effect. */
  readonly commit: number;
  /** Deaths of a replica between two steps of an operation. */
  readonly death: number;
  /** Advances of the clock to the next due moment. */
  readonly tick: number;
  /** Concurrent operations. */
  readonly atOnce: number;
}

/** A part of the states: a channel, and the events allowed there. */
export interface Scope {
  readonly name: string;
  readonly flavour: Flavour;
  /** The state at the start, reached without faults. */
  readonly start: 'nothing' | 'placed' | 'paid';
  readonly bounds: Bounds;
}

const NONE: Bounds = {
  pay: 1,
  close: 0,
  query: 0,
  capture: 0,
  refund: 0,
  notice: 0,
  job: 0,
  operator: 0,
  payer: 1,
  otherAmount: 0,
  dispute: 0,
  portal: 0,
  comesBack: 0,
  channel: 0,
  silence: 0,
  commit: 0,
  death: 0,
  tick: 0,
  atOnce: 2,
};

const FLAVOURS = ['scanned', 'opened', 'till', 'approved'] as const;

type Question = readonly [name: string, start: Scope['start'], bounds: Partial<Bounds>];

/** The questions about every channel. */
const QUESTIONS: readonly Question[] = [
  ['an order is placed twice, closed and paid', 'nothing', { pay: 2, close: 1, notice: 1, silence: 1, capture: 1 }],
  [
    'a replica dies while an order is placed, closed and paid',
    'nothing',
    { close: 1, death: 2, job: 1, tick: 1, capture: 1 },
  ],
  ['the connection breaks at COMMIT', 'nothing', { pay: 2, close: 1, commit: 2, capture: 1 }],
  ['the channel refuses, and is silent', 'nothing', { pay: 2, channel: 1, silence: 2, capture: 1 }],
  [
    'an order is closed twice and asked about, while it is paid',
    'placed',
    { close: 2, query: 1, notice: 2, silence: 1, capture: 1 },
  ],
  ['an order expires while it is paid', 'placed', { tick: 5, job: 3, silence: 1, notice: 1, death: 1, channel: 1 }],
  ['two replicas check a due order', 'placed', { tick: 3, job: 3, query: 1, silence: 1, close: 1, capture: 1 }],
  [
    'refunds beyond the payment, with silence',
    'paid',
    { refund: 3, silence: 2, job: 1, tick: 1, notice: 1, channel: 1 },
  ],
  ['refunds beside refunds of the portal', 'paid', { refund: 2, portal: 1, notice: 3, job: 1, tick: 1, channel: 1 }],
  [
    'a replica dies, or loses its connection, in a refund',
    'paid',
    { refund: 2, death: 1, commit: 1, job: 1, tick: 1, channel: 1 },
  ],
  [
    'another amount is paid, and an administrator decides',
    'placed',
    { payer: 0, otherAmount: 1, notice: 2, operator: 2, refund: 1, tick: 1, job: 1, capture: 1, channel: 1 },
  ],
  ['an administrator resolves refunds', 'paid', { refund: 1, operator: 2, silence: 1, channel: 1, tick: 2, job: 1 }],
];

/** The questions about channels whose payments the merchant captures. */
const CAPTURES: readonly Question[] = [
  ['several captures run at once', 'placed', { capture: 2, job: 1, notice: 1, silence: 1, channel: 1, payer: 2 }],
  ['a capture runs while the order is closed', 'placed', { capture: 2, close: 1, death: 1, channel: 1, payer: 2 }],
  [
    'a capture is reviewed or declined, and time passes',
    'placed',
    { capture: 1, job: 2, tick: 3, channel: 3, payer: 2, silence: 1 },
  ],
];

/** The questions about channels whose disputes move money by themselves. */
const DISPUTES: readonly Question[] = [
  [
    'the payer disputes a payment that is being refunded',
    'paid',
    { dispute: 2, refund: 1, channel: 1, notice: 2, job: 1, tick: 1 },
  ],
  [
    'an administrator accepts a dispute',
    'paid',
    { dispute: 1, operator: 2, channel: 1, notice: 1, silence: 1, death: 1 },
  ],
];

/** The questions about channels that report a refund returned by the payer's bank. */
const RETURNS: readonly Question[] = [
  [
    'a refund is returned after it succeeded, and succeeds after all',
    'paid',
    { refund: 1, channel: 1, comesBack: 2, notice: 3 },
  ],
  [
    'a refund is returned, with silence, and an administrator decides',
    'paid',
    { refund: 1, channel: 1, comesBack: 1, notice: 2, silence: 1, operator: 1 },
  ],
  [
    'a refund is returned while two replicas query it',
    'paid',
    { refund: 1, channel: 1, comesBack: 2, notice: 2, job: 2, tick: 1 },
  ],
  ['a refund of the portal is returned', 'paid', { portal: 1, comesBack: 2, notice: 3, operator: 1 }],
];

/** The questions that mutants required. */
const MORE_QUESTIONS: readonly Question[] = [
  [
    'the portal refunds, and the channel does not report it',
    'paid',
    { portal: 1, notice: 2, silence: 2, death: 1, job: 1, tick: 1 },
  ],
  ['a payment is reported while the channel is queried', 'placed', { query: 1, tick: 1, notice: 1 }],
  ['two replicas query a refund', 'paid', { refund: 1, job: 2, tick: 1, notice: 1, channel: 1 }],
  ['an order is closed and queried later', 'placed', { close: 2, query: 1, job: 1, tick: 1, notice: 1, silence: 1 }],
];

/** The questions that mutants required of channels with captures. */
const MORE_CAPTURES: readonly Question[] = [
  [
    'a capture comes late, after the order was closed',
    'placed',
    { capture: 1, close: 2, job: 1, tick: 1, silence: 1, notice: 1 },
  ],
];

/** Everything that is explored: the same questions for every channel. */
export const SCOPES: readonly Scope[] = FLAVOURS.flatMap((flavour) =>
  [
    ...QUESTIONS,
    ...MORE_QUESTIONS,
    ...(flavour === 'scanned' ? [] : RETURNS),
    ...(flavour === 'approved' ? [...CAPTURES, ...DISPUTES, ...MORE_CAPTURES] : []),
  ].map(([name, start, bounds]): Scope => {
    const isPlaced = start !== 'nothing';
    const base = { ...NONE, ...(isPlaced ? { pay: 0 } : {}), ...(start === 'paid' ? { payer: 0 } : {}) };
    return { name: `${flavour}: ${name}`, flavour, start, bounds: { ...base, ...bounds } };
  }),
);
