import test from 'ava';
import { createClock } from '../../../server/simulator/clock.ts';

const never = (error: unknown) => {
  throw error;
};

test('advancing runs due tasks in order, including tasks scheduled meanwhile, and no later ones', async (t) => {
  const clock = createClock(0, 1, never);
  const ran: string[] = [];
  clock.schedule(20_000, () => ran.push('second'));
  clock.schedule(10_000, async () => {
    await Promise.resolve();
    ran.push('first');
    clock.schedule(15_000, () => ran.push('third'));
  });
  clock.schedule(90_000, () => ran.push('later'));
  await clock.advance(60_000);
  t.deepEqual(ran, ['first', 'second', 'third']);
  clock.stop();
});

test('the time factor shortens only the scaled tasks', async (t) => {
  const clock = createClock(0, 0.1, never);
  const ran: string[] = [];
  clock.schedule(100_000, () => ran.push('scaled'));
  clock.schedule(100_000, () => ran.push('plain'), false);
  await clock.advance(20_000);
  t.deepEqual(ran, ['scaled']);
  clock.stop();
});

test('a failed task is reported and does not stop the others', async (t) => {
  const told: unknown[] = [];
  const clock = createClock(0, 1, (error) => told.push(error));
  const ran: string[] = [];
  clock.schedule(1000, () => Promise.reject(new Error('broken')));
  clock.schedule(2000, () => ran.push('next'));
  await clock.advance(5000);
  t.is(told.length, 1);
  t.deepEqual(ran, ['next']);
  clock.stop();
});

test('a stopped clock runs no more tasks', async (t) => {
  const clock = createClock(3_600_000, 1, never);
  t.true(clock.now() >= Date.now() + 3_599_000);
  clock.stop();
  clock.schedule(0, () => t.fail());
  await clock.advance(1000);
  t.pass();
});
