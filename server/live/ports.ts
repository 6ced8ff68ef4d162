import type { Sql } from '../db/kysely.ts';
import type { Store } from '../db/store.ts';
import type { Ports } from '../payments/ports.ts';
import type { ProcessFigures } from '../db/entities/service.ts';

/** Identifies this process in the live feed. */
export interface ThisProcess {
  id: string;
  host: string;
  pid: number;
  worker: number | null;
  version: string;
  startedAt: Date;
}

/** The kinds of due rows (database rows that need processing), and for how long their oldest rows have been due. */
export interface DueKinds {
  /** The name of each kind of due row. `dueCount` returns the SQL expression that counts its due rows. */
  tables: readonly { name: string; dueCount: (now: Date) => Sql }[];
  /**
   * For how many seconds the oldest row without a lease has been due, by kind; empty before the first query for due
   * rows.
   */
  lags(): { at: Date; seconds: Readonly<Record<string, number>> };
}

export interface LivePorts extends Pick<Ports, 'now' | 'log'> {
  store: Store;
  process: ThisProcess;
  /** Returns the load figures of this process, for example its CPU use since the previous call. */
  measure: () => ProcessFigures;
  due: () => DueKinds;
  /** Whether orders of the simulator are included. */
  simulated: boolean;
}
