import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import test from 'ava';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { gatherFigures } from '../../../server/workers/supervisor.ts';
import type { WorkerWord } from '../../../server/workers/life.ts';

/** A fake worker that responds unless it is blocked. */
function fakeWorker() {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({ name: 'requests_total', help: 'Requests.', labelNames: ['route'], registers });
  const durations = new Histogram({ name: 'seconds', help: 'Durations.', buckets: [1], registers });
  const oldest = new Gauge({ name: 'oldest', help: 'Oldest.', aggregator: 'min', registers });
  const state = { isHeldUp: false, isConnected: true };
  const worker = Object.assign(new EventEmitter(), {
    isConnected: () => state.isConnected,
    send: () => void (state.isHeldUp || say()),
  });
  const say = async () => {
    const word: WorkerWord = { pay: 'figures', figures: JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())) };
    worker.emit('message', word);
  };
  return {
    worker: worker as unknown as Worker,
    requests,
    durations,
    oldest,
    state,
    say,
    end() {
      state.isConnected = false;
      worker.emit('disconnect');
    },
  };
}

function valueOf(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

test('worker metrics are merged, each with its own aggregation', async (t) => {
  const figures = gatherFigures();
  const [one, two] = [fakeWorker(), fakeWorker()];
  for (const { worker } of [one, two]) figures.watch(worker);
  one.requests.inc({ route: '/pay' }, 3);
  two.requests.inc({ route: '/pay' }, 4);
  one.durations.observe(0.5);
  two.durations.observe(2);
  one.oldest.set(7);
  two.oldest.set(5);
  const text = await figures.metrics();
  t.is(valueOf(text, 'requests_total{route="/pay"}'), 7);
  t.is(valueOf(text, 'seconds_bucket{le="1"}'), 1);
  t.is(valueOf(text, 'seconds_count'), 2);
  t.is(valueOf(text, 'oldest'), 5);
});

test('the counts of an ended worker remain, and no counter decreases', async (t) => {
  const figures = gatherFigures();
  let [one, two] = [fakeWorker(), fakeWorker()];
  for (const { worker } of [one, two]) figures.watch(worker);
  let before = 0;
  for (let round = 0; round < 5; round += 1) {
    one.requests.inc({ route: '/pay' }, 10);
    two.requests.inc({ route: '/pay' }, 1);
    one.durations.observe(0.5);
    two.oldest.set(round);
    const counted = valueOf(await figures.metrics(), 'requests_total{route="/pay"}');
    t.is(counted, before + 11);
    before = counted;
    // An ending worker reports its last metrics.
    one.requests.inc({ route: '/pay' }, 5);
    await one.say();
    one.end();
    one = fakeWorker();
    figures.watch(one.worker);
    before += 5;
    t.is(valueOf(await figures.metrics(), 'requests_total{route="/pay"}'), before);
  }
  const text = await figures.metrics();
  t.is(valueOf(text, 'seconds_count'), 5);
  two.end();
  two = fakeWorker();
  t.is(
    valueOf(await figures.metrics(), 'requests_total{route="/pay"}'),
    before,
    'one that was killed counts as it did',
  );
  t.notRegex(await figures.metrics(), /^oldest 4$/m, 'how something is, is over with it');
});

test('a blocked worker keeps its last counts and delays no other worker', async (t) => {
  const figures = gatherFigures(1);
  const [one, two] = [fakeWorker(), fakeWorker()];
  for (const { worker } of [one, two]) figures.watch(worker);
  one.requests.inc({ route: '/pay' }, 3);
  two.requests.inc({ route: '/pay' }, 4);
  await Promise.all([one.say(), two.say()]);
  two.state.isHeldUp = true;
  one.requests.inc({ route: '/pay' }, 1);
  await one.say();
  t.is(valueOf(await figures.metrics(), 'requests_total{route="/pay"}'), 8);
});

test('there are no metrics before the first worker is ready', async (t) => {
  t.is((await gatherFigures().metrics()).trim(), '');
});
