import test from 'ava';
import { Registry } from 'prom-client';
import { createJobMetrics, createScheduler } from '../../../server/jobs/scheduler.ts';
import { concurrencyOfAccounts } from '../../../server/jobs/queues.ts';
import { fakeRows, rowsOf } from './due-rows.ts';
import { createClock, until } from '../../support/service.ts';

test('full and held queues are reported by kind and channel, never by account, project or receiver', async (t) => {
  const registry = new Registry();
  const figures = createJobMetrics(registry);
  const clock = createClock();
  clock.stop();
  const gate = Promise.withResolvers<void>();
  const run = () => gate.promise;
  const orders = fakeRows(rowsOf(9, 'alipay live 1', 'alipay live 2'));
  const deliveries = fakeRows(rowsOf(9, 'app_a //shop.example'));
  const scheduler = createScheduler({
    store: orders.store,
    now: clock.now,
    log: () => {},
    kinds: [
      { name: 'order', rows: orders.rows, run, ...concurrencyOfAccounts({ perAccount: 2, perChannel: 4 }) },
      { name: 'delivery', rows: deliveries.rows, run, concurrency: 8, queueConcurrency: 2 },
    ],
    tasks: [],
    lookForDue: async () => [1, 1],
    takeTask: async () => false,
    planTask: async () => {},
    lookMs: 2,
    ...figures,
  });
  figures.observe(scheduler);
  scheduler.start();
  const lines = async (name: string) =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`) && !line.endsWith(' 0'));
  await until(
    'all places are taken',
    async () => scheduler.busy()['order'] === 4 && scheduler.busy()['delivery'] === 2,
  );
  const full = [
    'jobs_lanes{kind="order",channel="alipay",state="full"} 2',
    'jobs_lanes{kind="delivery",channel="",state="full"} 1',
  ];
  t.deepEqual(await lines('jobs_lanes'), full);
  clock.advance(4);
  const held = full.map((line) => line.replace('full', 'held'));
  t.deepEqual((await lines('jobs_lanes')).toSorted(), [...full, ...held].toSorted());
  figures.leaseLost('order');
  t.deepEqual(await lines('jobs_leases_lost_total'), ['jobs_leases_lost_total{kind="order"} 1']);
  const stopped = scheduler.stop(60_000);
  gate.resolve();
  await stopped;
  // A slow queue is remembered for a while; nothing waits any more.
  t.deepEqual((await lines('jobs_lanes')).filter((line) => line.includes('order') && line.includes('held')).length, 1);
});
