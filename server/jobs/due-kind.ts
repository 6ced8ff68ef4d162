import type { DueRows } from '../db/queries/due-rows.ts';

/** How many rows of one kind a replica works at the same time: of one lane, of one group of lanes, and in all. */
export interface Widths {
  laneWidth: number;
  groupWidth?: number;
  /** Absent = as many as all groups have. */
  width?: number;
  /** The groups that a lane belongs to, such as the channel of an account. */
  groupsOf?: (lane: string) => readonly string[];
  /** Whether all lanes of a group wait for one party, so that none of them may be expected to answer sooner than the others. */
  isOneParty?: (group: string) => boolean;
}

/** One kind of row that can be due, and how much of it one replica works at the same time. */
export interface DueKind extends Widths {
  name: string;
  rows: DueRows;
  /** What its id is the number of, for the log. */
  about?: 'orderNo' | 'refundNo';
  /** Does what is due for one claimed row; a row that is still due afterwards is taken again. */
  run: (id: string) => Promise<unknown>;
  /** What `tx.wake` calls the commit that makes a row of this kind due at once; it may find half as many places more. */
  wokenBy?: string;
  /** Its rows ask a channel: the figures tell its groups apart, and its lanes keep to the rate of calls. */
  asksChannel?: boolean;
}

/** Where jobs write what went wrong. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
