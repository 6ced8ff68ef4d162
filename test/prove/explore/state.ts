import { hash } from 'node:crypto';
import { type AnyRow, EMPTY, type Snapshot } from '../memory/tables.ts';
import { follow, type Setting, type Standing, type Step } from './driver.ts';
import { Interned, textOf } from './intern.ts';
import { OPERATIONS, payWayOf } from './operations.ts';
import type { Truth } from './truth.ts';

/** Which operation runs, and about what; two of one name are told apart by `turn`. */
export interface Deed {
  readonly name: keyof typeof OPERATIONS;
  readonly about: readonly string[];
  readonly turn: number;
  /** The message that it was handed, as text. */
  readonly notice?: Setting['notices'][number];
}

/** An operation that has not ended. */
export interface Running {
  readonly deed: Deed;
  readonly setting: Setting;
  readonly steps: readonly Step[];
  readonly wants: NonNullable<Standing['wants']>;
  /** Tells two places apart; two that look alike go on alike. */
  readonly key: string;
}

/** What an operation came to with one more step. */
export interface Advanced {
  /** Where it stands now; undefined when it has ended. */
  readonly running?: number;
  readonly ended?: Standing['ended'];
  /** The database afterwards, when it was changed. */
  readonly snapshot?: number;
}

/** Is shown every commit that is new: the database before it and after it. */
export type OnCommit = (before: Snapshot, after: Snapshot) => void;

/** Databases, truths of the channel and operations, each kept once. */
export class States {
  readonly snapshots = new Interned<Snapshot>();
  readonly truths = new Interned<Truth>();
  readonly running = new Interned<Running>();
  readonly #advanced = new Map<string, Advanced>();
  readonly #onCommit: OnCommit;
  /** How many steps of the service's own code were run, and how often the answer was known already. */
  readonly counts = { steps: 0, known: 0 };

  constructor(onCommit: OnCommit = () => {}) {
    this.#onCommit = onCommit;
    this.snapshot(EMPTY);
  }

  /** The number of a database. */
  snapshot(snapshot: Snapshot): number {
    return this.snapshots.add(keyOfSnapshot(snapshot), () => snapshot);
  }

  truth(truth: Truth): number {
    return this.truths.add(digest(textOf(truth)), () => truth);
  }

  /** An operation begins; it is left standing before the first thing that it does. */
  async begin(deed: Deed, truth: Truth, now: number): Promise<Advanced> {
    const { name, about, turn, notice } = deed;
    const seed = `${name}/${about.join('/')}/${turn}/${now}`;
    const setting = { flavour: truth.flavour, startedAt: now, seed, notices: notice ? [notice] : [] };
    const key = `${seed}${notice ? textOf(notice) : ''}`;
    const known = this.#advanced.get(key);
    if (known) return known;
    const standing = await follow(operationOf(deed, truth), setting, []);
    const advanced = this.#stand({ deed, setting, steps: [], key }, standing, EMPTY);
    this.#advanced.set(key, advanced);
    return advanced;
  }

  /** One more step of an operation. `on` says what the step depends on beside the operation itself. */
  async advance(number: number, step: Step, on: string): Promise<Advanced> {
    const key = `${number}|${on}`;
    const known = this.#advanced.get(key);
    if (known) {
      this.counts.known += 1;
      return known;
    }
    this.counts.steps += 1;
    const { deed, setting, steps, key: before } = this.running.get(number);
    const truth = { flavour: setting.flavour } as Truth;
    const standing = await follow(operationOf(deed, truth), setting, [...steps, step]);
    const done = [...steps, step];
    const so = { deed, setting, steps: done, key: digest(`${before}>${mark(step, standing)}`) };
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

/** What an operation has learned by a step. */
function mark(step: Step, { saw }: Standing): string {
  if (step.kind === 'call') return `${step.now}:${textOf(step.said)}`;
  const how = step.kind === 'write' && step.commit !== 'told' ? step.commit : textOf(saw ?? null);
  return `${step.now}:${how}`;
}

function operationOf({ name, about, notice }: Deed, { flavour }: Pick<Truth, 'flavour'>) {
  if (name === 'pay') return OPERATIONS.pay(flavour);
  if (name === 'notice' && notice) return OPERATIONS.notice(payWayOf(flavour));
  return (OPERATIONS[name] as (...words: readonly string[]) => ReturnType<typeof OPERATIONS.close>)(...about);
}

/** The history is what led here, so two databases that differ in nothing else are one. */
function keyOfSnapshot({ transitions: _moves, events, ...rest }: Snapshot): string {
  const told = events.map(({ id }) => id).toSorted();
  const tables = Object.entries(rest).map(([name, rows]) => `${name}:${rows.map(keyOfRow).join()}`);
  return digest(`${tables.join(';')};${told.join()}`);
}

/** A row is never changed, so most of those of a database were written out before. */
const rowKeys = new WeakMap<AnyRow, string>();

function keyOfRow(row: AnyRow): string {
  const known = rowKeys.get(row);
  if (known !== undefined) return known;
  const key = digest(textOf(membersOf(row)));
  rowKeys.set(row, key);
  return key;
}

/** When something was listed or heard is read by nobody who decides. */
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
