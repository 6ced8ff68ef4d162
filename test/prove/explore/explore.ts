import type { Scope } from './bounds.ts';
import { FairEnd } from './fair.ts';
import { toldBy, type Wrong, wrongBetween, wrongIn, wrongStep } from './rules.ts';
import { firstState, type Judge, keyOf, Moves, type Next, type State } from './search.ts';
import { takeOverRandom } from './seeded-random.ts';
import { States } from './state.ts';
import { takenBy } from './taken.ts';
import { answer } from './truth.ts';

/** The findings of a scope. */
export interface Explored {
  readonly scope: Scope;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  /** Whether every state within the bounds was reached. */
  readonly isWhole: boolean;
  readonly databases: number;
  readonly truths: number;
  readonly steps: number;
  readonly ends: number;
  readonly listed: number;
  readonly seconds: number;
  readonly faults: readonly Fault[];
}

/** A fault, and the shortest path of events to it. */
export interface Fault {
  readonly wrong: Wrong;
  readonly story: readonly string[];
}

/** The limits of an exploration besides its scope. */
export interface Limits {
  readonly mostStates: number;
  readonly mostFaults: number;
}

/** Visits every state of a scope, nearest first, and checks the invariants in each. */
export async function explore(scope: Scope, { mostStates, mostFaults }: Limits, channel = answer): Promise<Explored> {
  takeOverRandom();
  const begun = performance.now();
  let found: string[] = [];
  const states = new States((before, after) => found.push(...wrongIn(after), ...wrongStep(before, after)));
  const judge: Judge = (action, ended) => {
    const { told, wrong } = toldBy(action, ended);
    found.push(...wrong);
    return [...told, ...takenBy(action, ended)];
  };
  const moves = new Moves(states, judge, channel);
  const fair = new FairEnd(states, moves);
  const visited = new Map<string, number>();
  const parents: number[] = [];
  const whats: string[] = [];
  const between = new Map<string, Wrong>();
  const faults: Fault[] = [];
  const seenFaults = new Set<string>();
  let transitions = 0;
  let depth = 0;

  const story = (at: number): string[] => {
    const told: string[] = [];
    for (let here = at; here > 0; here = parents[here]!) told.unshift(whats[here]!);
    return told;
  };
  const blame = (wrong: Wrong, at: number, last?: string) => {
    const name = wrong.map((one) => one.replaceAll(/[PR]\d{14}\w+/g, '#')).join('; ');
    if (seenFaults.has(name)) return;
    seenFaults.add(name);
    faults.push({ wrong, story: [...story(at), ...(last === undefined ? [] : [last])] });
  };
  const visit = ({ what, state }: Next, from: number): State | undefined => {
    const key = keyOf(state);
    if (visited.has(key)) return undefined;
    visited.set(key, parents.length);
    parents.push(from);
    whats.push(what);
    return state;
  };

  let layer: [State, number][] = [
    [visit({ what: '', state: await fair.prepared(firstState(states, scope), scope.start) }, -1)!, 0],
  ];
  let isWhole = true;
  while (layer.length > 0 && faults.length < mostFaults) {
    const further: [State, number][] = [];
    for (const [state, at] of layer) {
      const pair = `${state.snapshot}|${state.truth}`;
      let wrong = between.get(pair);
      if (!wrong) {
        wrong = wrongBetween(states.snapshots.get(state.snapshot), states.truths.get(state.truth));
        between.set(pair, wrong);
      }
      if (wrong.length > 0) blame(wrong, at);
      const end = await fair.wrong(state);
      if (end.length > 0) blame(end, at, '… and then nothing new happens');
      found = [];
      if (visited.size >= mostStates) {
        isWhole = false;
        continue;
      }
      for (const next of await moves.from(state)) {
        transitions += 1;
        const one = visit(next, at);
        if (one) further.push([one, parents.length - 1]);
      }
      if (found.length > 0) blame(found, at, '… and one step more');
      found = [];
      if (faults.length >= mostFaults) break;
    }
    layer = further;
    if (further.length > 0) depth += 1;
  }
  return {
    scope,
    states: visited.size,
    transitions,
    depth,
    isWhole: isWhole && faults.length < mostFaults,
    databases: states.snapshots.size,
    truths: states.truths.size,
    steps: states.counts.steps,
    ends: fair.counts.ends,
    listed: fair.counts.listed,
    seconds: (performance.now() - begun) / 1000,
    faults,
  };
}
