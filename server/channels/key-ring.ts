import type { KeyObject } from 'node:crypto';
import type { ChannelInput, FetchBudget, KeyOrigin } from '../payments/channel.ts';

/** How long a serial that a refresh did not bring stays unknown without asking again. */
const NEGATIVE_MS = 10 * 60_000;
/** How many unknown serials are remembered; they come from outside. */
const NEGATIVE_MAX = 256;

/** A key that verifies, and where it comes from. */
export interface VerifyKey extends KeyOrigin {
  key: KeyObject;
}

/** A stored key with what is known of the PEM text that it was read from. */
export function storedKey({ origins }: Pick<ChannelInput, 'origins'>, pem: string, key: KeyObject): VerifyKey {
  return { key, ...(origins?.get(pem) ?? { certId: null, since: null }) };
}

/** Verify keys by serial; several are good at once, so a rotation fails no message. */
export interface KeyRing<Key = VerifyKey> {
  /** The key of this serial; asks the channel at most once a minute, and only if it may, then undefined (fail closed). */
  find(serial: string, budget?: FetchBudget): Promise<Key | undefined>;
  /** Every key that is good now, for messages that carry no serial. */
  all(): Key[];
  /** The serials of those keys. */
  serials(): string[];
}

/** What a key ring is made from. */
interface KeyRingOptions<Key> {
  keys: Iterable<readonly [serial: string, key: Key]>;
  now: () => Date;
  /** How two spellings of one serial are made equal. */
  normalise?: (serial: string) => string;
  /** Fetches the channel's current keys, already checked; they are added, none is taken away. */
  refresh?: (serial: string) => Promise<Iterable<readonly [serial: string, key: Key]>>;
  /** Shortest time between two refreshes; 60 s unless given. */
  refreshEveryMs?: number;
  /** Told when a message names a serial that stays unknown. */
  onUnknown?: (serial: string) => void;
}

/** A key ring of one configuration version; a failing refresh counts as "not known" and never throws. */
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

  /** Resolves to whether the channel was heard; joins a refresh that is under way. */
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

  async function find(asked: string, budget?: FetchBudget): Promise<Key | undefined> {
    const serial = normalise(asked);
    const known = keys.get(serial);
    if (known) return known;
    if ((unknownUntil.get(serial) ?? 0) <= now().getTime()) {
      const heard = await refreshOnce(serial, budget);
      const fresh = keys.get(serial);
      if (fresh) return fresh;
      // Only an answer proves that the serial is unknown; a silent channel may be asked again in a minute.
      if (heard) {
        rememberUnknown(serial);
        budget?.spend();
      }
    }
    onUnknown?.(serial);
    return undefined;
  }

  return { find, all: () => [...new Set(keys.values())], serials: () => [...keys.keys()] };
}
