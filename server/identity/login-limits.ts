// Guards against guessing: limits of failed logins, and the addresses where an account is known.

import { createHmac } from 'node:crypto';
import { addressBlock, addressNetwork } from '../addresses.ts';
import type { Tx } from '../db/store.ts';
import { TooManyRequests } from '../errors.ts';
import type { FailureCounts } from './ports.ts';

/** How many failures are borne. */
interface LoginLimitSettings {
  /** Per account and address in 15 minutes; for any address five times that per account, and more per address and network. */
  loginFailures: number;
  /** Failed client authentications per address and minute, ten times that per client and per network; 0 = off. Logins have counters of their own. */
  badCredentialsPerMinute: number;
}

const windowSeconds = 900;
/** How many times `loginFailures` an account, an address and a network may fail. */
const times = { account: 5, address: 10, network: 20 };
/** Beyond its limit an account takes one attempt in this time from all addresses that are new to it: guessing is slow, and nobody is locked out. */
const turnSeconds = 30;
/** Lines `admin.login_failed` and, by session, `admin.unconfirmed` in a window: enough to see an attack, too few to fill the log with. */
const recorded = { address: 20, network: 100, session: 10 };
const clientTimes = 10;
/**
 * Codes are short: two of a million count at any moment. So an attacker with the password may be wrong twenty times a day and then
 * once in half an hour: of twenty attackers that go on for a year one gets in, and no account is locked.
 */
const codes = { failures: 20, windowSeconds: 86_400, turnSeconds: 1800 };
/** Codes of accounts that do not exist (`isStandIn`) are counted so that the steps are the same; each counter is used once, so it is kept for a moment. */
const standInSeconds = 60;
/** Tries of the first code of a new secret, by account: whoever has a session of it must not find the code by trying. */
const firstCodes = { tries: 20, seconds: 600 };

/** Whose password is tried, from where. */
export interface Attempt {
  username: string;
  ip: string;
  /** The account has logged in from this address before: then only its own failures there count, not what others do. */
  known: boolean;
  /** A code came with it: then a right one gets in although it is the turn of somebody else. */
  hasCode?: boolean;
  /** The attempt is counted for an account that does not exist (`standIn`). */
  isStandIn?: boolean;
}

/** Guards passwords against guessing; only failures are written. */
export interface LoginLimits {
  /** Throws 429 when there were too many failures, or when it is not the turn of an address that is new to the account. */
  check(attempt: Attempt): Promise<void>;
  /**
   * The same just before the password is looked at; takes the turn if the account has come so far. Resolves with the refusal when
   * the turn is another's and a code came: then it holds unless password and code are both right, and nothing else may be told.
   */
  admit(attempt: Attempt): Promise<TooManyRequests | undefined>;
  /** Counts a failure; throws 429 when it was one too many. */
  failed(attempt: Attempt): Promise<void>;
  /** Throws 429 when there were too many wrong codes of the account; takes the turn when it has come so far. */
  admitCode(attempt: Attempt): Promise<void>;
  /** Counts a wrong code, beside the failure that it is. */
  codeFailed(attempt: Attempt): Promise<void>;
  /** Counts a try of the first code of a new secret; throws 429 when it is one too many. */
  tryFirstCode(username: string): Promise<void>;
  /** Whether a failed login of this address is still written to the audit log: the first few of a window are. */
  mayRecord(ip: string): Promise<boolean>;
  /** Whether an operation that this session was refused for want of a confirmation is still written to the audit log. */
  mayRecordUnconfirmed(jti: string): Promise<boolean>;
  /** Counts a failed client authentication; throws 429 when it was one too many. */
  clientFailed(clientId: string, ip: string): Promise<void>;
}

interface Limit {
  key: string;
  limit: number;
  seconds: number;
}

/** Makes the guard over counters that all replicas share; `hide` hides the names in them. */
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
  /** An address where the account is known is counted by itself, so that strangers do not take its turns. */
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

/** The refusal of a login; the hint is the same for every account, with a second factor or without. */
function tooManyLogins(seconds: number): TooManyRequests {
  const hint =
    'While passwords are guessed, a login that brings a code of its second factor, or a recovery code, waits for no turn.';
  return new TooManyRequests('Too many failed login attempts; wait before you retry.', seconds, 'rate_limited', {
    hint,
  });
}

function tooMany(seconds: number, what = 'failed login attempts'): TooManyRequests {
  return new TooManyRequests(`Too many ${what}; wait before you retry.`, seconds);
}

/** Where an account has not been for so long is forgotten. */
const DAYS = 90;

/** The addresses from which an account has logged in, for all replicas; what is kept of them tells nobody where that is. */
export interface KnownAddresses {
  /** As what an address is kept. */
  keyOf(ip: string): string;
  /** Notes a login, within its transaction, and forgets where the account has not been for 90 days. */
  remember(tx: Tx, adminId: string, ip: string, at: Date): Promise<void>;
}

/** Makes them; `hide` hides the addresses. */
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

/** Writes a name as a key of the database that tells nobody the name: somebody may type a password where it belongs. */
export type Hide = (name: string) => string;

/** Makes the writer; other secrets give other keys. */
export function createHide(secret: Uint8Array): Hide {
  return (name) => createHmac('sha256', secret).update(name).digest('base64url').slice(0, 22);
}
