import type { Claim, DueRow } from '../db/queries/due.ts';
import type { Store } from '../db/store.ts';
import { beginWork } from '../work.ts';
import type { DueKind, Log } from './due-kind.ts';

/** What the workers of one kind need. */
export interface WorkerPorts {
  store: Store;
  now: () => Date;
  log: Log;
  /** Called when a row was worked. */
  worked?: (kind: string, failed: boolean) => void;
}

/** Works the due rows of one kind: a row begins as soon as it is claimed, and nobody waits for the slowest. */
export interface Workers {
  /** Claims whatever is due; a row that is named comes ahead of older ones. */
  wake(id?: string): void;
  /** Works until nothing is due; returns how many rows were worked. */
  drain(): Promise<number>;
  /** Rows under way. */
  readonly busy: number;
  /** Takes nothing new; resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** Names beyond this many are found by the next look, as every due row is. */
const MOST_NAMED = 1_000;

/** Makes the workers of one kind. */
export function createWorkers(kind: DueKind, { store, now, log, worked }: WorkerPorts): Workers {
  /** A commit's own row may take half as many places again, so that a backlog does not keep it waiting. */
  const withReserve = { width: andHalf(kind.width), laneWidth: andHalf(kind.laneWidth) };
  const batch = Math.min(kind.width, kind.laneWidth);
  const lanes = new Map<string, number>();
  const named = new Set<string>();
  let busy = 0;
  let started = 0;
  let claiming = false;
  let stopped = false;
  /** There may be more than what was claimed. */
  let more = false;
  /** Lanes that were full when nothing else was found: they may have rows that are due. */
  const heldBack = new Set<string>();
  let namedFirst = true;
  let failure: unknown;
  let quiet = Promise.withResolvers<void>();
  return {
    wake,
    drain,
    get busy() {
      return busy;
    },
    async stop() {
      stopped = true;
      await untilQuiet();
    },
  };

  function wake(id?: string): void {
    if (id === undefined || named.size >= MOST_NAMED) more = true;
    else named.add(id);
    void fill();
  }

  /** One claim at a time: rows that end meanwhile make the next one larger. */
  async function fill(): Promise<void> {
    if (claiming) return;
    claiming = true;
    try {
      for (let claim = nextClaim(); claim; claim = nextClaim()) await take(claim);
    } catch (error) {
      named.clear();
      more = false;
      failure = error;
      log('error', 'due rows could not be claimed', { kind: kind.name, error });
    } finally {
      claiming = false;
      tellQuiet();
    }
  }

  function nextClaim(): Required<Claim> | undefined {
    if (stopped) return undefined;
    // A claim of a backlog waits for some free places: each claim is a commit, whatever it brings.
    const hasRoom = kind.width - busy >= batch;
    const byName = named.size > 0 && (namedFirst || !more || !hasRoom);
    if (!byName && !(more && hasRoom)) return undefined;
    const { width, laneWidth } = byName ? withReserve : kind;
    const limit = Math.min(batch, width - busy);
    if (limit <= 0) return undefined;
    const full = [...lanes].flatMap(([lane, rows]) => (rows >= laneWidth ? [lane] : []));
    namedFirst = !byName;
    // A wake that comes during the claim is about a row that the claim may not see.
    if (!byName) more = false;
    return { now: now(), limit, full, only: byName ? takeNames(limit) : [] };
  }

  function takeNames(limit: number): string[] {
    const names = [...named.values().take(limit)];
    for (const name of names) named.delete(name);
    return names;
  }

  async function take(claim: Required<Claim>): Promise<void> {
    const rows = await store.transaction((tx) => kind.rows.claim(tx, claim));
    const isShort = rows.length < (claim.only.length || claim.limit);
    if (isShort) for (const lane of claim.full) heldBack.add(lane);
    else if (claim.only.length === 0) more = true;
    for (const row of rows) void work(row);
    takeHeldBack();
  }

  async function work({ id, lane, beside }: DueRow): Promise<void> {
    busy += 1;
    started += 1;
    const mine = beside ? [lane, beside] : [lane];
    for (const one of mine) lanes.set(one, (lanes.get(one) ?? 0) + 1);
    const failed = await beginWork({ job: kind.name, ...(kind.about && { [kind.about]: id }) }, () => attempt(id));
    worked?.(kind.name, failed);
    busy -= 1;
    for (const one of mine) {
      const others = (lanes.get(one) ?? 1) - 1;
      if (others === 0) lanes.delete(one);
      else lanes.set(one, others);
    }
    takeHeldBack();
    void fill();
    tellQuiet();
  }

  /** Says whether it failed. */
  async function attempt(id: string): Promise<boolean> {
    try {
      await kind.run(id);
      return false;
    } catch (error) {
      log('error', 'a due row could not be handled', { kind: kind.name, id, error });
      return true;
    }
  }

  function takeHeldBack(): void {
    for (const lane of heldBack) {
      if ((lanes.get(lane) ?? 0) >= kind.laneWidth) continue;
      heldBack.delete(lane);
      more = true;
    }
  }

  async function drain(): Promise<number> {
    const before = started;
    failure = undefined;
    for (let round = -1; started > round && !stopped;) {
      round = started;
      more = true;
      void fill();
      await untilQuiet();
      if (failure !== undefined) throw failure;
    }
    return started - before;
  }

  async function untilQuiet(): Promise<void> {
    while (claiming || busy > 0) await quiet.promise;
  }

  function tellQuiet(): void {
    if (claiming || busy > 0) return;
    quiet.resolve();
    quiet = Promise.withResolvers<void>();
  }
}

/** Half as many again. */
function andHalf(places: number): number {
  return places + Math.ceil(places / 2);
}
