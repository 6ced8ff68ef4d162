import test from 'ava';
import { ADVICE } from '../../../cli/commands/bill-fetch.ts';
import { DIFFERENCE_STATES, DIFFERENCE_KINDS, LINE_KINDS, BILL_STATES } from '../../../cli/commands/bill-view.ts';
import { progressBar } from '../../../cli/spinner.ts';
import { BILL_FAULTS, BILL_LINE_KINDS } from '../../../server/payments/channel.ts';
import * as server from '../../../server/domain.ts';
import { runPayctl } from '../../support/cli.ts';

test('payctl knows the states, kinds and faults of the service', (t) => {
  t.deepEqual([...BILL_STATES], [...server.BILL_STATES]);
  t.deepEqual([...DIFFERENCE_KINDS], [...server.DIFFERENCE_KINDS, server.NOT_OURS]);
  t.deepEqual([...DIFFERENCE_STATES], [...server.DIFFERENCE_STATES]);
  t.deepEqual([...LINE_KINDS], [...BILL_LINE_KINDS]);
  t.deepEqual(Object.keys(ADVICE).toSorted(), [...BILL_FAULTS].toSorted());
});

test('a bar is as long as what is done', (t) => {
  t.is(progressBar(0, 100), '░'.repeat(20) + '   0%');
  t.is(progressBar(45, 100), '█'.repeat(9) + '░'.repeat(11) + '  45%');
  t.is(progressBar(120, 100), '█'.repeat(20) + ' 100%');
  t.is(progressBar(0, 0), '█'.repeat(20) + ' 100%');
});

for (const date of ['2026-13-01', '2026-02-30', '20261120', 'yesterday'])
  test(`${date} is no day`, async (t) => {
    const { code, stderr } = await runPayctl(['bill', 'fetch', '--pay-way', 'wechat', '--date', date]);
    t.is(code, 2);
    t.true(stderr.includes('2026-01-31'), stderr);
  });
