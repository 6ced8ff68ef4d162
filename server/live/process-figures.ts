import type { PayWay } from '../domain.ts';

/** The calls of one channel in the last minute of one process, and when it was last heard. */
export interface ChannelCalls {
  payWay: PayWay;
  calls: number;
  /** Those after which nobody knows what the channel did. */
  unknown: number;
  /** How many calls took how long: the place of a bound (`boundOf`) and a count. */
  spread: [place: number, calls: number][];
  answeredAt: string | null;
  noticedAt: string | null;
}

/** What a process says of itself. */
export interface ProcessFigures {
  /** How long the event loop was late, in milliseconds, since the report before. */
  loopDelayMs: { p99: number; max: number };
  /** Processors that were kept busy since the report before. */
  cpu: number;
  memoryBytes: number;
  /** Seconds that `channels` is about. */
  seconds: number;
  channels: ChannelCalls[];
  /** Due rows under way, by kind. */
  underWay: Record<string, number>;
}
