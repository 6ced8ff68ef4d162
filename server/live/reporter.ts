import { reportReplica } from '../db/queries/live.ts';
import type { LivePorts } from './ports.ts';

/** Tells all processes about this one while somebody follows the live feed, wherever that is. */
export interface Reporter {
  /** Whether somebody follows here: then all others begin to report, too. */
  followedHere: boolean;
  /** Writes the report, if the last one is old enough. Never fails. */
  report(): Promise<void>;
  /** This process ends. */
  leave(): Promise<void>;
}

/** How long a report says that somebody follows: a few reports may be late. */
const FOLLOWED_SECONDS = 10;

/** A reporter that writes its row every `everyMs` at most, by a clock that nobody puts forward. */
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
      // Looks come every second and are late by some milliseconds: one that is early by as much counts.
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
      // Once, not every other second for as long as the database is away.
      if (!isBlind) log('warn', 'this process could not report itself to the live feed', { error });
      isBlind = true;
    }
  }
}
