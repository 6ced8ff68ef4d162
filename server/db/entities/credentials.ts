import { defineEntity, p } from '@mikro-orm/core';
import type { Mode, PayWay } from '../../domain.ts';
import { code, instant, json, text, words, type RowOf } from './columns.ts';

/** One immutable version of a channel configuration; `certIds` lists the certificates of the version. */
export const ChannelConfigEntity = defineEntity({
  name: 'ChannelConfig',
  tableName: 'channel_configs',
  properties: {
    id: p.uuid().primary(),
    project: code(),
    payWay: p.string().length(16).$type<PayWay>(),
    version: p.integer(),
    mode: p.string().length(16).$type<Mode>(),
    account: p.string().length(128),
    fields: json<Record<string, string>>(),
    /** Encrypted JSON of the secret fields (db/encryption.ts). */
    encrypted: text().nullable(),
    fingerprints: json<Record<string, string>>(),
    certIds: json<string[]>(),
    /** Names of fields and certificate kinds that this version lacks; empty = usable. */
    missing: words(),
    createdBy: p.string().length(128),
    createdAt: instant(),
  },
  uniques: [{ properties: ['project', 'payWay', 'version'] }],
});

/**
 * The refused notifications of a channel: why the last one was refused, how many there were, and the times of the first
 * (`since`) and the last (`at`).
 */
export interface StoredRefusal {
  why: string;
  detail: string;
  count: number;
  since: string;
  at: string;
}

export const ChannelStateEntity = defineEntity({
  name: 'ChannelState',
  tableName: 'channel_states',
  properties: {
    id: p.uuid().primary(),
    project: code(),
    payWay: p.string().length(16).$type<PayWay>(),
    version: p.integer(),
    enabled: p.boolean(),
    lastSuccessAt: instant().nullable(),
    lastFailureAt: instant().nullable(),
    lastFailure: text().nullable(),
    /** When a genuine notification was last received, to the minute. */
    lastNoticeAt: instant().nullable(),
    refusedNotices: json<StoredRefusal>().nullable(),
    /**
     * The earliest time at which the current version has no valid certificate of one of its kinds. Root certificates
     * are ignored. null = no certificate has an expiry date.
     */
    certsExpireAt: instant().nullable(),
    /** Incremented by every change of the trusted keys; a channel that was built before is not used any more. */
    trustRevision: p.integer().default(0),
    updatedAt: instant(),
  },
  uniques: [{ properties: ['project', 'payWay'] }],
});

/** A certificate or key of a channel; the private part is encrypted and never returned. */
export const CertEntity = defineEntity({
  name: 'Cert',
  tableName: 'certs',
  properties: {
    id: p.uuid().primary(),
    project: code(),
    payWay: p.string().length(16).$type<PayWay>(),
    kind: code(),
    name: p.string().length(128),
    subject: text().nullable(),
    issuer: text().nullable(),
    serialNumber: p.string().length(512).nullable(),
    fingerprint: p.string().length(64),
    notBefore: instant().nullable(),
    notAfter: instant().nullable(),
    publicPem: text().nullable(),
    encrypted: text().nullable(),
    isDefault: p.boolean(),
    /**
     * The mode and the channel account for which the key may be used. null = the key was uploaded before the channel
     * had a configuration. The first configuration sets both fields.
     */
    mode: p.string().length(16).$type<Mode>().nullable(),
    account: p.string().length(128).nullable(),
    /**
     * When an administrator trusted the key or certificate; null = not trusted. Only a trusted key may verify
     * signatures of the channel. For keys with another purpose the field has no meaning.
     */
    trustedAt: instant().nullable(),
    /**
     * The administrator who trusted the key or certificate. If `trustedAt` is null, the administrator who revoked the
     * trust. If both are null, no administrator has decided yet.
     */
    trustedBy: p.string().length(128).nullable(),
    createdBy: p.string().length(128),
    createdAt: instant(),
    deletedAt: instant().nullable(),
  },
  indexes: [
    {
      name: 'certs_one_default',
      expression: `create unique index "certs_one_default" on "certs" ("project", "pay_way", "kind", coalesce("mode", ''), coalesce("account", '')) where is_default and deleted_at is null`,
    },
    { properties: ['project', 'payWay', 'kind'] },
  ],
});

/**
 * A key pair that signs payment codes and receipts. Simulator, sandbox and live mode have separate key pairs, and each
 * mode uses its newest one. The public keys of older key pairs stay published.
 */
export const SigningKeyEntity = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  properties: {
    kid: code().primary(),
    mode: p.string().length(16).$type<Mode>(),
    publicJwk: json<Record<string, unknown>>(),
    encrypted: text(),
    createdAt: instant(),
  },
});

export type ChannelConfigRow = RowOf<typeof ChannelConfigEntity>;
export type ChannelStateRow = RowOf<typeof ChannelStateEntity>;
export type CertRow = RowOf<typeof CertEntity>;
export type SigningKeyRow = RowOf<typeof SigningKeyEntity>;
