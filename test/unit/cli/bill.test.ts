import test from 'ava';
import { ADVICE } from '../../../cli/commands/bill-fetch.ts';
import { progressBar } from '../../../cli/terminal.ts';
import { BILL_FAULTS } from '../../../server/payments/channel.ts';
import { runPayctl } from '../../cli/payctl.ts';

test('payctl has advice for every bill fault', (t) => {
  t.deepEqual(Object.keys(ADVICE).toSorted(), [...BILL_FAULTS].toSorted());
});

test('the bar length shows the progress', (t) => {
  t.is(progressBar(0, 100), '░'.repeat(20) + '   0%');
  t.is(progressBar(45, 100), '█'.repeat(9) + '░'.repeat(11) + '  45%');
  t.is(progressBar(120, 100), '█'.repeat(20) + ' 100%');
  t.is(progressBar(0, 0), '█'.repeat(20) + ' 100%');
});

for (const date of ['2026-13-01', '2026-02-30', '20261120', 'yesterday'])
  test(`${date} is rejected as a date`, async (t) => {
    const { code, stderr } = await runPayctl(['bill', 'fetch', '--pay-way', 'wechat', '--date', date]);
    t.is(code, 2);
    t.true(stderr.includes('2026-01-31'), stderr);
  });
