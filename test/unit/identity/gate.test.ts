import test from 'ava';
import { createGate } from '../../../server/identity/passwords.ts';

test('the gate runs a few jobs at once, queues a few and rejects the rest with 503', async (t) => {
  const gate = createGate({ slots: 2, queue: 3 });
  const opens: (() => void)[] = [];
  let most = 0;
  let running = 0;
  const work = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => opens.push(resolve));
    running -= 1;
  };
  const all = Array.from({ length: 8 }, () => gate(work));
  const settled = Promise.allSettled(all);
  for (let done = 0; done < 5;) {
    const open = opens.shift();
    if (open) done += 1;
    open?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const results = await settled;
  t.is(most, 2);
  const refused = results.filter((result) => result.status === 'rejected');
  t.is(refused.length, 3);
  for (const { reason } of refused) t.like(reason, { status: 503, code: 'login_busy' });
});

test('failed work frees its slot', async (t) => {
  const gate = createGate({ slots: 1, queue: 0 });
  for (let at = 0; at < 3; at += 1)
    await t.throwsAsync(
      gate(() => Promise.reject(new Error('no'))),
      { message: 'no' },
    );
  t.is(await gate(async () => 7), 7);
});

test('reserved work goes first and is admitted even if the open queue is full', async (t) => {
  const gate = createGate({ slots: 1, queue: 2 });
  const order: string[] = [];
  const note = (what: string) => async () => void order.push(what);
  const held = Promise.withResolvers<void>();
  const first = gate(() => held.promise);
  const open = [gate(note('open 1')), gate(note('open 2'))];
  await t.throwsAsync(gate(note('open 3')), { message: /Too many logins/ });
  const reserved = gate(note('reserved'), 'reserved');
  held.resolve();
  await Promise.all([first, ...open, reserved]);
  t.deepEqual(order, ['reserved', 'open 1', 'open 2']);
});
