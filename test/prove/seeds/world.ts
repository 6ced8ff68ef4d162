import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, type Hash } from 'node:crypto';
import type { Core } from '../../../server/simulator/channel-simulator.ts';
import { type Fates, type Named, sumOf, sumWith } from './fates.ts';
import { Clockwork, type Label, type Life } from './clockwork.ts';
import type { WorldDatabase } from './databases.ts';
import type { SimulatedChannels } from './simulated-channels.ts';

/** The moment at which every world begins. */
export const BEGINNING = Date.UTC(2026, 0, 1, 8);

/** Something under way for which steps are done: a request, a job, a message. */
export interface Task {
  /** The same in every run of the seed, also when something else is left out. */
  readonly name: string;
  /** Of its letters. */
  readonly sum: number;
  /** Which of the tasks of its world it is. */
  readonly number: number;
  /** Of the replica that does it. */
  readonly life: Life;
  /** The order of the plan that it is for. */
  readonly about: string | undefined;
  /** How many steps it has wanted so far. */
  steps: number;
}

/** One step of a task. Its name does not depend on anything drawn at random. */
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

/** What a step does. In the hash the task is a number, which its name has there since it began. */
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

/** The life of what is not of any replica. */
export const FOREVER: Life = { dead: false };

/** What a world is made of beside those who act in it. */
export interface WorldParts {
  readonly fates: Fates;
  readonly database: WorldDatabase;
  /** Whether the whole story is kept. */
  readonly isTold: boolean;
}

/** One simulated world: its time, what happens in it, and what came of it. */
export class World {
  readonly fates: Fates;
  readonly database: WorldDatabase;
  readonly clockwork: Clockwork;
  /** Everything that happened, in words; empty unless it is told. */
  readonly story: string[] = [];
  /** Things that no run may show. */
  readonly wrong: string[] = [];
  readonly counts = { steps: 0, transactions: 0, calls: 0, notices: 0, operations: 0, deaths: 0 };
  readonly tasks = new AsyncLocalStorage<Task>();
  readonly #digest: Hash = createHash('sha256');
  readonly #isTold: boolean;
  #unweighed = '';
  #tasks = 0;
  readonly #named = new Map<string, number>();
  /** Orders by their numbers: what the plan calls them. */
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

  /** Something happened. It is part of the hash. */
  note(label: Label): void {
    this.counts.steps += 1;
    this.weigh(`${this.now - BEGINNING} ${label instanceof StepLabel ? label.short : String(label)}`);
    if (this.#isTold) this.story.push(`${clockOf(this.now)} ${String(label)}`);
  }

  /** Something that is part of the hash and too long for the story. */
  weigh(text: string): void {
    this.#unweighed += `${text}\n`;
    if (this.#unweighed.length > MOST_UNWEIGHED) this.#weighAll();
  }

  #weighAll(): void {
    // Keys are made anew in every process, so what is signed with them is not of the seed.
    this.#digest.update(this.#unweighed.replaceAll(/sign=[^&"]+/g, 'sign='));
    this.#unweighed = '';
  }

  get hash(): string {
    this.#weighAll();
    return this.#digest.copy().digest('hex').slice(0, 32);
  }

  /** A name that nothing else of this world has. */
  nameOf(of: string): string {
    const count = (this.#named.get(of) ?? 0) + 1;
    this.#named.set(of, count);
    return count === 1 ? of : `${of} (${count})`;
  }

  /** Begins something for whose sake steps are done. */
  begin<T>(name: string, life: Life, work: () => Promise<T>, about?: string): Promise<T> {
    return this.tasks.run(this.#taskOf(name, life, about), work);
  }

  #taskOf(wanted: string, life: Life, about?: string): Task {
    const name = this.nameOf(wanted);
    const number = (this.#tasks += 1);
    this.weigh(`${number} is ${name}`);
    return { name, sum: sumOf(name), number, life, about, steps: 0 };
  }

  /** The next step of what is under way. */
  nextStep(): Step {
    return new Step(this.tasks.getStore() ?? this.#taskOf('nobody', FOREVER));
  }

  /** An order's name in the plan, for as long as somebody knows which it is; otherwise its number. */
  planned(orderNo: string): string {
    return this.orders.get(orderNo) ?? orderNo;
  }

  /** Does a step of the running task after a while; never, when its replica is dead by then. Whoever waits goes on as the task that waited. */
  async later<T>(step: Step, words: string, delayMs: number, run: () => Promise<T>): Promise<T> {
    const end = await this.#turnOf(step, words, delayMs);
    try {
      return await run();
    } finally {
      end?.();
    }
  }

  /** Waits for a step's moment. Of a database that takes time of its own the clockwork is told when the step is over. */
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
