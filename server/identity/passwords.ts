import { argon2id, hash, needsRehash, verify } from 'argon2';
import { InvalidRequest } from '../errors.ts';
import { isOftenLeaked } from './common-digests.ts';
import { commonPasswords } from './common-passwords.ts';
import { createGate, type Gate, type GateLine } from './gate.ts';

/** Argon2id as OWASP asks for at least; a change of these is applied at each administrator's next login. */
export const hashParameters = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

const bounds = { minCharacters: 12, maxBytes: 1024 };

/** Hashes and checks passwords, at most two at a time. */
export interface Passwords {
  /** Goes before what strangers want checked: only somebody who is known sets a password. */
  hash(password: string): Promise<string>;
  /** `first` runs when the turn has come; what it throws stops the check. */
  verify(hash: string, password: string, first?: () => Promise<void>, line?: GateLine): Promise<boolean>;
  /** Whether the hash was made with other parameters than today's. */
  isOutdated(hash: string): boolean;
  /** The hash of a password that nobody has, so that an unknown account costs the time of a known one. */
  decoy(): Promise<string>;
}

/** Makes the hasher; `gate` bounds how many run and wait. */
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

/** Throws a 400 unless the password has 12 characters to 1 KB, is not common and does not contain the name. */
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
  return undefined;
}

const contextWords = ['unified', 'payments', 'payment', 'service', 'payctl', 'admin', 'pay', 'ups', 'my', 'the'];

/** What somebody who sees the login page tries: too little is left when these words, digits and signs are taken out. */
function isOfContext(plain: string, username: string): boolean {
  const letters = plain
    .replaceAll('@', 'a')
    .replaceAll('$', 's')
    .replaceAll(/\P{L}+/gu, ' ');
  const bare = username.replaceAll(/\P{L}+/gu, '');
  const names = bare.length >= 4 ? [bare, [...bare].toReversed().join('')] : [];
  const left = [...names, ...contextWords].reduce((text, word) => text.replaceAll(word, ''), letters);
  return left.replaceAll(' ', '').length < 4 && left.length < letters.length;
}

/** Common words with digits and signs around them, or written twice, are as common as themselves. */
function isCommon(plain: string): boolean {
  const half = plain.slice(0, plain.length / 2);
  const once = half + half === plain ? [half, bareOf(half)] : [];
  return [plain, bareOf(plain), ...once].some((text) => commonPasswords.has(text) || isOftenLeaked(text));
}

function bareOf(text: string): string {
  return text.replaceAll(/^\P{L}+|\P{L}+$/gu, '');
}
