import { defineEntity, p } from '@mikro-orm/core';
import { code, instant, json, minor, text, words, type RowOf } from './columns.ts';

/**
 * An administrator's account. Every session token contains the value of `generation` at its issue. So incrementing
 * `generation` ends all sessions of the account.
 */
export const AdminEntity = defineEntity({
  name: 'Admin',
  tableName: 'admins',
  properties: {
    id: p.uuid().primary(),
    username: code().unique(),
    passwordHash: text(),
    role: p.string().length(16).$type<'viewer' | 'operator' | 'admin'>(),
    /** Codes of the projects that the account may access; null = all. */
    projects: words().nullable(),
    enabled: p.boolean(),
    generation: p.integer(),
    createdAt: instant(),
    updatedAt: instant(),
    lastLoginAt: instant().nullable(),
  },
});

/** Deleting the row ends the session: a token without a row is refused. */
export const SessionEntity = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    jti: code().primary(),
    adminId: p.uuid().index(),
    generation: p.integer(),
    ip: code().nullable(),
    userAgent: p.string().length(256).nullable(),
    createdAt: instant(),
    seenAt: instant(),
    /** When the password was last confirmed in this session; null = never. */
    confirmedAt: instant().nullable(),
    secondFactor: p.boolean(),
    /** When the administrator last entered a code of the second factor in this session; null = never. */
    codeAt: instant().nullable(),
    /** When a confirmation of the password replaced this session with a new one; null = not replaced. */
    replacedAt: instant().nullable(),
    expiresAt: instant().index(),
  },
});

/** The second factor of an administrator: an encrypted secret for one-time codes (RFC 6238). */
export const SecondFactorEntity = defineEntity({
  name: 'SecondFactor',
  tableName: 'second_factors',
  properties: {
    adminId: p.uuid().primary(),
    /** The encrypted secret in use; null until the first enrolment is confirmed. */
    encrypted: text().nullable(),
    enabledAt: instant().nullable(),
    /** The newest 30-second step whose code was used; codes up to this step are refused. */
    lastStep: p.bigint().nullable(),
    /** The encrypted secret of an enrolment that waits for its first code. */
    pendingEncrypted: text().nullable(),
    pendingAt: instant().nullable(),
  },
});

/** A code that can be used once instead of the authenticator app; only its hash is stored. */
export const RecoveryCodeEntity = defineEntity({
  name: 'RecoveryCode',
  tableName: 'recovery_codes',
  properties: {
    adminId: p.uuid().primary(),
    codeHash: p.string().length(64).primary(),
    createdAt: instant(),
    usedAt: instant().nullable(),
  },
});

/** An IP address (or address block) from which an administrator has logged in. Only its HMAC is stored. */
export const KnownAddressEntity = defineEntity({
  name: 'KnownAddress',
  tableName: 'known_addresses',
  properties: {
    adminId: p.uuid().primary(),
    address: code().primary(),
    seenAt: instant(),
  },
});

/**
 * Whether a payment is accepted or refunded if it arrives after its order was closed, expired or failed (rule
 * `late_payment`).
 */
export interface LatePayment {
  afterExpiry: 'accept' | 'refund';
  afterClose: 'accept' | 'refund';
  afterFailed: 'accept' | 'refund';
}

/** The limits of an application in one currency; amounts in minor units. An absent field = no limit. */
export interface CurrencyLimits {
  perOrder?: string;
  perDay?: string;
  perMonth?: string;
  refundPerDay?: string;
  ordersPerHour?: number;
}

/** The limits of an application by currency. The application may not use any currency that is not listed. */
export type AppLimits = Readonly<Record<string, CurrencyLimits>>;

export const ApiAppEntity = defineEntity({
  name: 'ApiApp',
  tableName: 'api_apps',
  properties: {
    clientId: code().primary(),
    name: p.string().length(128),
    project: code().index(),
    kind: p.string().length(16).$type<'merchant' | 'console' | 'test'>(),
    scopes: words(),
    enabled: p.boolean(),
    trusted: p.boolean(),
    secretHash: p.string().length(64),
    secretHint: p.string().length(32),
    secretCreatedAt: instant(),
    previousSecretHash: p.string().length(64).nullable(),
    previousSecretExpiresAt: instant().nullable(),
    generation: p.integer(),
    allowedIps: words(),
    rateLimit: p.integer().nullable(),
    latePayment: json<LatePayment>(),
    /** The limits of the application; null = no limits. */
    limits: json<AppLimits>().nullable(),
    remark: text().nullable(),
    lastUsedAt: instant().nullable(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  indexes: [{ properties: ['createdAt', 'clientId'] }],
});

/**
 * The amounts that an application has used in one period (`span`), in one currency. For `hour`, `used` is the number
 * of orders. For `day` and `month`, it is the sum of the orders in minor units. For `refunds`, it is the sum of the
 * refunds of one day.
 */
export const LimitUseEntity = defineEntity({
  name: 'LimitUse',
  tableName: 'limit_uses',
  properties: {
    clientId: code().primary(),
    currency: p.string().length(3).primary(),
    span: p.string().length(16).$type<'hour' | 'day' | 'month' | 'refunds'>().primary(),
    beginsAt: instant().primary().index(),
    used: minor(),
  },
});

export const RevokedTokenEntity = defineEntity({
  name: 'RevokedToken',
  tableName: 'revoked_tokens',
  properties: {
    jti: code().primary(),
    owner: code(),
    expiresAt: instant().index(),
    revokedAt: instant(),
  },
});

/**
 * A line of the audit log. `hash` is computed from the line and the hash of the previous line, with the key `keyId`.
 */
export const AuditEntity = defineEntity({
  name: 'Audit',
  tableName: 'audit_log',
  properties: {
    id: p.bigint().primary(),
    at: instant(),
    actorKind: p.string().length(16),
    actor: p.string().length(128),
    action: code(),
    target: p.string().length(256),
    before: json<Record<string, unknown>>().nullable(),
    after: json<Record<string, unknown>>().nullable(),
    ip: code().nullable(),
    requestId: code().nullable(),
    previousHash: p.string().length(64),
    hash: p.string().length(64),
    keyId: code(),
  },
  indexes: [{ properties: ['target', 'id'] }],
});

/**
 * A key with which lines of the audit log were written while an earlier master key was in use. The key is kept to
 * verify these lines, and is encrypted with a later master key.
 */
export const AuditKeyEntity = defineEntity({
  name: 'AuditKey',
  tableName: 'audit_keys',
  properties: {
    keyId: code().primary(),
    encrypted: text(),
    createdAt: instant(),
  },
});

export type AdminRow = RowOf<typeof AdminEntity>;
export type SessionRow = RowOf<typeof SessionEntity>;
export type SecondFactorRow = RowOf<typeof SecondFactorEntity>;
export type RecoveryCodeRow = RowOf<typeof RecoveryCodeEntity>;
export type ApiAppRow = RowOf<typeof ApiAppEntity>;
export type LimitUseRow = RowOf<typeof LimitUseEntity>;
export type RevokedTokenRow = RowOf<typeof RevokedTokenEntity>;
export type AuditRow = RowOf<typeof AuditEntity>;
