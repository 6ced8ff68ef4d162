import test from 'ava';
import { createPrint, envText, tsvLine, type OutputFlags } from '../../../cli/output.ts';
import { createTerminal } from '../../../cli/terminal.ts';
import type { View } from '../../../cli/values.ts';
import { displayWidth } from '../../../cli/terminal-text.ts';
import { collector } from '../../cli/payctl.ts';

const VIEW: View = {
  noun: 'order',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'amount', kind: 'money' },
    { field: 'createdAt', kind: 'time' },
    { field: 'subject' },
  ],
};
const ROWS = [
  {
    orderNo: 'P1',
    status: 'paid',
    amount: 12.3,
    currency: 'CNY',
    createdAt: '2026-11-21T05:55:00.000Z',
    subject: '红茶红茶红茶红茶红茶红茶红茶红茶',
  },
  {
    orderNo: 'P2',
    status: 'closed',
    amount: 100,
    currency: 'CNY',
    createdAt: '2026-11-21T05:00:00.000Z',
    subject: 'tab\there',
  },
];

function printer(flags: OutputFlags, columns?: number) {
  const out = collector(columns);
  const err = collector(columns);
  const terminal = createTerminal({
    stdin: process.stdin,
    stdout: out.stream,
    stderr: err.stream,
    env: { NO_COLOR: '1' },
    cwd: '/',
  });
  const print = createPrint({ ...terminal, now: () => new Date('2026-11-21T06:00:00.000Z') }, flags);
  return { print, out: out.text, err: err.text };
}

for (const width of [30, 45, 60, 80, 200]) {
  test(`a table fits ${width} columns, and ids stay whole`, async (t) => {
    const { print, out } = printer({}, width);
    await print.list(ROWS, VIEW);
    const lines = out().trimEnd().split('\n');
    t.true(lines.every((line) => displayWidth(line) <= width));
    t.regex(lines[1] ?? '', /^P1/);
  });
}

test('a wide terminal shows everything, times relative', async (t) => {
  const { print, out } = printer({}, 200);
  await print.list(ROWS, VIEW);
  t.snapshot(out());
});

test('omitted columns are named on stderr', async (t) => {
  const { print, err } = printer({}, 30);
  await print.list(ROWS, VIEW);
  t.regex(err(), /^(1 more column does|\d+ more columns do) not fit;/m);
});

test('a pipe gets uncut TSV without headings, with ISO times', async (t) => {
  const { print, out } = printer({});
  await print.list(ROWS, VIEW);
  t.is(
    out(),
    'P1\tpaid\t12.3\t2026-11-21T05:55:00.000Z\t红茶红茶红茶红茶红茶红茶红茶红茶\nP2\tclosed\t100\t2026-11-21T05:00:00.000Z\ttab\\there\n',
  );
});

test('--headers adds headings to TSV, and --no-headers removes them from a table', async (t) => {
  const piped = printer({ headers: true });
  await piped.print.list(ROWS, VIEW);
  t.regex(piped.out(), /^orderNo\tstatus\tamount\tcreatedAt\tsubject\n/);
  const shown = printer({ headers: false }, 200);
  await shown.print.list(ROWS, VIEW);
  t.regex(shown.out(), /^P1/);
});

test('JSON: a bare array for a list, a bare object for one', async (t) => {
  const list = printer({ output: 'json' });
  await list.print.list(ROWS, VIEW);
  t.deepEqual(JSON.parse(list.out()), ROWS);
  const item = printer({ output: 'json' });
  await item.print.item(ROWS[0]!, VIEW);
  t.deepEqual(JSON.parse(item.out()), ROWS[0]);
});

test('-q and -o name print ids', async (t) => {
  const quiet = printer({ quiet: true, output: 'json' });
  await quiet.print.list(ROWS, VIEW);
  t.is(quiet.out(), 'P1\nP2\n');
  const named = printer({ output: 'name' });
  await named.print.list(ROWS, VIEW);
  t.is(named.out(), 'order/P1\norder/P2\n');
});

test('--fields selects in every format, and an unknown field is a usage error that lists the fields', async (t) => {
  const tsv = printer({ fields: ['status'] });
  await tsv.print.item(ROWS[0]!, VIEW);
  t.is(tsv.out(), 'paid\n');
  const json = printer({ fields: ['orderNo', 'currency'], output: 'json' });
  await json.print.list(ROWS, VIEW);
  t.deepEqual(JSON.parse(json.out())[0], { orderNo: 'P1', currency: 'CNY' });
  const error = await t.throwsAsync(printer({ fields: ['nope'] }).print.list(ROWS, VIEW));
  t.regex(error?.message ?? '', /Unknown field "nope"/);
});

test('env output is quoted for a shell', (t) => {
  t.is(
    envText({ client_id: 'app_1', clientSecret: "a'b c", scopes: ['x', 'y'] }),
    "CLIENT_ID=app_1\nCLIENT_SECRET='a'\\''b c'\nSCOPES=x,y\n",
  );
});

test('TSV escapes tabs, line ends and backslashes', (t) =>
  t.is(tsvLine(['a\tb', 'c\nd', 'e\\f']), 'a\\tb\tc\\nd\te\\\\f\n'));

test('notes are silent in JSON mode without a terminal, so that stderr holds at most one object', async (t) => {
  const json = printer({ output: 'json' });
  await json.print.note('hello');
  t.is(json.err(), '');
  const table = printer({ output: 'table' });
  await table.print.note('hello');
  t.is(table.err(), 'hello\n');
});

test('-q silences success messages', async (t) => {
  const { print, err } = printer({ quiet: true });
  await print.done('Created.');
  t.is(err(), '');
});
