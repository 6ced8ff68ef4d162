import test from 'ava';
import { CONDITIONS as offered, PLANTS as plantable } from '../../../cli/commands/simulator.ts';
import { DIFFERENCE_KINDS, NOT_OURS } from '../../../server/domain.ts';
import { CONDITIONS, PLANTS } from '../../../server/simulator/bills/book.ts';
import { runPayctl } from '../../cli/payctl.ts';

test('payctl offers every bill difference and condition of the simulator', (t) => {
  t.deepEqual([...plantable].toSorted(), [...PLANTS].toSorted());
  t.deepEqual([...offered].toSorted(), [...CONDITIONS].toSorted());
});

test('every difference kind of the service can be planted', (t) => {
  t.deepEqual([...PLANTS].toSorted(), [...DIFFERENCE_KINDS, NOT_OURS, 'withdrawal'].toSorted());
});

test('the help names every difference and every condition', async (t) => {
  for (const [verb, names] of [
    ['plant', PLANTS],
    ['condition', CONDITIONS],
  ] as const) {
    const { code, stdout } = await runPayctl(['simulator', 'bill', verb, '--help']);
    t.is(code, 0);
    const words = stdout.split(/[\s,;:]+/);
    t.deepEqual(
      names.filter((name) => !words.includes(name)),
      [],
      verb,
    );
  }
});
