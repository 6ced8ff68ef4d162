import type { DueRow } from '../db/queries/due-rows.ts';
import type { Store } from '../db/store.ts';
import type { DueKind, Log } from './due-kind.ts';

/** What leases are kept with. */
export interface LeasePorts {
  store: Store;
  now: () => Date;
  log: Log;
  /** How long a lease is; left out = as long as the database's own. */
  leaseMs?: number | undefined;
  /** Called when another replica has claimed a row that this one is still working. */
  leaseLost?: (kind: string) => void;
}

/** The leases of the rows of one kind that this replica is working. */
export interface Leases {
  /** A row that was claimed a moment ago is being worked. */
  hold(row: DueRow): Held;
  /** Its work is over. */
  drop(held: Held): void;
  /** When one has less than half of its time left, prolongs all of them in one statement; never throws. */
  renew(): Promise<void>;
}

/** A row under way; without a lease when the work itself has planned it anew, or another replica has it. */
export interface Held {
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
      for (const [place, held] of mine.entries()) settle(held, became[place]!);
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
