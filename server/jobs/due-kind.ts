import type { DueRows } from '../db/queries/due.ts';

/** One kind of row that can be due, and how much of it one replica works at the same time. */
export interface DueKind {
  name: string;
  rows: DueRows;
  /** What its id is the number of, for the log. */
  about?: 'orderNo' | 'refundNo';
  /** Does what is due for one claimed row; a row that is still due afterwards is taken again. */
  run: (id: string) => Promise<unknown>;
  /** What `tx.wake` calls the commit that makes a row of this kind due at once. */
  wokenBy?: string;
  /** Most rows under way at once; what a commit has just made due may be half as many more. */
  width: number;
  /**
   * A lane with this many is full and gets no more, so that an outside party that does not answer holds up its own lane
   * only. It is also the most that one claim takes: should all be of a lane that was nearly full, it has twice as many.
   */
  laneWidth: number;
}

/** Where jobs write what went wrong. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
