import { isIPv4 } from 'node:net';
import type { Place } from './config.ts';
import type { ConfigFault } from './faults.ts';
import type { Values } from './schema.ts';
import type { Listen, MasterKey } from './values.ts';

/**
 * Returns the faults that concern several keys, and the faults of values that the environment `place` does not allow.
 * Keys in `broken` are skipped, because their faults are already reported.
 */
export function refusals(
  values: Partial<Values>,
  place: Place,
  broken: ReadonlySet<string> = new Set(),
): ConfigFault[] {
  const isLaptop = place === 'development';
  const faults = [...always(values), ...(isLaptop ? onALaptop(values) : whereMerchantsAre(values, place))];
  if (place === 'production' && values['Simulator.Url'] !== undefined)
    faults.push({ key: 'Simulator.Url', message: 'must not be set in production' });
  if (!isLaptop || isReachable(values['Server.Listen'])) faults.push(...sampleSecrets(values));
  return faults.filter((fault) => !broken.has(fault.key));
}

function* always(values: Partial<Values>): Iterable<ConfigFault> {
  const url = values['Database.Url'];
  if (url !== undefined && !url.startsWith('pglite://')) {
    const message = 'is required when the database is PostgreSQL';
    if (values['JWT.SecretKey'] === undefined) yield { key: 'JWT.SecretKey', message };
    if (values['Security.MasterKey'] === undefined) yield { key: 'Security.MasterKey', message };
  }
  if (url?.startsWith('pglite://') && values['Database.ReadUrl'] !== undefined)
    yield { key: 'Database.ReadUrl', message: 'needs PostgreSQL; the embedded database has no replicas' };
  const workers = values['Server.Workers'];
  if (url?.startsWith('pglite://') && typeof workers === 'number' && workers > 1) {
    const message = 'must be 1 or auto with the embedded database, which belongs to one process';
    yield { key: 'Server.Workers', message };
  }
  const { 'Jobs.PerAccount': perAccount, 'Jobs.PerChannel': perChannel } = values;
  if (perAccount !== undefined && perChannel !== undefined && perChannel < 2 * perAccount) {
    const message = `must be at least ${2 * perAccount}, twice Jobs.PerAccount, so that no account takes all places of its channel`;
    yield { key: 'Jobs.PerChannel', message };
  }
  if (values.Debug && values['Server.AllowRemoteDebug'] === false) {
    const message = 'must be a loopback address with Debug, which requires Server.AllowRemoteDebug = true otherwise';
    if (isReachable(values['Server.Listen'])) yield { key: 'Server.Listen', message };
    if (isReachable(values['Simulator.Listen'])) yield { key: 'Simulator.Listen', message };
  }
  const ids = (values['Security.MasterKey'] ?? []).map((key) => key.id);
  if (new Set(ids).size < ids.length) yield { key: 'Security.MasterKey', message: 'contains the same key twice' };
}

function* onALaptop(values: Partial<Values>): Iterable<ConfigFault> {
  if (values['Skillpay.DevMode'] && values.Debug === false) {
    yield { key: 'Skillpay.DevMode', message: 'is only allowed when Debug is true' };
  }
}

/**
 * Yields a fault for each value that is unsafe in production and staging. Staging has the same requirements, so that
 * such a value is found before production.
 */
function* whereMerchantsAre(values: Partial<Values>, place: Place): Iterable<ConfigFault> {
  if (values.Debug) yield { key: 'Debug', message: `must be false in ${place}` };
  if (values['Skillpay.DevMode']) yield { key: 'Skillpay.DevMode', message: `must be false in ${place}` };
  if (values['Server.PublicUrl']?.startsWith('http:')) {
    yield { key: 'Server.PublicUrl', message: `must be an https:// URL in ${place}` };
  }
  if (values['Database.Url']?.startsWith('pglite://') && values['Database.AllowEmbedded'] === false) {
    const message = `is the embedded database, which requires Database.AllowEmbedded = true in ${place}`;
    yield { key: 'Database.Url', message };
  }
  for (const key of ['Database.Url', 'Database.ReadUrl'] as const) {
    const url = values[key];
    if (url === undefined || values['Database.AllowPlaintext'] !== false || !mayBeOverheard(url)) continue;
    const message = `must verify the server (?sslmode=verify-full, with &sslrootcert=<file> for a CA of your own), or requires Database.AllowPlaintext = true in ${place}`;
    yield { key, message };
  }
}

function* sampleSecrets(values: Partial<Values>): Iterable<ConfigFault> {
  const message =
    'looks like a sample; where others can reach the service it must be a random value (openssl rand -base64 32)';
  const secret = values['JWT.SecretKey'];
  if (secret !== undefined && looksLikeSample(secret)) yield { key: 'JWT.SecretKey', message };
  if (values['Security.MasterKey']?.some(isTyped)) yield { key: 'Security.MasterKey', message };
}

function isReachable(at: Listen | undefined): boolean {
  return at !== undefined && !isLoopback(at.host);
}

/** Whether a host name or address always means this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return bare === 'localhost' || bare === '::1' || (isIPv4(bare) && bare.startsWith('127.'));
}

/**
 * Whether the connection to the database may be intercepted. Only `sslmode=verify-full` is accepted as safe, because
 * other modes differ between versions of the driver.
 */
function mayBeOverheard(text: string): boolean {
  if (text.startsWith('pglite://')) return false;
  const { hostname, searchParams } = new URL(text);
  // The driver uses the last query parameter `host`. Only without such a parameter does it use the host of the URL.
  const host = searchParams.getAll('host').at(-1) || hostname;
  if (/^(\/|%2f)/i.test(host) || isLoopback(host)) return false;
  const modes = searchParams.getAll('sslmode');
  return modes.length !== 1 || modes[0] !== 'verify-full';
}

const sampleWords = /change.?me|example|sample|secret|password|placeholder|your[-_ ]|insecure|12345678|abcdefgh/i;

function looksLikeSample(secret: string): boolean {
  return sampleWords.test(secret) || new Set(secret).size < 10;
}

/**
 * Whether a person probably typed the key: its bytes are all printable, evenly spaced, or of few different values. 32
 * random bytes practically never have these properties.
 */
function isTyped({ key }: MasterKey): boolean {
  const bytes = [...key];
  const steps = new Set(bytes.slice(1).map((byte, index) => (byte - (bytes[index] ?? 0) + 256) % 256));
  return bytes.every((byte) => byte >= 32 && byte < 127) || new Set(bytes).size < 10 || steps.size === 1;
}
