import type { Registry } from 'prom-client';
import type { Config } from '../../config/config.ts';

/**
 * `stop`: the service ends, after its health checks have failed for a while. `leave`: only this worker ends, and other
 * workers continue to serve the same address.
 */
export type Ending = 'stop' | 'leave';

export interface ReadyFacts {
  version: string;
  address: string;
  publicUrl: string;
  /** URL of the API explorer; null = it is not served. */
  explorer: string | null;
  metrics: string;
  /** URL of the simulator; null = none. */
  simulator: string | null;
  /** The folder of the embedded database, or the host and port of PostgreSQL. */
  database: string;
  schema: string | null;
  debug: boolean;
  /** The number of workers, if there are several. */
  workers?: number;
  /** The settings that are missing before the first payment; null = nothing is missing. */
  lacks: 'administrator' | 'channel' | null;
  pid: number;
}

/** The lifecycle of a serving process, which differs between a single process and a worker. */
export interface Life {
  /** The id of a worker. */
  name?: number;
  ends: Promise<Ending>;
  openSimulator(config: Config): Promise<{ url: string; close(): Promise<void> } | undefined>;
  openMetrics(registry: Registry, config: Config): Promise<{ port?: number; close(): Promise<void> }>;
  /** True: `ready` prints the facts for a person at the terminal. False: the service logs them. */
  tells: boolean;
  /** Called when requests are accepted and jobs run. */
  ready(facts: ReadyFacts): void;
}

/** A message from a worker to its supervisor. */
export type WorkerWord = FirstWord | { pay: 'figures'; figures: Figures };

export type FirstWord = { pay: 'ready'; facts: ReadyFacts } | { pay: 'failed'; error: StartError };

export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** A message from the supervisor to a worker. */
export interface SupervisorWord {
  pay: 'leave' | 'figures';
}

/** An error sent to the supervisor, with the properties that payctl needs to print it. */
export interface StartError {
  name: string;
  message: string;
  code?: unknown;
  status?: unknown;
  options?: { hint?: string };
}
