import type { KeyObject } from 'node:crypto';
import type { ChannelInput, FetchBudget, KeyOrigin } from '../payments/channel.ts';

/** For this time (milliseconds) the channel is not asked again about a serial that it did not know. */
const NEGATIVE_MS = 10 * 60_000;
/** The number of unknown serials in memory is limited, because a sender can invent any number of serials. */
const NEGATIVE_MAX = 256;

/** A key that verifies a channel's signatures. The inherited fields state where the service got the key. */
export interface VerifyKey extends KeyOrigin {
  key: KeyObject;
}

/**
 * Builds a verification key from a PEM text of the configuration. `certId` is the id of the stored certificate with
 * this text. `since` is the time since when the certificate is trusted; null = its age is not checked. If no such
 * certificate is stored, both fields are null.
 */
export function storedKey({ origins }: Pick<ChannelInput, 'origins'>, pem: string, key: KeyObject): VerifyKey {
  return { key, ...(origins?.get(pem) ?? { certId: null, since: null }) };
}

/**
 * The keys that verify a channel's messages. Several are valid at the same time, so that no message is rejected while
 * the channel changes its key.
 */
export interface KeyRing<Key = VerifyKey> {
  /**
   * Finds the key with this serial. If the serial is unknown, the channel's keys are fetched, at most once per
   * `refreshEveryMs`. `budget` limits how many useless fetches one sender of notifications can cause. Returns undefined
   * if no key is found; the message then cannot be verified.
   */
  find(serial: string, budget?: FetchBudget): Promise<Key | undefined>;
  /** Returns all current keys. They are tried one by one for messages without a serial. */
  all(): Key[];
  serials(): string[];
}

interface KeyRingOptions<Key> {
  keys: Iterable<readonly [serial: string, key: Key]>;
  now: () => Date;
  /** Converts a serial to a standard spelling, so that two spellings of the same serial match. */
  normalise?: (serial: string) => string;
  /** Fetches the channel's current keys and verifies them. New keys are added to the ring; no key is removed. */
  refresh?: (serial: string) => Promise<Iterable<readonly [serial: string, key: Key]>>;
  /** The shortest time between two refreshes; default 60 s. */
  refreshEveryMs?: number;
  /** Called if a message has a serial that neither this service nor the channel knows. */
  onUnknown?: (serial: string) => void;
}

/** Creates the key ring. If the keys cannot be fetched, no error is thrown, and the serial stays unknown. */
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

  /** Fetches the keys once. Concurrent callers share the same fetch. Resolves to true if the channel returned keys. */
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
      // Only a response of the channel proves that the serial is unknown. Without a response the next refresh may ask
      // again.
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
