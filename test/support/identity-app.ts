import type { ExecutionContext } from 'ava';
import { type Logger, pino } from 'pino';
import { createRequests } from '../../server/db/pool.ts';
import { identityQueries } from '../../server/db/queries/identity.ts';
import { createRateLimits } from '../../server/db/rate-limits.ts';
import { seed } from '../../server/db/migrate.ts';
import { emitCredentialChange } from '../../server/events/record.ts';
import { buildKoa } from '../../server/http/build-koa.ts';
import { listen } from '../../server/http/server.ts';
import { consoleAppRow, testAppRows } from '../../server/identity/api-app-rows.ts';
import { createKnownTip } from '../../server/identity/audit.ts';
import { createIdentity, type Identity } from '../../server/identity/identity.ts';
import { createFirstAdmin } from '../../server/identity/offline.ts';
import { createPasswords, type Passwords } from '../../server/identity/passwords.ts';
import { scopes } from '../../server/domain.ts';
import { endpoint } from '../../server/http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../server/http/router.ts';
import { buildRouter } from '../../server/routes/docs.ts';
import { checkAnswersOf, requireDeclared } from './documented.ts';
import { loginRoutes } from '../../server/routes/login.ts';
import { oauthRoutes } from '../../server/routes/oauth.ts';
import { adminRoutes, adminSessionRoutes } from '../../server/routes/admins.ts';
import { apiAppRoutes } from '../../server/routes/api-apps.ts';
import { auditLogRoutes } from '../../server/routes/audit-log.ts';
import { appMeRoutes, meRoutes } from '../../server/routes/me.ts';
import { secondFactorRoutes } from '../../server/routes/second-factor.ts';
import { auditKeysOf, testSealing } from './audit-keys.ts';
import { PATIENT, postgresDatabase, type TestDatabase } from './database.ts';
import { noBelongings, withoutKeys } from './edge.ts';

/** The first administrator of every test. */
export const alice = { username: 'alice', password: 'seven-quiet-otters-swim' };

/** The options of a test. */
export interface IdentityAppOptions {
  on?: TestDatabase;
  debug?: boolean;
  bootstrapped?: boolean;
  publicUrl?: string;
  secretKey?: string;
  idleMinutes?: number;
  requireSecondFactor?: boolean;
  now?: () => Date;
  loginFailures?: number;
  badCredentialsPerMinute?: number;
  perApp?: number;
  logger?: Logger;
  trustedProxies?: number;
  /** Creates the hasher of an instance; by default the service's own. */
  passwords?: () => Passwords;
}

/** A running service with only the identity routes. */
export interface IdentityApp {
  url: string;
  identity: Identity;
  store: TestDatabase['store'];
  on: TestDatabase;
  /** Sends JSON; `token` goes into Authorization. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Logs in and returns the token. */
  login(account?: { username: string; password: string }): Promise<string>;
}

interface CallOptions {
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  body: any;
}

/** Starts an instance on a free port; several may share one database. */
export async function identityApp(
  t: Pick<ExecutionContext, 'teardown'>,
  options: IdentityAppOptions = {},
): Promise<IdentityApp> {
  const on = options.on ?? (await postgresDatabase(t));
  const { database, store } = on;
  const { debug = false, now = () => new Date(), bootstrapped = true, publicUrl = 'http://127.0.0.1:8080' } = options;
  const counts = createRateLimits(database);
  const rateLimit = {
    perApp: options.perApp ?? 0,
    badCredentialsPerMinute: options.badCredentialsPerMinute ?? 100_000,
    loginFailures: options.loginFailures ?? 10,
  };
  const config = {
    debug,
    environment: 'development' as const,
    admin: { requireSecondFactor: options.requireSecondFactor ?? false },
    jwt: {
      secretKey: options.secretKey ?? 'a-test-secret-of-more-than-32-bytes!',
      expirationHours: 24,
      idleMinutes: options.idleMinutes ?? 0,
    },
    oauth: { issuer: publicUrl, tokenTtlSeconds: 3600 },
    server: { publicUrl, trustedProxies: options.trustedProxies ?? 0, adminNetworks: [], corsOrigins: [] },
    rateLimit,
  };
  const passwords = (options.passwords ?? createPasswords)();
  const auditKeys = auditKeysOf(store);
  const tell = emitCredentialChange(now, consoleAppRow);
  const parts = {
    config,
    store,
    queries: identityQueries,
    counts,
    auditKeys,
    auditTip: createKnownTip(),
    encryption: testSealing,
    now,
    passwords,
    emitCredentialChange: tell,
  };
  const identity = createIdentity(parts);
  await seed(store, { consoleApp: consoleAppRow, testApps: testAppRows }, { debug, now });
  const ports = { store, passwords, audit: identity.audit, now };
  const actor = { kind: 'offline', name: 'tester@test' } as const;
  if (bootstrapped && !options.on) await createFirstAdmin(ports, actor, alice);
  const koa = buildKoa({
    config,
    logger: options.logger ?? pino({ level: process.env.PAY_TEST_LOG ?? 'silent' }),
    authenticators: identity.authenticators,
    belongings: noBelongings,
    rateLimits: counts,
    requests: createRequests(PATIENT.request),
    withKey: withoutKeys,
    router: buildRouter(groups(identity, publicUrl, config.admin.requireSecondFactor), { enabled: false }),
  });
  const { port, close } = await listen(koa, { host: '127.0.0.1', port: 0 });
  t.teardown(close);
  const url = `http://127.0.0.1:${port}`;
  checkAnswersOf(url, { onlyDescribed: true });
  const call = caller(url);
  const login = async ({ username, password } = alice): Promise<string> => {
    const { status, body } = await call('POST', '/api/v1/login', { body: { username, password } });
    if (status !== 200) throw new Error(`login: ${status} ${JSON.stringify(body)}`);
    return body.data.token;
  };
  return { url, identity, store, on, call, login };
}

/** Two instances on one database, with the first administrator. */
export async function twoInstances(
  t: Pick<ExecutionContext, 'teardown'>,
  on: TestDatabase,
  options: IdentityAppOptions = {},
): Promise<[IdentityApp, IdentityApp]> {
  const one = await identityApp(t, { ...options, on });
  const passwords = (options.passwords ?? createPasswords)();
  const ports = { store: on.store, passwords, audit: one.identity.audit, now: () => new Date() };
  await createFirstAdmin(ports, { kind: 'offline', name: 'tester@test' }, alice);
  return [one, await identityApp(t, { ...options, on })];
}

function groups(identity: Identity, publicUrl: string, required: boolean): RouteGroup[] {
  const probe = routeGroup('/api/v2/probe');
  probe.get(
    '/pay',
    endpoint({ auth: { scope: 'payment:write' } }, () => ({})),
  );
  return [
    loginRoutes(identity),
    oauthRoutes({ oauth: identity.oauth, issuer: publicUrl, publicUrl, scopes }),
    adminRoutes(identity),
    adminSessionRoutes(identity),
    secondFactorRoutes({ ...identity, required }),
    apiAppRoutes(identity),
    auditLogRoutes(identity),
    meRoutes(identity),
    appMeRoutes(),
    probe,
  ];
}

function caller(url: string): IdentityApp['call'] {
  return async (method, path, { token, body, headers = {} } = {}) => {
    const sent: Record<string, string> = { ...headers };
    if (token !== undefined) sent.authorization = `Bearer ${token}`;
    if (body !== undefined && !(body instanceof URLSearchParams)) sent['content-type'] ??= 'application/json';
    const raw = typeof body === 'string' || body instanceof URLSearchParams || body === undefined;
    const answer = await fetch(url + path, { method, headers: sent, body: raw ? body : JSON.stringify(body) });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json');
    const read = isJson ? JSON.parse(text) : text;
    await requireDeclared(method, path, read);
    return { status: answer.status, headers: answer.headers, body: read };
  };
}

/** Creates an application and gets a token of it. */
export async function appWithToken(
  app: IdentityApp,
  admin: string,
  settings: Record<string, unknown> = {},
): Promise<{ client_id: string; client_secret: string; token: string }> {
  const body = { name: 'shop', scopes: ['payment:write', 'payment:read'], ...settings };
  const created = await app.call('POST', '/api/v1/api-apps', { token: admin, body });
  if (created.status !== 201) throw new Error(JSON.stringify(created.body));
  const { client_id, client_secret } = created.body.data;
  return { client_id, client_secret, token: await tokenOf(app, { client_id, client_secret }) };
}

/** A fresh token of a client. */
export async function tokenOf(
  app: IdentityApp,
  client: { client_id: string; client_secret: string },
  more: Record<string, unknown> = {},
): Promise<string> {
  const { client_id, client_secret } = client;
  const body = { grant_type: 'client_credentials', client_id, client_secret, ...more };
  const answer = await app.call('POST', '/oauth/token', { body });
  if (answer.status !== 200) throw new Error(`token: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.access_token;
}
