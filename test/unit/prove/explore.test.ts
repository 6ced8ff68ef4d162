import test from 'ava';
import { SCOPES } from '../../prove/explore/bounds.ts';
import { explore } from '../../prove/explore/explore.ts';
import { answer } from '../../prove/explore/truth.ts';
import { count } from '../../support/counts.ts';

const LIMITS = { mostStates: 1_500, mostFaults: 1 };

test.serial('an exploration finds the same states each time and no faults', async (t) => {
  const small = SCOPES.filter(({ name }) => name.endsWith('the channel refuses, and is silent'));
  t.is(small.length, 4);
  for (const scope of small) {
    const first = await explore(scope, LIMITS);
    t.deepEqual(first.faults, [], scope.name);
    const { seconds: _one, ...again } = await explore(scope, LIMITS);
    const { seconds: _other, ...once } = first;
    t.deepEqual(again, once, scope.name);
    t.true(first.states > 500, scope.name);
  }
});

test.serial('the nearest states of every scope have no faults', async (t) => {
  for (const scope of SCOPES)
    t.deepEqual((await explore(scope, { mostStates: count(120, 50), mostFaults: 1 })).faults, [], scope.name);
});

const scopeOf = (name: string) => SCOPES.find((one) => one.name === name)!;

test.serial('a channel whose close silently refunds money is found, with the steps that led to it', async (t) => {
  const { faults } = await explore(
    scopeOf('till: an order is closed twice and asked about, while it is paid'),
    LIMITS,
    (truth, call, now, how) => {
      const done = answer(truth, call, now, how);
      return call.method === 'close' ? { ...done, said: { kind: 'closed' } } : done;
    },
  );
  t.is(faults.length, 1);
  t.regex(faults[0]!.wrong.join(), /at the end P\w+ \(closed\)|nothing has come to an end/);
  t.true(
    faults[0]!.story.some((one) => one.startsWith('the payer pays')),
    faults[0]!.story.join('\n'),
  );
  t.true(
    faults[0]!.story.some((one) => one.startsWith('close')),
    faults[0]!.story.join('\n'),
  );
});

test.serial('a channel that doubles a refund and a channel that forgets one are found', async (t) => {
  const scope = scopeOf('approved: refunds beyond the payment, with silence');
  const twice = await explore(scope, LIMITS, (truth, call, now, how) => {
    const done = answer(truth, call, now, how);
    if (call.method !== 'refund' || done.truth === truth) return done;
    const [trade] = done.truth.trades;
    const last = trade!.refunds.at(-1)!;
    const refunds = [...trade!.refunds, { ...last, number: `${last.number}_2` }];
    return { ...done, truth: { ...done.truth, trades: [{ ...trade!, refunds }] } };
  });
  t.regex(twice.faults.flatMap(({ wrong }) => wrong).join(), /happened 2 times|refunded 500, the channel 1000/);
  const forgotten = await explore(scope, LIMITS, (truth, call, now, how) => {
    const done = answer(truth, call, now, how);
    return call.method === 'refund' ? { ...done, truth } : done;
  });
  t.regex(forgotten.faults.flatMap(({ wrong }) => wrong).join(), /refunded 500, the channel 0/);
});
