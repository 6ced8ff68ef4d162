import { createEncryption } from '../db/encryption.ts';
import { identityQueries } from '../db/queries/identity.ts';
import { seed } from '../db/migrate.ts';
import { emitCredentialChange } from '../events/record.ts';
import { consoleAppRow, testAppRows } from '../identity/api-app-rows.ts';
import { createAuditKeys } from '../identity/audit.ts';
import { createIdentity, type Identity } from '../identity/identity.ts';
import { scopes } from '../domain.ts';
import { loginRoutes } from '../routes/login.ts';
import { oauthRoutes } from '../routes/oauth.ts';
import { adminRoutes, adminSessionRoutes } from '../routes/admins.ts';
import { apiAppRoutes } from '../routes/api-apps.ts';
import { auditLogRoutes } from '../routes/audit-log.ts';
import { appMeRoutes, meRoutes } from '../routes/me.ts';
import { secondFactorRoutes } from '../routes/second-factor.ts';
import type { Base, Part } from './base.ts';

interface ComposedIdentity extends Identity, Part {
  /** Creates the initial project and applications. */
  seed(): Promise<void>;
}

/** Builds the part of the service for authentication and authorization. */
export function composeIdentity({ config, store, limits, now, log, passwords, auditTip }: Base): ComposedIdentity {
  const { masterKeys } = config.security;
  const encryption = createEncryption(masterKeys);
  const auditKeys = createAuditKeys({ store, masterKeys, encryption });
  const identity = createIdentity({
    config,
    store,
    queries: identityQueries,
    counts: limits,
    auditKeys,
    auditTip,
    encryption,
    now,
    passwords,
    emitCredentialChange: emitCredentialChange(now, consoleAppRow),
  });
  const { issuer } = config.oauth;
  return {
    ...identity,
    groups: [
      loginRoutes(identity),
      oauthRoutes({ oauth: identity.oauth, issuer, publicUrl: config.server.publicUrl, scopes }),
      meRoutes(identity),
      secondFactorRoutes({ ...identity, required: config.admin.requireSecondFactor }),
      adminRoutes(identity),
      adminSessionRoutes(identity),
      apiAppRoutes(identity),
      auditLogRoutes(identity),
      appMeRoutes(),
    ],
    tasks: [
      { name: 'expired-revocations', everySeconds: 3600, run: identity.deleteExpiredRevocations },
      { name: 'expired-sessions', everySeconds: 3600, run: identity.deleteExpiredSessions },
      { name: 'audit-anchor', everySeconds: 3600, run: anchor },
    ],
    async seed() {
      await seed(store, { consoleApp: consoleAppRow, testApps: testAppRows }, { debug: config.debug, now });
      await store.read(auditTip.learn);
    },
  };

  async function anchor(): Promise<void> {
    const tip = await identity.anchorAudit();
    if (tip !== undefined) log('info', 'audit log tip', { tip });
  }
}
