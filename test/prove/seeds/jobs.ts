import type { DueThing } from './databases.ts';
import type { Replica } from './replica.ts';
import type { World } from './world.ts';

/** The due rows after so many transactions, and the first due time. */
interface Schedule {
  readonly after: number;
  readonly things: readonly DueThing[];
  readonly first: number;
}

/** Makes the replicas poll due work, as their schedulers do once a second. */
export class Jobs {
  readonly #world: World;
  readonly #replicas: readonly Replica[];
  #looks = 0;
  #schedule: Schedule = { after: -1, things: [], first: Infinity };

  constructor(world: World, replicas: readonly Replica[]) {
    this.#world = world;
    this.#replicas = replicas;
  }

  /** Runs all events until a moment. */
  async runUntil(end: number): Promise<void> {
    const { clockwork, counts } = this.#world;
    let lookedAt = 0;
    // Only a transaction changes the due rows.
    const isOld = () => this.#schedule.after !== counts.transactions;
    for (;;) {
      if (isOld()) await this.#readSchedule();
      const { things, first } = this.#schedule;
      // A row found by a poll is leased a moment later, so it is not searched for until then.
      const lookAt = Math.max(first, lookedAt + LOOK_MS, clockwork.now);
      const { next = Infinity } = clockwork;
      if (Math.min(next, lookAt) > end) break;
      if (next <= lookAt) {
        await clockwork.runUntil(Math.min(lookAt, end), isOld);
        continue;
      }
      lookedAt = lookAt;
      clockwork.at(lookAt, 'what is due is looked for', () => this.#look(things.filter(({ at }) => at <= lookAt)));
      await clockwork.runUntil(lookAt);
    }
  }

  async #readSchedule(): Promise<void> {
    const { counts, database } = this.#world;
    const things = await database.schedule();
    let first = Infinity;
    for (const { at } of things) if (at < first) first = at;
    this.#schedule = { after: counts.transactions, things, first };
  }

  /** Each replica polls, in random order. */
  #look(due: readonly DueThing[]): void {
    const { fates } = this.#world;
    this.#looks += 1;
    const luck = fates.of(`look ${this.#looks}`);
    const living = this.#replicas.filter(({ life }) => !life.dead);
    const inOrder = due.toSorted((a, b) => a.at - b.at || (`${a.kind}${a.id}` < `${b.kind}${b.id}` ? -1 : 1));
    for (const thing of inOrder) {
      const first = luck.whole(0, Math.max(0, living.length - 1));
      living[first]?.work(thing);
      if (luck.happens(BOTH)) living[1 - first]?.work(thing);
    }
  }
}

/** The poll interval of a scheduler (server/jobs/scheduler.ts). */
const LOOK_MS = 1_000;
/** How often the other replica polls at the same moment. */
const BOTH = 0.15;
