// Figures of one process for the live feed: its channel calls, and its report to the other processes.

import type { ChannelCalls } from '../db/entities/service.ts';
import { reportReplica } from '../db/queries/figures.ts';
import { PAY_WAYS, type PayWay } from '../payments/channel.ts';
import type { Ports } from '../payments/ports.ts';
import type { LivePorts } from './ports.ts';

interface CallMeter {
  onChannelCall: NonNullable<Ports['onChannelCall']>;
  /** Records the time of a notification from the channel, after its signature was verified. */
  noticed(payWay: PayWay): void;
  /** `seconds` is the length of the counted period. The period is shorter when the process has just started. */
  read(): { seconds: number; channels: ChannelCalls[] };
}

const SLOT_MS = 5_000;
const SLOTS = 12;
/** Durations are counted in ranges from 1 ms to a minute. Each upper bound is 10% above the bound before it. */
const GROWTH = 1.1;
const PLACES = 116;

/** Returns the upper bound, in milliseconds, of the range of durations with the index `place`. */
export function boundOf(place: number): number {
  return GROWTH ** place;
}

function placeOf(ms: number): number {
  return Math.min(PLACES - 1, Math.max(0, Math.ceil(Math.log(ms) / Math.log(GROWTH))));
}

interface Slot {
  turn: number;
  calls: number;
  unknown: number;
  places: Uint32Array;
}

interface Activity {
  slots: Slot[];
  answeredAt: Date | null;
  noticedAt: Date | null;
}

/** Creates an empty meter; `elapsed` is a monotonic clock in milliseconds. */
export function createCallMeter(now: () => Date, elapsed: () => number = () => performance.now()): CallMeter {
  const begun = elapsed();
  const channels = new Map(PAY_WAYS.map((payWay): [PayWay, Activity] => [payWay, noActivity()]));
  const turnNow = () => Math.floor((elapsed() - begun) / SLOT_MS);

  return {
    onChannelCall({ payWay, isUnknown, ms }) {
      const activity = channels.get(payWay)!;
      const slot = slotAt(activity.slots, turnNow());
      slot.calls += 1;
      slot.places[placeOf(ms)]! += 1;
      if (isUnknown) slot.unknown += 1;
      else activity.answeredAt = now();
    },
    noticed(payWay) {
      channels.get(payWay)!.noticedAt = now();
    },
    read() {
      const turn = turnNow();
      // The length of the counted period: the 11 completed slots of five seconds and the elapsed part of the current
      // slot. It is never longer than the time since the start.
      const seconds = Math.min(elapsed() - begun, ((elapsed() - begun) % SLOT_MS) + (SLOTS - 1) * SLOT_MS) / 1000;
      return {
        seconds: Math.max(1, seconds),
        channels: [...channels].map(([payWay, activity]) => sum(payWay, activity, turn)),
      };
    },
  };
}

function noActivity(): Activity {
  const slot = (): Slot => ({ turn: -1, calls: 0, unknown: 0, places: new Uint32Array(PLACES) });
  return { slots: Array.from({ length: SLOTS }, slot), answeredAt: null, noticedAt: null };
}

/** The slot for the five-second period with the number `turn`, cleared if it was last used for another period. */
function slotAt(slots: Slot[], turn: number): Slot {
  const slot = slots[turn % SLOTS]!;
  if (slot.turn !== turn) {
    Object.assign(slot, { turn, calls: 0, unknown: 0 });
    slot.places.fill(0);
  }
  return slot;
}

function sum(payWay: PayWay, { slots, answeredAt, noticedAt }: Activity, turn: number): ChannelCalls {
  const current = slots.filter((slot) => slot.turn > turn - SLOTS && slot.turn >= 0);
  const total = (member: 'calls' | 'unknown') => current.reduce((all, slot) => all + slot[member], 0);
  const spread = Array.from({ length: PLACES }, (_, place): [number, number] => [
    place,
    current.reduce((all, slot) => all + slot.places[place]!, 0),
  ]).filter(([, calls]) => calls > 0);
  return {
    payWay,
    calls: total('calls'),
    unknown: total('unknown'),
    spread,
    answeredAt: answeredAt?.toISOString() ?? null,
    noticedAt: noticedAt?.toISOString() ?? null,
  };
}

/** Returns a percentile (ms): with `share` 0.99, 99% of the calls took at most this time. null = no calls. */
export function quantileOf(spreads: readonly ChannelCalls['spread'][], share: number): number | null {
  const places = new Map<number, number>();
  for (const [place, calls] of spreads.flat()) places.set(place, (places.get(place) ?? 0) + calls);
  let left = [...places.values()].reduce((all, calls) => all + calls, 0) * share;
  if (left === 0) return null;
  for (const [place, calls] of [...places].toSorted(([a], [b]) => a - b)) {
    left -= calls;
    // The tolerance covers rounding errors of `share`.
    if (left <= 1e-9) return Math.round(boundOf(place));
  }
  return null;
}

/** Reports the figures of this process to all others, while any process has clients of the live feed. */
export interface Reporter {
  /** Whether clients follow the live feed in this process. If so, all other processes report too. */
  followedHere: boolean;
  /** Stores a report, unless the previous one is too recent. Never fails. */
  report(): Promise<void>;
  leave(): Promise<void>;
}

/**
 * After the report of a process whose clients follow the live feed, all processes continue to report for this time
 * (seconds). It is several times the interval of reports, because reports may be late.
 */
const FOLLOWED_SECONDS = 10;

/** Creates a reporter that writes at most one report in `everyMs` (ms). `elapsed` is a monotonic clock (ms). */
export function createReporter(
  { store, log, process, measure }: Pick<LivePorts, 'store' | 'log' | 'process' | 'measure'>,
  everyMs = 2_000,
  elapsed: () => number = () => performance.now(),
): Reporter {
  let reportedAt = Number.NEGATIVE_INFINITY;
  let isBlind = false;
  let hasLeft = false;
  let writing: Promise<void> | undefined;
  const reporter: Reporter = {
    followedHere: false,
    async report() {
      // The scheduler calls this function about once a second, so a report is allowed slightly before its time.
      if (hasLeft || writing || elapsed() - reportedAt < everyMs * 0.75) return;
      reportedAt = elapsed();
      writing = write().finally(() => (writing = undefined));
      await writing;
    },
    async leave() {
      hasLeft = true;
      await writing;
      if (reportedAt > Number.NEGATIVE_INFINITY)
        await store.autocommit((tx) => tx.replicas.delete({ id: process.id })).catch(() => {});
    },
  };
  return reporter;

  async function write(): Promise<void> {
    const followedSeconds = reporter.followedHere ? FOLLOWED_SECONDS : null;
    try {
      await store.autocommit((tx) => reportReplica(tx, { ...process, figures: measure() }, followedSeconds));
      isBlind = false;
    } catch (error) {
      // Logged once per outage, not every two seconds.
      if (!isBlind) log('warn', 'this process could not report itself to the live feed', { error });
      isBlind = true;
    }
  }
}
