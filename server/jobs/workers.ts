import type { DueRow } from '../db/queries/due.ts';
import type { Store, Tx } from '../db/store.ts';
import { beginWork } from '../work.ts';
import { type DueKind, type QueueTally, Queues, type Log } from './queues.ts';
import type { CallRate } from './call-rate.ts';

/** What leases are kept with. */
interface LeasePorts {
  store: Store;
  now: () => Date;
  log: Log;
  /** How long a lease is; left out = as long as the database's own. */
  leaseMs?: number | undefined;
  /** Called when another replica has claimed a row that this one is still working. */
  leaseLost?: (kind: string) => void;
}

/** What the workers of one kind need. */
export interface WorkerPorts extends LeasePorts {
  /** Called when a row was worked. */
  worked?: (kind: string, failed: boolean) => void;
  /** Keeps the lanes of kinds that ask a channel to a rate; left out = there is none. */
  callRate?: CallRate | undefined;
  /** From one claim of a backlog to the next; tests have other times. */
  gatherMs?: number;
}

/** Works the due rows of one kind: a row begins as soon as it is claimed, and nobody waits for the slowest. */
interface Workers {
  /** Claims whatever is due; a row that is named comes ahead of older ones. */
  wake(id?: string): void;
  /** Works until nothing is due; returns how many rows were worked. */
  drain(): Promise<number>;
  /** Prolongs the leases of what is under way, when it is time; to be called about once a second. */
  renew(): Promise<void>;
  /** Rows under way. */
  readonly busy: number;
  /** Lanes that are full or held. */
  tally(): QueueTally[];
  /** Takes nothing new; resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** Names beyond this many are found by the next look, as every due row is. */
const MOST_NAMED = 1_000;
/** Most names of one claim. */
const NAMES = 32;
/** A claim is a commit, whatever it brings: places that become free in this time are filled together. */
const GATHER_MS = 20;

/** Makes the workers of one kind. */
export function createWorkers(kind: DueKind, ports: WorkerPorts): Workers {
  const { store, now, log, leaseMs, worked, gatherMs = GATHER_MS } = ports;
  const callRate = kind.asksChannel ? ports.callRate : undefined;
  const queues = new Queues(kind);
  const leases = createLeases(kind, ports);
  const named = new Set<string>();
  let started = 0;
  let claiming = false;
  /** Something was named, or a place became free, while a claim or a look was under way. */
  let changed = false;
  let stopped = false;
  /** There may be lanes with due rows that are not known. */
  let unseen = false;
  let namedFirst = true;
  let claimedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let failure: unknown;
  let quiet = Promise.withResolvers<void>();
  return {
    wake,
    drain,
    renew() {
      queues.tidy(now().getTime());
      return leases.renew();
    },
    get busy() {
      return queues.underWay;
    },
    tally: () => queues.tally(now().getTime()),
    async stop() {
      stopped = true;
      clearTimeout(timer);
      timer = undefined;
      await untilQuiet();
    },
  };

  function wake(id?: string): void {
    if (id === undefined || named.size >= MOST_NAMED) unseen = true;
    else named.add(id);
    void fill();
  }

  /** One claim at a time: rows that end meanwhile make the next one larger. */
  async function fill(): Promise<void> {
    changed = true;
    if (claiming) return;
    claiming = true;
    try {
      while (!stopped && changed) {
        changed = false;
        while (!stopped && (await takeSome()));
      }
    } catch (error) {
      named.clear();
      unseen = false;
      queues.forgetWaiting();
      failure = error;
      log('error', 'due rows could not be claimed', { kind: kind.name, error });
    } finally {
      claiming = false;
      tellQuiet();
    }
  }

  /** Claims once, names and the backlog in turns; false when there is nothing to claim now. */
  async function takeSome(): Promise<boolean> {
    const ways = namedFirst ? [takeNamed, takeBacklog] : [takeBacklog, takeNamed];
    for (const take of ways)
      if (await take()) {
        namedFirst = take === takeBacklog;
        return true;
      }
    return false;
  }

  async function takeNamed(): Promise<boolean> {
    const { limit, ...full } = queues.reserve(now().getTime());
    const ids = [...named.values().take(Math.max(0, Math.min(limit, NAMES)))];
    if (ids.length === 0) return false;
    for (const id of ids) named.delete(id);
    await begin((tx) => kind.rows.claimNamed(tx, { now: now(), leaseMs, ids, ...full }));
    return true;
  }

  async function takeBacklog(): Promise<boolean> {
    const soonerMs = claimedAt + gatherMs - performance.now();
    if (soonerMs > 0 && (unseen || queues.hasWaiting)) return later(soonerMs);
    if (unseen) {
      // A wake that comes during the look is about a row that the look may not see.
      unseen = false;
      queues.found(await store.read((tx) => kind.rows.queues(tx, now())));
    }
    if (!queues.hasWaiting) return unseen;
    const { capacity, limited } = queues.capacity(now().getTime(), callRate?.allowance);
    if (capacity.size === 0)
      return callRate && limited.size > 0 ? later(Math.min(...[...limited].map(callRate.waitMs))) : false;
    claimedAt = performance.now();
    const begun = await begin((tx) => kind.rows.claim(tx, { now: now(), leaseMs, capacity }));
    for (const [queueKey, room] of capacity) if ((begun.get(queueKey) ?? 0) < room) queues.exhausted(queueKey);
    return true;
  }

  /** Claims and begins; gives how many rows of each lane there were. */
  async function begin(claim: (tx: Tx) => Promise<DueRow[]>): Promise<ReadonlyMap<string, number>> {
    const rows = callRate
      ? await store.transaction((tx) => booked(callRate, tx, claim))
      : await store.autocommit(claim);
    for (const row of rows) void work(row);
    return countQueues(rows);
  }

  async function work(row: DueRow): Promise<void> {
    const { id, queueKey } = row;
    const slot = queues.begin(queueKey, now().getTime());
    const held = leases.hold(row);
    started += 1;
    const what = { job: kind.name, ...(kind.about && { [kind.about]: id }) };
    const failed = await beginWork(what, () => attempt(row));
    worked?.(kind.name, failed);
    leases.drop(held);
    queues.end(slot, now().getTime());
    void fill();
    tellQuiet();
  }

  /** Says whether it failed. */
  async function attempt({ id, queueKey }: DueRow): Promise<boolean> {
    try {
      await (callRate ? callRate.counted(queueKey, () => kind.run(id)) : kind.run(id));
      return false;
    } catch (error) {
      log('error', 'a due row could not be handled', { kind: kind.name, id, error });
      return true;
    }
  }

  /** Comes back to it without being woken; says that there is nothing to claim now. */
  function later(ms: number): false {
    timer ??= setTimeout(() => {
      timer = undefined;
      void fill();
    }, ms);
    return false;
  }

  async function drain(): Promise<number> {
    const before = started;
    failure = undefined;
    for (let round = -1; started > round && !stopped;) {
      round = started;
      unseen = true;
      void fill();
      await untilQuiet();
      if (failure !== undefined) throw failure;
    }
    return started - before;
  }

  function isQuiet(): boolean {
    return !claiming && queues.underWay === 0 && timer === undefined;
  }

  async function untilQuiet(): Promise<void> {
    while (!isQuiet()) await quiet.promise;
  }

  function tellQuiet(): void {
    if (!isQuiet()) return;
    quiet.resolve();
    quiet = Promise.withResolvers<void>();
  }
}

async function booked(callRate: CallRate, tx: Tx, claim: (tx: Tx) => Promise<DueRow[]>): Promise<DueRow[]> {
  const rows = await claim(tx);
  if (rows.length > 0) await callRate.book(tx, countQueues(rows));
  return rows;
}

function countQueues(rows: readonly DueRow[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { queueKey } of rows) counts.set(queueKey, (counts.get(queueKey) ?? 0) + 1);
  return counts;
}

/** The leases of the rows of one kind that this replica is working. */
interface Leases {
  /** A row that was claimed a moment ago is being worked. */
  hold(row: DueRow): Held;
  /** Its work is over. */
  drop(held: Held): void;
  /** When one has less than half of its time left, prolongs all of them in one statement; never throws. */
  renew(): Promise<void>;
}

/** A row under way; without a lease when the work itself has planned it anew, or another replica has it. */
interface Held {
  readonly id: string;
  lease: Date | undefined;
  /** From then on it is time to renew. */
  renewAt: number;
}

/** Keeps the leases of one kind. */
export function createLeases({ name, rows }: Pick<DueKind, 'name' | 'rows'>, ports: LeasePorts): Leases {
  const { store, now, log, leaseMs, leaseLost } = ports;
  const underWay = new Set<Held>();
  let failed = false;
  return {
    hold({ id, lease }) {
      const held: Held = { id, lease, renewAt: middleTo(lease) };
      underWay.add(held);
      return held;
    },
    drop: (held) => void underWay.delete(held),
    renew,
  };

  async function renew(): Promise<void> {
    const mine = [...underWay].filter(hasLease);
    const at = now();
    if (!mine.some(({ renewAt }) => renewAt <= at.getTime())) return;
    try {
      const became = await store.autocommit((tx) => rows.renew(tx, { now: at, leaseMs, rows: mine }));
      for (const [slot, held] of mine.entries()) settle(held, became[slot]!);
      failed = false;
    } catch (error) {
      // Once, not every second for as long as the database is away.
      if (!failed) log('warn', 'leases of due rows could not be renewed', { kind: name, error });
      failed = true;
    }
  }

  function settle(held: Held, became: Awaited<ReturnType<typeof rows.renew>>[number]): void {
    if (became.kind === 'renewed') {
      held.lease = became.lease;
      held.renewAt = middleTo(became.lease);
    }
    // A row that is locked just now is asked for again with the next look.
    if (became.kind === 'over' || became.kind === 'lost') held.lease = undefined;
    // A row that this replica has claimed once more, because its work had planned it anew, is nobody else's.
    if (became.kind !== 'lost' || isTwice(held)) return;
    leaseLost?.(name);
    log('warn', 'another replica has taken a row that is still being worked here', { kind: name, id: held.id });
  }

  function isTwice({ id }: Held): boolean {
    return [...underWay].filter((one) => one.id === id).length > 1;
  }

  function middleTo(lease: Date): number {
    const from = now().getTime();
    return from + (lease.getTime() - from) / 2;
  }
}

function hasLease(held: Held): held is Held & { lease: Date } {
  return held.lease !== undefined;
}
