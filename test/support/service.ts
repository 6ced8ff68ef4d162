import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { argon2id, hash } from 'argon2';
import { randomUUID, randomBytes } from 'node:crypto';
import type { Delivery } from '../../server/simulator/notification.ts';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { buildApp, type App, type Overrides } from '../../server/app.ts';
import { listen } from '../../server/http/server.ts';
import { createFirstAdmin } from '../../server/identity/offline.ts';
import type { AppSettings } from '../../server/identity/api-app-rows.ts';
import type { Requester } from '../../server/payments/ports.ts';
import { createDatabase, PATIENT, PATIENT_CALLERS } from './database.ts';
import { checkAnswersOf, requireDeclared } from './documented.ts';
import { freePort } from './free-port.ts';
import { ownSimulator } from './simulator.ts';
import { createPasswords, type Passwords } from '../../server/identity/passwords.ts';

/** The options of a test. */
export interface ServiceOptions extends Overrides {
  /** Time limit of a channel call (ms): long, so that a loaded machine causes no timeout; tests of timeouts set a short one. */
  timeoutMs?: number;
  env?: Record<string, string>;
  /** An existing database, for a second replica. */
  url?: string;
  simulator?: { url: string };
  port?: number;
}

/** A running service on PostgreSQL with the simulator behind it. */
export interface Service {
  app: App;
  url: string;
  databaseUrl: string;
  environment: Record<string, string>;
  simulator: { url: string };
  clock: Clock;
  /** Calls the simulator's control API. */
  sim(path: string, body?: unknown): Promise<Record<string, never>>;
  /** The simulator's notifications of an order, delivered or dropped, newest last. */
  deliveries(orderNo: string): Promise<Delivery[]>;
  merchant(settings?: Partial<AppSettings> & { project?: string }): Promise<Merchant>;
  stop(): Promise<void>;
}

/** An API application with its own token. */
export interface Merchant {
  clientId: string;
  secret: string;
  token: string;
  requester: Requester;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** The same application at another replica. */
  callAt(url: string, method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

/** A JSON answer. */
export interface Answer {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  body: any;
}

/** The service's own clock. */
interface Clock {
  now: () => Date;
  advance(seconds: number): void;
  /** Stops the clock, so that only `advance` moves it: a slow machine could otherwise pass the moment under test. */
  stop(): void;
}

/** A running clock that a test can advance or stop. */
export function createClock(): Clock {
  let offset = 0;
  let stoppedAt: number | undefined;
  return {
    now: () => new Date((stoppedAt ?? Date.now()) + offset),
    advance: (seconds) => void (offset += seconds * 1000),
    stop: () => void (stoppedAt ??= Date.now()),
  };
}

/** Starts the service on a fresh database and a fresh simulator; everything ends with the test. */
export async function startService(
  t: Pick<ExecutionContext, 'teardown'>,
  options: ServiceOptions = {},
): Promise<Service> {
  const database = options.url ? { url: options.url, drop: async () => {} } : await createDatabase();
  const simulator = options.simulator ?? (await ownSimulator(t));
  const clock = createClock();
  const now = options.now ?? clock.now;
  const environment = testEnvironment(database.url, options);
  const config = loadConfig({ env: environment, cwd: process.cwd() }) as Config;
  const port = options.port ?? (await freePort());
  config.server.listen = { host: '127.0.0.1', port };
  config.server.publicUrl = `http://127.0.0.1:${port}`;
  const logger = options.logger ?? pino({ level: process.env.PAY_TEST_LOG ?? 'silent' });
  const app = await buildApp(config, {
    simulatorUrl: simulator.url,
    databaseTimeouts: PATIENT,
    passwords: quickPasswords(),
    ...options,
    patience: { ...PATIENT_CALLERS, ...options.patience },
    logger,
    now,
  });
  const server = await listen(app.koa, config.server.listen);
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await server.close();
    await app.close();
  };
  t.teardown(async () => {
    await stop();
    await database.drop();
  });
  const url = config.server.publicUrl;
  checkAnswersOf(url);
  return {
    app,
    url,
    databaseUrl: database.url,
    environment,
    simulator,
    clock,
    stop,
    sim: (path, body) => control(simulator.url, path, body),
    deliveries: async (orderNo) => (await control(simulator.url, `/sim/deliveries?orderNo=${orderNo}`)).deliveries!,
    merchant: (settings) => merchant(app, url, settings),
  };
}

/** The environment of a service under test. */
export function testEnvironment(
  url: string,
  { timeoutMs = 60_000, env = {} }: ServiceOptions = {},
): Record<string, string> {
  return {
    PAY_DEBUG: 'true',
    PAY_OAUTH_ISSUER: 'http://pay.test',
    PAY_DATABASE_URL: url,
    PAY_JWT_SECRET_KEY: 'a-test-secret-of-more-than-32-bytes!',
    PAY_SECURITY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    PAY_CHANNELS_TIMEOUT_MS: String(timeoutMs),
    PAY_RATE_LIMIT_BAD_CREDENTIALS_PER_MINUTE: '100000',
    ...env,
  };
}

async function control(url: string, path: string, body?: unknown): Promise<Record<string, never>> {
  const answer = await fetch(
    url + path,
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  );
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text || '{}');
}

async function merchant(app: App, url: string, settings: Partial<AppSettings> = {}): Promise<Merchant> {
  const actor = { kind: 'system', name: 'test' } as const;
  const made = await app.identity.apiApps.create(actor, {
    name: 'shop',
    scopes: ['payment:write', 'payment:read', 'skillpay:call'],
    allowedIps: [],
    trusted: false,
    project: 'default',
    ...settings,
  } as never);
  const { clientId } = made.app;
  const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: made.secret };
  const { access_token: token } = (await request(url, 'POST', '/oauth/token', body)).body;
  const callAt: Merchant['callAt'] = (at, method, path, sent, headers = {}) =>
    request(at, method, path, sent, { authorization: `Bearer ${token}`, ...headers });
  return {
    clientId,
    secret: made.secret,
    token,
    requester: { owner: { clientId }, actor: `app:${clientId}` },
    call: (method, path, sent, headers) => callAt(url, method, path, sent, headers),
    callAt,
  };
}

/** Sends JSON, or a form, and reads JSON. */
export async function request(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isSent = body instanceof FormData || body instanceof Uint8Array;
  const isJson = body !== undefined && !isSent;
  const answer = await fetch(url + path, {
    method,
    headers: isJson ? { 'content-type': 'application/json', ...headers } : headers,
    body: isSent ? (body as FormData) : isJson ? JSON.stringify(body) : undefined,
  });
  const text = await answer.text();
  // Several lines of JSON are not JSON.
  const read = text.startsWith('{') && !text.includes('\n{') ? JSON.parse(text) : text;
  await requireDeclared(method, path, read);
  return { status: answer.status, headers: answer.headers, body: read };
}

/** Creates the first administrator directly in the database. */
export async function bootstrapAdmin(
  { store, identity, ports }: App,
  account: { username: string; password: string },
): Promise<void> {
  const passwords = quickPasswords();
  await createFirstAdmin(
    { store, passwords, audit: identity.audit, now: ports.now },
    { kind: 'offline', name: 'test@test' },
    account,
  );
}

/** Waits until a condition holds; fails after a time limit. */
export async function until<T>(
  what: string,
  condition: () => Promise<T | undefined | false>,
  ms = 150_000,
): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** A hash contains its own cost: these cost a hundredth of the service's. */
const QUICK = { type: argon2id, memoryCost: 64, timeCost: 2, parallelism: 1 } as const;

/**
 * The service's own hasher and gate with cheap hashes, for hundreds of logins that do not test the cost: `login.test.ts` and
 * the identity tests use the service's own hashes.
 */
export function quickPasswords(): Passwords {
  let decoy: Promise<string> | undefined;
  return {
    ...createPasswords(),
    hash: (password) => hash(password, QUICK),
    isOutdated: () => false,
    decoy: () => (decoy ??= hash(randomUUID(), QUICK)),
  };
}

/** The environment of a staging service: the requirements of production, and a simulator. */
export async function stagingOptions(t: Pick<ExecutionContext, 'teardown'>): Promise<ServiceOptions> {
  const simulator = await ownSimulator(t);
  const env = {
    PAY_DEBUG: 'false',
    PAY_SERVER_ENVIRONMENT: 'staging',
    PAY_SERVER_PUBLIC_URL: 'https://staging.shop.example',
    PAY_JWT_SECRET_KEY: randomBytes(32).toString('base64'),
    PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64'),
    PAY_SIMULATOR_URL: simulator.url,
  };
  return { simulator, env };
}
