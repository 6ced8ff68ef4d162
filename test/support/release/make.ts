// Makes the fixture of this release anew; the README beside the fixture says when. Needs a PostgreSQL (PAY_TEST_POSTGRES) and its pg_dump.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { openDatabase } from '../../../server/db/orm.ts';
import { startSimulator } from '../../../server/simulator/simulator.ts';
import { freePort, listenOnFreePort } from '../free-port.ts';
import { testEnvironment, until } from '../service.ts';
import { ADMIN, liveThere } from './deeds.ts';

const admin = process.env['PAY_TEST_POSTGRES'];
if (!admin) throw new Error('PAY_TEST_POSTGRES must name a PostgreSQL, of the version of pg_dump in the PATH.');
const fixtures = new URL('../../fixtures/release-0.1.0/', import.meta.url).pathname;
const payctl = new URL('../../../bin/payctl.ts', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'release-'));
const name = `release_${process.pid}`;
const database = Object.assign(new URL(admin), { pathname: `/${name}` }).href;

async function execute(sql: string): Promise<void> {
  const { em, close } = await openDatabase({ kind: 'postgres', url: admin!, poolSize: 1 });
  await em.fork().execute(sql);
  await close();
}

const simulatorDir = join(folder, 'simulator');
const simulator = await startSimulator({ dir: simulatorDir, listen: { host: '127.0.0.1', port: 0 } });
const hook = createServer((_request, response) => void response.end());
const hookUrl = `http://127.0.0.1:${await listenOnFreePort(hook)}/hook`;
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const env = {
  ...process.env,
  ...testEnvironment(database),
  PAY_SIMULATOR_URL: simulator.url,
  PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  PAY_LOG_LEVEL: 'warn',
  PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
  PAY_SERVER_PUBLIC_URL: url,
  PAY_METRICS_LISTEN: '127.0.0.1:0',
};
await execute(`create database ${name}`);
try {
  const words = ['bootstrap', 'admin', '--username', ADMIN.username, '--password-stdin', '--migrate'];
  execFileSync(process.execPath, [payctl, ...words], { cwd: folder, env, input: `${ADMIN.password}\n` });
  const service = spawn(process.execPath, [payctl, 'server', 'start'], { cwd: folder, env, stdio: 'inherit' });
  const ended = once(service, 'exit');
  try {
    await until('the service answers', () =>
      fetch(`${url}/health/db`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    const sim = async (path: string, body?: unknown) => {
      const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      return (await fetch(simulator.url + path, body === undefined ? {} : sent)).json();
    };
    const lived = await liveThere(url, hookUrl, sim);
    const facts = { madeAt: new Date().toISOString(), url, ...lived };
    writeFileSync(join(fixtures, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`);
  } finally {
    service.kill('SIGTERM');
    await ended;
  }
  const dump = execFileSync(
    'pg_dump',
    ['--no-owner', '--no-privileges', '--inserts', '--rows-per-insert=100', database],
    {
      maxBuffer: 1 << 28,
    },
  );
  const kept = ['authority.json', 'accounts.json', 'stranger.pem', 'ledger.jsonl'];
  const files = Object.fromEntries(kept.map((file) => [file, readFileSync(join(simulatorDir, file), 'utf8')]));
  writeFileSync(join(fixtures, 'database.sql.gz'), gzipSync(dump, { level: 9 }));
  writeFileSync(join(fixtures, 'simulator.json.gz'), gzipSync(JSON.stringify(files), { level: 9 }));
} finally {
  await simulator.close();
  hook.close();
  await execute(`drop database if exists ${name} with (force)`);
  rmSync(folder, { recursive: true, force: true });
}
