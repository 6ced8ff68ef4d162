import { argon2id, hash, needsRehash, verify } from 'argon2';
import { InvalidRequest, Unavailable } from '../errors.ts';
import { commonPasswords, isOftenLeaked } from './common-passwords.ts';

/** The queue of a password check: `reserved` work runs first and has its own queue, so that `open` work cannot delay it. */
export type GateLine = 'open' | 'reserved';

/** Runs a few tasks at a time; throws `Unavailable` (503) if a queue is full. */
type Gate = <T>(work: () => Promise<T>, line?: GateLine) => Promise<T>;

/**
 * Creates a gate with `slots` concurrent tasks and up to `queue` waiting tasks per queue. Password hashing fills Node's thread pool:
 * without a gate a hundred logins stalled file reads and name lookups for many seconds in a measurement.
 */
export function createGate({ slots, queue }: { slots: number; queue: number }): Gate {
  let running = 0;
  const waiting: Record<GateLine, (() => void)[]> = { open: [], reserved: [] };
  const leave = (): void => {
    const next = waiting.reserved.shift() ?? waiting.open.shift();
    if (next) next();
    else running -= 1;
  };
  const enter = (line: GateLine): Promise<void> | undefined => {
    if (running < slots) {
      running += 1;
      return undefined;
    }
    if (waiting[line].length >= queue) {
      throw new Unavailable('login_busy', 'Too many logins are being processed; try again shortly.', {
        retryAfter: 2,
      });
    }
    return new Promise((resolve) => waiting[line].push(resolve));
  };
  return async (work, line = 'open') => {
    await enter(line);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

/** Argon2id with OWASP's minimum parameters; changed parameters apply at each administrator's next login. */
const hashParameters = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

const bounds = { minCharacters: 12, maxBytes: 1024, minUnforeseen: 8 };

/** Hashes and verifies passwords, at most two at a time. */
export interface Passwords {
  /** Has priority over logins from unknown addresses, because only an authenticated user sets a password. */
  hash(password: string): Promise<string>;
  /** `first` runs when the task starts; if it throws, the check stops. */
  verify(hash: string, password: string, first?: () => Promise<void>, line?: GateLine): Promise<boolean>;
  /** Whether the hash was created with other parameters than the current ones. */
  isOutdated(hash: string): boolean;
  /** The hash of a random password, so that an unknown account takes as long as a known one. */
  decoy(): Promise<string>;
}

/** Creates the hasher; `gate` limits running and waiting tasks. */
export function createPasswords(gate: Gate = createGate({ slots: 2, queue: 8 })): Passwords {
  let decoy: Promise<string> | undefined;
  return {
    hash: (password) => gate(() => hash(password, hashParameters), 'reserved'),
    verify: (digest, password, first, line) =>
      gate(async () => {
        await first?.();
        return verify(digest, password);
      }, line),
    isOutdated: (digest) => needsRehash(digest, hashParameters),
    decoy: () => (decoy ??= hash(crypto.randomUUID(), hashParameters)),
  };
}

/**
 * Throws a 400 unless the password has at least 12 characters and at most 1 KB, is not common, does not consist of the username or words of
 * the service, and is not a sequence.
 */
export function requireGoodPassword(password: string, username: string, pointer = '/password'): void {
  const fault = faultOf(password, username);
  if (fault) throw new InvalidRequest('The password is too weak.', [{ pointer, code: 'password_weak', ...fault }]);
}

function faultOf(password: string, username: string): { detail: string } | undefined {
  if ([...password].length < bounds.minCharacters)
    return { detail: `must have at least ${bounds.minCharacters} characters` };
  if (Buffer.byteLength(password) > bounds.maxBytes) return { detail: 'must have at most 1024 bytes' };
  const plain = password.toLowerCase();
  if (isCommon(plain)) return { detail: 'must not be a common password' };
  if (isOfContext(plain, username.toLowerCase()))
    return { detail: 'must not be made of the username or of words of the service' };
  if (new Set(plain).size < 5) return { detail: 'must have more than four different characters' };
  if (unforeseen(plain) < bounds.minUnforeseen) {
    const detail = `must have at least ${bounds.minUnforeseen} characters that do not continue a sequence such as abcd, 1234, qwerty or aaaa`;
    return { detail };
  }
  return undefined;
}

const contextWords = ['unified', 'payments', 'payment', 'service', 'payctl', 'admin', 'pay', 'ups', 'my', 'the'];

/**
 * Whether the password consists of words that a visitor of the login page would guess: too little remains after removing these words,
 * digits and signs.
 */
function isOfContext(plain: string, username: string): boolean {
  const bare = username.replaceAll(/\P{L}+/gu, '');
  const names = bare.length >= 4 ? [bare, [...bare].toReversed().join('')] : [];
  return readings(plain).some((text) => {
    const letters = text.replaceAll(/\P{L}+/gu, ' ');
    const left = [...names, ...contextWords].reduce((rest, word) => rest.replaceAll(word, ''), letters);
    return left.replaceAll(' ', '').length < 4 && left.length < letters.length;
  });
}

/** Common words with digits and signs around them, or written twice, count as common. */
function isCommon(plain: string): boolean {
  const half = plain.slice(0, plain.length / 2);
  const once = half + half === plain ? readings(half) : [];
  return [...readings(plain), ...once].some((text) => commonPasswords.has(text) || isOftenLeaked(text));
}

/** Digits and signs that replace letters. The digit 1 replaces two letters, so it is handled separately. */
const LEET = new Map(
  ['@a', '4a', '8b', '3e', '9g', '!i', '0o', '$s', '5s', '7t', '+t'].map(([sign, letter]) => [sign, letter]),
);

/** The possible base words of a password: with and without digits and signs at its ends, and with letters in the place of look-alikes. */
function readings(plain: string): string[] {
  const [noStart, noEnd] = [plain.replace(/^\P{L}+/u, ''), plain.replace(/\P{L}+$/u, '')];
  const texts = [plain, noStart, noEnd, noStart.replace(/\P{L}+$/u, '')];
  return texts.flatMap((text) => [
    text,
    ...['i', 'l'].map((one) => [...text].map((sign) => (sign === '1' ? one : (LEET.get(sign) ?? sign))).join('')),
  ]);
}

const keyRows = ['1234567890-=', 'qwertyuiop[]', "asdfghjkl;'", 'zxcvbnm,./'];
const shiftedRows = ['!@#$%^&*()_+', 'qwertyuiop{}', 'asdfghjkl:"', 'zxcvbnm<>?'];
const keys = new Map(
  [keyRows, shiftedRows].flatMap((rows) =>
    rows.flatMap((row, y) => [...row].map((sign, x): [string, { x: number; y: number }] => [sign, { x, y }])),
  ),
);

/**
 * The number of characters that do not continue a sequence: a character continues one if its step from the previous character, in the
 * alphabet or on the keyboard, equals one of the last two steps. Of a repeated text only the first copy counts.
 */
function unforeseen(plain: string): number {
  const signs = [...(/^(.+?)\1+$/su.exec(plain)?.[1] ?? plain)];
  const steps = signs.map((sign, at) => stepsTo(sign, signs[at - 1]));
  const follows = steps.map((step, at) =>
    [steps[at - 1], steps[at - 2]].some((old) => step.some((one) => old?.includes(one))),
  );
  return follows.filter((one) => !one).length;
}

/** The names of the steps from one character to the next; empty if they are not adjacent. */
function stepsTo(sign: string, before: string | undefined): string[] {
  if (before === undefined) return [];
  const further = sign.codePointAt(0)! - before.codePointAt(0)!;
  const [from, to] = [keys.get(before), keys.get(sign)];
  const [x, y] = from && to ? [to.x - from.x, to.y - from.y] : [2, 2];
  return [
    ...(Math.abs(further) <= 1 ? [`alphabet ${further}`] : []),
    ...(Math.abs(x) <= 1 && Math.abs(y) <= 1 ? [`keys ${x} ${y}`] : []),
  ];
}
