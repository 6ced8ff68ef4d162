import test from 'ava';
import { csvLine } from '../../server/csv.ts';

test('a CSV line follows RFC 4180', (t) => {
  t.is(
    csvLine(['a', 'b,c', 'say "hi"', 'two\nlines', null, undefined, 12.5, true]),
    'a,"b,c","say ""hi""","two\nlines",,,12.5,true\r\n',
  );
});

test('text that a spreadsheet would execute gets an apostrophe prefix, and numbers stay numbers', (t) => {
  for (const evil of [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\tx',
    '\rx',
    ' =1',
    '＝1',
    '＋1',
    '－1',
    '＠SUM(A1)',
    '\u3000＝1',
    '﹦1',
    '=cmd|"/c calc"!A1',
  ])
    t.regex(csvLine([evil]), /^"?'/, JSON.stringify(evil));
  for (const plain of ['咖啡 ＋ 茶', 'a=b', 'a＝b']) t.is(csvLine([plain]), `${plain}\r\n`);
  t.is(csvLine([-5]), '-5\r\n');
});
