import type { Registry } from 'prom-client';
import type { Config } from '../../config/config.ts';

/** `stop`: the service ends, and balancers are told first. `leave`: another process goes on at the same address. */
export type Ending = 'stop' | 'leave';

/** What is different for a process that serves alone and for one of several. */
export interface Life {
  /** Among several. */
  name?: number;
  ends: Promise<Ending>;
  openSimulator(config: Config): Promise<{ url: string; close(): Promise<void> } | undefined>;
  openMetrics(registry: Registry, config: Config): Promise<{ close(): Promise<void> }>;
  /** Requests are accepted and jobs run. */
  ready(): void;
}

/** What a worker tells its supervisor. */
export type WorkerWord = { pay: 'ready' } | { pay: 'failed'; error: ToldError };

/** What a supervisor tells a worker. */
export interface SupervisorWord {
  pay: 'leave';
}

/** An error on its way to another process: as much as payctl needs to tell it as if it were its own. */
export interface ToldError {
  name: string;
  message: string;
  code?: unknown;
  status?: unknown;
  options?: { hint?: string };
}
