import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, type Hash } from 'node:crypto';
import type { Core } from '../../../server/simulator/channel-simulator.ts';
import { type Fates, type Named, sumOf, sumWith } from './fates.ts';
import { Clockwork, type Label, type Life } from './clockwork.ts';
import type { WorldDatabase } from './databases.ts';
import type { SimulatedChannels } from './simulated-channels.ts';

/** The moment at which every world begins. */
export const BEGINNING = Date.UTC(2026, 0, 1, 8);

/** A running request, job or message delivery, which performs steps. */
export interface Task {
  /** The same in every run of the seed, even if other items are left out. */
  readonly name: string;
  /** The hash of its name. */
  readonly sum: number;
  /** Its index among the tasks of its world. */
  readonly number: number;
  /** The life of its replica. */
  readonly life: Life;
  /** Its order in the plan. */
  readonly about: string | undefined;
  /** The number of steps so far. */
  steps: number;
}

/** One step of a task. Its name is independent of random values. */
export class Step implements Named {
  readonly task: Task;
  readonly number: number;
  readonly sum: number;

  constructor(task: Task) {
    this.task = task;
    this.number = task.steps += 1;
    this.sum = sumWith(task.sum, this.number);
  }

  toString(): string {
    return `${this.task.name} #${this.number}`;
  }
}

/** The label of a step. The hash uses the task's number, whose name was hashed when it began. */
export class StepLabel {
  readonly #step: Step;
  readonly #words: string;

  constructor(step: Step, words: string) {
    this.#step = step;
    this.#words = words;
  }

  get short(): string {
    return `${this.#step.task.number}.${this.#step.number}${this.#words}`;
  }

  toString(): string {
    return `${String(this.#step)}${this.#words}`;
  }
}

/** Characters that are hashed at once. */
const MOST_UNWEIGHED = 16_384;

/** The life of tasks that belong to no replica. */
export const FOREVER: Life = { dead: false };

/** The parts of a world besides its actors. */
export interface WorldParts {
  readonly fates: Fates;
  readonly database: WorldDatabase;
  /** Whether the whole story is stored. */
  readonly isTold: boolean;
}

/** One simulated world: its time, its events and its findings. */
export class World {
  readonly fates: Fates;
  readonly database: WorldDatabase;
  readonly clockwork: Clockwork;
  /** All events in words; empty unless `isTold`. */
  readonly story: string[] = [];
  /** The violations found. */
  readonly wrong: string[] = [];
  readonly counts = { steps: 0, transactions: 0, calls: 0, notices: 0, operations: 0, deaths: 0 };
  readonly tasks = new AsyncLocalStorage<Task>();
  readonly #digest: Hash = createHash('sha256');
  readonly #isTold: boolean;
  #unweighed = '';
  #tasks = 0;
  readonly #named = new Map<string, number>();
  /** The plan's name of each order number. */
  readonly orders = new Map<string, string>();
  channels!: SimulatedChannels;

  constructor({ fates, database, isTold }: WorldParts) {
    this.fates = fates;
    this.database = database;
    this.#isTold = isTold;
    this.clockwork = new Clockwork(BEGINNING, (label) => this.note(label));
  }

  get core(): Core {
    return this.channels.core;
  }

  get now(): number {
    return this.clockwork.now;
  }

  /** Records an event; it is part of the hash. */
  note(label: Label): void {
    this.counts.steps += 1;
    this.weigh(`${this.now - BEGINNING} ${label instanceof StepLabel ? label.short : String(label)}`);
    if (this.#isTold) this.story.push(`${clockOf(this.now)} ${String(label)}`);
  }

  /** Adds text to the hash that is too long for the story. */
  weigh(text: string): void {
    this.#unweighed += `${text}\n`;
    if (this.#unweighed.length > MOST_UNWEIGHED) this.#weighAll();
  }

  #weighAll(): void {
    // Keys differ in every process, so their signatures are left out of the hash.
    this.#digest.update(this.#unweighed.replaceAll(/sign=[^&"]+/g, 'sign='));
    this.#unweighed = '';
  }

  get hash(): string {
    this.#weighAll();
    return this.#digest.copy().digest('hex').slice(0, 32);
  }

  /** A name that is unique in this world. */
  nameOf(of: string): string {
    const count = (this.#named.get(of) ?? 0) + 1;
    this.#named.set(of, count);
    return count === 1 ? of : `${of} (${count})`;
  }

  /** Begins a task. */
  begin<T>(name: string, life: Life, work: () => Promise<T>, about?: string): Promise<T> {
    return this.tasks.run(this.#taskOf(name, life, about), work);
  }

  #taskOf(wanted: string, life: Life, about?: string): Task {
    const name = this.nameOf(wanted);
    const number = (this.#tasks += 1);
    this.weigh(`${number} is ${name}`);
    return { name, sum: sumOf(name), number, life, about, steps: 0 };
  }

  nextStep(): Step {
    return new Step(this.tasks.getStore() ?? this.#taskOf('nobody', FOREVER));
  }

  /** An order's name in the plan if it is known, otherwise its number. */
  planned(orderNo: string): string {
    return this.orders.get(orderNo) ?? orderNo;
  }

  /** Runs a step of the current task after a delay, or never if its replica is dead by then. The waiting code resumes as its own task. */
  async later<T>(step: Step, words: string, delayMs: number, run: () => Promise<T>): Promise<T> {
    const end = await this.#turnOf(step, words, delayMs);
    try {
      return await run();
    } finally {
      end?.();
    }
  }

  /** Waits for a step's moment. A database that takes real time reports the end of the step to the clockwork. */
  #turnOf(step: Step, words: string, delayMs: number): Promise<(() => void) | undefined> {
    const takesTime = this.database.indexed === undefined;
    return new Promise((begin) => {
      const work = () => (takesTime ? new Promise<void>((end) => begin(end)) : begin(undefined));
      this.clockwork.at(this.now + delayMs, new StepLabel(step, words), work, step.task.life);
    });
  }
}

function clockOf(moment: number): string {
  const days = Math.floor((moment - BEGINNING) / 86_400_000);
  return `${days > 0 ? `day ${days + 1} ` : ''}${new Date(moment).toISOString().slice(11, 23)}`;
}
