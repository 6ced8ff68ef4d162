import type { DueRow } from '../db/queries/due.ts';
import type { Store, Tx } from '../db/store.ts';
import { beginWork } from '../work.ts';
import { type DueKind, type QueueTally, Queues, type Log } from './queues.ts';
import type { CallRate } from './call-rate.ts';

interface LeasePorts {
  store: Store;
  now: () => Date;
  log: Log;
  /** How long (ms) a row is leased (reserved) for this replica; absent = the default `LEASE_MS` (db/queries/due.ts). */
  leaseMs?: number | undefined;
  /** Called when another replica has leased a row that this replica is still processing. */
  leaseLost?: (kind: string) => void;
}

export interface WorkerPorts extends LeasePorts {
  worked?: (kind: string, failed: boolean) => void;
  /** The call rate limit, for kinds that call a channel; absent = no limit. */
  callRate?: CallRate | undefined;
  /** Minimum interval (ms) between two statements that lease the oldest due rows; set only by tests. */
  gatherMs?: number;
}

/** The work on a row begins as soon as the row is leased. */
interface Workers {
  /** Leases due rows. If `id` is given, the row with this id is leased before older rows. */
  wake(id?: string): void;
  drain(): Promise<number>;
  /** Renews the leases of rows in progress if necessary. Must be called about once a second. */
  renew(): Promise<void>;
  readonly busy: number;
  tally(): QueueTally[];
  /** Leases no new rows. Resolves when no row is in progress. */
  stop(): Promise<void>;
}

/** The maximum number of row ids from `wake` that are remembered. Other rows are found by the query for due rows. */
const MOST_NAMED = 1_000;
/** The maximum number of row ids from `wake` that one database statement leases. */
const NAMES = 32;
/**
 * Minimum interval (ms) between two statements that lease the oldest due rows. Each statement needs a commit, so one
 * statement fills all slots that became free in this time.
 */
const GATHER_MS = 20;

/** Creates the workers that process the due rows of one kind. */
export function createWorkers(kind: DueKind, ports: WorkerPorts): Workers {
  const { store, now, log, leaseMs, worked, gatherMs = GATHER_MS } = ports;
  const callRate = kind.asksChannel ? ports.callRate : undefined;
  const queues = new Queues(kind);
  const leases = createLeases(kind, ports);
  const named = new Set<string>();
  let started = 0;
  let claiming = false;
  /** Whether `wake` named a row or a slot became free while a statement was running. */
  let changed = false;
  let stopped = false;
  /** Whether queues may have due rows that this process does not know yet. */
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

  /** Never runs two leasing statements at a time. Slots that become free meanwhile are filled by the next statement. */
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
      resolveIfQuiet();
    }
  }

  /** Alternates between rows named by `wake` and the oldest due rows. Returns false if none can be leased now. */
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
      // The flag is reset before the query. A row that becomes due during the query may be missing from the result. A
      // call of `wake` for such a row can then set the flag again.
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

  /** Leases rows and begins to process them. Returns the number of leased rows per queue. */
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
    const about = { job: kind.name, ...(kind.about && { [kind.about]: id }) };
    const failed = await beginWork(about, () => attempt(row));
    worked?.(kind.name, failed);
    leases.drop(held);
    queues.end(slot, now().getTime());
    void fill();
    resolveIfQuiet();
  }

  /** Processes a row. Returns true if the work failed. */
  async function attempt({ id, queueKey }: DueRow): Promise<boolean> {
    try {
      await (callRate ? callRate.counted(queueKey, () => kind.run(id)) : kind.run(id));
      return false;
    } catch (error) {
      log('error', 'a due row could not be handled', { kind: kind.name, id, error });
      return true;
    }
  }

  /** Schedules another call of `fill`. Returns false, because no row can be leased now. */
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

  function resolveIfQuiet(): void {
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

/** A lease reserves a row for one replica for a limited time. */
interface Leases {
  hold(row: DueRow): Held;
  drop(held: Held): void;
  /** Renews all leases in one statement, as soon as one of them has less than half of its time left. Never throws. */
  renew(): Promise<void>;
}

/** `lease` is undefined if the work has rescheduled the row, or if another replica has leased it. */
interface Held {
  readonly id: string;
  lease: Date | undefined;
  /** When the lease must be renewed (ms). */
  renewAt: number;
}

/** Creates the object that stores and renews the leases of the rows in progress. */
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
      const results = await store.autocommit((tx) => rows.renew(tx, { now: at, leaseMs, rows: mine }));
      for (const [slot, held] of mine.entries()) settle(held, results[slot]!);
      failed = false;
    } catch (error) {
      // The error is logged only once per outage, not every second.
      if (!failed) log('warn', 'leases of due rows could not be renewed', { kind: name, error });
      failed = true;
    }
  }

  function settle(held: Held, result: Awaited<ReturnType<typeof rows.renew>>[number]): void {
    if (result.kind === 'renewed') {
      held.lease = result.lease;
      held.renewAt = middleTo(result.lease);
    }
    // If the row is locked (`busy`), its lease is kept and renewed the next time.
    if (result.kind === 'over' || result.kind === 'lost') held.lease = undefined;
    // A row is in progress twice here if its work rescheduled it and this replica then leased it again. In this case no
    // other replica has taken the row.
    if (result.kind !== 'lost' || isTwice(held)) return;
    leaseLost?.(name);
    log('warn', 'another replica has claimed a row that is still being processed here', { kind: name, id: held.id });
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
