import { TransportFailed } from '../../payments/channel.ts';
import type { Settings } from './settings.ts';

/** How long the spare address is used before the first one is tried again. */
const SPARE_MS = 5 * 60_000;

/** Which of WeChat's two addresses the next try goes to. */
export interface AccessPoint {
  current(): string;
  /** A try at `base` failed with this error; only silence says something about the address. */
  failed(base: string, error: unknown): void;
}

/**
 * Where nothing answers, the next try goes to the spare address for five minutes, or back when that is silent, too. One try is
 * one send: whoever asked hears that the outcome is unknown, and what comes next is the same request again or a question.
 */
export function createAccessPoint({ base, spareBase }: Settings, now: () => Date): AccessPoint {
  let spareUntil = -Infinity;
  return {
    current: () => (spareBase !== undefined && now().getTime() < spareUntil ? spareBase : base),
    failed(tried, error) {
      const isSilent = error instanceof TransportFailed && error.why !== 'too_large';
      if (isSilent) spareUntil = tried === base ? now().getTime() + SPARE_MS : -Infinity;
    },
  };
}
