import test from 'ava';
import { count, inParallel } from '../support/counts.ts';
import { haproxy, haproxyByItsSample, isInstalled, nginx, nginxByItsSample, startProxy } from '../house/proxies.ts';
import { startReplica, type Replica } from '../support/replica.ts';
import { freePort } from '../support/free-port.ts';
import { startService, until } from '../support/service.ts';

const LANES = 8;

for (const proxy of [haproxy, haproxyByItsSample, nginx, nginxByItsSample])
  test.serial(`rolling restarts behind ${proxy.name} fail no request`, async (t) => {
    if (!isInstalled(proxy)) {
      t.log(`${proxy.program} is not installed: not tested`);
      return t.pass();
    }
    // The drain time of production, which is chosen for these balancers.
    const service = await startService(t, { env: { PAY_SERVER_DRAIN_SECONDS: '8' } });
    const shop = await service.merchant();
    const ports = [await freePort(), await freePort()];
    const launch = (port: number): Promise<Replica> =>
      startReplica(t, { environment: service.environment, simulatorUrl: service.simulator.url, port });
    const replicas = await Promise.all(ports.map(launch));
    const entrance = await freePort();
    startProxy(t, proxy, entrance, ports);
    const url = `http://127.0.0.1:${entrance}`;
    await until('the balancer answers', () =>
      fetch(`${url}/health/db`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    const answeredBy = new Map<string, number>();
    const failed: string[] = [];
    const unserved: string[] = [];
    let busy = 0;
    let requests = 0;
    let running = true;
    const send = async (method: string, path: string, body?: unknown) => {
      requests += 1;
      try {
        const answer = await shop.callAt(url, method, path, body);
        const server = /(\d+)$/.exec(answer.headers.get('x-upstream') ?? '')?.[1] ?? '';
        answeredBy.set(server, (answeredBy.get(server) ?? 0) + 1);
        const what = `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`;
        // An overloaded machine is distinguished from a stop that loses a request.
        if (/^(database_(busy|unavailable)|channel_outcome_unknown)$/.test(answer.body?.code)) busy += 1;
        else if (answer.status === 503) unserved.push(what);
        else if (answer.status >= 400) failed.push(what);
        return answer;
      } catch (error) {
        failed.push(`${method} ${path}: ${String(error)} ${String((error as Error).cause)}`);
        return undefined;
      }
    };
    const load = inParallel(LANES, LANES, async () => {
      while (running) {
        const order = { subject: 'Restart', amount: 8, payWay: 'wechat' };
        const placed = await send('POST', '/api/v2/payment/pay', order);
        const orderNo = placed?.body?.data?.orderNo as string | undefined;
        for (let look = 0; orderNo && look < 5; look += 1) await send('GET', `/api/v2/payment/query/${orderNo}`);
      }
    });
    const restarts = count(20, 2);
    const exits: (string | number)[] = [];
    for (let restart = 0; restart < restarts; restart += 1) {
      const which = restart % 2;
      const port = ports[which]!;
      exits.push(await replicas[which]!.kill('SIGTERM'));
      replicas[which] = await launch(port);
      answeredBy.delete(String(port));
      await until('the fresh one is used', async () => (answeredBy.get(String(port)) ?? 0) > 10, 120_000);
    }
    running = false;
    await load;
    t.log(
      `${proxy.name}: ${restarts} restarts, ${requests} requests, ${failed.length} failed, ${busy} found the machine busy`,
    );
    // The remaining replica was unhealthy, too, so the balancer had no server.
    if (busy === 0) failed.push(...unserved);
    t.deepEqual(failed, []);
    t.deepEqual(
      exits,
      exits.map(() => 0),
    );
  });
