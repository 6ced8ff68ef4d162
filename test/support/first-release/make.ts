// Makes test/fixtures/first-release anew; its README says how and when. Needs a PostgreSQL (PAY_TEST_POSTGRES) and its pg_dump.
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { openDatabase } from '../../../server/db/orm.ts';
import { startSimulator } from '../../../server/simulator/simulator.ts';
import { freePort, listenOnFreePort } from '../free-port.ts';
import { testEnvironment } from '../service.ts';
import { liveThere } from './deeds.ts';
import {
  bootstrapFirstRelease,
  checkOutFirstRelease,
  FIRST_RELEASE,
  type FirstRelease,
  startFirstRelease,
} from './release.ts';

const admin = process.env['PAY_TEST_POSTGRES'];
if (!admin) throw new Error('PAY_TEST_POSTGRES must name a PostgreSQL, of the version of pg_dump in the PATH.');
const fixtures = new URL('../../fixtures/first-release/', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'first-release-'));
const name = `first_release_${process.pid}`;
const url = Object.assign(new URL(admin), { pathname: `/${name}` }).href;

async function execute(sql: string): Promise<void> {
  const { em, close } = await openDatabase({ kind: 'postgres', url: admin!, poolSize: 1 });
  await em.fork().execute(sql);
  await close();
}

const checkout = checkOutFirstRelease(folder);
if ('missing' in checkout) throw new Error(checkout.missing);
const simulatorDir = join(folder, 'simulator');
const simulator = await startSimulator({ dir: simulatorDir, listen: { host: '127.0.0.1', port: 0 } });
const hook = createServer((_request, response) => void response.end());
const hookUrl = `http://127.0.0.1:${await listenOnFreePort(hook)}/hook`;
await execute(`create database ${name}`);
let service: FirstRelease | undefined;
try {
  const environment = {
    ...testEnvironment(url),
    PAY_SIMULATOR_URL: simulator.url,
    PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PAY_LOG_LEVEL: 'warn',
  };
  bootstrapFirstRelease(checkout.folder, environment, { username: 'alice', password: 'seven-quiet-otters-swim' });
  service = await startFirstRelease(checkout.folder, environment, await freePort());
  const sim = async (path: string, body?: unknown) => {
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return (await fetch(simulator.url + path, body === undefined ? {} : sent)).json();
  };
  const lived = await liveThere(service.url, hookUrl, sim);
  await service.stop();
  const facts = { madeAt: new Date().toISOString(), commit: FIRST_RELEASE, url: service.url, ...lived };
  const dump = execFileSync('pg_dump', ['--no-owner', '--no-privileges', '--inserts', '--rows-per-insert=100', url], {
    maxBuffer: 1 << 28,
  });
  const kept = ['authority.json', 'accounts.json', 'stranger.pem', 'ledger.jsonl'];
  const files = Object.fromEntries(kept.map((file) => [file, readFileSync(join(simulatorDir, file), 'utf8')]));
  writeFileSync(join(fixtures, 'database.sql.gz'), gzipSync(dump, { level: 9 }));
  writeFileSync(join(fixtures, 'simulator.json.gz'), gzipSync(JSON.stringify(files), { level: 9 }));
  writeFileSync(join(fixtures, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
} finally {
  await service?.stop();
  await simulator.close();
  hook.close();
  await execute(`drop database if exists ${name} with (force)`);
  rmSync(folder, { recursive: true, force: true });
}
