import { hash } from 'node:crypto';
import { type AnyRow, EMPTY, type Snapshot } from '../memory/tables.ts';
import { follow, type Setting, type Standing, type Step } from './driver.ts';
import { Interned, textOf } from './intern.ts';
import { OPERATIONS, payWayOf } from './operations.ts';
import type { Truth } from './truth.ts';

/** An operation and its target; operations of one name are distinguished by `turn`. */
export interface Action {
  readonly name: keyof typeof OPERATIONS;
  readonly about: readonly string[];
  readonly turn: number;
  /** The message passed to it, as text. */
  readonly notice?: Setting['notices'][number];
}

/** An operation that has not ended. */
export interface Running {
  readonly action: Action;
  readonly setting: Setting;
  readonly steps: readonly Step[];
  readonly wants: NonNullable<Standing['wants']>;
  /** Distinguishes positions; equal keys continue equally. */
  readonly key: string;
}

/** The result of one more step of an operation. */
export interface Advanced {
  /** Its position; undefined if it has ended. */
  readonly running?: number;
  readonly ended?: Standing['ended'];
  /** The database afterwards, if it changed. */
  readonly snapshot?: number;
}

/** Called with the database before and after every new commit. */
export type OnCommit = (before: Snapshot, after: Snapshot) => void;

/** Databases, channel states and operations, each stored once. */
export class States {
  readonly snapshots = new Interned<Snapshot>();
  readonly truths = new Interned<Truth>();
  readonly running = new Interned<Running>();
  readonly #advanced = new Map<string, Advanced>();
  readonly #onCommit: OnCommit;
  /** How many steps of the service's code ran, and how many were known already. */
  readonly counts = { steps: 0, known: 0 };

  constructor(onCommit: OnCommit = () => {}) {
    this.#onCommit = onCommit;
    this.snapshot(EMPTY);
  }

  snapshot(snapshot: Snapshot): number {
    return this.snapshots.add(keyOfSnapshot(snapshot), () => snapshot);
  }

  truth(truth: Truth): number {
    return this.truths.add(digest(textOf(truth)), () => truth);
  }

  /** Begins an operation; it is suspended before its first step. */
  async begin(action: Action, truth: Truth, now: number): Promise<Advanced> {
    const { name, about, turn, notice } = action;
    const seed = `${name}/${about.join('/')}/${turn}/${now}`;
    const setting = { flavour: truth.flavour, startedAt: now, seed, notices: notice ? [notice] : [] };
    const key = `${seed}${notice ? textOf(notice) : ''}`;
    const known = this.#advanced.get(key);
    if (known) return known;
    const standing = await follow(operationOf(action, truth), setting, []);
    const advanced = this.#stand({ action, setting, steps: [], key }, standing, EMPTY);
    this.#advanced.set(key, advanced);
    return advanced;
  }

  /** Advances an operation by one step. `on` is what the step depends on besides the operation itself. */
  async advance(number: number, step: Step, on: string): Promise<Advanced> {
    const key = `${number}|${on}`;
    const known = this.#advanced.get(key);
    if (known) {
      this.counts.known += 1;
      return known;
    }
    this.counts.steps += 1;
    const { action, setting, steps, key: before } = this.running.get(number);
    const truth = { flavour: setting.flavour } as Truth;
    const standing = await follow(operationOf(action, truth), setting, [...steps, step]);
    const done = [...steps, step];
    const so = { action, setting, steps: done, key: digest(`${before}>${mark(step, standing)}`) };
    const advanced = this.#stand(so, standing, 'on' in step ? step.on : EMPTY);
    this.#advanced.set(key, advanced);
    return advanced;
  }

  #stand(so: Omit<Running, 'wants'>, { wants, ended, snapshot }: Standing, before: Snapshot): Advanced {
    if (snapshot) this.#onCommit(before, snapshot);
    return {
      ...(snapshot ? { snapshot: this.snapshot(snapshot) } : {}),
      ...(ended ? { ended } : {}),
      ...(wants ? { running: this.running.add(so.key, () => ({ ...so, wants })) } : {}),
    };
  }
}

/** The facts that an operation learned from a step. */
function mark(step: Step, { saw }: Standing): string {
  if (step.kind === 'call') return `${step.now}:${textOf(step.said)}`;
  const how = step.kind === 'write' && step.commit !== 'told' ? step.commit : textOf(saw ?? null);
  return `${step.now}:${how}`;
}

function operationOf({ name, about, notice }: Action, { flavour }: Pick<Truth, 'flavour'>) {
  if (name === 'pay') return OPERATIONS.pay(flavour);
  if (name === 'notice' && notice) return OPERATIONS.notice(payWayOf(flavour));
  return (OPERATIONS[name] as (...words: readonly string[]) => ReturnType<typeof OPERATIONS.close>)(...about);
}

/** The history records the path, so databases that differ only in it are equal. */
function keyOfSnapshot({ transitions: _moves, events, ...rest }: Snapshot): string {
  const told = events.map(({ id }) => id).toSorted();
  const tables = Object.entries(rest).map(([name, rows]) => `${name}:${rows.map(keyOfRow).join()}`);
  return digest(`${tables.join(';')};${told.join()}`);
}

/** Rows are immutable, so most rows of a database were serialised before. */
const rowKeys = new WeakMap<AnyRow, string>();

function keyOfRow(row: AnyRow): string {
  const known = rowKeys.get(row);
  if (known !== undefined) return known;
  const key = digest(textOf(membersOf(row)));
  rowKeys.set(row, key);
  return key;
}

/** No decision reads the times at which exceptions opened or messages arrived. */
function membersOf(row: AnyRow): [string, unknown][] {
  const isListed = 'dedupe' in row || 'noticeId' in row;
  const isRead = (name: string) => !isListed || !['createdAt', 'resolvedAt', 'receivedAt'].includes(name);
  return Object.entries(row)
    .filter(([name]) => isRead(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 24);
}
