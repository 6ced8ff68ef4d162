import type { Sql } from '../db/kysely.ts';
import type { Store } from '../db/store.ts';
import type { Ports } from '../payments/ports.ts';
import type { ProcessFigures } from '../db/entities/service.ts';

/** Which process this is. */
export interface ThisProcess {
  id: string;
  host: string;
  pid: number;
  worker: number | null;
  version: string;
  startedAt: Date;
}

/** Due rows as the scheduler of this process knows them. */
export interface DueKinds {
  /** How many rows of a kind are due, as a value in SQL. */
  tables: readonly { name: string; dueCount: (now: Date) => Sql }[];
  /** For how many seconds the oldest row has been due that nobody has, by kind; empty before the first look. */
  lags(): { at: Date; seconds: Readonly<Record<string, number>> };
}

/** What the live feed needs. */
export interface LivePorts extends Pick<Ports, 'now' | 'log'> {
  store: Store;
  process: ThisProcess;
  /** What the process says of itself since it was last asked. */
  measure: () => ProcessFigures;
  due: () => DueKinds;
  /** Whether orders of the simulator count. */
  simulated: boolean;
}
