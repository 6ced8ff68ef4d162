import test from 'ava';
import { readTradeBill } from '../../../../server/channels/wechat/bill-file.ts';
import { billFile, collect } from '../bill-trial.ts';
import { billText, DAY, MCHID, type Row } from './bill-file.ts';

const OURS: Row = { sub: '1900000201', ordered: 1000, fee: 6000, orderNo: 'P1', tradeNo: '42000001' };
const THEIRS: Row = { sub: '1900000202', ordered: 2000, fee: 12000, orderNo: 'P2', tradeNo: '42000002' };

test('in a bill of all merchants the rows of other merchants are skipped, even unreadable ones', async (t) => {
  const lines = billText([OURS, THEIRS]).split('\r\n');
  lines[2] = lines[2]!.replace('`20.00', '`twenty');
  const file = await billFile(t, lines.join('\r\n'));
  const owner = { mchid: MCHID, subMchid: '1900000201', isWhole: true };
  const { lines: read, totals } = await collect(readTradeBill(file, DAY, owner, true));
  t.deepEqual(
    read.map(({ kind, orderNo }) => [kind, orderNo]),
    [['payment', 'P1']],
  );
  t.is(totals?.length, 1, 'all rows of this merchant were read');
});

test('a hundred and one unreadable rows of other merchants do not refuse the bill', async (t) => {
  const rows = [OURS, ...Array.from({ length: 101 }, () => THEIRS)];
  const text = billText(rows)
    .split('\r\n')
    .map((line, at) => (at > 1 && at < 103 ? line.replace('`20.00', '`twenty') : line));
  const owner = { mchid: MCHID, subMchid: '1900000201', isWhole: true };
  const file = await billFile(t, text.join('\r\n'));
  const { lines } = await collect(readTradeBill(file, DAY, owner, true));
  t.is(lines.filter(({ kind }) => kind === 'payment').length, 1);
});
