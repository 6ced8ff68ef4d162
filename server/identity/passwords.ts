import { argon2id, hash, needsRehash, verify } from 'argon2';
import { InvalidRequest, Unavailable } from '../errors.ts';
import { commonPasswords, isOftenLeaked } from './common-passwords.ts';

/** `reserved` tasks have their own queue and run first, so that `open` tasks cannot delay them. */
export type GateLine = 'open' | 'reserved';

/** Runs a limited number of tasks at the same time. Throws `Unavailable` (503) if the queue is full. */
type Gate = <T>(work: () => Promise<T>, line?: GateLine) => Promise<T>;

/**
 * Creates a gate. Up to `queue` tasks wait in each of the two queues. Password hashing occupies Node's thread pool: in
 * a measurement without a gate, a hundred logins delayed file reads and DNS lookups by many seconds.
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

/**
 * Argon2id with the minimum parameters that OWASP recommends. After a change of the parameters, each password is hashed
 * again at the administrator's next login.
 */
const hashParameters = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

const bounds = { minCharacters: 12, maxBytes: 1024, minUnforeseen: 8 };

export interface Passwords {
  /** Uses the `reserved` queue, because only authenticated users set passwords. */
  hash(password: string): Promise<string>;
  /** `first` is called when the task leaves the queue. If it throws, the password is not checked. */
  verify(hash: string, password: string, first?: () => Promise<void>, line?: GateLine): Promise<boolean>;
  isOutdated(hash: string): boolean;
  /** Logins with unknown usernames use this hash, so that the response time does not reveal which names exist. */
  decoy(): Promise<string>;
}

/** Creates the functions that hash and verify passwords. `gate` limits how many tasks run and wait. */
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
 * Throws a 400 if the password is too weak: shorter than 12 characters, longer than 1 KB, common, made of the username
 * or of words of the service, or mostly a sequence such as abcd.
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
    return { detail: 'must not mainly consist of the username or of words such as payment, service and admin' };
  if (new Set(plain).size < 5) return { detail: 'must have more than four different characters' };
  if (unforeseen(plain) < bounds.minUnforeseen) {
    const detail = `must have at least ${bounds.minUnforeseen} characters that do not continue a sequence such as abcd, 1234, qwerty or aaaa`;
    return { detail };
  }
  return undefined;
}

const contextWords = ['unified', 'payments', 'payment', 'service', 'payctl', 'admin', 'pay', 'ups', 'my', 'the'];

/**
 * The username, words of the service, digits and signs are removed. If fewer than four letters remain, the password is
 * refused.
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

/** Digits and signs at the ends are ignored. A common password that is written twice is also common. */
function isCommon(plain: string): boolean {
  const half = plain.slice(0, plain.length / 2);
  const once = half + half === plain ? readings(half) : [];
  return [...readings(plain), ...once].some((text) => commonPasswords.has(text) || isOftenLeaked(text));
}

/** Digits and signs that often replace letters. The digit 1 can stand for i or l, so it is handled separately. */
const LEET = new Map(
  ['@a', '4a', '8b', '3e', '9g', '!i', '0o', '$s', '5s', '7t', '+t'].map(([sign, letter]) => [sign, letter]),
);

/** Returns the text with and without digits and signs at the ends, also with look-alike signs replaced by letters. */
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
 * Counts the characters of a password that do not continue a sequence such as `abcd` or `qwer`. A character continues a
 * sequence if its step from the previous character, in the alphabet or on the keyboard, equals one of the two steps
 * before it. If the password repeats a text, only the first copy is counted.
 */
function unforeseen(plain: string): number {
  const signs = [...(/^(.+?)\1+$/su.exec(plain)?.[1] ?? plain)];
  const steps = signs.map((sign, at) => stepsTo(sign, signs[at - 1]));
  const follows = steps.map((step, at) =>
    [steps[at - 1], steps[at - 2]].some((old) => step.some((one) => old?.includes(one))),
  );
  return follows.filter((one) => !one).length;
}

/**
 * Returns the steps between two characters, for example `alphabet 1` from a to b, or `keys 1 0` from q to w. Returns
 * nothing if they are no neighbours.
 */
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
