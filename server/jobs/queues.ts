import type { DueRows } from '../db/queries/due.ts';

/** How many rows of one kind a replica processes at the same time: per queue, per group of queues, and in total. */
interface Concurrency {
  queueConcurrency: number;
  groupConcurrency?: number;
  /** Maximum number of rows in progress in all queues together; absent = only the limits of queues and groups apply. */
  concurrency?: number;
  /** The queue of a channel account belongs to the group of its channel. The queues of a group share a limit. */
  groupsOf?: (queueKey: string) => readonly string[];
  /** Whether all queues of a group use the same host. Then no slots are set aside for fast queues. */
  isOneParty?: (group: string) => boolean;
}

/** A kind of due rows: database rows that need processing, for example orders to query. */
export interface DueKind extends Concurrency {
  name: string;
  rows: DueRows;
  /** The name of the log field for the id of a row; absent = the id is not logged. */
  about?: 'orderNo' | 'refundNo';
  /** Processes a leased row. If the row is still due afterwards, it is leased again. */
  run: (id: string) => Promise<unknown>;
  /** The name that `tx.afterCommit` gets when a row becomes due immediately. Such rows may use 50% more slots. */
  wokenBy?: string;
  /** Jobs that call a channel have metrics per channel, and the limit of calls per second applies to them. */
  asksChannel?: boolean;
}

export type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;

/** Returns the concurrency of rows that call a channel, from the configuration `Jobs.*`. */
export function concurrencyOfChannels(jobs: { perAccount: number; perChannel: number }) {
  return {
    asking: concurrencyOfAccounts(jobs),
    /** For kinds of work that occur rarely. They get a quarter of the configured limits. */
    asksLittle: concurrencyOfAccounts({
      perAccount: Math.ceil(jobs.perAccount / 4),
      perChannel: Math.max(2, Math.ceil(jobs.perChannel / 4)),
    }),
    /** Only a few bill files are read at the same time, because one may be as large as a gigabyte. */
    readsFiles: { ...concurrencyOfAccounts({ perAccount: 1, perChannel: 2 }), concurrency: 4 },
  };
}

/** Returns the concurrency of channel accounts. Each is a queue, and the queues of one channel form a group. */
export function concurrencyOfAccounts({ perAccount, perChannel }: { perAccount: number; perChannel: number }) {
  return {
    queueConcurrency: perAccount,
    groupConcurrency: perChannel,
    groupsOf: (queueKey) => [queueKey.split(' ', 1)[0]!],
    asksChannel: true,
  } satisfies Concurrency & { asksChannel: true };
}

/**
 * Returns the concurrency of webhook deliveries. Each pair of an application and a receiver has a queue. The queue
 * belongs to the group of the application and to the group of the receiver.
 */
export function concurrencyOfReceivers(perReceiver: number) {
  return {
    concurrency: 12 * perReceiver,
    queueConcurrency: perReceiver,
    groupConcurrency: perReceiver,
    groupsOf: (queueKey) => queueKey.split(' '),
    isOneParty: (group) => group.startsWith('//'),
  } satisfies Concurrency;
}

/** A used slot: one row that is being processed. */
interface Slot {
  readonly queue: Queue;
  /** When the work on the row began (ms). */
  readonly since: number;
}

/** A queue contains the rows that depend on the same channel account, webhook receiver or project. */
interface Queue {
  readonly name: string;
  readonly groups: readonly string[];
  /** Rows in progress, oldest first. */
  readonly slots: Set<Slot>;
  /** Whether the last finished row took longer than `HELD_MS`. undefined = none has finished in ten minutes. */
  wasSlow: boolean | undefined;
  endedAt: number;
}

/**
 * The last row of a `quick` queue was processed fast, a row of a `held` queue slowly. In an `untried` queue no row has
 * finished in ten minutes.
 */
type Standing = 'quick' | 'untried' | 'held';

/** If the work on a row takes longer than this (ms), its queue is `held`, because the receiver may not respond. */
const HELD_MS = 3_000;

function standingOf({ slots, wasSlow }: Queue, now: number): Standing {
  const [oldest] = slots;
  if (wasSlow === true || (oldest !== undefined && now - oldest.since > HELD_MS)) return 'held';
  return wasSlow === undefined ? 'untried' : 'quick';
}

/** The name of the group that contains all queues. No other group name contains a space. */
const ALL = ' ';

class Usage {
  readonly #concurrency: Concurrency;
  readonly #now: number;
  readonly #taken = new Map<string, Record<Standing, number>>();

  constructor(concurrency: Concurrency, now: number) {
    this.#concurrency = concurrency;
    this.#now = now;
  }

  groups(): string[] {
    return [...this.#taken.keys()].filter((group) => group !== ALL);
  }

  add(queue: Queue): void {
    const standing = standingOf(queue, this.#now);
    for (const group of [ALL, ...queue.groups]) this.#of(group)[standing] += 1;
  }

  /** Whether another row may begin in a queue that already has `own` rows in progress. */
  hasCapacity(queue: Queue, own: number): boolean {
    const standing = standingOf(queue, this.#now);
    return [ALL, ...queue.groups].every((group) => {
      const { quick, untried, held } = this.#of(group);
      const concurrency = this.#widthOf(group);
      const half = Math.max(1, Math.floor(concurrency / 2));
      if (this.#concurrency.isOneParty?.(group)) return quick + untried + held < concurrency;
      // Rows of slow queues (`held`) and of queues without recent results (`untried`) never count for more than half of
      // the slots, so `quick` queues can always use the other half.
      if (standing === 'quick') return quick + Math.min(untried + held, half) < concurrency;
      if (standing === 'untried') return quick + untried + Math.min(held, half) < concurrency;
      // A `held` queue may begin its first row in any free slot, because the row shows whether the receiver responds
      // again. For further rows, all `held` queues share half of the slots.
      return quick + untried + held < concurrency && (own === 0 || held < half);
    });
  }

  /**
   * Returns how many more rows that a commit has just made due may begin in a group. Such rows may use 50% more slots.
   */
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

/** The number of slots plus 50%. The additional slots are for rows that a commit has just made due. */
function andHalf(slots: number): number {
  return slots + Math.ceil(slots / 2);
}

/**
 * How many queues of a group are `full` (rows wait for a free slot) or `held` (the work on a row is slow). `group` is
 * empty for kinds without groups.
 */
export interface QueueTally {
  group: string;
  state: 'full' | 'held';
  count: number;
}

/** How many rows may begin in each queue, and the queues that must wait because of the call rate. */
interface Capacity {
  capacity: ReadonlyMap<string, number>;
  limited: ReadonlySet<string>;
}

/** How long (ms) an idle queue is remembered, with the information whether its last row was slow. */
const REMEMBERED_MS = 600_000;
/**
 * The queues of one kind of due row. Slow queues (`held`) share half of the slots, so that the other half is always
 * available to queues that respond quickly.
 */
export class Queues {
  readonly #concurrency: Concurrency;
  readonly #queues = new Map<string, Queue>();
  /** The queues that have due rows. A queue that gets slots is moved to the end. */
  readonly #waiting = new Set<string>();
  #underWay = 0;

  constructor(concurrency: Concurrency) {
    this.#concurrency = concurrency;
  }

  get underWay(): number {
    return this.#underWay;
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  forgetWaiting(): void {
    this.#waiting.clear();
  }

  found(names: readonly string[]): void {
    for (const name of names) this.#waiting.add(name);
  }

  exhausted(name: string): void {
    this.#waiting.delete(name);
  }

  tidy(now: number): void {
    for (const { name, slots, endedAt } of this.#queues.values())
      if (slots.size === 0 && now - endedAt > REMEMBERED_MS) this.#queues.delete(name);
  }

  begin(name: string, now: number): Slot {
    const queue = this.#queueOf(name);
    const slot = { queue, since: now };
    queue.slots.add(slot);
    this.#underWay += 1;
    return slot;
  }

  /** The duration of the work determines whether the queue is `held`. */
  end(slot: Slot, now: number): void {
    const { queue } = slot;
    queue.slots.delete(slot);
    queue.wasSlow = now - slot.since > HELD_MS;
    queue.endedAt = now;
    this.#underWay -= 1;
  }

  /** Assigns slots to the queues in turn. Also returns the queues that only the call rate (`allowance`) holds back. */
  capacity(now: number, allowance: (queueKey: string) => number = () => Number.POSITIVE_INFINITY): Capacity {
    const usage = this.#usage(now);
    const capacity = new Map<string, number>();
    const limited = new Set<string>();
    for (let isAssigning = true; isAssigning;) {
      isAssigning = false;
      for (const name of this.#waiting) {
        const queue = this.#queueOf(name);
        const assigned = capacity.get(name) ?? 0;
        if (
          queue.slots.size + assigned >= this.#concurrency.queueConcurrency ||
          !usage.hasCapacity(queue, queue.slots.size + assigned)
        )
          continue;
        if (assigned >= allowance(name)) {
          limited.add(name);
          continue;
        }
        usage.add(queue);
        capacity.set(name, assigned + 1);
        isAssigning = true;
      }
    }
    for (const name of capacity.keys()) {
      this.#waiting.delete(name);
      this.#waiting.add(name);
    }
    return { capacity, limited };
  }

  /** `limit`: how many rows that a commit has just made due may begin now. */
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
