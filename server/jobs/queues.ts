import type { DueRows } from '../db/queries/due.ts';

/** How many rows of one kind a replica processes at the same time: per queue, per group of queues, and in total. */
interface Concurrency {
  queueConcurrency: number;
  groupConcurrency?: number;
  /** Absent = only the limits of the groups apply. */
  concurrency?: number;
  /** The groups that a queue belongs to, such as the channel of an account. */
  groupsOf?: (queueKey: string) => readonly string[];
  /** Whether all queues of a group wait for the same host, so that no queue is expected to be faster than another. */
  isOneParty?: (group: string) => boolean;
}

/** One kind of due row, with its handler and its concurrency per replica. */
export interface DueKind extends Concurrency {
  name: string;
  rows: DueRows;
  /** The name of the log field that contains the row's id. */
  about?: 'orderNo' | 'refundNo';
  /** Processes one leased row. A row that is still due afterwards is leased again. */
  run: (id: string) => Promise<unknown>;
  /** The name that a transaction passes to `tx.afterCommit` when it makes a row due immediately. Such rows may use 50% more slots. */
  wokenBy?: string;
  /** Whether the jobs of this kind call a channel. If so, metrics are kept per channel, and the limit of calls per second applies. */
  asksChannel?: boolean;
}

/** The log function of jobs. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;

/** Concurrency of the rows that call a channel, as configured (`Jobs.*`). */
export function concurrencyOfChannels(jobs: { perAccount: number; perChannel: number }) {
  return {
    asking: concurrencyOfAccounts(jobs),
    /** Rare work gets a quarter of the slots. */
    asksLittle: concurrencyOfAccounts({
      perAccount: Math.ceil(jobs.perAccount / 4),
      perChannel: Math.max(2, Math.ceil(jobs.perChannel / 4)),
    }),
    /** Limited, because a bill file may be a gigabyte. */
    readsFiles: { ...concurrencyOfAccounts({ perAccount: 1, perChannel: 2 }), concurrency: 4 },
  };
}

/** Concurrency of the rows that call a channel. Each channel account has one queue, and the channel is the group of its queues. */
export function concurrencyOfAccounts({ perAccount, perChannel }: { perAccount: number; perChannel: number }) {
  return {
    queueConcurrency: perAccount,
    groupConcurrency: perChannel,
    groupsOf: (queueKey) => [queueKey.split(' ', 1)[0]!],
    asksChannel: true,
  } satisfies Concurrency & { asksChannel: true };
}

/**
 * Concurrency of webhook deliveries. Each pair of application and receiver has one queue. The application and the receiver are its two
 * groups.
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

/** A row in progress. */
interface Slot {
  readonly queue: Queue;
  /** When it began (ms). */
  readonly since: number;
}

/** Rows that wait for the same account, receiver or project. */
interface Queue {
  readonly name: string;
  readonly groups: readonly string[];
  /** Rows in progress, oldest first. */
  readonly slots: Set<Slot>;
  /** Whether the last finished row was slow; undefined = none has finished recently. */
  wasSlow: boolean | undefined;
  endedAt: number;
}

/** How responsive the account or receiver of a queue is. See `standingOf`. */
type Standing = 'quick' | 'untried' | 'held';

/** A row in progress for longer than this marks its queue as held: the receiver may not respond. */
const HELD_MS = 3_000;

/** `held` from a slow row until a fast one; `untried` if no row has finished recently. */
function standingOf({ slots, wasSlow }: Queue, now: number): Standing {
  const [oldest] = slots;
  if (wasSlow === true || (oldest !== undefined && now - oldest.since > HELD_MS)) return 'held';
  return wasSlow === undefined ? 'untried' : 'quick';
}

/** The group of all queues; other group names contain no space. */
const ALL = ' ';

/** The used slots of each group, by the standing of their queues. */
class Usage {
  readonly #concurrency: Concurrency;
  readonly #now: number;
  readonly #taken = new Map<string, Record<Standing, number>>();

  constructor(concurrency: Concurrency, now: number) {
    this.#concurrency = concurrency;
    this.#now = now;
  }

  /** The groups that have rows in progress. */
  groups(): string[] {
    return [...this.#taken.keys()].filter((group) => group !== ALL);
  }

  /** Counts one more row of a queue. */
  add(queue: Queue): void {
    const standing = standingOf(queue, this.#now);
    for (const group of [ALL, ...queue.groups]) this.#of(group)[standing] += 1;
  }

  /** Whether one more row may begin in a queue with `own` rows in progress. */
  hasCapacity(queue: Queue, own: number): boolean {
    const standing = standingOf(queue, this.#now);
    return [ALL, ...queue.groups].every((group) => {
      const { quick, untried, held } = this.#of(group);
      const concurrency = this.#widthOf(group);
      const half = Math.max(1, Math.floor(concurrency / 2));
      if (this.#concurrency.isOneParty?.(group)) return quick + untried + held < concurrency;
      // Slow and untried queues count for at most half of the slots, so quick queues always have the other half.
      if (standing === 'quick') return quick + Math.min(untried + held, half) < concurrency;
      if (standing === 'untried') return quick + untried + Math.min(held, half) < concurrency;
      // A held queue with no row in progress is retried even if other held queues use all slots of their half.
      return quick + untried + held < concurrency && (own === 0 || held < half);
    });
  }

  /** Free slots for rows that a commit has just made due. */
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

/** The slots plus 50%, for rows that a commit has just made due. */
function andHalf(slots: number): number {
  return slots + Math.ceil(slots / 2);
}

/** How many queues of a group are full or held; the group is empty for kinds without groups. */
export interface QueueTally {
  group: string;
  state: 'full' | 'held';
  count: number;
}

/** How many rows each queue may begin, and the queues that wait for the call rate. */
interface Capacity {
  capacity: ReadonlyMap<string, number>;
  limited: ReadonlySet<string>;
}

/** How long an idle queue and the duration of its last row are remembered. */
const REMEMBERED_MS = 600_000;
/**
 * The queues of one kind. A queue has `queueConcurrency` slots, a group of queues `groupConcurrency`, all queues together
 * `concurrency`. Held queues share one half of these slots, so the other half is always available to responsive queues.
 */
export class Queues {
  readonly #concurrency: Concurrency;
  readonly #queues = new Map<string, Queue>();
  /** Queues with known due rows; a queue that received slots moves to the end. */
  readonly #waiting = new Set<string>();
  #underWay = 0;

  constructor(concurrency: Concurrency) {
    this.#concurrency = concurrency;
  }

  /** Rows in progress. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Whether any queue has known due rows. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Forgets all known due rows. */
  forgetWaiting(): void {
    this.#waiting.clear();
  }

  /** Records that these queues have due rows. */
  found(names: readonly string[]): void {
    for (const name of names) this.#waiting.add(name);
  }

  /** Records that a queue has no more due rows. */
  exhausted(name: string): void {
    this.#waiting.delete(name);
  }

  /** Forgets queues that have been idle for a while. */
  tidy(now: number): void {
    for (const { name, slots, endedAt } of this.#queues.values())
      if (slots.size === 0 && now - endedAt > REMEMBERED_MS) this.#queues.delete(name);
  }

  /** Records that a row begins. */
  begin(name: string, now: number): Slot {
    const queue = this.#queueOf(name);
    const slot = { queue, since: now };
    queue.slots.add(slot);
    this.#underWay += 1;
    return slot;
  }

  /** Records that a row has finished; its duration decides whether the queue is held. */
  end(slot: Slot, now: number): void {
    const { queue } = slot;
    queue.slots.delete(slot);
    queue.wasSlow = now - slot.since > HELD_MS;
    queue.endedAt = now;
    this.#underWay -= 1;
  }

  /**
   * How many rows of each queue may begin now, assigned round-robin until no slot is free; and the queues that could begin more
   * with a larger `allowance`.
   */
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

  /** How many rows that a commit has just made due may begin, and the queues and groups where none may. */
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

  /** Counts the queues that are full while rows wait, and the held queues. */
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
