import type { DueRows } from '../db/queries/due.ts';

/** How many rows of one kind a replica works at the same time: of one lane, of one group of lanes, and in all. */
interface Concurrency {
  queueConcurrency: number;
  groupConcurrency?: number;
  /** Absent = as many as all groups have. */
  concurrency?: number;
  /** The groups that a lane belongs to, such as the channel of an account. */
  groupsOf?: (queueKey: string) => readonly string[];
  /** Whether all lanes of a group wait for one party, so that none of them may be expected to answer sooner than the others. */
  isOneParty?: (group: string) => boolean;
}

/** One kind of row that can be due, and how much of it one replica works at the same time. */
export interface DueKind extends Concurrency {
  name: string;
  rows: DueRows;
  /** What its id is the number of, for the log. */
  about?: 'orderNo' | 'refundNo';
  /** Does what is due for one claimed row; a row that is still due afterwards is taken again. */
  run: (id: string) => Promise<unknown>;
  /** What `tx.afterCommit` calls the commit that makes a row of this kind due at once; it may find half as many places more. */
  wokenBy?: string;
  /** Its rows ask a channel: the figures tell its groups apart, and its lanes keep to the rate of calls. */
  asksChannel?: boolean;
}

/** Where jobs write what went wrong. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;

/** Places of the rows that ask a channel, as configured (`Jobs.*`). */
export function concurrencyOfChannels(jobs: { perAccount: number; perChannel: number }) {
  return {
    asking: concurrencyOfAccounts(jobs),
    /** Rare work takes a quarter of the places. */
    asksLittle: concurrencyOfAccounts({
      perAccount: Math.ceil(jobs.perAccount / 4),
      perChannel: Math.max(2, Math.ceil(jobs.perChannel / 4)),
    }),
    /** A file may be a gigabyte. */
    readsFiles: { ...concurrencyOfAccounts({ perAccount: 1, perChannel: 2 }), concurrency: 4 },
  };
}

/** Places of the rows that ask a channel: a lane is an account, a group its channel, and no channel takes another's places. */
export function concurrencyOfAccounts({ perAccount, perChannel }: { perAccount: number; perChannel: number }) {
  return {
    queueConcurrency: perAccount,
    groupConcurrency: perChannel,
    groupsOf: (queueKey) => [queueKey.split(' ', 1)[0]!],
    asksChannel: true,
  } satisfies Concurrency & { asksChannel: true };
}

/** Places of deliveries: a lane is an application and a receiver, and each of these is a group across the other. */
export function concurrencyOfReceivers(perReceiver: number) {
  return {
    concurrency: 12 * perReceiver,
    queueConcurrency: perReceiver,
    groupConcurrency: perReceiver,
    groupsOf: (queueKey) => queueKey.split(' '),
    isOneParty: (group) => group.startsWith('//'),
  } satisfies Concurrency;
}

/** A row under way, in its lane. */
interface Slot {
  readonly queue: Queue;
  /** When it began (ms). */
  readonly since: number;
}

/** Who is waited for. */
interface Queue {
  readonly name: string;
  readonly groups: readonly string[];
  /** Under way, the oldest first. */
  readonly slots: Set<Slot>;
  /** Whether the last row that ended took long; undefined = none has ended lately. */
  wasSlow: boolean | undefined;
  endedAt: number;
}

/** What is known of whoever a lane waits for. */
type Standing = 'quick' | 'untried' | 'held';

/** A row that is under way for longer than this holds its lane: whoever it waits for may be silent. */
const HELD_MS = 3_000;

/** `held` from the moment at which a row takes long until one ends sooner; `untried` when none has ended lately. */
function standingOf({ slots, wasSlow }: Queue, now: number): Standing {
  const [oldest] = slots;
  if (wasSlow === true || (oldest !== undefined && now - oldest.since > HELD_MS)) return 'held';
  return wasSlow === undefined ? 'untried' : 'quick';
}

/** The group that all lanes belong to; no name of a group has a blank. */
const ALL = ' ';

/** The places that are taken in each group, by the standing of their lanes. */
class Usage {
  readonly #concurrency: Concurrency;
  readonly #now: number;
  readonly #taken = new Map<string, Record<Standing, number>>();

  constructor(concurrency: Concurrency, now: number) {
    this.#concurrency = concurrency;
    this.#now = now;
  }

  /** The groups that have rows under way. */
  groups(): string[] {
    return [...this.#taken.keys()].filter((group) => group !== ALL);
  }

  /** One more row of a lane. */
  add(queue: Queue): void {
    const standing = standingOf(queue, this.#now);
    for (const group of [ALL, ...queue.groups]) this.#of(group)[standing] += 1;
  }

  /** Whether one more may begin in a lane that has so many. */
  hasCapacity(queue: Queue, own: number): boolean {
    const standing = standingOf(queue, this.#now);
    return [ALL, ...queue.groups].every((group) => {
      const { quick, untried, held } = this.#of(group);
      const concurrency = this.#widthOf(group);
      const half = Math.max(1, Math.floor(concurrency / 2));
      if (this.#concurrency.isOneParty?.(group)) return quick + untried + held < concurrency;
      // Those who answer leave the others one half at most; whoever is held counts for no more than that.
      if (standing === 'quick') return quick + Math.min(untried + held, half) < concurrency;
      if (standing === 'untried') return quick + untried + Math.min(held, half) < concurrency;
      // A lane that has nothing under way is tried again although others fill the half.
      return quick + untried + held < concurrency && (own === 0 || held < half);
    });
  }

  /** What is left for rows that a commit has just made due. */
  reserved(group: string): number {
    const { quick, untried, held } = this.#of(group);
    return andHalf(this.#widthOf(group)) - quick - untried - held;
  }

  #widthOf(group: string): number {
    const { concurrency = Number.POSITIVE_INFINITY, groupConcurrency = concurrency } = this.#concurrency;
    return group === ALL ? concurrency : groupConcurrency;
  }

  #of(group: string): Record<Standing, number> {
    const known = this.#taken.get(group) ?? { quick: 0, untried: 0, held: 0 };
    this.#taken.set(group, known);
    return known;
  }
}

/** Half as many again: for rows that a commit has just made due. */
function andHalf(slots: number): number {
  return slots + Math.ceil(slots / 2);
}

/** How many lanes of a group (none for kinds without) have all the rows that they may have, or are held. */
export interface QueueTally {
  group: string;
  state: 'full' | 'held';
  count: number;
}

/** Who may begin how much, and who has to wait for the rate of calls. */
interface Capacity {
  capacity: ReadonlyMap<string, number>;
  limited: ReadonlySet<string>;
}

/** For how long it is remembered how the last row of a lane ended. */
const REMEMBERED_MS = 600_000;
/**
 * The lanes of one kind: what is under way in each, what waits, and who may begin. A lane has `queueConcurrency` places, a group
 * of lanes `groupConcurrency`, all together `concurrency`. Lanes that are held share one half of these, and count for no more, so that the
 * other half is always there for those that answer, however many do not.
 */
export class Queues {
  readonly #concurrency: Concurrency;
  readonly #queues = new Map<string, Queue>();
  /** Lanes that have due rows as far as is known; who got something goes behind the others. */
  readonly #waiting = new Set<string>();
  #underWay = 0;

  constructor(concurrency: Concurrency) {
    this.#concurrency = concurrency;
  }

  /** Rows under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Whether anything waits as far as is known. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Nothing is known to wait any more. */
  forgetWaiting(): void {
    this.#waiting.clear();
  }

  /** These lanes have due rows. */
  found(names: readonly string[]): void {
    for (const name of names) this.#waiting.add(name);
  }

  /** A lane has nothing due any more. */
  exhausted(name: string): void {
    this.#waiting.delete(name);
  }

  /** Forgets lanes of which nothing was under way for a while. */
  tidy(now: number): void {
    for (const { name, slots, endedAt } of this.#queues.values())
      if (slots.size === 0 && now - endedAt > REMEMBERED_MS) this.#queues.delete(name);
  }

  /** A row begins. */
  begin(name: string, now: number): Slot {
    const queue = this.#queueOf(name);
    const slot = { queue, since: now };
    queue.slots.add(slot);
    this.#underWay += 1;
    return slot;
  }

  /** Its work is over; how long it took says whether the lane is held. */
  end(slot: Slot, now: number): void {
    const { queue } = slot;
    queue.slots.delete(slot);
    queue.wasSlow = now - slot.since > HELD_MS;
    queue.endedAt = now;
    this.#underWay -= 1;
  }

  /**
   * How many rows of each lane may begin now, in turns one for each lane that waits until there is no room left; and the lanes
   * that could begin more if their `allowance` were larger.
   */
  capacity(now: number, allowance: (queueKey: string) => number = () => Number.POSITIVE_INFINITY): Capacity {
    const usage = this.#usage(now);
    const capacity = new Map<string, number>();
    const limited = new Set<string>();
    for (let goesOn = true; goesOn;) {
      goesOn = false;
      for (const name of this.#waiting) {
        const queue = this.#queueOf(name);
        const got = capacity.get(name) ?? 0;
        if (
          queue.slots.size + got >= this.#concurrency.queueConcurrency ||
          !usage.hasCapacity(queue, queue.slots.size + got)
        )
          continue;
        if (got >= allowance(name)) {
          limited.add(name);
          continue;
        }
        usage.add(queue);
        capacity.set(name, got + 1);
        goesOn = true;
      }
    }
    for (const name of capacity.keys()) {
      this.#waiting.delete(name);
      this.#waiting.add(name);
    }
    return { capacity, limited };
  }

  /** For rows that a commit has just made due, which may take half as many places more: how many, and where none. */
  reserve(now: number): { limit: number; fullQueues: string[]; fullGroups: string[] } {
    const { queueConcurrency } = this.#concurrency;
    const usage = this.#usage(now);
    const fullQueues = [...this.#queues.values()].filter(({ slots }) => slots.size >= andHalf(queueConcurrency));
    return {
      limit: usage.reserved(ALL),
      fullQueues: fullQueues.map(({ name }) => name),
      fullGroups: usage.groups().filter((group) => usage.reserved(group) <= 0),
    };
  }

  /** Which lanes have all that they may have while more is waiting, and which are held. */
  tally(now: number): QueueTally[] {
    const tallies = new Map<string, QueueTally>();
    const count = (group: string, state: QueueTally['state']) => {
      const tally = tallies.get(`${state} ${group}`) ?? { group, state, count: 0 };
      tallies.set(`${state} ${group}`, { ...tally, count: tally.count + 1 });
    };
    const usage = this.#usage(now);
    for (const queue of this.#queues.values()) {
      const [group = ''] = queue.groups;
      const own = queue.slots.size;
      if (standingOf(queue, now) === 'held') count(group, 'held');
      const isFull = own >= this.#concurrency.queueConcurrency || !usage.hasCapacity(queue, own);
      if (isFull && this.#waiting.has(queue.name)) count(group, 'full');
    }
    return [...tallies.values()];
  }

  #queueOf(name: string): Queue {
    let queue = this.#queues.get(name);
    if (!queue) {
      const groups = this.#concurrency.groupsOf?.(name) ?? [];
      queue = { name, groups, slots: new Set(), wasSlow: undefined, endedAt: 0 };
      this.#queues.set(name, queue);
    }
    return queue;
  }

  #usage(now: number): Usage {
    const usage = new Usage(this.#concurrency, now);
    for (const queue of this.#queues.values()) for (const _ of queue.slots) usage.add(queue);
    return usage;
  }
}
