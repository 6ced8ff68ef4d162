import type { KeyObject } from 'node:crypto';
import type { ChannelInput, FetchBudget, KeyOrigin } from '../payments/channel.ts';

/** For this long the channel is not queried again about a serial that it did not know. */
const NEGATIVE_MS = 10 * 60_000;
/** The most unknown serials in memory; a sender can invent any number. */
const NEGATIVE_MAX = 256;

/** A key that verifies a channel's signatures, with its origin. */
export interface VerifyKey extends KeyOrigin {
  key: KeyObject;
}

/** A verification key from the configuration, with the origin of its PEM text; null = no origin is recorded. */
export function storedKey({ origins }: Pick<ChannelInput, 'origins'>, pem: string, key: KeyObject): VerifyKey {
  return { key, ...(origins?.get(pem) ?? { certId: null, since: null }) };
}

/** Verification keys by serial; several are valid at once, so that a rotation rejects no message. */
export interface KeyRing<Key = VerifyKey> {
  /**
   * The key of this serial. An unknown serial is queried at the channel, at most once per interval and only if the
   * budget allows it. Undefined = the message cannot be verified.
   */
  find(serial: string, budget?: FetchBudget): Promise<Key | undefined>;
  /** Every current key, for messages without a serial. */
  all(): Key[];
  /** The serials of the current keys. */
  serials(): string[];
}

interface KeyRingOptions<Key> {
  keys: Iterable<readonly [serial: string, key: Key]>;
  now: () => Date;
  /** Makes two spellings of one serial equal. */
  normalise?: (serial: string) => string;
  /** Fetches the channel's current keys, already verified. They are added to the ring, and none is removed. */
  refresh?: (serial: string) => Promise<Iterable<readonly [serial: string, key: Key]>>;
  /** The shortest time between two refreshes; default 60 s. */
  refreshEveryMs?: number;
  /** Called when a message names a serial that stays unknown. */
  onUnknown?: (serial: string) => void;
}

/**
 * Creates the key ring of one configuration version. If a refresh fails, the serial stays unknown and no error is
 * thrown.
 */
export function createKeyRing<Key>(options: KeyRingOptions<Key>): KeyRing<Key> {
  const { now, normalise = (serial) => serial, refresh, refreshEveryMs = 60_000, onUnknown } = options;
  const keys = new Map<string, Key>();
  const unknownUntil = new Map<string, number>();
  let refreshedAt = -Infinity;
  let running: Promise<boolean> | undefined;
  add(options.keys);

  function add(entries: KeyRingOptions<Key>['keys']): void {
    for (const [serial, key] of entries) keys.set(normalise(serial), key);
  }

  /** Resolves to true if the channel returned keys; concurrent callers share one refresh. */
  function refreshOnce(serial: string, budget: FetchBudget | undefined): Promise<boolean> {
    if (running) return running;
    const isEarly = now().getTime() - refreshedAt < refreshEveryMs;
    if (!refresh || isEarly || budget?.isLeft() === false) return Promise.resolve(false);
    refreshedAt = now().getTime();
    running = Promise.resolve()
      .then(() => refresh(serial))
      .then((entries) => (add(entries), true))
      .catch(() => false)
      .finally(() => (running = undefined));
    return running;
  }

  function rememberUnknown(serial: string): void {
    if (unknownUntil.size >= NEGATIVE_MAX) unknownUntil.clear();
    unknownUntil.set(serial, now().getTime() + NEGATIVE_MS);
  }

  async function find(named: string, budget?: FetchBudget): Promise<Key | undefined> {
    const serial = normalise(named);
    const known = keys.get(serial);
    if (known) return known;
    if ((unknownUntil.get(serial) ?? 0) <= now().getTime()) {
      const isAnswered = await refreshOnce(serial, budget);
      const fresh = keys.get(serial);
      if (fresh) return fresh;
      // Only an answer proves that the serial is unknown. Without an answer, the next refresh may query again.
      if (isAnswered) {
        rememberUnknown(serial);
        budget?.spend();
      }
    }
    onUnknown?.(serial);
    return undefined;
  }

  return { find, all: () => [...new Set(keys.values())], serials: () => [...keys.keys()] };
}
