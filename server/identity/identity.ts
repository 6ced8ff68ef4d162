import type { Encryption } from '../db/encryption.ts';
import type { Store } from '../db/store.ts';
import type { AuditFilter, FailureCounts, IdentityQueries, EmitCredentialChange } from './ports.ts';
import { type Admins, createAdmins } from './admins.ts';
import { type ApiApps, createApiApps } from './api-apps.ts';
import {
  type Audit,
  type AuditKeys,
  type ExportAudit,
  type KnownTip,
  anchorAudit,
  createAudit,
  exportAudit,
} from './audit.ts';
import { type AuditKnowledge, type AuditPart, type AuditProof, verifyAuditChain } from './audit-proof.ts';
import { createAuthenticators, type IdentityAuthenticators } from './authenticators.ts';
import { createHide, createKnownAddresses, createLoginLimits } from './login-limits.ts';
import { PRINTABLE_NAME, createMint, deriveKeys } from './tokens.ts';
import { createOAuth, type OAuth } from './oauth.ts';
import { type AdminSessions, type Sessions, createAdminSessions, createSessions } from './sessions.ts';
import type { Passwords } from './passwords.ts';
import { createSecondFactors, type SecondFactors } from './second-factors.ts';
import { UUID } from '../domain.ts';
import type { AuditRow } from '../db/entities/identity.ts';

interface IdentityConfig {
  debug: boolean;
  environment: 'development' | 'staging' | 'production';
  server: { publicUrl: string };
  admin: { requireSecondFactor: boolean };
  jwt: { secretKey: string; expirationHours: number; idleMinutes: number };
  oauth: { issuer: string; tokenTtlSeconds: number };
  rateLimit: { loginFailures: number; badCredentialsPerMinute: number };
}

interface IdentityParts {
  config: IdentityConfig;
  store: Store;
  queries: IdentityQueries;
  counts: FailureCounts;
  auditKeys: AuditKeys;
  /** The newest audit line that this process knows. It is updated after each commit (`NEW_TIP`). */
  auditTip: KnownTip;
  encryption: Pick<Encryption, 'encrypt' | 'open'>;
  now: () => Date;
  passwords: Passwords;
  emitCredentialChange: EmitCredentialChange;
}

export interface Identity {
  authenticators: IdentityAuthenticators;
  sessions: Sessions;
  adminSessions: AdminSessions;
  secondFactors: SecondFactors;
  admins: Admins;
  apiApps: ApiApps;
  oauth: OAuth;
  audit: Audit;
  auditLines(filter: AuditFilter): Promise<AuditRow[]>;
  exportAudit: ExportAudit;
  verifyAudit(knowledge?: AuditKnowledge, part?: AuditPart): Promise<AuditProof>;
  /** For a job; see `anchorAudit` in audit.ts. Returns the hash of the last audit line; undefined = an empty log. */
  anchorAudit(): Promise<string | undefined>;
  /** For the clean-up job: deletes revocations of tokens that expired more than a day ago, by the database's clock. */
  deleteExpiredRevocations(goesOn?: () => boolean): Promise<number>;
  /** For the clean-up job: deletes sessions whose token expired more than a day ago, by the database's clock. */
  deleteExpiredSessions(goesOn?: () => boolean): Promise<number>;
}

/**
 * Creates the operations on accounts, applications, sessions, tokens and the audit log. The signing keys of all tokens
 * are derived from `JWT.SecretKey`.
 */
export function createIdentity(parts: IdentityParts): Identity {
  const {
    config,
    store,
    queries,
    counts,
    auditKeys,
    auditTip: known,
    encryption,
    now,
    passwords,
    emitCredentialChange,
  } = parts;
  const keys = deriveKeys(config.jwt.secretKey);
  const { issuer } = config.oauth;
  const adminTokens = createMint(
    {
      typ: 'admin+jwt',
      issuer,
      audience: `${issuer}/api/v1`,
      key: keys.adminTokens,
      ttlSeconds: config.jwt.expirationHours * 3600,
      subject: UUID,
    },
    now,
  );
  const accessTokens = createMint(
    {
      typ: 'at+jwt',
      issuer,
      audience: `${issuer}/api/v2`,
      key: keys.accessTokens,
      ttlSeconds: config.oauth.tokenTtlSeconds,
      subject: PRINTABLE_NAME,
    },
    now,
  );
  const audit = createAudit({ now, key: auditKeys.newest, known });
  const hide = createHide(keys.counters);
  const limits = createLoginLimits(counts, config.rateLimit, hide);
  const addresses = createKnownAddresses(hide);
  const appReads = queries.createAppReads(store);
  const shared = {
    store,
    queries,
    appReads,
    audit,
    encryption,
    now,
    debug: config.debug,
    passwords,
    limits,
    addresses,
  };
  const refusesLive = config.debug || config.environment === 'staging';
  const { requireSecondFactor } = config.admin;
  const ports = { ...shared, requireSecondFactor, adminTokens, accessTokens, idleMinutes: config.jwt.idleMinutes };
  return {
    authenticators: createAuthenticators({ ...ports, refusesLive, csrfKey: keys.csrf }),
    sessions: createSessions({ ...ports, csrfKey: keys.csrf, hide }),
    adminSessions: createAdminSessions(ports),
    secondFactors: createSecondFactors({ ...ports, issuer: new URL(config.server.publicUrl).host }),
    admins: createAdmins(ports),
    apiApps: createApiApps({ ...ports, emitCredentialChange }),
    oauth: createOAuth(ports),
    audit,
    verifyAudit: (knowledge, part) => verifyAuditChain({ store, now, known }, queries, auditKeys, knowledge, part),
    anchorAudit: () => anchorAudit({ store, audit, auditKeys, known }),
    auditLines: (filter) => store.read((tx) => queries.auditLines(tx, filter)),
    exportAudit: exportAudit({ store, queries, audit }),
    deleteExpiredRevocations: (goesOn) => queries.deleteExpiredRevocations(store, goesOn),
    deleteExpiredSessions: (goesOn) => queries.deleteExpiredSessions(store, goesOn),
  };
}
