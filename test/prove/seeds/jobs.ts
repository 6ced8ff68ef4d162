import type { DueThing } from './databases.ts';
import type { Replica } from './replica.ts';
import type { World } from './world.ts';

/** What is due at some time, after so many transactions, and when the first of it is. */
interface Schedule {
  readonly after: number;
  readonly things: readonly DueThing[];
  readonly first: number;
}

/** Has what is due looked at by the replicas, as their schedulers do it once a second. */
export class Jobs {
  readonly #world: World;
  readonly #replicas: readonly Replica[];
  #looks = 0;
  #schedule: Schedule = { after: -1, things: [], first: Infinity };

  constructor(world: World, replicas: readonly Replica[]) {
    this.#world = world;
    this.#replicas = replicas;
  }

  /** Everything happens that happens by itself until a moment. */
  async runUntil(end: number): Promise<void> {
    const { clockwork, counts } = this.#world;
    let lookedAt = 0;
    // Only a transaction changes what is due.
    const isOld = () => this.#schedule.after !== counts.transactions;
    for (;;) {
      if (isOld()) await this.#readSchedule();
      const { things, first } = this.#schedule;
      // A row that a look has found is leased a moment later; until then it is not looked for again.
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

  /** Each replica looks; which of them is first is chance. */
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

/** As often as a scheduler looks (server/jobs/scheduler.ts). */
const LOOK_MS = 1_000;
/** How often the other replica looks at the very same moment. */
const BOTH = 0.15;
