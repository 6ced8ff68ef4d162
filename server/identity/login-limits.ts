import { createHmac } from 'node:crypto';
import { addressBlock } from '../addresses/block.ts';
import { TooManyRequests } from '../errors.ts';
import type { FailureCounts } from './ports.ts';

/** How many failures are borne. */
export interface LoginLimitSettings {
  /** Per account and address in 15 minutes; ten times that per address. */
  loginFailures: number;
  /** Failed client authentications per address and minute; 0 = off. Logins have counters of their own. */
  badCredentialsPerMinute: number;
}

const windowSeconds = 900;
/** Lines `admin.login_failed` of one address in a window: enough to see an attack, too few to fill the log with. */
const recordedFailures = 20;

/** Guards logins against guessing; only failures are written. */
export interface LoginLimits {
  /** Throws 429 when the account or the address has failed too often. */
  check(username: string, ip: string): Promise<void>;
  /** Counts a failed login; throws 429 when it was one too many. */
  failed(username: string, ip: string): Promise<void>;
  /** Whether a failed login of this address is still written to the audit log: the first few of a window are. */
  mayRecord(ip: string): Promise<boolean>;
  /** Counts a failed client authentication against its address; throws 429 when it was one too many. */
  clientFailed(ip: string): Promise<void>;
}

/** Makes the guard over counters that all replicas share; `secret` hides the names in them. */
export function createLoginLimits(
  counts: FailureCounts,
  settings: LoginLimitSettings,
  secret: Uint8Array,
): LoginLimits {
  const { loginFailures, badCredentialsPerMinute } = settings;
  const ofAddress = (ip: string) =>
    badCredentialsPerMinute > 0 ? [{ key: `bad-credential:${ip}`, limit: badCredentialsPerMinute, seconds: 60 }] : [];
  const hidden = (name: string) => createHmac('sha256', secret).update(name).digest('base64url').slice(0, 22);
  const ofLogin = (username: string, ip: string) => [
    { key: `login:${hidden(username)}:${ip}`, limit: loginFailures, seconds: windowSeconds },
    { key: `login:${ip}`, limit: 10 * loginFailures, seconds: windowSeconds },
  ];
  const count = async (limits: ReturnType<typeof ofAddress>): Promise<void> => {
    const left = await Promise.all(limits.map(({ key, limit, seconds }) => counts.consume(key, limit, seconds)));
    const over = left.filter(({ allowed }) => !allowed);
    if (over.length > 0) throw tooMany(Math.max(...over.map(({ resetSeconds }) => resetSeconds)));
  };
  return {
    async check(username, ip) {
      const { allowed, resetSeconds } = await counts.peek(ofLogin(username, addressBlock(ip)));
      if (!allowed) throw tooMany(resetSeconds);
    },
    failed: (username, ip) => count(ofLogin(username, addressBlock(ip))),
    mayRecord: async (ip) =>
      (await counts.consume(`login-failed-audit:${addressBlock(ip)}`, recordedFailures, windowSeconds)).allowed,
    clientFailed: (ip) => count(ofAddress(addressBlock(ip))),
  };
}

function tooMany(seconds: number): TooManyRequests {
  return new TooManyRequests('Too many failed login attempts; wait before you retry.', seconds);
}
