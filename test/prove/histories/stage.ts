import pg from 'pg';
import { migrate } from '../../../server/db/migrate.ts';
import { openDatabase } from '../../../server/db/orm.ts';
import { startSimulator } from '../../../server/simulator/simulator.ts';
import { firstAdmin } from '../../support/admin.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { freePort } from '../../support/free-port.ts';
import { type Cable, layCable } from '../../support/in-between.ts';
import { startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { type Replica, startReplica } from '../../support/replica.ts';
import { startService, testEnvironment } from '../../support/service.ts';
import { layStatementCable, type StatementCable } from '../../support/statement-cable.ts';
import type { Ends } from './ends.ts';
import type { Market, Shop } from './market.ts';
import { hasPooler, startPooler } from './pooler.ts';

/** A replica, which may be down and restart. */
export interface Stand {
  url: string;
  isPooled: boolean;
  cable: Cable;
  statements: StatementCable;
  /** Starts the replica, repeatedly if needed: without a database it exits. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Advances its clock. */
  jump(): void;
}

/** All parts of a recording. */
export interface Stage {
  stands: readonly Stand[];
  postgres: TestPostgres;
  market: Market;
  /** Calls the simulator's control API. */
  sim<Answer>(path: string, body?: object): Promise<Answer>;
}

export interface StageOptions {
  replicas: number;
  /** Puts a proxy between clients and a replica; returns its address. */
  facade?: ((ends: Ends, url: string) => Promise<string>) | undefined;
}

/** The clocks of service and channel advance by this much at the end, so that leases and slots need no waiting. */
export const JUMP_SECONDS = 600;
const DATABASE = 'history';
const SHOPS = ['shop-1', 'shop-2'];
/** Channels repeat notifications after minutes and hours; this factor shortens that. */
const TIME_FACTOR = 0.05;

/** Sets everything up and starts the replicas: every second one behind PgBouncer, if it is installed. */
export async function openStage(ends: Ends, { replicas, facade }: StageOptions): Promise<Stage> {
  const postgres = await startPostgres({ durable: true });
  ends.teardown(() => postgres.stop());
  const url = await makeDatabase(postgres.url);
  const dir = temporaryFolder(ends);
  const simulator = await startSimulator({ dir, listen: { host: '127.0.0.1', port: 0 }, timeFactor: TIME_FACTOR });
  ends.teardown(() => simulator.close());
  const pooler = hasPooler() ? await startPooler(ends, url) : undefined;
  const folder = temporaryFolder(ends);
  const stands: Stand[] = [];
  for (let place = 0; place < replicas; place += 1) {
    const isPooled = pooler !== undefined && place % 2 === 1;
    stands.push(await makeStand(ends, { url: isPooled ? pooler : url, isPooled, simulatorUrl: simulator.url, folder }));
  }
  const { shops, adminToken } = await openShops(url, simulator.url);
  await Promise.all(stands.map((stand) => stand.start()));
  const urls = await Promise.all(stands.map((stand) => facade?.(ends, stand.url) ?? stand.url));
  let names = 0;
  const name = (of: string) => `${of}${(names += 1)}`;
  const market = { shops, urls, simulatorUrl: simulator.url, adminToken, refundNos: [], name };
  return { stands, postgres, market, sim: (path, body) => control(simulator.url + path, body) };
}

/** A migrated database whose limits are set on the role, because a pooler does not pass them on. */
async function makeDatabase(server: string): Promise<string> {
  const url = new URL(server);
  url.pathname = `/${DATABASE}`;
  const client = new pg.Client(server);
  await client.connect();
  await client.query(`create database ${DATABASE}`);
  const database = await openDatabase({ kind: 'postgres', url: url.href, poolSize: 2 });
  await migrate(database);
  await database.close();
  const { rows } = await client.query<{ role: string }>('select quote_ident(current_user) as role');
  const bounds = { statement_timeout: '3.5s', lock_timeout: '2s', idle_in_transaction_session_timeout: '10s' };
  for (const [setting, value] of Object.entries(bounds))
    await client.query(`alter role ${rows[0]!.role} set ${setting} = '${value}'`);
  await client.end();
  return url.href;
}

interface Slot {
  url: string;
  isPooled: boolean;
  simulatorUrl: string;
  folder: string;
}

async function makeStand(ends: Ends, { url, isPooled, simulatorUrl, folder }: Slot): Promise<Stand> {
  const cable = await layCable(ends, url);
  const statements = await layStatementCable(ends, cable.url);
  const port = await freePort();
  const environment = testEnvironment(statements.url, {
    timeoutMs: 2_000,
    env: {
      PAY_DATABASE_PREPARED: String(!isPooled),
      PAY_DATABASE_MIGRATE: 'false',
      PAY_OAUTH_TOKEN_TTL_SECONDS: '86400',
      // Within a test run the code is compiled already, and a killed process caches nothing.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] || folder,
    },
  });
  let replica: Replica | undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    isPooled,
    cable,
    statements,
    async start() {
      const options = {
        environment,
        simulatorUrl,
        port,
        jobs: true,
        ownTimeouts: true,
        jumpSeconds: JUMP_SECONDS,
        quiet: true,
      };
      while (!replica) replica = await startReplica(ends, options).catch(() => undefined);
    },
    async kill() {
      await replica?.kill('SIGKILL');
      replica = undefined;
    },
    jump: () => replica?.jump(),
  };
}

/** Creates the applications and the administrator with a service that stops before the recording. */
async function openShops(url: string, simulatorUrl: string): Promise<{ shops: Shop[]; adminToken: string }> {
  const ends: (() => unknown)[] = [];
  const service = await startService(
    { teardown: (end) => void ends.push(end) },
    { url, simulator: { url: simulatorUrl } },
  );
  const { token: adminToken } = await firstAdmin(service);
  const shops: Shop[] = [];
  for (const name of SHOPS) {
    const { clientId, secret } = await service.merchant();
    shops.push({ name, clientId, secret, tokens: [], revoked: [], orders: [], places: [], refunds: [] });
  }
  for (const end of ends.toReversed()) await end();
  return { shops, adminToken };
}

async function control<Answer>(url: string, body?: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, body && { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}
