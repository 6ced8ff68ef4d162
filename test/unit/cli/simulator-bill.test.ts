import test from 'ava';
import { CONDITIONS as offered, PLANTS as plantable } from '../../../cli/commands/simulator/bill.ts';
import { CONDITIONS } from '../../../server/simulator/bills/conditions.ts';
import { PLANTS } from '../../../server/simulator/bills/plants.ts';

test('payctl offers what the simulator can do with bills', (t) => {
  t.deepEqual([...plantable].toSorted(), [...PLANTS].toSorted());
  t.deepEqual([...offered].toSorted(), [...CONDITIONS].toSorted());
});
