import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createRequests } from '../../server/db/pool.ts';
import { Unauthenticated } from '../../server/errors.ts';
import { buildKoa, type HttpConfig, type KoaParts } from '../../server/http/build-koa.ts';
import type { AdminCaller, AppCaller, Authenticators, Belongings } from '../../server/http/contract.ts';
import { createMemoryRateLimits } from '../../server/http/edge.ts';
import { listen, type ListenOptions } from '../../server/http/server.ts';
import type { WithKey } from '../../server/payments/idempotency.ts';
import type { RouteGroup } from '../../server/http/router.ts';
import { buildRouter } from '../../server/routes/docs.ts';

const session = {
  kind: 'admin',
  projects: null,
  secondFactor: 'none',
  via: 'bearer',
  confirmed: { always: true, 'where-live': true },
} as const;
const admins: Record<string, AdminCaller> = {
  'root-jwt': { ...session, id: 'a1', username: 'root', role: 'admin', jti: 'j1' },
  'viewer-jwt': { ...session, id: 'a2', username: 'reader', role: 'viewer', jti: 'j2' },
};

const apps: Record<string, AppCaller> = {
  'read-token': app('app_reader', ['payment:read']),
  'admin-token': app('app_admin', ['admin']),
  'limited-token': { ...app('app_limited', ['payment:read']), rateLimit: 2 },
};

function app(clientId: string, scopes: string[]): AppCaller {
  return { kind: 'app', clientId, name: clientId, project: 'default', scopes: new Set(scopes) };
}

/** Identity with fixed tokens: `root-jwt`, `viewer-jwt`; `read-token`, `admin-token`, `limited-token`. The csrf value of session `j1` is `csrf-j1`. */
export const fakeAuthenticators: Authenticators = {
  async admin({ token, via }) {
    const caller = admins[token];
    if (!caller) throw new Unauthenticated();
    return { ...caller, via };
  },
  async app(token) {
    const caller = apps[token];
    if (!caller) throw new Unauthenticated();
    return caller;
  },
  csrfMatches: (value, jti) => value === `csrf-${jti}`,
  noteUnconfirmed: async () => {},
};

/** An owner lookup without owners, for services whose administrators may access all projects. */
export const noBelongings: Belongings = { projectsOf: async () => [], sharersOf: async () => [] };

/** An idempotency store that stores nothing; the handler still receives the key. */
export const withoutKeys: WithKey = ({ scope, route, key }, run) =>
  run({ scope, route, key, fingerprint: '', resume: null, taken: false, leasedUntil: null });

/** The parts of the edge that a test may change. */
export interface EdgeOptions extends Partial<Omit<KoaParts, 'config' | 'router'>> {
  groups: RouteGroup[];
  server?: Partial<HttpConfig['server']>;
  rateLimit?: Partial<HttpConfig['rateLimit']>;
  explorer?: boolean;
  environment?: 'staging';
  shutdownSeconds?: number;
  /** Ends the drain. */
  drain?: Promise<void>;
  limits?: ListenOptions['limits'];
  maxConnections?: number;
}

/** Serves route groups on a free port with fake ports; stopped when the test ends. */
export async function startEdge(
  t: Pick<ExecutionContext, 'teardown'>,
  {
    groups,
    server,
    rateLimit,
    explorer = false,
    environment,
    shutdownSeconds = 1,
    drain = Promise.resolve(),
    limits = {},
    maxConnections = 5_000,
    ...parts
  }: EdgeOptions,
): Promise<{ url: string; port: number; close(): Promise<void> }> {
  const config = {
    environment: environment ?? ('development' as const),
    server: { publicUrl: 'http://pay.example', trustedProxies: 0, adminNetworks: [], corsOrigins: [], ...server },
    rateLimit: { perApp: 0, badCredentialsPerMinute: 1000, ...rateLimit },
  };
  const koa = buildKoa({
    config,
    logger: pino({ level: 'silent' }),
    authenticators: fakeAuthenticators,
    belongings: noBelongings,
    rateLimits: createMemoryRateLimits(),
    requests: createRequests(600_000),
    withKey: withoutKeys,
    router: buildRouter(groups, { enabled: explorer }),
    ...parts,
  });
  const listening = await listen(koa, {
    host: '127.0.0.1',
    port: 0,
    shutdownSeconds,
    drained: drain,
    limits,
    maxConnections,
    trustedProxies: config.server.trustedProxies,
  });
  t.teardown(() => listening.close());
  return { url: `http://127.0.0.1:${listening.port}`, port: listening.port, close: listening.close };
}
