import { z } from 'zod';
import type { Caller, RequestFacts } from '../../http/contract.ts';
import type { KnownAdmin } from '../../identity/admins.ts';
import type { Actor, ApiAppRow, AuditRow, SessionRow } from '../../identity/ports.ts';
import { ROLES, type Scope } from '../../domain.ts';
import { majorNumber } from '../../money.ts';
import { Amount, Code, Id, SafeText, Timestamp } from './fields.ts';

const CurrencyCode = z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code');
const AmountLimit = Amount.nullable().optional();

/** Payment limits in a request. `null` removes a limit, the limits of a currency (not the last one), or all limits. */
const LimitsInput = z
  .record(
    CurrencyCode,
    z
      .object({
        perOrder: AmountLimit,
        perDay: AmountLimit,
        perMonth: AmountLimit,
        refundPerDay: AmountLimit,
        ordersPerHour: z.int().min(0).max(1_000_000).nullable().optional(),
      })
      .nullable(),
  )
  .meta({
    id: 'AppLimitsChange',
    description:
      'Limits by currency, amounts in major units. Omitted fields keep their values, null clears them, 0 allows nothing. An application with limits may use only the listed currencies, so the last currency is removed only with null instead of this object.',
    examples: [{ CNY: { perOrder: 50, perDay: 1000, ordersPerHour: 100 } }],
  });

const ShownLimit = z.number().nullable();

/** Payment limits of an application by currency, in a response; null = not limited. */
const ShownLimits = z
  .record(
    z.string(),
    z.object({
      perOrder: ShownLimit,
      perDay: ShownLimit,
      perMonth: ShownLimit,
      refundPerDay: ShownLimit,
      ordersPerHour: z.int().nullable(),
    }),
  )
  .meta({ id: 'AppLimits' });

const AMOUNTS = ['perOrder', 'perDay', 'perMonth', 'refundPerDay'] as const;

/** Converts the payment limits of an application to the form in which the API returns them, in major units. */
function presentLimits(limits: ApiAppRow['limits']): z.input<typeof ShownLimits> | null {
  if (limits === null) return null;
  const presented = Object.entries(limits).map(([currency, known]) => {
    const major = (name: (typeof AMOUNTS)[number]) =>
      known[name] === undefined ? null : majorNumber({ minor: BigInt(known[name]), currency });
    const [perOrder, perDay, perMonth, refundPerDay] = AMOUNTS.map(major) as [
      ShownAmount,
      ShownAmount,
      ShownAmount,
      ShownAmount,
    ];
    return [
      currency,
      { perOrder, perDay, perMonth, refundPerDay, ordersPerHour: known.ordersPerHour ?? null },
    ] as const;
  });
  return Object.fromEntries(presented);
}

type ShownAmount = number | null;

const scopeNames = [
  'payment:write',
  'payment:read',
  'skillpay:call',
  'user:read',
  'user:write',
  'coin:read',
  'coin:write',
  'webhook:read',
  'webhook:write',
  'config:read',
  'config:write',
  'cert:manage',
  'admin',
] as const satisfies readonly Scope[];

const ScopeName = z.enum(scopeNames).meta({ id: 'Scope' });

export const Role = z.enum(ROLES).meta({
  id: 'Role',
  description:
    '`viewer` may only read. `operator` may also handle orders, refunds, exceptions, disputes and bills. `admin` may do everything.',
});

export const OnlyProjects = z.array(Code).min(1).max(200).nullable().meta({
  id: 'OnlyProjects',
  description: 'Codes of the projects that the account can access; null = all projects. An empty list is rejected.',
});

/** A username; case is ignored. */
export const Username = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "_", "@" or "-"')
  .meta({ id: 'Username', examples: ['alice'] });

/** A password as typed. Its strength is checked only when a new password is set. */
export const PasswordText = z.string().min(1).max(1024).meta({ id: 'Password', format: 'password' });

export const CodeText = z
  .string()
  .min(6)
  .max(64)
  .meta({
    id: 'SecondFactorCode',
    description: 'Six-digit code of the authenticator app, or a recovery code. Every code works only once.',
    examples: ['492039'],
  });

export const FactorState = z.enum(['used', 'none', 'missing']).meta({
  id: 'SecondFactorState',
  description:
    '`used`: a code of the second factor was entered. `none`: the account has no second factor. `missing`: the account has no second factor and must enrol one first.',
});

/** Without a body, an enabled object is disabled, and a disabled object is enabled. */
export const Toggle = z.object({ enabled: z.boolean().optional() }).optional().meta({ id: 'Toggle' });

export const Admin = z
  .object({
    id: z.uuid(),
    username: z.string(),
    role: Role,
    projects: OnlyProjects,
    secondFactor: z.boolean().describe('Whether the account has a second factor.'),
    enabled: z.boolean(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    lastLoginAt: Timestamp.nullable(),
  })
  .meta({ id: 'Admin' });

const LatePolicy = z.enum(['accept', 'refund']);

const LatePaymentPolicy = z
  .object({ afterExpiry: LatePolicy, afterClose: LatePolicy, afterFailed: LatePolicy })
  .meta({ id: 'LatePayment' });

export const AppSettingsInput = z.object({
  name: SafeText(1, 128),
  scopes: z.array(ScopeName).min(1).max(20),
  trusted: z.boolean().optional(),
  allowedIps: z.array(z.string().max(64)).max(100).optional(),
  rateLimit: z.int().min(0).max(1_000_000).nullable().optional(),
  latePayment: LatePaymentPolicy.partial().nullable().optional(),
  limits: LimitsInput.nullable().optional(),
  remark: SafeText(0, 1000).nullable().optional(),
});

/** The view shows only the prefix and the last four characters of the application's secret. */
export const ApiApp = z
  .object({
    client_id: Id,
    name: z.string(),
    project: Code,
    scopes: z.array(z.string()),
    enabled: z.boolean(),
    trusted: z.boolean(),
    allowedIps: z.array(z.string()),
    rateLimit: z.int().nullable(),
    latePayment: LatePaymentPolicy,
    limits: ShownLimits.nullable(),
    remark: z.string().nullable(),
    secretHint: z.string(),
    secretCreatedAt: Timestamp,
    previousSecretExpiresAt: Timestamp.nullable(),
    lastUsedAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'ApiApp' });

/** The first request creates the new secret; the old one stays valid until a second request confirms the new one. */
export const PreparedSecret = {
  prepare: z
    .boolean()
    .optional()
    .describe(
      '`true` = only creates the new secret. The old secret stays valid until a request sends the new one as `secret`.',
    ),
  secret: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('The secret from an earlier request with `prepare`. It takes effect with this request.'),
};

/** An application with its new secret, which is returned once. */
export const ApiAppWithSecret = ApiApp.extend({ client_secret: z.string() }).meta({ id: 'ApiAppWithSecret' });

export const AuditLine = z
  .object({
    id: z.string(),
    at: Timestamp,
    actorKind: z.string(),
    actor: z.string(),
    action: z.string(),
    target: z.string(),
    before: z.record(z.string(), z.unknown()).nullable(),
    after: z.record(z.string(), z.unknown()).nullable(),
    ip: z.string().nullable(),
    requestId: z.string().nullable(),
    previousHash: z.string(),
    hash: z.string(),
  })
  .meta({ id: 'AuditLine' });

/** Returns who sent a request (name, IP address and request id), for the audit log. */
export function actorOf(caller: Caller, { ip, id }: RequestFacts): Actor {
  const name = caller.kind === 'app' ? caller.clientId : caller.username;
  return { kind: caller.kind, name, ip, requestId: id };
}

/** Converts an administrator from the database to the form in which the API returns it. */
export function presentAdmin(row: KnownAdmin): z.input<typeof Admin> {
  const { id, username, role, projects, secondFactor, enabled } = row;
  const facts = { id, username, role, projects, secondFactor, enabled };
  return { ...facts, ...times(row), lastLoginAt: iso(row.lastLoginAt) };
}

/** Converts an application from the database to the form in which the API returns it. */
export function presentApp(row: ApiAppRow): z.input<typeof ApiApp> {
  const { clientId, name, project, scopes, enabled, trusted, allowedIps, rateLimit, latePayment, remark } = row;
  const settings = { name, project, scopes, enabled, trusted, allowedIps, latePayment };
  return {
    client_id: clientId,
    ...settings,
    limits: presentLimits(row.limits),
    rateLimit: rateLimit ?? null,
    remark: remark ?? null,
    secretHint: row.secretHint,
    secretCreatedAt: row.secretCreatedAt.toISOString(),
    previousSecretExpiresAt: iso(row.previousSecretExpiresAt),
    lastUsedAt: iso(row.lastUsedAt),
    ...times(row),
  };
}

/** Converts an audit log entry from the database to the form in which the API returns it. */
export function presentAuditLine(row: AuditRow): z.input<typeof AuditLine> {
  const { actorKind, actor, action, target, previousHash, hash } = row;
  const { before = null, after = null, ip = null, requestId = null } = row;
  const facts = { actorKind, actor, action, target, before, after, ip, requestId };
  return { id: String(row.id), at: row.at.toISOString(), ...facts, previousHash, hash };
}

function times({ createdAt, updatedAt }: { createdAt: Date; updatedAt: Date }) {
  return { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

function iso(at: Date | null | undefined): string | null {
  return at?.toISOString() ?? null;
}

export const BySessionId = z.object({ id: z.uuid() });

export const SessionEntry = z
  .object({
    id: z.uuid(),
    current: z.boolean(),
    secondFactor: z.boolean().describe('Whether a code of the second factor was entered in the session.'),
    ip: z.string().nullable(),
    userAgent: z.string().nullable(),
    createdAt: Timestamp,
    /** Time of the last use, stored with a precision of one minute. */
    lastUsedAt: Timestamp,
    expiresAt: Timestamp,
  })
  .meta({ id: 'AdminSessionEntry' });

/** Converts a session to the form in which the API returns it; `current` is the id of the request's session. */
export function presentSession(row: SessionRow, current: string): z.input<typeof SessionEntry> {
  const { jti, ip, userAgent, secondFactor } = row;
  return {
    id: jti,
    current: jti === current,
    secondFactor: secondFactor ?? false,
    ip: ip ?? null,
    userAgent: userAgent ?? null,
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.seenAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
  };
}

/** Returns the position of a session in the list of sessions, for the cursor of the next page. */
export function placeOfSession({ createdAt, jti }: SessionRow): { createdAt: Date; id: string } {
  return { createdAt, id: jti };
}
