// The columns of an API application's row: settings, secret and limits.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readNetwork } from '../addresses.ts';
import type { ApiAppRow, AppLimits, CurrencyLimits, LatePayment } from '../db/entities/identity.ts';
import type { Tx } from '../db/store.ts';
import { merchantScopes, scopes as knownScopes, trustedScopes } from '../domain.ts';
import { type FieldError, InvalidRequest } from '../errors.ts';
import { exponentOf, readAmount } from '../money.ts';

const needsTrust: ReadonlySet<string> = new Set(trustedScopes);

/** Whether an application with these scopes must be marked as trusted (`trusted: true`). */
export function needTrust(wanted: readonly string[]): boolean {
  return wanted.some((scope) => needsTrust.has(scope));
}

export interface AppSettings {
  name: string;
  scopes: readonly string[];
  trusted: boolean;
  allowedIps: readonly string[];
  rateLimit: number | null;
  latePayment: Partial<LatePayment> | null;
  remark: string | null;
  limits?: LimitsChange | undefined;
}

/** How payments that arrive after the end of an order are handled, if the application sets no policy of its own. */
export const defaultLatePayment: LatePayment = { afterExpiry: 'accept', afterClose: 'refund', afterFailed: 'refund' };

type SettingColumns = Pick<
  ApiAppRow,
  'name' | 'scopes' | 'trusted' | 'allowedIps' | 'rateLimit' | 'latePayment' | 'remark'
>;

/** Validates settings and converts them to columns. Throws a 400 that lists every invalid field. */
export function toColumns(settings: AppSettings): SettingColumns {
  const { name, trusted, rateLimit, latePayment, remark } = settings;
  const scopes = [...new Set(settings.scopes)];
  const networks = settings.allowedIps.map(readNetwork);
  const errors = [...scopeFaults(scopes, trusted), ...networkFaults(networks)];
  if (errors.length > 0) throw new InvalidRequest('Invalid application settings.', errors);
  return {
    name,
    trusted,
    rateLimit,
    remark,
    scopes: knownScopes.filter((scope) => scopes.includes(scope)),
    allowedIps: [...new Set(networks.filter((network) => network !== undefined))],
    latePayment: { ...defaultLatePayment, ...latePayment },
  };
}

/** Throws a 400 if the project does not exist. Otherwise locks the project until the transaction ends. */
export async function requireProject(tx: Tx, project: string): Promise<void> {
  if (await tx.projects.lock({ code: project })) return;
  throw new InvalidRequest('The field "project" contains the code of a project that does not exist.', [
    { pointer: '/project', code: 'project_unknown', detail: 'does not exist' },
  ]);
}

function scopeFaults(scopes: readonly string[], trusted: boolean): FieldError[] {
  const unknown = scopes.filter((scope) => !(knownScopes as readonly string[]).includes(scope));
  const pointer = '/scopes';
  if (scopes.length === 0) return [{ pointer, code: 'too_small', detail: 'must contain at least one scope' }];
  if (unknown.length > 0)
    return [{ pointer, code: 'scope_unknown', detail: `must contain only known scopes: ${knownScopes.join(' ')}` }];
  if (!needTrust(scopes) || trusted) return [];
  const detail = 'admin, config:* and cert:manage require trusted: true';
  return [{ pointer, code: 'trust_required', detail }];
}

function networkFaults(networks: readonly (string | undefined)[]): FieldError[] {
  return networks.flatMap((network, at) =>
    network === undefined
      ? [
          {
            pointer: `/allowedIps/${at}`,
            code: 'network_invalid',
            detail: 'must be an IP address or CIDR range such as 10.0.0.0/8',
          },
        ]
      : [],
  );
}

/** Creates a client secret: `pays_` and 32 random bytes. The caller receives it once, and only its hash is stored. */
export function newClientSecret(): string {
  return `pays_${randomBytes(32).toString('base64url')}`;
}

/** Creates a client id: `app_` and 20 random letters and digits. */
export function newClientId(): string {
  const alphabet = '0123456789abcdefghijklmnopqrstuv';
  return `app_${Array.from(randomBytes(20), (byte) => alphabet[byte & 31]).join('')}`;
}

/** Hashes a client secret. It has 256 random bits, so a fast hash is sufficient (ASVS 6.5.2). */
export function hashSecret(secret: string): string {
  return hash('sha256', secret);
}

/** Returns the part of a secret that may be shown: its first five and last four characters. */
export function secretHint(secret: string): string {
  return `${secret.slice(0, 5)}…${secret.slice(-4)}`;
}

/** Whether a secret has this hash. The comparison takes constant time. */
export function secretMatches(secret: string, hash: string): boolean {
  const sent = Buffer.from(hashSecret(secret));
  const right = Buffer.from(hash);
  return sent.length === right.length && timingSafeEqual(sent, right);
}

/** The secret cannot be read again later. */
export interface WithSecret {
  app: ApiAppRow;
  secret: string;
}

interface NewApp {
  project: string;
  at: Date;
  kind?: ApiAppRow['kind'];
  clientId?: string;
  secret?: string;
  limits?: AppLimits | null;
}

/** Returns the row of a new application and its secret. */
export function newAppRow(columns: SettingColumns, { project, at, ...given }: NewApp): WithSecret {
  const secret = given.secret ?? newClientSecret();
  const app = {
    clientId: given.clientId ?? newClientId(),
    project,
    kind: given.kind ?? 'merchant',
    ...columns,
    limits: given.limits ?? null,
    enabled: true,
    ...secretColumns(secret, at),
    generation: 1,
    lastUsedAt: null,
    createdAt: at,
    updatedAt: at,
  } as ApiAppRow;
  return { app, secret };
}

/** Returns the column values that store a new client secret. They also clear the columns of the previous secret. */
export function secretColumns(secret: string, at: Date) {
  return {
    secretHash: hashSecret(secret),
    secretHint: secretHint(secret),
    secretCreatedAt: at,
    previousSecretHash: null as string | null,
    previousSecretExpiresAt: null as Date | null,
  };
}

/** Returns the client id of a project's console application, which owns the orders that administrators create. */
export function consoleClientId(project: string): string {
  if (project === 'default') return 'console';
  return `console_${hash('sha256', project).slice(0, 24)}`;
}

/** Returns the row of a project's console application. Its secret is discarded, so no client can get a token for it. */
export function consoleAppRow(project: string, at: Date): ApiAppRow {
  const columns: SettingColumns = {
    name: 'console',
    scopes: [],
    trusted: false,
    allowedIps: [],
    rateLimit: null,
    latePayment: defaultLatePayment,
    remark: null,
  };
  return newAppRow(columns, { project, at, kind: 'console', clientId: consoleClientId(project) }).app;
}

/** The limits that are amounts of money. `ordersPerHour` is a number of orders and is handled separately. */
const AMOUNTS = ['perOrder', 'perDay', 'perMonth', 'refundPerDay'] as const;

/** A change of the limits of one currency. Amounts are in major units, and null removes a limit. */
type CurrencyLimitsChange = {
  [Name in (typeof AMOUNTS)[number]]?: number | string | null | undefined;
} & { ordersPerHour?: number | null | undefined };

/**
 * A change of an application's limits per currency. Absent currencies and limits stay unchanged. null for a currency
 * removes it from the limits, and the application may then use only the currencies that remain. The last currency
 * cannot be removed in this way, because the application could then use every currency. null instead of an object
 * removes all limits.
 */
type LimitsChange = Readonly<Record<string, CurrencyLimitsChange | null>> | null;

/** Returns the limits after a change. Throws a 400 that lists every invalid field. */
export function changedLimits(before: AppLimits | null, change: LimitsChange | undefined): AppLimits | null {
  if (change === undefined) return before;
  if (change === null) return null;
  const errors: FieldError[] = [];
  const after: Record<string, CurrencyLimits> = { ...before };
  for (const [currency, given] of Object.entries(change)) {
    if (exponentOf(currency) === undefined)
      errors.push({
        pointer: `/limits/${currency}`,
        code: 'currency_unknown',
        detail: `${currency} is not supported.`,
      });
    else if (given === null) delete after[currency];
    else after[currency] = changedIn(currency, after[currency] ?? {}, given, errors);
  }
  const isEmpty = Object.keys(after).length === 0;
  if (isEmpty && before !== null)
    errors.push(...Object.keys(before).map((currency) => ({ ...LAST_CURRENCY, pointer: `/limits/${currency}` })));
  if (errors.length > 0) throw new InvalidRequest('Invalid limits.', errors);
  return isEmpty ? null : after;
}

const LAST_CURRENCY = {
  code: 'last_currency',
  detail:
    'is the last currency, so that the application could then use every currency without a limit. To remove all limits, send null as limits.',
};

function changedIn(
  currency: string,
  before: CurrencyLimits,
  { ordersPerHour, ...given }: CurrencyLimitsChange,
  errors: FieldError[],
): CurrencyLimits {
  const after: CurrencyLimits = { ...before };
  for (const name of AMOUNTS) {
    const sent = given[name];
    if (sent === undefined) continue;
    delete after[name];
    if (sent === null) continue;
    try {
      after[name] = String(limitOf(sent, currency, `/limits/${currency}/${name}`));
    } catch (error) {
      if (!(error instanceof InvalidRequest)) throw error;
      errors.push(...(error.options.errors ?? []));
    }
  }
  if (ordersPerHour === null) delete after.ordersPerHour;
  else if (ordersPerHour !== undefined) after.ordersPerHour = ordersPerHour;
  return after;
}

/**
 * Reads a limit in minor units. Unlike an amount it may be 0, which forbids every payment or refund in this currency.
 */
function limitOf(sent: number | string, currency: string, pointer: string): bigint {
  return /^0{1,9}(\.0{1,3})?$/.test(String(sent)) ? 0n : readAmount(sent, currency, pointer).minor;
}

/** Whether the new limits permit more, which requires a confirmation of password and second factor. */
export function loosens(before: AppLimits | null, after: AppLimits | null): boolean {
  if (before === null) return false;
  if (after === null) return true;
  return Object.entries(after).some(([currency, now]) => {
    const was = before[currency];
    if (!was) return true;
    const names = Object.keys(was) as (keyof CurrencyLimits)[];
    return names.some((name) => now[name] === undefined || BigInt(now[name]) > BigInt(was[name]!));
  });
}

/** The publicly known secrets of the test applications, which exist only while Debug is on. */
export const testSecrets = {
  'test-app': 'pays_test-app-secret-for-debug-only',
  'test-admin': 'pays_test-admin-secret-for-debug-only',
} as const;

/** Returns the rows of `test-app` (every merchant scope) and `test-admin` (the scope `admin`). */
export function testAppRows(at: Date): ApiAppRow[] {
  return [row('test-app', merchantScopes, false, at), row('test-admin', ['admin'], true, at)];
}

function row(clientId: keyof typeof testSecrets, scopes: readonly string[], trusted: boolean, at: Date): ApiAppRow {
  const columns = {
    name: clientId,
    scopes: [...scopes],
    trusted,
    allowedIps: [],
    rateLimit: null,
    latePayment: defaultLatePayment,
    remark: 'Exists only while Debug is on.',
  };
  return newAppRow(columns, { project: 'default', at, kind: 'test', clientId, secret: testSecrets[clientId] }).app;
}
