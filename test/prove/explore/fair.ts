import type { OrderExceptionRow } from '../../../server/db/entities/orders.ts';
import type { Snapshot } from '../memory/tables.ts';
import type { Bounds, Scope } from './bounds.ts';
import { dueJobs, keyOf, Moves, nextMoment, operatorActions, type State } from './search.ts';
import type { Action, States } from './state.ts';
import { wrongAtTheEnd, type Wrong } from './rules.ts';
import { taken } from './taken.ts';
import { worldActs } from './world-acts.ts';

/** More steps than any path to an end takes. */
const MOST_STEPS = 600;

/**
 * Shows that a state is no dead end: from here on the channel answers, no new action begins, and due work runs. Every order must
 * reach an end that agrees with the channel's, or have an exception; and every exception must have an administrator's action that
 * resolves it.
 */
export class FairEnd {
  readonly #states: States;
  readonly #transitions: Moves;
  readonly #good = new Set<string>();
  readonly #ends = new Map<string, Wrong>();
  /** The ends reached, and those with an open exception. */
  readonly counts = { ends: 0, listed: 0, ways: 0 };

  constructor(states: States, transitions: Moves) {
    this.#states = states;
    this.#transitions = transitions;
  }

  /** An order placed, or paid, without faults. */
  async prepared(state: State, start: Scope['start']): Promise<State> {
    if (start === 'nothing') return state;
    const placed = await this.#alone(state, { name: 'pay', about: [], turn: 0 });
    if (start === 'placed') return placed;
    const [payer] = worldActs(this.#states.truths.get(placed.truth), placed.now).filter(
      ({ usage }) => usage === 'payer',
    );
    const paid = { ...placed, truth: this.#states.truth(payer!.truth) };
    const orderNo = String(this.#states.snapshots.get(paid.snapshot).orders[0]!['orderNo']);
    return this.#alone(paid, { name: 'sync', about: [orderNo], turn: 0 });
  }

  /** Runs one operation from beginning to end. */
  async #alone(state: State, action: Action): Promise<State> {
    let { state: now } = await this.#transitions.begin(state, action);
    while (now.running.length > 0) now = await this.#goOn(now);
    return { ...now, told: [] };
  }

  /** Returns the faults at the ends that this state leads to. */
  async wrong(from: State): Promise<Wrong> {
    const way: string[] = [];
    let state = withoutBounds(from);
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const key = keyOf(state);
      if (this.#good.has(key)) return this.#remember(way);
      way.push(key);
      const next = await this.step(state);
      if (!next) {
        const wrong = await this.#judgeEnd(state);
        return wrong.length > 0 ? wrong : this.#remember(way);
      }
      state = next;
    }
    return [`after ${MOST_STEPS} steps nothing has come to an end`];
  }

  #remember(way: readonly string[]): Wrong {
    for (const key of way) this.#good.add(key);
    this.counts.ways = this.#good.size;
    return [];
  }

  /** The next event without new actions; undefined if there is none. */
  async step(state: State): Promise<State | undefined> {
    const { now } = state;
    const truth = this.#states.truths.get(state.truth);
    if (state.running.length > 0) return this.#goOn(state);
    const [call, ...rest] = truth.astray;
    if (call)
      return {
        ...state,
        truth: this.#states.truth(this.#transitions.channel({ ...truth, astray: rest }, call, now).truth),
      };
    const notice = truth.notices[state.come];
    // A channel repeats its messages until they are acknowledged, and not afterwards.
    if (notice && state.told.includes(taken(notice))) return { ...state, come: state.come + 1 };
    if (notice) {
      const action: Action = { name: 'notice', about: [notice.notificationId], turn: 0, notice };
      return (await this.#transitions.begin({ ...state, come: state.come + 1 }, action)).state;
    }
    const act = worldActs(truth, now).find(({ usage }) => usage === 'channel');
    if (act) return { ...state, truth: this.#states.truth(act.truth) };
    const snapshot = this.#states.snapshots.get(state.snapshot);
    const [job] = dueJobs(snapshot, now, 0);
    if (job) return (await this.#transitions.begin(state, job)).state;
    const at = nextMoment(snapshot, truth, now);
    return at === undefined ? undefined : { ...state, now: at };
  }

  /** Advances the first running operation with an immediate answer. */
  async #goOn(state: State): Promise<State> {
    const { number, said } = state.running[0]!;
    const { wants } = this.#states.running.get(number);
    const { now } = state;
    if (wants.kind === 'call') {
      if (said !== undefined)
        return (await this.#transitions.settle(state, 0, { kind: 'call', said, now }, 'hears')).state;
      const done = this.#transitions.channel(this.#states.truths.get(state.truth), wants.call, now);
      return {
        ...state,
        truth: this.#states.truth(done.truth),
        running: state.running.with(0, { number, said: done.said }),
      };
    }
    const on = this.#states.snapshots.get(state.snapshot);
    const step =
      wants.kind === 'read'
        ? ({ kind: 'read', on, now } as const)
        : ({ kind: 'write', on, now, commit: 'told' } as const);
    return (await this.#transitions.settle(state, 0, step, 'goes on')).state;
  }

  async #judgeEnd(state: State): Promise<Wrong> {
    const key = `${state.snapshot}|${state.truth}|${state.told.join(',')}`;
    const known = this.#ends.get(key);
    if (known) return known;
    const snapshot = this.#states.snapshots.get(state.snapshot);
    const wrong = [
      ...wrongAtTheEnd(snapshot, this.#states.truths.get(state.truth), state.told),
      ...(await this.#dead(state)),
    ];
    this.#ends.set(key, wrong);
    this.counts.ends += 1;
    return wrong;
  }

  /** The exceptions without an action that resolves them. */
  async #dead(state: State): Promise<Wrong> {
    const open = openIn(this.#states.snapshots.get(state.snapshot));
    if (open.length === 0) return [];
    this.counts.listed += 1;
    const wrong: string[] = [];
    for (const one of open)
      if (!(await this.#canEnd(state, one))) wrong.push(`nothing ends ${one.kind} of ${one.orderNo}`);
    return wrong;
  }

  async #canEnd(state: State, { id, kind }: OrderExceptionRow): Promise<boolean> {
    for (const action of operatorActions(this.#states.snapshots.get(state.snapshot), -1)) {
      const isMeant = action.name !== 'resolveException' || action.about[0] === id;
      if (!isMeant) continue;
      let after: State | undefined = (await this.#transitions.begin({ ...state, told: [] }, action)).state;
      for (let step = 0; after && step < MOST_STEPS; step += 1) {
        const next = await this.step(after);
        if (!next) break;
        after = next;
      }
      const left = openIn(this.#states.snapshots.get(after.snapshot));
      if (!left.some((one) => one.id === id && one.kind === kind)) return true;
    }
    return false;
  }
}

function openIn({ exceptions }: Snapshot): OrderExceptionRow[] {
  return exceptions.filter(({ state }) => state === 'open') as unknown as OrderExceptionRow[];
}

const NOTHING = Object.freeze({
  pay: 0,
  close: 0,
  query: 0,
  capture: 0,
  refund: 0,
  notice: 0,
  job: 0,
  operator: 0,
  payer: 0,
  otherAmount: 0,
  dispute: 0,
  portal: 0,
  comesBack: 0,
  channel: 0,
  silence: 0,
  commit: 0,
  death: 0,
  tick: 0,
  atOnce: 1,
}) satisfies Bounds;

function withoutBounds(state: State): State {
  return { ...state, left: NOTHING };
}
