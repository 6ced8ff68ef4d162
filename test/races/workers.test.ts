import test, { type ExecutionContext } from 'ava';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { firstAdmin } from '../support/admin.ts';
import { listenOnFreePort } from '../support/free-port.ts';
import { inParallel } from '../support/counts.ts';
import { messagesIn, reading } from '../support/reading.ts';
import { type Merchant, startService, until } from '../support/service.ts';
import { startWorkers, type Workers } from '../support/workers.ts';

const LANES = 2;
/** The pause between payments while workers start: a load without pauses would starve them of processor time. */
const PAUSE_MS = 50;

/** A service of two workers over the database of another one that only creates applications. */
async function open(t: Parameters<typeof startService>[0], env: Record<string, string> = {}) {
  const service = await startService(t);
  const shop = await service.merchant();
  const workers = await startWorkers(t, service.databaseUrl, { PAY_SIMULATOR_URL: service.simulator.url, ...env });
  return { service, shop, workers };
}

/** The results of continuous payment requests. */
interface Load {
  placed: string[];
  /** The codes and times of failed connections. */
  failed: { code: string; at: number }[];
  asked: number;
  stop(): Promise<void>;
}

/** Sends payments until it is stopped; uncertain ones are repeated under their key. */
function load(shop: Merchant, { url }: Workers, subject: string, pauseMs = 0): Load {
  const found: Load = { placed: [], failed: [], asked: 0, stop };
  let goesOn = true;
  const queues = Array.from({ length: LANES }, async (_, queueKey) => {
    for (let turn = 0; goesOn; turn += 1) {
      await payOnce(`${subject}-${queueKey}-${turn}`);
      if (pauseMs > 0) await delay(pauseMs);
    }
  });
  return found;

  async function payOnce(key: string): Promise<void> {
    const body = { subject, amount: 5, payWay: 'alipay' };
    for (let tries = 0; goesOn || tries === 0; tries += 1) {
      found.asked += 1;
      try {
        const answer = await shop.callAt(url, 'POST', '/api/v2/payment/pay', body, { 'idempotency-key': key });
        if (answer.status === 201) return void found.placed.push(answer.body.data.orderNo);
      } catch (error) {
        const code = String(((error as Error).cause as { code?: string } | undefined)?.code ?? error);
        found.failed.push({ code, at: performance.now() });
      }
    }
  }

  async function stop(): Promise<void> {
    goesOn = false;
    await Promise.all(queues);
  }
}

/** A pair of workers in three phases: at the start, when one is killed, and when all are replaced and stopped. */
test('two workers on one address lose nothing when one is killed or all are replaced, and SIGTERM answers accepted requests', async (t) => {
  const drainSeconds = 1;
  // A slow machine needs longer than the usual drain time.
  const env = { PAY_SERVER_DRAIN_SECONDS: String(drainSeconds), PAY_SERVER_SHUTDOWN_SECONDS: '120' };
  const opened = await open(t, env);
  const { token } = await firstAdmin(opened.service);
  await serveTogether(t, opened, token);
  await replaceKilled(t, opened);
  await replaceAll(t, opened);
  await stopAll(t, opened, drainSeconds, token);
});

type Opened = Awaited<ReturnType<typeof open>>;

/** The workers serve one address, share their figures, and each reports to a reader of one of them. */
async function serveTogether(t: ExecutionContext, { shop, workers }: Opened, token: string): Promise<void> {
  t.is(new Set(workers.pids()).size, 2);
  const sent = 40;
  const placed = await inParallel(sent, 8, async (turn) =>
    shop.callAt(workers.url, 'POST', '/api/v2/payment/pay', { subject: `Tea ${turn}`, amount: 5, payWay: 'alipay' }),
  );
  const done = placed.filter(({ status }) => status === 201);
  t.is(new Set(done.map(({ body }) => body.data.orderNo)).size, done.length);
  t.true(done.length > 0);
  const counted = async () => {
    const text = await (await fetch(workers.metricsUrl)).text();
    const counts = text.matchAll(/^http_request_duration_seconds_count\{[^}]*payment\/pay[^}]*\} (\d+)/gm);
    return { text, requests: [...counts].reduce((sum, [, count]) => sum + Number(count), 0) };
  };
  await until('all are counted', async () => (await counted()).requests === sent);
  t.regex((await counted()).text, /^jobs_last_look_timestamp_seconds \d/m);
  const live = await reading(workers, token, '/api/v1/live');
  const reported = (text: string) => messagesIn(text).findLast(({ data }) => data.replicas)?.data.replicas ?? [];
  const text = await live.until((one) => reported(one).length === 2);
  t.deepEqual(
    reported(text)
      .map(({ pid }: { pid: number }) => pid)
      .toSorted(),
    workers.pids().toSorted(),
  );
  t.deepEqual(
    reported(text).map(({ worker }: { worker: number }) => worker),
    [1, 2],
  );
  await live.stop();
}

/** A killed worker is replaced, and nothing that it acknowledged is lost. */
async function replaceKilled(t: ExecutionContext, { service, shop, workers }: Opened): Promise<void> {
  const under = load(shop, workers, 'Killed');
  await until('some payments', async () => under.placed.length > 10);
  const [victim, other] = workers.pids() as [number, number];
  process.kill(victim, 'SIGKILL');
  await until('another worker', async () => workers.pids().length === 2 && !workers.pids().includes(victim));
  t.true(workers.pids().includes(other));
  const before = under.placed.length;
  await until('more payments', async () => under.placed.length > before + 10);
  await under.stop();
  t.log(`${under.asked} requests, ${under.placed.length} placed, ${under.failed.length} connections cut`);
  t.is(new Set(under.placed).size, under.placed.length);
  const kept = await service.app.store.read((tx) => tx.orders.list({ orderNo: under.placed }));
  t.is(kept.length, under.placed.length);
  t.is(workers.lines('a worker died').length, 1);
}

/** SIGHUP replaces every worker while requests continue: none fails. */
async function replaceAll(t: ExecutionContext, { shop, workers }: Opened): Promise<void> {
  const old = workers.pids();
  const under = load(shop, workers, 'Replaced', PAUSE_MS);
  await until('some payments', async () => under.placed.length > 10);
  workers.signal('SIGHUP');
  await until('all are new', async () => workers.lines('all workers were replaced').length === 1);
  const before = under.placed.length;
  await until('more payments', async () => under.placed.length > before + 10);
  await under.stop();
  t.deepEqual(under.failed, []);
  t.is(workers.pids().length, 2);
  t.deepEqual(
    workers.pids().filter((pid) => old.includes(pid)),
    [],
  );
  t.log(`${under.asked} requests, ${under.placed.length} placed, none failed`);
}

/** SIGTERM: accepted requests are answered, then no further ones are accepted, and an open stream ends. */
async function stopAll(
  t: ExecutionContext,
  { service, shop, workers }: Opened,
  drainSeconds: number,
  token: string,
): Promise<void> {
  const live = await reading(workers, token, '/api/v1/live');
  const under = load(shop, workers, 'Stopped');
  await until('some payments', async () => under.placed.length > 10);
  const told = performance.now();
  workers.signal('SIGTERM');
  t.is((await workers.ended).code, 0);
  await under.stop();
  // Until the supervisor has closed the socket too, the system accepts connections that no worker serves, and resets them.
  t.deepEqual(
    under.failed.filter(({ code }) => code !== 'ECONNREFUSED' && code !== 'ECONNRESET'),
    [],
  );
  const early = under.failed.filter(({ at }) => at < told + drainSeconds * 1000);
  t.deepEqual(early, [], 'every request is answered during the drain');
  t.true(under.failed.length > 0);
  const kept = await service.app.store.read((tx) => tx.orders.list({ subject: 'Stopped' }));
  t.deepEqual(
    kept.map(({ orderNo }) => orderNo).toSorted(),
    under.placed.toSorted(),
    'every placed order was answered',
  );
  await live.ended();
  t.deepEqual(workers.pids(), []);
}

test('exactly the configured number of workers runs after several died at once, and after one died while another started', async (t) => {
  const service = await startService(t);
  const workers = await startWorkers(t, service.databaseUrl, { PAY_SIMULATOR_URL: service.simulator.url });
  const first = workers.pids();
  for (const pid of first) process.kill(pid, 'SIGKILL');
  const isNew = (pid: number) => !first.includes(pid);
  await until('both are replaced', async () => workers.pids().filter(isNew).length === 2);
  t.is(workers.lines('a worker died').length, 2);
  workers.signal('SIGHUP');
  await until('a new one starts', async () => workers.lines('replacing all workers').length === 1);
  process.kill(workers.pids()[0]!, 'SIGKILL');
  await until('all are new', async () => workers.lines('all workers were replaced').length === 1);
  workers.signal('SIGTERM');
  t.is((await workers.ended).code, 0);
  const stopped = workers.lines('stopping').filter((line) => 'workers' in line);
  t.deepEqual(
    stopped.map((line) => line['workers']),
    [2],
    'those that start are counted, too',
  );
});

test('a cause that prevents workers from starting is reported once, with the message of a single-process service', async (t) => {
  const service = await startService(t);
  const taken = createServer();
  const port = await listenOnFreePort(taken);
  t.teardown(() => void taken.close());
  const told = [];
  for (const workers of ['1', '2']) {
    const env = {
      PAY_SERVER_WORKERS: workers,
      PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
      PAY_SIMULATOR_URL: service.simulator.url,
    };
    const { code, stderr } = await (await startWorkers(t, service.databaseUrl, env)).ended;
    told.push({ code, stderr });
  }
  t.regex(told[0]!.stderr, /^error: /);
  t.deepEqual(told[1], told[0]);
  const metrics = { PAY_METRICS_LISTEN: `127.0.0.1:${port}`, PAY_SIMULATOR_URL: service.simulator.url };
  const blocked = await (await startWorkers(t, service.databaseUrl, metrics)).ended;
  t.is(blocked.code, 6);
  t.regex(blocked.stderr, /Metrics\.Listen: .* is already in use/);
  const { code, stderr } = await (await startWorkers(t, `pglite://./data`, { PAY_DEBUG: 'false' })).ended;
  t.is(code, 2);
  t.regex(stderr, /Server\.Workers.*must be 1 or auto with the embedded database/);
});
