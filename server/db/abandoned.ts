import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type PoolClient, type PoolConfig } from 'pg';

/** How often the server is asked while it has not ended all of them (ms). */
const LOOK_MS = 500;

/**
 * How far the age of a backend may be from that of its connection (s): it is there before the connection is, and is asked about
 * a little later. With the number of its process it says which one it is, whatever the clocks say.
 */
const AGE_TOLERANCE = 10;

/**
 * Which of the connections the server still has. One that waits for a statement is ended, as none will come; what still works on one is left
 * alone: to end a commit that waits for a standby would show others what the standby does not have.
 */
const STILL_THERE = `
  select pid, state like 'idle%' and pg_terminate_backend(pid) as told
  from pg_stat_activity join unnest($1::int[], $2::float8[]) as asked (pid, age) using (pid)
  where abs(extract(epoch from clock_timestamp() - backend_start) - age) < ${AGE_TOLERANCE}`;

/** A connection that was given up, while the server may still be at work on it. */
interface Abandoned {
  pid: number;
  connectedAt: number;
  release: () => void;
}

/** Connections that were given up, each until the server is known to have ended it. */
export interface AbandonedConnections {
  /** Notes one; `release` is called when the server has it no more, or nothing is waited for any more. */
  add(client: PoolClient, connectedAt: number, release: () => void): void;
  /** Waits for none any more. */
  end(): void;
}

/**
 * A server notices only at the end of a statement that its client has gone. Until then the connection holds a place there, so it keeps
 * its place in the pool here: otherwise a server that ends nothing is given one connection after the other, until it has no more.
 */
export function watchAbandoned(options: PoolConfig): AbandonedConnections {
  const abandoned = new Set<Abandoned>();
  /** The request that gives a connection up has no part in what is asked about it. */
  const outside = AsyncLocalStorage.snapshot();
  let isOver = false;
  let looking: Promise<void> | undefined;
  return {
    add(client, connectedAt, release) {
      const { processID: pid } = client as { processID?: number | null };
      if (isOver || !pid) return release();
      abandoned.add({ pid, connectedAt, release });
      begin();
    },
    end() {
      isOver = true;
      for (const one of abandoned) forget(one);
    },
  };

  function begin(): void {
    looking ??= outside(look).finally(() => {
      looking = undefined;
      // One may have come after the last look.
      if (abandoned.size > 0) begin();
    });
  }

  function forget(one: Abandoned): void {
    if (abandoned.delete(one)) one.release();
  }

  async function look(): Promise<void> {
    while (abandoned.size > 0) {
      // A server that cannot be asked has ended none, as far as anybody knows.
      await releaseEnded().catch(() => {});
      if (abandoned.size > 0) await delay(LOOK_MS, undefined, { ref: false });
    }
  }

  async function releaseEnded(): Promise<void> {
    const all = [...abandoned];
    const there = await stillThere(all);
    for (const one of all) if (!there.has(one.pid)) forget(one);
  }

  /** On a connection beside the pool, which may be full of them. */
  async function stillThere(all: readonly Abandoned[]): Promise<Set<number>> {
    const client = new Client(options);
    client.on('error', () => {});
    try {
      await client.connect();
      const ages = all.map(({ connectedAt }) => (performance.now() - connectedAt) / 1000);
      const { rows } = await client.query<{ pid: number }>(STILL_THERE, [all.map(({ pid }) => pid), ages]);
      return new Set(rows.map(({ pid }) => pid));
    } finally {
      void client.end().catch(() => {});
    }
  }
}
