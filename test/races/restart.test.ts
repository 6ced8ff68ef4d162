import test, { type ExecutionContext } from 'ava';
import { Agent, createServer, request } from 'node:http';
import { assertLedgersMatch, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { startReplica, type Replica } from '../support/replica.ts';
import { freePort, listenOnFreePort } from '../support/free-port.ts';
import { startService, until } from '../support/service.ts';

/** Spreads requests over replicas; a removed replica gets no new requests and finishes its running ones. */
interface Balancer {
  url: string;
  add(replica: string): void;
  takeOut(replica: string): void;
}

/** How a balancer learns that a replica stops. */
interface BalancerOptions {
  /** The interval of its health checks, which exclude unhealthy replicas; without it the test removes them. */
  checksEveryMs?: number;
}

/** A minimal load balancer: round robin without retries, so every dropped request is seen. */
async function startBalancer(t: ExecutionContext, { checksEveryMs }: BalancerOptions = {}): Promise<Balancer> {
  const replicas: string[] = [];
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const sick = new Set<string>();
  const server = createServer((incoming, response) => {
    const well = replicas.filter((replica) => !sick.has(replica));
    const target = well[turn++ % well.length];
    const { method, headers, url } = incoming;
    const onward = request(`${target}${url}`, { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', (error) => {
      response.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ dropped: String(error) }));
    });
    incoming.pipe(onward);
  });
  const port = await listenOnFreePort(server);
  const check = async (replica: string): Promise<void> => {
    const answer = await fetch(`${replica}/health/db`).catch(() => undefined);
    if (answer?.ok) sick.delete(replica);
    else sick.add(replica);
  };
  const checks = checksEveryMs && setInterval(() => replicas.forEach((one) => void check(one)), checksEveryMs);
  t.teardown(() => {
    if (checks) clearInterval(checks);
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    add: (replica) => void replicas.push(replica),
    takeOut: (replica) => void replicas.splice(replicas.indexOf(replica), 1),
  };
}

/** How a balancer learns of a stop, in turn: it is notified before, or it checks the health and keeps its connections. */
const WAYS = [
  { isTold: true, drainSeconds: '0' },
  { isTold: false, drainSeconds: '5' },
] as const;

interface Launched extends Replica {
  isTold: boolean;
}

test('G10: rolling restarts of two replicas behind a balancer, notified or by health checks, drop no request during slow channel calls', async (t) => {
  const service = await startService(t, { timeoutMs: 6000 });
  const shop = await service.merchant();
  const balancer = await startBalancer(t, { checksEveryMs: 100 });
  let launches = 0;
  const launch = async (): Promise<Launched> => {
    const { isTold, drainSeconds } = WAYS[launches++ % WAYS.length]!;
    const replica = await startReplica(t, {
      environment: {
        ...service.environment,
        PAY_SERVER_PUBLIC_URL: service.url,
        PAY_SERVER_DRAIN_SECONDS: drainSeconds,
      },
      simulatorUrl: service.simulator.url,
      port: await freePort(),
    });
    balancer.add(replica.url);
    return { ...replica, isTold };
  };
  // Every channel call is slow, so that replicas stop during one.
  for (const payWay of ['alipay', 'wechat', 'paypal'])
    await service.sim('/sim/faults', { payWay, fault: 'delay', delayMs: 500, probability: 1 });
  let [one, other] = [await launch(), await launch()];
  let running = true;
  const answered: Record<string, number> = {};
  const failed: string[] = [];
  const note = (what: string, status: number, body: unknown): void => {
    answered[what] = (answered[what] ?? 0) + 1;
    if (status >= 400) failed.push(`${what}: ${status} ${JSON.stringify(body)}`);
  };
  const load = inParallel(6, 6, async (queueKey) => {
    for (let round = 0; running; round += 1) {
      const payWay = (['alipay', 'wechat', 'paypal'] as const)[(queueKey + round) % 3]!;
      const order = { subject: 'Restart', amount: 8, payWay };
      const placed = await shop.callAt(balancer.url, 'POST', '/api/v2/payment/pay', order);
      note('pay', placed.status, placed.body);
      const orderNo = placed.body.data?.orderNo;
      if (orderNo === undefined) continue;
      const seen = await shop.callAt(balancer.url, 'GET', `/api/v2/payment/query/${orderNo}`);
      note('query', seen.status, seen.body);
      if (round % 2 === 1) continue;
      const closed = await shop.callAt(balancer.url, 'POST', `/api/v2/payment/close/${orderNo}`);
      note('close', closed.status, closed.body);
    }
  });
  const restarts = count(20, 1) * WAYS.length;
  const exits: (string | number)[] = [];
  for (let restart = 0; restart < restarts; restart += 1) {
    const before = answered['pay'] ?? 0;
    await until('some load', async () => (answered['pay'] ?? 0) >= before + 6, 60_000);
    const fresh = await launch();
    if (one.isTold) balancer.takeOut(one.url);
    // It ended by itself: only SIGTERM is sent, and SIGKILL would show as its signal.
    exits.push(await one.kill('SIGTERM'));
    if (!one.isTold) balancer.takeOut(one.url);
    [one, other] = [other, fresh];
  }
  running = false;
  await load;
  t.deepEqual(failed, []);
  t.deepEqual(
    exits,
    exits.map(() => 0),
  );
  await service.sim('/sim/reset-faults', {});
  await runUntilQuiet(service, 10 * 3600, 1800);
  t.deepEqual(await unexplained(service), []);
  await assertLedgersMatch(t, service);
  const sum = Object.entries(answered).map(([what, times]) => `${times} ${what}`);
  t.log(`${restarts} restarts: ${sum.join(', ')}; 0 failed; every exit 0`);
});
