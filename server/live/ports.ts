import type { Sql } from '../db/kysely.ts';
import type { Store } from '../db/store.ts';
import type { Ports } from '../payments/ports.ts';
import type { ProcessFigures } from '../db/entities/service.ts';

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
  /** For each kind, the seconds since its oldest row without a lease became due. Empty before the first query. */
  lags(): { at: Date; seconds: Readonly<Record<string, number>> };
}

export interface LivePorts extends Pick<Ports, 'now' | 'log'> {
  store: Store;
  process: ThisProcess;
  /** Returns the load figures of this process, for example its CPU use since the previous call. */
  measure: () => ProcessFigures;
  due: () => DueKinds;
  /** Whether the figures include orders of the simulator. */
  simulated: boolean;
}
