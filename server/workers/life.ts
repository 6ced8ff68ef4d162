import type { Registry } from 'prom-client';
import type { Config } from '../../config/config.ts';

/** `stop`: the service ends, and balancers are told first. `leave`: another process goes on at the same address. */
export type Ending = 'stop' | 'leave';

/** What a service that is ready says of itself. */
export interface ReadyFacts {
  version: string;
  /** Where it listens, and under which address others reach it. */
  address: string;
  publicUrl: string;
  /** Of the API explorer; null = it is not served. */
  explorer: string | null;
  metrics: string;
  /** Null = there is none. */
  simulator: string | null;
  /** The folder of the embedded database, or host and port. */
  database: string;
  schema: string | null;
  debug: boolean;
  /** Of several processes, how many. */
  workers?: number;
  /** What is not there yet and must be for the first payment; null = nothing. */
  lacks: 'administrator' | 'channel' | null;
  pid: number;
}

/** What is different for a process that serves alone and for one of several. */
export interface Life {
  /** Among several. */
  name?: number;
  ends: Promise<Ending>;
  openSimulator(config: Config): Promise<{ url: string; close(): Promise<void> } | undefined>;
  openMetrics(registry: Registry, config: Config): Promise<{ port?: number; close(): Promise<void> }>;
  /** Whether `ready` tells people; otherwise it is a line of the log. */
  tells: boolean;
  /** Requests are accepted and jobs run. */
  ready(facts: ReadyFacts): void;
}

/** What a worker tells its supervisor. */
export type WorkerWord = FirstWord | { pay: 'figures'; figures: Figures };

/** What a worker tells of its start. */
export type FirstWord = { pay: 'ready'; facts: ReadyFacts } | { pay: 'failed'; error: ToldError };

/** The figures of one process, as prom-client hands them over. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** What a supervisor tells a worker. */
export interface SupervisorWord {
  pay: 'leave' | 'figures';
}

/** An error on its way to another process: as much as payctl needs to tell it as if it were its own. */
export interface ToldError {
  name: string;
  message: string;
  code?: unknown;
  status?: unknown;
  options?: { hint?: string };
}
