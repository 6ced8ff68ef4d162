import { type ChildProcess, execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { startPostgres } from '../support/postgres.ts';
import {
  flagsOf,
  flagsSetBy,
  freePort,
  openProcesses,
  payctl,
  type Processes,
  setting,
  untilHealthy,
} from './processes.ts';

/** All measured programs, on a durable PostgreSQL (fsync on). */
export interface Stage {
  processes: Processes;
  service: Service;
  bare: Bare;
  /** The service of the other checkout, if there is one. */
  before?: Service;
  /** The service on a copy of the empty schema; it pays through the benchmark's channel or a simulator. */
  onCopy(
    name: string,
    env?: Record<string, string>,
    through?: 'channel' | 'simulator',
    apps?: number,
  ): Promise<Service>;
  /** The other checkout's service on a copy of its own schema. */
  onCopyBefore?: Stage['onCopy'];
  /** The bare program on a copy of the empty schema, with the applications of the service. */
  bareOnCopy(name: string, other?: Partial<BareSettings>, apps?: readonly Credentials[]): Promise<Bare>;
  /** The keys of the application and of the channel. */
  keys: Keys;
  close(): Promise<void>;
}

/** The number of applications that call a program in turns. */
export const APPS = 10;
/** The closed orders of each, and the paid ones. */
const ORDERS = 6;

/** An application by the names of OAuth. */
interface Credentials {
  clientId: string;
  secret: string;
}

/** An application with a token, and orders that need no channel query. */
export interface App extends Credentials {
  token: string;
  closedOrders: string[];
  paidOrders: string[];
  /** A pay-per-call order that was paid and delivered. */
  givenOffer: string;
}

/** A running program with its database; the first of its applications are its own members too. */
export interface Caller extends App {
  url: string;
  pid: number;
  child: ChildProcess;
  sql: Sql;
  apps: App[];
}

/** The bare program, and how it was started. */
export interface Bare extends Caller {
  argv: readonly string[];
  env: Record<string, string>;
}

/** The settings of the bare program. With a webhook it asks for notifications and reports payments. */
export interface BareSettings {
  database: string;
  gateway: string;
  appId: string;
  appKey: string;
  channelKey: string;
  webhook?: string;
}

/** The service, how it was started, and an administrator's token. */
export interface Service extends Caller {
  /** The command that started it. */
  payctl: string;
  env: Record<string, string>;
  adminToken: string;
}

/** Two key pairs, as PEM. */
export interface Keys {
  app: { privateKey: string; publicKey: string };
  channel: { privateKey: string; publicKey: string };
}

/** The connection between every measured program and its database. */
export interface Between {
  /** PgBouncer in transaction mode. */
  pooler: boolean;
  /** The extra milliseconds of a round trip. */
  distanceMs: number;
}

/** Starts the database, the channel, the service and the bare program, and optionally another checkout's service. */
export async function openStage(beforePayctl: string | undefined, between: Between): Promise<Stage> {
  const processes = openProcesses();
  const postgres = await startPostgres({ durable: true });
  const pools: InstanceType<typeof pg.Pool>[] = [];
  const connect = (url: string) => {
    const pool = new pg.Pool({ connectionString: url, max: 2, application_name: 'bench' });
    pools.push(pool);
    return async (text: string, values: readonly unknown[] = []) =>
      (await pool.query<Record<string, unknown>>(text, [...values])).rows;
  };
  const close = async () => {
    await processes.close();
    await Promise.all(pools.map((pool) => pool.end()));
    await postgres.stop();
  };
  try {
    const admin = connect(postgres.url);
    const front = await placeBetween(processes, postgres.url, between);
    const keys: Keys = { app: rsa(), channel: rsa() };
    const { url: gateway } = await processes.address([join(import.meta.dirname, 'channel.ts')], {
      BENCH_CHANNEL_KEY: keys.channel.privateKey,
    });
    const password = await makeSchema(processes, admin, postgres.url, { payctl, name: 'empty' });
    const copies =
      (command: string, template: string, own: string): Stage['onCopy'] =>
      async (name, env = {}, through = 'channel', apps = 1) => {
        const sql = await copySchema(admin, connect, postgres.url, { name, template });
        const channel = through === 'channel' ? { gateway, keys } : undefined;
        const url = at(front, name);
        return startService({ processes, payctl: command, url, channel, password: own, sql, env, apps });
      };
    const onCopy = copies(payctl, 'empty', password);
    const service = await onCopy('service', {}, 'channel', APPS);
    const openBefore = async (command: string): Promise<Pick<Stage, 'before' | 'onCopyBefore'>> => {
      const own = await makeSchema(processes, admin, postgres.url, { payctl: command, name: 'empty_before' });
      const onCopyBefore = copies(command, 'empty_before', own);
      return { before: await onCopyBefore('before', {}, 'channel', APPS), onCopyBefore };
    };
    const beside = beforePayctl === undefined ? {} : await openBefore(beforePayctl);
    const argv = [
      ...flagsOf(payctl),
      ...setting(await flagsSetBy(processes, [payctl, 'server', 'start'], service.env)),
      join(import.meta.dirname, 'bare.ts'),
    ];
    const bareOnCopy: Stage['bareOnCopy'] = async (name, other = {}, apps = service.apps.slice(0, 1)) => {
      const sql = await copySchema(admin, connect, postgres.url, { name, template: 'empty' });
      await copyApps(service, sql, apps);
      const settings: BareSettings = {
        database: at(front, name),
        gateway,
        appId: '1',
        appKey: keys.app.privateKey,
        channelKey: keys.channel.publicKey,
        ...other,
      };
      const env = { BENCH_BARE: JSON.stringify(settings) };
      const address = await processes.address(argv, env);
      return { ...(await introduce({ ...address, sql }, apps)), argv, env };
    };
    const bare = await bareOnCopy('bare', {}, service.apps);
    return { processes, service, bare, ...beside, keys, onCopy, bareOnCopy, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Sql = (text: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;

/** The address at which measured programs reach the database. */
async function placeBetween(processes: Processes, url: string, { pooler, distanceMs }: Between): Promise<string> {
  const far =
    distanceMs === 0
      ? url
      : (
          await processes.address([join(import.meta.dirname, 'distance.ts')], {
            BENCH_DATABASE_URL: url,
            BENCH_DISTANCE_MS: String(distanceMs),
          })
        ).url;
  return pooler ? (await startPgbouncer(far, { connections: 20 })).at(far) : far;
}

function at(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

function rsa(): Keys['app'] {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

const SECRETS = {
  PAY_JWT_SECRET_KEY: randomBytes(32).toString('base64'),
  PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64'),
};

/** Creates a migrated database with one administrator; returns the password. */
async function makeSchema(
  { env, folder }: Processes,
  admin: Sql,
  postgresUrl: string,
  { payctl: command, name }: { payctl: string; name: string },
): Promise<string> {
  await admin(`create database ${name}`);
  const file = join(folder, `${name}.password`);
  const words = ['bootstrap', 'admin', '-u', 'bench', '--generate', '--secret-file', file, '--migrate', '-o', 'json'];
  execFileSync(process.execPath, [command, ...words], {
    cwd: folder,
    env: { ...env, ...SECRETS, PAY_DATABASE_URL: at(postgresUrl, name) },
    stdio: 'ignore',
  });
  return readFileSync(file, 'utf8').trim();
}

async function copySchema(
  admin: Sql,
  connect: (url: string) => Sql,
  postgresUrl: string,
  { name, template }: { name: string; template: string },
): Promise<Sql> {
  await admin(`create database ${name} template ${template}`);
  return connect(at(postgresUrl, name));
}

interface ToStart {
  processes: Processes;
  payctl: string;
  url: string;
  /** The benchmark's channel; without it the simulator that the environment names. */
  channel: { gateway: string; keys: Keys } | undefined;
  password: string;
  sql: Sql;
  env: Record<string, string>;
  /** The number of its applications. */
  apps: number;
}

/** Debug is on because only then may a channel have a private address; everything else is as in production. */
async function startService({ processes, channel, password, sql, ...given }: ToStart): Promise<Service> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...SECRETS,
    PAY_DEBUG: 'true',
    PAY_DATABASE_URL: given.url,
    PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
    PAY_SERVER_PUBLIC_URL: url,
    PAY_METRICS_LISTEN: '127.0.0.1:0',
    PAY_RATE_LIMIT_UNPAID_OFFERS_PER_APP: '10000000',
    ...(channel && { PAY_SIMULATOR_URL: channel.gateway }),
    ...given.env,
  };
  const child = processes.begin([given.payctl, 'server', 'start'], env);
  child.stdout?.resume();
  await untilHealthy(url, child);
  const login = await post(`${url}/api/v1/login`, { username: 'bench', password });
  const adminToken = String(dataOf(login)['token']);
  if (channel) await post(`${url}/api/v1/payment/config/alipay`, alipayConfiguration(channel.keys), adminToken);
  const scopes = ['payment:write', 'payment:read', 'skillpay:call', 'coin:write'];
  const apps: Credentials[] = [];
  for (let n = 0; n < given.apps; n += 1) {
    const app = dataOf(
      await post(`${url}/api/v1/api-apps`, { name: `bench-${n}`, project: 'default', scopes }, adminToken),
    );
    apps.push({ clientId: String(app['client_id']), secret: String(app['client_secret']) });
  }
  const caller = await introduce({ url, pid: child.pid!, child, sql }, apps);
  return { ...caller, payctl: given.payctl, env, adminToken };
}

/** An Alipay account at the benchmark's own channel. */
export function alipayConfiguration({ app, channel }: Keys, appId = '2021000000000001'): object {
  return {
    mode: 'simulator',
    appId,
    alipay_app_key: app.privateKey,
    alipay_public_key: channel.publicKey,
  };
}

/** A WeChat Pay account at the benchmark's own channel. */
export function wechatConfiguration({ app, channel }: Keys, mchid: string): object {
  return {
    mode: 'simulator',
    mchid,
    appId: 'wx0000000000000001',
    apiV3Key: '0123456789abcdef0123456789abcdef',
    merchantSerial: '1DDE55AD98ED71D6EDD4A4A16996DE7B47773A8C',
    publicKeyId: 'PUB_KEY_ID_1',
    wechat_merchant_key: app.privateKey,
    wechat_public_key: channel.publicKey,
  };
}

async function copyApps({ sql: from }: Caller, to: Sql, apps: readonly Credentials[]): Promise<void> {
  const rows = await from('select * from api_apps where client_id = any ($1)', [apps.map(({ clientId }) => clientId)]);
  const columns = Object.keys(rows[0]!);
  for (const row of rows)
    await to(
      `insert into api_apps (${columns.join(', ')}) values (${columns.map((_, n) => `$${n + 1}`).join(', ')})`,
      Object.values(row),
    );
}

type Running = Pick<Caller, 'url' | 'pid' | 'child' | 'sql'>;

/** Creates a token for each application, closed orders and paid ones. Only a program of many applications gets many orders. */
async function introduce(program: Running, credentials: readonly Credentials[]): Promise<Caller> {
  const orders = credentials.length === 1 ? 1 : ORDERS;
  const apps: App[] = [];
  for (const one of credentials) apps.push(await introduceApp(program, one, orders));
  return { ...program, ...apps[0]!, apps };
}

async function introduceApp({ url, sql }: Running, { clientId, secret }: Credentials, orders: number): Promise<App> {
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const token = String((await post(`${url}/oauth/token`, grant))['access_token']);
  const place = async () => String(dataOf(await post(`${url}/api/v2/payment/pay`, PAYMENT, token))['orderNo']);
  const [closedOrders, paidOrders]: [string[], string[]] = [[], []];
  for (let n = 0; n < orders; n += 1) {
    closedOrders.push(await place());
    paidOrders.push(await place());
  }
  await sql(`update orders set state = 'closed', closed_at = now(), next_check_at = null where order_no = any ($1)`, [
    closedOrders,
  ]);
  await markPaid(sql, paidOrders);
  const givenOffer = await redeemOne(url, token, sql);
  return { clientId, secret, token, closedOrders, paidOrders, givenOffer };
}

async function markPaid(sql: Sql, orders: readonly string[]): Promise<void> {
  await sql(
    `update orders set state = 'paid', paid = amount, paid_at = now(), channel_trade_no = order_no, next_check_at = null
      where order_no = any ($1)`,
    [orders],
  );
}

/** The call of every pay-per-call scenario; Debug provides the resource. */
export const CALL = { resource: 'demo', payWay: 'alipay' };

async function redeemOne(url: string, token: string, sql: Sql): Promise<string> {
  const call = (more: Record<string, string>) =>
    fetch(`${url}/api/v2/skillpay/resource`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...more },
      body: JSON.stringify(CALL),
    });
  const offer = await call({});
  const outTradeNo = offer.headers.get('x-out-trade-no');
  if (offer.status !== 402 || outTradeNo === null) throw new Error(`offer: ${offer.status} ${await offer.text()}`);
  await markPaid(sql, [outTradeNo]);
  const given = await call({ 'x-out-trade-no': outTradeNo });
  if (given.status !== 200) throw new Error(`redeem: ${given.status} ${await given.text()}`);
  return outTradeNo;
}

/** The payment of every scenario. */
export const PAYMENT = { subject: 'Two coffees', amount: 12.5, payWay: 'alipay' };

/** Sends JSON; throws if the response is a refusal. */
export async function post(
  url: string,
  body: object,
  token?: string,
  method: 'POST' | 'PUT' = 'POST',
): Promise<Record<string, unknown>> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (token) headers['authorization'] = `Bearer ${token}`;
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** The `data` member of a response. */
export function dataOf(answer: Record<string, unknown>): Record<string, unknown> {
  return answer['data'] as Record<string, unknown>;
}
