// Limits the guessing of passwords and codes: counts failed logins, and stores the addresses from which an account has
// logged in.

import { createHmac } from 'node:crypto';
import { addressBlock, addressNetwork } from '../addresses.ts';
import type { Tx } from '../db/store.ts';
import { TooManyRequests } from '../errors.ts';
import type { FailureCounts } from './ports.ts';

interface LoginLimitSettings {
  /** Maximum failed logins in 15 minutes per account and IP address. Other limits are its multiples (`times`). */
  loginFailures: number;
  /**
   * Failed client authentications allowed per address and minute. The limit per client and per network is ten times as
   * high. 0 = no limit. Logins of administrators are counted separately.
   */
  badCredentialsPerMinute: number;
}

const windowSeconds = 900;
/** The limits per account, per address and per network, as multiples of `loginFailures`. */
const times = { account: 5, address: 10, network: 20 };
/**
 * When an account is above its limit, all unknown addresses together get one attempt (a turn) in this time (seconds).
 * This makes guessing slow, but does not lock the owner out.
 */
const turnSeconds = 30;
/**
 * Maximum number of audit entries in 15 minutes: `admin.login_failed` per address and per network, `admin.unconfirmed`
 * per session. That is enough to recognise an attack, but does not flood the log.
 */
const recorded = { address: 20, network: 100, session: 10 };
const clientTimes = 10;
/**
 * Codes are short: at any time two of a million are valid. An attacker who knows the password may try twenty codes a
 * day, then one code every half hour. At this rate one of twenty attackers succeeds within a year, and no account is
 * locked.
 */
const codes = { failures: 20, windowSeconds: 86_400, turnSeconds: 1800 };
/**
 * Wrong codes of made-up accounts (`isStandIn`) are counted too, so that every login takes the same steps. Such a
 * counter is used only once, so it is deleted after this time (seconds).
 */
const standInSeconds = 60;
/**
 * Attempts to enter the first code of a new second factor, per account. Without this limit, the holder of a stolen
 * session could guess the code.
 */
const firstCodes = { tries: 20, seconds: 600 };

export interface Attempt {
  username: string;
  ip: string;
  /**
   * Whether the account has logged in from this address before. If so, only failures of this account at this address
   * count, not failures of other accounts or addresses.
   */
  known: boolean;
  /**
   * Whether the attempt contains a code of the second factor. With a correct password and a correct code it succeeds
   * even if another attempt has used the account's turn (see `turnSeconds`).
   */
  hasCode?: boolean;
  isStandIn?: boolean;
}

export interface LoginLimits {
  /**
   * Throws a 429 after too many failed logins. Also throws a 429 while the account's turn is used (see `turnSeconds`).
   * The turn is not checked for a known address or an attempt with a code.
   */
  check(attempt: Attempt): Promise<void>;
  /**
   * Checks the limits again, immediately before the password check. If the account is above its limit, an attempt from
   * an unknown address uses the account's turn (see `turnSeconds`). If the turn is already used, an attempt without a
   * code throws a 429. An attempt with a code returns the 429 instead. The caller throws it later, unless password and
   * code are both correct, so that the response reveals nothing about the password.
   */
  admit(attempt: Attempt): Promise<TooManyRequests | undefined>;
  /** Counts a failed login. Throws a 429 above the limit. */
  failed(attempt: Attempt): Promise<void>;
  /**
   * Called before a code of the second factor is checked. After too many wrong codes in a day, the account may try only
   * one code in every half hour. Throws a 429 if it has already tried one in the current half hour.
   */
  admitCode(attempt: Attempt): Promise<void>;
  /** Counts a wrong code, in addition to the failed login. */
  codeFailed(attempt: Attempt): Promise<void>;
  /** Counts an attempt to enter the first code of a new second factor. Throws a 429 above the limit. */
  tryFirstCode(username: string): Promise<void>;
  /** Only the first few failed logins of an address in 15 minutes are written to the audit log. */
  mayRecord(ip: string): Promise<boolean>;
  /** Whether a refusal because of a missing confirmation may still be written to the audit log for this session. */
  mayRecordUnconfirmed(jti: string): Promise<boolean>;
  /** Counts a failed client authentication. Throws a 429 above the limit. */
  clientFailed(clientId: string, ip: string): Promise<void>;
}

interface Limit {
  key: string;
  limit: number;
  seconds: number;
}

/** Creates the limits. All replicas share the counters. `hide` hashes the names in the counter keys. */
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
  /**
   * Wrong codes from known addresses are counted separately, so that attackers elsewhere cannot use up the attempts of
   * the owner.
   */
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

/** The hint is the same with and without a second factor, so that it does not reveal which accounts have one. */
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

/** An account's known address is deleted after this many days without a login from the address. */
const DAYS = 90;

/** Stores the addresses from which an account has logged in, as hashes. All replicas share them. */
export interface KnownAddresses {
  keyOf(ip: string): string;
  /** Runs in the transaction of the login. Also deletes addresses without a login for 90 days. */
  remember(tx: Tx, adminId: string, ip: string, at: Date): Promise<void>;
}

/** Creates the functions that store known addresses. `hide` hashes the addresses. */
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

/** Names are never stored as typed, because a user may type a password in the name field. */
export type Hide = (name: string) => string;

/** Creates the function that hashes names with a secret key. After a change of the key, all hashes differ. */
export function createHide(secret: Uint8Array): Hide {
  return (name) => createHmac('sha256', secret).update(name).digest('base64url').slice(0, 22);
}
