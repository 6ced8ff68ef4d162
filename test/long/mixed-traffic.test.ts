import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { firstAdmin } from '../support/admin.ts';
import { count } from '../support/counts.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startReplica } from '../support/replica.ts';
import { freePort } from '../support/free-port.ts';
import { type Merchant, startService, until } from '../support/service.ts';
import type { Store } from '../../server/db/store.ts';

/** Writes `n` events of an application, each with a delivery that is due, oldest first. */
async function backlogOf(
  store: Store,
  { clientId, url, n }: { clientId: string; url: string; n: number },
): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.sql`insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at)
       select 'evt_heap_' || n, 'order.paid', ${clientId}, 'default', 'H' || n, 'once', '{}', now() - interval '1 hour'
         from generate_series(1, ${n}) n`;
    await tx.sql`insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
       select gen_random_uuid(), 'evt_heap_' || n, ${clientId}, 'webhook', ${url}, 'pending', 0, now() - interval '1 hour', now()
         from generate_series(1, ${n}) n`;
    await tx.sql`analyze deliveries`;
  });
}

/** A receiver that accepts every connection and never answers. */
async function deadReceiver(t: Pick<ExecutionContext, 'teardown'>): Promise<{ url: string; taken(): number }> {
  const sockets = new Set<{ destroy(): void }>();
  let taken = 0;
  const server = createServer((socket) => {
    taken += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, taken: () => taken };
}

const LANES = 4;

/** Milliseconds, one for each order. */
interface Times {
  placed: number[];
  told: number[];
}

test('a silent channel, a dead receiver and the backlog of one application do not slow another channel’s orders', async (t) => {
  const service = await startService(t, { env: { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } });
  const { store } = service.app;
  const desk = await firstAdmin(service);
  const appOf = async (url: string): Promise<Merchant> => {
    const shop = await service.merchant();
    const set = await desk.call('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, { url });
    t.is(set.status, 201, JSON.stringify(set.body));
    return shop;
  };
  const receiver = await startReceiver(t);
  const patient = await startReceiver(t);
  const dead = await deadReceiver(t);
  const live = await appOf(receiver.url);
  const unheard = await appOf(dead.url);
  const heap = await appOf(patient.url);
  const launch = async () =>
    startReplica(t, {
      environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
      simulatorUrl: service.simulator.url,
      port: await freePort(),
      jobs: true,
    });
  const replicas = [await launch(), await launch()];

  /** Places, pays and awaits the webhooks of orders of the live channel until the time is over. */
  const sell = async (seconds: number): Promise<Times> => {
    const times: Times = { placed: [], told: [] };
    const end = performance.now() + seconds * 1000;
    const queueKey = async (which: number) => {
      for (let round = 0; performance.now() < end; round += 1) {
        const at = replicas[(which + round) % 2]!.url;
        const asked = performance.now();
        const { status, body } = await live.callAt(at, 'POST', '/api/v2/payment/pay', order('wechat'));
        times.placed.push(performance.now() - asked);
        t.is(status, 201, JSON.stringify(body));
        const { orderNo } = body.data;
        const paid = performance.now();
        await service.sim('/sim/pay', { orderNo });
        await until(`${orderNo} is told`, async () => isTold(receiver, orderNo));
        times.told.push(performance.now() - paid);
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, which) => queueKey(which)));
    return times;
  };

  await sell(count(5, 1));
  const calm = await sell(count(120, 10));
  const n = count(100_000, 5_000);
  await backlogOf(store, { clientId: heap.clientId, url: patient.url, n });
  await service.sim('/sim/faults', { payWay: 'alipay', fault: 'timeout', probability: 1, hangUpMs: 3_000 });
  let storming = true;
  const silent: number[] = [];
  const storm = Promise.all([
    ...Array.from({ length: 4 }, async (_, which) => {
      while (storming) {
        const at = replicas[which % 2]!.url;
        silent.push((await live.callAt(at, 'POST', '/api/v2/payment/pay', order('alipay'))).status);
      }
    }),
    (async () => {
      while (storming) {
        const { body } = await unheard.callAt(replicas[0]!.url, 'POST', '/api/v2/payment/pay', order('wechat'));
        await service.sim('/sim/pay', { orderNo: body.data.orderNo });
      }
    })(),
  ]);
  const stormy = await sell(count(600, 20));
  const left = await store.read((tx) => tx.deliveries.count({ clientId: heap.clientId, state: 'pending' }));
  storming = false;
  await storm;

  t.log(`calm: ${describe(calm)}`);
  t.log(`storm: ${describe(stormy)}`);
  t.log(
    `${silent.length} requests to the silent channel, ${dead.taken()} connections to the dead receiver, ${n - left} of ${n} due rows of one application worked`,
  );
  t.deepEqual([...new Set(silent)], [504], 'the silent channel is reported as silent');
  t.true(n - left > 0 && dead.taken() > 0);
  const counted = calm.told.length + stormy.told.length;
  const [twice] = await store.read(
    (tx) =>
      tx.sql<{
        paid: number;
        events: number;
      }>`select count(*)::int as paid, (select count(*)::int from events e where e.client_id = ${live.clientId} and e.type = 'order.paid') as events
         from orders where client_id = ${live.clientId} and state = 'paid'`,
  );
  t.is(twice!.paid, twice!.events, 'each payment is one event');
  t.true(twice!.paid >= counted);
});

function order(payWay: string) {
  return { subject: 'Mixed', amount: 8, payWay };
}

/** The order numbers received so far; messages are parsed once. */
const told = new WeakMap<Receiver, { read: number; numbers: Set<string> }>();

function isTold(receiver: Receiver, orderNo: string): boolean {
  const seen = told.get(receiver) ?? { read: 0, numbers: new Set<string>() };
  told.set(receiver, seen);
  for (const { body } of receiver.received.slice(seen.read)) {
    const { type, data } = JSON.parse(body) as { type: string; data: { object: { orderNo: string } } };
    if (type === 'order.paid') seen.numbers.add(data.object.orderNo);
  }
  seen.read = receiver.received.length;
  return seen.numbers.has(orderNo);
}

function describe({ placed, told: heard }: Times): string {
  return `${heard.length} orders, placed ${percentiles(placed)}, from paid to told ${percentiles(heard)}`;
}

function percentiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(0);
  return `p50 ${at(0.5)} p99 ${at(0.99)} ms`;
}
