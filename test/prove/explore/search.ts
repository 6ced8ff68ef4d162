import type { OrderExceptionRow } from '../../../server/db/entities/orders.ts';
import type { Snapshot } from '../memory/tables.ts';
import type { Bounds, Scope } from './bounds.ts';
import type { Step } from './driver.ts';
import { type Advanced, type Action, States } from './state.ts';
import { answer, type Answered, type Call, emptyTruth, type How, type Truth } from './truth.ts';
import { worldActs } from './world-acts.ts';

/** Calls that change nothing at the channel. */
const READS: readonly Call['method'][] = ['query', 'queryRefund', 'lookUpRefund', 'readDispute'];

/** The complete state at one moment, as numbers of interned items. */
export interface State {
  readonly snapshot: number;
  readonly truth: number;
  readonly now: number;
  /** Running operations, and the answers on their way to them. */
  readonly running: readonly Underway[];
  /** How often each event may still happen. */
  readonly left: Bounds;
  /** The reported facts that callers may rely on. */
  readonly told: readonly string[];
  /** How many of the channel's messages have been delivered in the final, fault-free phase. */
  readonly come: number;
}

export interface Underway {
  readonly number: number;
  readonly said?: unknown;
}

/** One possible event in words, and the state after it. */
export interface Next {
  readonly what: string;
  readonly state: State;
}

/** The moment at which every exploration begins. */
export const BEGINNING = Date.UTC(2026, 0, 1, 8);

/** The initial state of a scope. */
export function firstState(states: States, { flavour, bounds }: Scope): State {
  return {
    snapshot: 0,
    truth: states.truth(emptyTruth(flavour)),
    now: BEGINNING,
    running: [],
    left: bounds,
    told: [],
    come: 0,
  };
}

/** The key that distinguishes states. */
export function keyOf({ snapshot, truth, now, running, left, told, come }: State): string {
  const under = running.map(({ number, said }) =>
    said === undefined ? number : `${number}:${JSON.stringify(said, big)}`,
  );
  return `${snapshot}|${truth}|${(now - BEGINNING) / 1000}|${under.toSorted().join(',')}|${Object.values(left).join('')}|${told.join(',')}|${come}`;
}

function big(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}

/** Returns the facts that a caller may rely on after an operation ended. */
export type Judge = (action: Action, ended: NonNullable<Advanced['ended']>) => readonly string[];

/** The possible next events, each with its state. */
export class Moves {
  readonly #states: States;
  readonly #judge: Judge;
  readonly #channel: typeof answer;

  constructor(states: States, judge: Judge, channel = answer) {
    this.#states = states;
    this.#judge = judge;
    this.#channel = channel;
  }

  /** The channel's answer to a call. */
  channel(truth: Truth, call: Call, now: number, how?: How): Answered {
    return this.#channel(truth, call, now, how);
  }

  async from(state: State): Promise<Next[]> {
    const nexts: Next[] = [];
    for (let at = 0; at < state.running.length; at += 1) nexts.push(...(await this.#goesOn(state, at)));
    nexts.push(...this.#world(state));
    if (state.running.length < state.left.atOnce) nexts.push(...(await this.#begins(state)));
    const ticked = this.#tick(state);
    if (ticked) nexts.push(ticked);
    return nexts;
  }

  /** Every event that a running operation can meet. */
  async #goesOn(state: State, at: number): Promise<Next[]> {
    const { left } = state;
    const { number, said } = state.running[at]!;
    const { action, wants } = this.#states.running.get(number);
    const who = nameOf(action);
    const nexts: Next[] = [];
    if (left.death > 0)
      nexts.push({ what: `${who} dies`, state: without({ ...state, left: used(left, 'death') }, at) });
    if (wants.kind === 'call') {
      if (said !== undefined) nexts.push(await this.settle(state, at, { kind: 'call', said, now: state.now }, 'hears'));
      else nexts.push(...(await this.#asks(state, at)));
      return nexts;
    }
    const on = this.#states.snapshots.get(state.snapshot);
    const step = { kind: wants.kind, on, now: state.now } as const;
    if (wants.kind === 'read') return [...nexts, await this.settle(state, at, step as Step, 'reads')];
    const write = (commit: 'told' | 'lost' | 'refused'): Step => ({ kind: 'write', on, now: state.now, commit });
    nexts.push(await this.settle(state, at, write('told'), 'writes'));
    if (left.commit === 0) return nexts;
    const broken = { ...state, left: used(left, 'commit') };
    nexts.push(await this.settle(broken, at, write('lost'), 'writes, and the answer to COMMIT is lost,'));
    nexts.push(await this.settle(broken, at, write('refused'), 'loses the connection at COMMIT'));
    return nexts;
  }

  /** A call of the channel: it arrives and is answered later, or goes astray. */
  async #asks(state: State, at: number): Promise<Next[]> {
    const { left, now } = state;
    const { number } = state.running[at]!;
    const { action, wants } = this.#states.running.get(number);
    if (wants.kind !== 'call') return [];
    const { call } = wants;
    const who = `${nameOf(action)} asks to ${call.method}`;
    const truth = this.#states.truths.get(state.truth);
    const nexts: Next[] = [];
    const arrive = (what: string, how: How, from: State): void => {
      const done = this.channel(truth, call, now, how);
      const running = state.running.with(at, { number, said: done.said });
      nexts.push({ what, state: { ...from, truth: this.#states.truth(done.truth), running } });
    };
    arrive(who, 'well', state);
    const trade = truth.trades.find(({ orderNo }) => orderNo === call.orderNo);
    if (left.channel > 0) {
      const by = { ...state, left: used(left, 'channel') };
      if (call.method === 'capture' && trade?.state === 'agreed') {
        arrive(`${who}, which is held`, 'held', by);
        arrive(`${who}, which is declined`, 'declined', by);
      }
      if (call.method === 'place' && !trade) {
        const refusal = { kind: 'declined', code: 'NOT_ALLOWED', reason: 'not allowed', definite: true } as const;
        const running = state.running.with(at, { number, said: refusal });
        nexts.push({ what: `${who}, which is refused`, state: { ...by, running } });
      }
    }
    if (left.silence > 0) {
      const silent = { ...state, left: used(left, 'silence') };
      const step: Step = { kind: 'call', said: { kind: 'unknown', cause: 'timeout' }, now };
      nexts.push(await this.settle(silent, at, step, `(${call.method}) hears nothing of`));
      if (!READS.includes(call.method)) {
        const done = { ...silent, truth: this.#states.truth(this.channel(truth, call, now).truth) };
        nexts.push(await this.settle(done, at, step, `(${call.method}) is done, and hears nothing of`));
        const later = { ...silent, truth: this.#states.truth({ ...truth, astray: [...truth.astray, call] }) };
        nexts.push(await this.settle(later, at, step, `(${call.method}) is done later, and hears nothing of`));
      }
    }
    return nexts;
  }

  /** Advances an operation by one step; on its end records the facts reported to its caller. */
  async settle(state: State, at: number, step: Step, verb: string): Promise<Next> {
    const { number } = state.running[at]!;
    const { action } = this.#states.running.get(number);
    const on =
      step.kind === 'call'
        ? `${step.now}c${JSON.stringify(step.said, big)}`
        : `${step.now}${step.kind}${step.kind === 'write' ? step.commit : ''}${state.snapshot}`;
    const done = await this.#states.advance(number, step, on);
    return { what: `${nameOf(action)} ${verb}`, state: this.#after(state, at, action, done) };
  }

  #after(state: State, at: number, action: Action, { running, ended, snapshot }: Advanced): State {
    const after = { ...state, snapshot: snapshot ?? state.snapshot };
    if (running !== undefined) return { ...after, running: state.running.with(at, { number: running }) };
    const over = without(after, at);
    const told = ended ? this.#judge(action, ended) : [];
    return told.length === 0 ? over : { ...over, told: [...new Set([...over.told, ...told])].toSorted() };
  }

  #world(state: State): Next[] {
    const { left, now } = state;
    const truth = this.#states.truths.get(state.truth);
    const acts = worldActs(truth, now).filter(({ usage }) => left[usage] > 0);
    const nexts = acts.map(({ name, usage, truth: after }) => ({
      what: name,
      state: { ...state, truth: this.#states.truth(after), left: used(left, usage) },
    }));
    for (const [at, call] of truth.astray.entries()) {
      const arrived = this.channel({ ...truth, astray: truth.astray.toSpliced(at, 1) }, call, now).truth;
      nexts.push({
        what: `the call to ${call.method} arrives late`,
        state: { ...state, truth: this.#states.truth(arrived) },
      });
    }
    return nexts;
  }

  /** The operations that can begin now. */
  async #begins(state: State): Promise<Next[]> {
    const snapshot = this.#states.snapshots.get(state.snapshot);
    const truth = this.#states.truths.get(state.truth);
    const nexts: Next[] = [];
    for (const [usage, action] of actionsOf(snapshot, truth, state)) {
      if (state.left[usage] === 0) continue;
      nexts.push(await this.begin({ ...state, left: used(state.left, usage) }, action));
    }
    return nexts;
  }

  async begin(state: State, action: Action): Promise<Next> {
    const truth = this.#states.truths.get(state.truth);
    const begun = await this.#states.begin(action, truth, state.now);
    const at = state.running.length;
    const started = { ...state, running: [...state.running, { number: -1 }] };
    return { what: `${nameOf(action)} begins`, state: this.#after(started, at, action, begun) };
  }

  #tick(state: State): Next | undefined {
    if (state.left.tick === 0) return undefined;
    const at = nextMoment(this.#states.snapshots.get(state.snapshot), this.#states.truths.get(state.truth), state.now);
    if (at === undefined) return undefined;
    const seconds = (at - state.now) / 1000;
    return { what: `${seconds} s pass`, state: { ...state, now: at, left: used(state.left, 'tick') } };
  }
}

/** The name of an operation in a story. */
export function nameOf({ name, about, turn }: Action): string {
  return `${name}${about.length > 0 ? ` ${about.join(' ')}` : ''}${turn > 0 ? ` (${turn + 1})` : ''}`;
}

function used(left: Bounds, what: keyof Bounds): Bounds {
  return { ...left, [what]: left[what] - 1 };
}

function without(state: State, at: number): State {
  return { ...state, running: state.running.toSpliced(at, 1) };
}

interface Due {
  leasedUntil: Date | null;
  nextCheckAt?: Date | null;
  nextAt?: Date | null;
}

/** The time from which a job can claim the row; undefined if it is not due. */
export function dueAt({ leasedUntil, nextCheckAt, nextAt }: Due): number | undefined {
  const at = nextCheckAt ?? nextAt;
  return at ? Math.max(at.getTime(), leasedUntil?.getTime() ?? 0) : undefined;
}

/** The jobs that can be claimed now. */
export function dueJobs({ orders, refunds, refundLookups, disputes }: Snapshot, now: number, turn: number): Action[] {
  const isDue = (row: object) => (dueAt(row as Due) ?? Infinity) <= now;
  return [
    ...orders.filter(isDue).map((row): Action => ({ name: 'orderJob', about: [String(row['orderNo'])], turn })),
    ...refunds.filter(isDue).map((row): Action => ({ name: 'refundJob', about: [String(row['refundNo'])], turn })),
    ...disputes.filter(isDue).map((row): Action => ({ name: 'disputeJob', about: [String(row['disputeNo'])], turn })),
    ...refundLookups
      .filter((row) => row['state'] === 'open' && isDue(row))
      .map((row): Action => ({ name: 'questionJob', about: [String(row['id'])], turn })),
  ];
}

/** The next moment at which work is due or a trade expires; undefined if there is none. */
export function nextMoment(
  { orders, refunds, refundLookups, disputes }: Snapshot,
  { trades }: Truth,
  now: number,
): number | undefined {
  const due = [...orders, ...refunds, ...refundLookups.filter(({ state }) => state === 'open'), ...disputes].map(
    (row) => dueAt(row as unknown as Due),
  );
  const ends = trades.filter(({ state }) => state !== 'paid' && state !== 'closed').map(({ expiresAt }) => expiresAt);
  const later = [...due, ...ends].filter((at): at is number => at !== undefined && at > now);
  return later.length > 0 ? Math.min(...later) : undefined;
}

function* actionsOf(snapshot: Snapshot, truth: Truth, { now, left }: State): Generator<[keyof Bounds, Action]> {
  const { orders } = snapshot;
  yield ['pay', { name: 'pay', about: [], turn: left.pay }];
  for (const row of orders) {
    const orderNo = String(row['orderNo']);
    yield ['close', { name: 'close', about: [orderNo], turn: left.close }];
    yield ['query', { name: 'query', about: [orderNo], turn: left.query }];
    if (truth.flavour === 'approved') yield ['capture', { name: 'capture', about: [orderNo], turn: left.capture }];
    // Two refunds whose sum exceeds the payment, and a repeated one.
    yield [
      'refund',
      {
        name: 'refund',
        about: [orderNo, left.refund % 2 === 0 ? '6.00' : '5.00', `r-${left.refund % 2}`],
        turn: left.refund,
      },
    ];
    yield ['operator', { name: 'sync', about: [orderNo], turn: left.operator }];
  }
  for (const notice of truth.notices)
    yield ['notice', { name: 'notice', about: [notice.notificationId], turn: left.notice, notice }];
  for (const action of dueJobs(snapshot, now, left.job)) yield ['job', action];
  for (const action of operatorActions(snapshot, left.operator)) yield ['operator', action];
}

/** The administrator's actions on open exceptions. */
export function operatorActions({ exceptions, refunds, disputes }: Snapshot, turn: number): Action[] {
  const open = exceptions.filter(({ state }) => state === 'open') as unknown as OrderExceptionRow[];
  return [
    ...open.flatMap(({ id }) =>
      ['acknowledge', 'refund', 'accept', 'close', 'retry'].map((how): Action => ({
        name: 'resolveException',
        about: [id, how],
        turn,
      })),
    ),
    ...disputes
      .filter(({ state }) => state !== 'won' && state !== 'lost')
      .map(({ disputeNo }): Action => ({ name: 'acceptDispute', about: [String(disputeNo)], turn })),
    ...refunds.flatMap((row) => {
      const refundNo = String(row['refundNo']);
      return [
        { name: 'retryRefund', about: [refundNo], turn } as const,
        ...['paid_elsewhere', 'release', 'failed_at_channel'].map((how): Action => ({
          name: 'resolveRefund',
          about: [refundNo, how],
          turn,
        })),
      ];
    }),
  ];
}
