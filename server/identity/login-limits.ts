// Limits password and code guessing: counters of failed logins, and the known addresses of an account.

import { createHmac } from 'node:crypto';
import { addressBlock, addressNetwork } from '../addresses.ts';
import type { Tx } from '../db/store.ts';
import { TooManyRequests } from '../errors.ts';
import type { FailureCounts } from './ports.ts';

/** The configured limits of failures. */
interface LoginLimitSettings {
  /** Per account and address in 15 minutes; five times that per account, and more per address and per network. */
  loginFailures: number;
  /** Failed client authentications per address and minute, ten times that per client and per network; 0 = off. Logins have their own counters. */
  badCredentialsPerMinute: number;
}

const windowSeconds = 900;
/** Multiples of `loginFailures` that an account, an address and a network may fail. */
const times = { account: 5, address: 10, network: 20 };
/**
 * An account above its limit accepts one attempt (a turn) in this many seconds from all unknown addresses together. Guessing is slow, but
 * the owner is not locked out.
 */
const turnSeconds = 30;
/** Audit entries `admin.login_failed` and, per session, `admin.unconfirmed` in a window: enough to see an attack, too few to flood the log. */
const recorded = { address: 20, network: 100, session: 10 };
const clientTimes = 10;
/**
 * Codes are short: two of a million are valid at any moment. An attacker with the password may fail twenty times a day and then once in
 * half an hour: of twenty attackers that continue for a year one succeeds, and no account is locked.
 */
const codes = { failures: 20, windowSeconds: 86_400, turnSeconds: 1800 };
/**
 * Codes of made-up accounts (`isStandIn`) are counted, so that a login takes the same steps. Each counter is used once, so it is kept only
 * for this many seconds.
 */
const standInSeconds = 60;
/** Attempts at the first code of a new secret, per account: the holder of a stolen session must not guess it. */
const firstCodes = { tries: 20, seconds: 600 };

/** A login attempt: account and address. */
export interface Attempt {
  username: string;
  ip: string;
  /** The account has logged in from this address before, so only its own failures there count, not those of other clients. */
  known: boolean;
  /** The attempt has a code: with a correct password it is accepted even if another attempt has used the turn. */
  hasCode?: boolean;
  /** The attempt is counted for a made-up account (`standIn`). */
  isStandIn?: boolean;
}

/** Limits password guessing; only failures are counted. */
export interface LoginLimits {
  /**
   * Throws 429 after too many failures. An attempt from an unknown address without a code also gets 429 if another attempt has used the
   * account's turn.
   */
  check(attempt: Attempt): Promise<void>;
  /**
   * Like `check`, immediately before the password check. Uses the turn if the account is above its limit. If another attempt has used the
   * turn, throws 429; with a code, returns the refusal instead. The caller throws it unless password and code are both correct, so the
   * response reveals nothing else.
   */
  admit(attempt: Attempt): Promise<TooManyRequests | undefined>;
  /** Counts a failure; throws 429 above the limit. */
  failed(attempt: Attempt): Promise<void>;
  /** Throws 429 after too many wrong codes of the account; above the limit, uses the account's turn for codes. */
  admitCode(attempt: Attempt): Promise<void>;
  /** Counts a wrong code, in addition to the failed login. */
  codeFailed(attempt: Attempt): Promise<void>;
  /** Counts an attempt at the first code of a new secret; throws 429 above the limit. */
  tryFirstCode(username: string): Promise<void>;
  /** Whether a failed login of this address is still written to the audit log: only the first few in a window are. */
  mayRecord(ip: string): Promise<boolean>;
  /** Whether a refusal for a missing confirmation is still written to the audit log for this session. */
  mayRecordUnconfirmed(jti: string): Promise<boolean>;
  /** Counts a failed client authentication; throws 429 above the limit. */
  clientFailed(clientId: string, ip: string): Promise<void>;
}

interface Limit {
  key: string;
  limit: number;
  seconds: number;
}

/** Creates the limits with counters that all replicas share; `hide` hashes the names in their keys. */
export function createLoginLimits(counts: FailureCounts, settings: LoginLimitSettings, hide: Hide): LoginLimits {
  const { loginFailures, badCredentialsPerMinute } = settings;
  const ofPair = ({ username, ip }: Attempt): Limit => ({
    key: `login:${hide(username)}:${addressBlock(ip)}`,
    limit: loginFailures,
    seconds: windowSeconds,
  });
  const ofPlaces = ({ ip }: Attempt): Limit[] => [
    { key: `login:${addressBlock(ip)}`, limit: times.address * loginFailures, seconds: windowSeconds },
    { key: `login-network:${addressNetwork(ip)}`, limit: times.network * loginFailures, seconds: windowSeconds },
  ];
  const ofAccount = ({ username }: Attempt): Limit => ({
    key: `login-account:${hide(username)}`,
    limit: times.account * loginFailures,
    seconds: windowSeconds,
  });
  const turnOf = ({ username }: Attempt): Limit => ({
    key: `login-turn:${hide(username)}`,
    limit: 1,
    seconds: turnSeconds,
  });
  /** A known address has its own counter, so that attempts from unknown addresses do not use its turns. */
  const ofCodes = ({ username, ip, known, isStandIn }: Attempt): Record<'wrong' | 'turn', Limit> => {
    const whose = known ? `${hide(username)}:${addressBlock(ip)}` : hide(username);
    const seconds = isStandIn ? standInSeconds : codes.windowSeconds;
    return {
      wrong: { key: `login-code:${whose}`, limit: codes.failures, seconds },
      turn: { key: `login-code-turn:${whose}`, limit: 1, seconds: codes.turnSeconds },
    };
  };
  const ofClient = (clientId: string, ip: string): Limit[] => {
    const wider = clientTimes * badCredentialsPerMinute;
    return [
      { key: `bad-credential:${addressBlock(ip)}`, limit: badCredentialsPerMinute, seconds: 60 },
      { key: `bad-credential-network:${addressNetwork(ip)}`, limit: wider, seconds: 60 },
      { key: `bad-client:${hide(clientId)}`, limit: wider, seconds: 60 },
    ];
  };

  const refusing = (attempt: Attempt): Limit[] => [ofPair(attempt), ...(attempt.known ? [] : ofPlaces(attempt))];
  const count = (limits: readonly Limit[]) =>
    Promise.all(limits.map(({ key, limit, seconds }) => counts.consume(key, limit, seconds)));
  const check = async (attempt: Attempt): Promise<void> => {
    const turn = attempt.known || attempt.hasCode ? [] : [turnOf(attempt)];
    const { allowed, resetSeconds } = await counts.peek([...refusing(attempt), ...turn]);
    if (!allowed) throw tooManyLogins(resetSeconds);
  };
  return {
    check,
    async admit(attempt) {
      await check(attempt);
      if (attempt.known || (await counts.peek([ofAccount(attempt)])).allowed) return undefined;
      const [turn] = await count([turnOf(attempt)]);
      if (turn!.allowed) return undefined;
      const refusal = tooManyLogins(turn!.resetSeconds);
      if (!attempt.hasCode) throw refusal;
      return refusal;
    },
    async failed(attempt) {
      const others = [ofAccount(attempt), ...(attempt.known ? ofPlaces(attempt) : [])];
      const [left] = await Promise.all([count(refusing(attempt)), count(others)]);
      requireLeft(left);
    },
    async admitCode(attempt) {
      const { wrong, turn } = ofCodes(attempt);
      if (!(await counts.peek([wrong])).allowed) requireLeft(await count([turn]));
    },
    async codeFailed(attempt) {
      await count([ofCodes(attempt).wrong]);
    },
    async tryFirstCode(username) {
      const { tries: limit, seconds } = firstCodes;
      requireLeft(await count([{ key: `first-code:${hide(username)}`, limit, seconds }]), 'codes of the second factor');
    },
    async mayRecord(ip) {
      const left = await count([
        { key: `login-failed-audit:${addressBlock(ip)}`, limit: recorded.address, seconds: windowSeconds },
        { key: `login-failed-audit-network:${addressNetwork(ip)}`, limit: recorded.network, seconds: windowSeconds },
      ]);
      return left.every(({ allowed }) => allowed);
    },
    async mayRecordUnconfirmed(jti) {
      const [left] = await count([{ key: `unconfirmed:${jti}`, limit: recorded.session, seconds: windowSeconds }]);
      return left!.allowed;
    },
    async clientFailed(clientId, ip) {
      if (badCredentialsPerMinute > 0) requireLeft(await count(ofClient(clientId, ip)));
    },
  };
}

function requireLeft(left: readonly { allowed: boolean; resetSeconds: number }[], what?: string): void {
  const over = left.filter(({ allowed }) => !allowed);
  if (over.length > 0) throw tooMany(Math.max(...over.map(({ resetSeconds }) => resetSeconds)), what);
}

/** The refusal of a login; the hint is the same with and without a second factor. */
function tooManyLogins(seconds: number): TooManyRequests {
  const hint =
    'During an attack on passwords, a login with a correct code of its second factor, or a recovery code, is not delayed.';
  return new TooManyRequests('Too many failed login attempts; wait before you retry.', seconds, 'rate_limited', {
    hint,
  });
}

function tooMany(seconds: number, what = 'failed login attempts'): TooManyRequests {
  return new TooManyRequests(`Too many ${what}; wait before you retry.`, seconds);
}

/** An address that the account has not used for this many days is deleted. */
const DAYS = 90;

/** The addresses from which an account has logged in, shared by all replicas; only hashes are stored. */
export interface KnownAddresses {
  /** The stored hash of an address. */
  keyOf(ip: string): string;
  /** Stores the address of a login in its transaction, and deletes addresses that the account has not used for 90 days. */
  remember(tx: Tx, adminId: string, ip: string, at: Date): Promise<void>;
}

/** Creates the known addresses; `hide` hashes them. */
export function createKnownAddresses(hide: Hide): KnownAddresses {
  const keyOf = (ip: string) => hide(`address ${addressBlock(ip)}`);
  return {
    keyOf,
    async remember(tx, adminId, ip, at) {
      const one = { adminId, address: keyOf(ip) };
      if ((await tx.knownAddresses.update(one, { seenAt: at })) === 0)
        await tx.knownAddresses.insertIfNew({ ...one, seenAt: at });
      const before = new Date(at.getTime() - DAYS * 86_400_000);
      await tx.sql`delete from known_addresses where admin_id = ${adminId}::uuid and seen_at < ${before}`;
    },
  };
}

/** Hashes a name for a database key, because a user may type a password in the name field. */
export type Hide = (name: string) => string;

/** Creates the hash function; another secret gives other keys. */
export function createHide(secret: Uint8Array): Hide {
  return (name) => createHmac('sha256', secret).update(name).digest('base64url').slice(0, 22);
}
