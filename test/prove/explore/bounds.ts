import type { Flavour } from './truth.ts';

/** How often each thing may happen on one way through the states. */
export interface Bounds {
  /** Pay requests of one merchantOrderNo. */
  readonly pay: number;
  readonly close: number;
  readonly query: number;
  /** The payer's browser comes back. */
  readonly capture: number;
  readonly refund: number;
  /** Deliveries of messages, of any message any number of times. */
  readonly notice: number;
  /** Jobs that are taken by a replica. */
  readonly job: number;
  /** An administrator asks, repeats or ends something. */
  readonly operator: number;
  /** The payer does something. */
  readonly payer: number;
  /** The payer pays another amount than that of the order. */
  readonly otherAmount: number;
  /** The payer disputes the payment, or the appeal of a lost dispute is won. */
  readonly dispute: number;
  /** A refund in the channel's portal. */
  readonly portal: number;
  /** A refund that was done comes back, or one that was not is done after all. */
  readonly comesBack: number;
  /** The channel does something by itself: a refund or a review ends, a trade lapses, a create or a capture is refused. */
  readonly channel: number;
  /** An answer of the channel does not come: the call was never made, was made, or is made later. */
  readonly silence: number;
  /** The connection breaks at COMMIT: it was made, or was not. */
  readonly commit: number;
  /** A replica dies between two steps of an operation. */
  readonly death: number;
  /** The clock goes on to the next moment at which something is due. */
  readonly tick: number;
  /** Operations that are under way at once. */
  readonly atOnce: number;
}

/** A part of the states: a channel, and what may happen there. */
export interface Scope {
  readonly name: string;
  readonly flavour: Flavour;
  /** What has happened already, with nothing going wrong. */
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

/** What is asked of every channel. */
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
  ['an order lapses while it is paid', 'placed', { tick: 5, job: 3, silence: 1, notice: 1, death: 1, channel: 1 }],
  [
    'two replicas look at an order that is due',
    'placed',
    { tick: 3, job: 3, query: 1, silence: 1, close: 1, capture: 1 },
  ],
  [
    'refunds beyond the payment, with silence',
    'paid',
    { refund: 3, silence: 2, job: 1, tick: 1, notice: 1, channel: 1 },
  ],
  [
    'refunds, while the portal gives back as well',
    'paid',
    { refund: 2, portal: 1, notice: 3, job: 1, tick: 1, channel: 1 },
  ],
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
  ['an administrator repairs refunds', 'paid', { refund: 1, operator: 2, silence: 1, channel: 1, tick: 2, job: 1 }],
];

/** What is asked of a channel whose money the merchant takes. */
const CAPTURES: readonly Question[] = [
  [
    'the money is taken by several at once',
    'placed',
    { capture: 2, job: 1, notice: 1, silence: 1, channel: 1, payer: 2 },
  ],
  ['the money is taken while the order is closed', 'placed', { capture: 2, close: 1, death: 1, channel: 1, payer: 2 }],
  [
    'the money is held, or declined, and time passes',
    'placed',
    { capture: 1, job: 2, tick: 3, channel: 3, payer: 2, silence: 1 },
  ],
];

/** What is asked of a channel whose disputes move money by themselves. */
const DISPUTES: readonly Question[] = [
  [
    'the payer disputes what is being given back',
    'paid',
    { dispute: 2, refund: 1, channel: 1, notice: 2, job: 1, tick: 1 },
  ],
  [
    'an administrator gives in to a dispute',
    'paid',
    { dispute: 1, operator: 2, channel: 1, notice: 1, silence: 1, death: 1 },
  ],
];

/** What is asked of channels that tell when the payer's bank sends a refund back. */
const RETURNS: readonly Question[] = [
  [
    'a refund comes back after it was done, and is done after all',
    'paid',
    { refund: 1, channel: 1, comesBack: 2, notice: 3 },
  ],
  [
    'a refund comes back, with silence, and an administrator decides',
    'paid',
    { refund: 1, channel: 1, comesBack: 1, notice: 2, silence: 1, operator: 1 },
  ],
  [
    'a refund comes back while two replicas ask about it',
    'paid',
    { refund: 1, channel: 1, comesBack: 2, notice: 2, job: 2, tick: 1 },
  ],
  ['a refund of the portal comes back', 'paid', { portal: 1, comesBack: 2, notice: 3, operator: 1 }],
];

/** What mutants asked for. */
const MORE_QUESTIONS: readonly Question[] = [
  [
    'the portal gives back, and the channel is silent about it',
    'paid',
    { portal: 1, notice: 2, silence: 2, death: 1, job: 1, tick: 1 },
  ],
  ['a payment is heard of while the channel is asked', 'placed', { query: 1, tick: 1, notice: 1 }],
  ['two replicas ask about a refund', 'paid', { refund: 1, job: 2, tick: 1, notice: 1, channel: 1 }],
  [
    'an order is closed, and asked about later',
    'placed',
    { close: 2, query: 1, job: 1, tick: 1, notice: 1, silence: 1 },
  ],
];

/** The same of a channel whose money the merchant takes. */
const MORE_CAPTURES: readonly Question[] = [
  [
    'the money is taken late, after the order was closed',
    'placed',
    { capture: 1, close: 2, job: 1, tick: 1, silence: 1, notice: 1 },
  ],
];

/** Everything that is explored: of every channel the same questions. */
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
