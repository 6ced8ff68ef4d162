import test from 'ava';
import { describeError } from '../../../server/http/faults.ts';
import { logText } from '../../../server/http/logger.ts';
import { TransportFailed } from '../../../server/payments/channel.ts';

const time = '2026-11-25T10:20:30.400Z';
const clock = new Date(time).toTimeString().slice(0, 8);
const bare = (_look: unknown, text: string) => text;
const text = (line: object) => logText(JSON.stringify({ level: 'info', time, ...line }), bare);

test('a line has its time, level, message and fields', (t) => {
  t.is(
    text({ level: 'warn', msg: 'channel call', payWay: 'wechat', ms: 6000, orderNo: 'P1', note: 'two words' }),
    `${clock} WARN  channel call payWay=wechat ms=6000 orderNo=P1 note="two words"\n`,
  );
});

test('a request line has its method, route, status, time and caller', (t) => {
  const request = { method: 'POST', route: '/api/v2/payment/pay', status: 201, ms: 12.3, ip: '::1', requestId: 'r' };
  t.is(
    text({ msg: 'request', ...request, caller: 'app_1', orderNo: 'P1' }),
    `${clock} INFO  POST /api/v2/payment/pay 201 12.3 ms app_1 orderNo=P1\n`,
  );
});

test('an internal error is followed by its stack, and an external failure is one line', (t) => {
  const ours = text({ level: 'error', msg: 'a task failed', err: describeError(new TypeError('no such thing')) });
  t.regex(ours, /^.* ERROR a task failed\n {4}TypeError: no such thing\n {4}at .*log-text\.test\.ts/);
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  for (const error of [
    new TransportFailed('timeout', 'No complete response within 6000 ms.'),
    new Error('select 1 - timeout exceeded when trying to connect'),
    new Error('failed', { cause }),
  ]) {
    const line = text({ msg: 'jobs could not look for due rows', err: describeError(error) });
    t.is(line.trimEnd().split('\n').length, 1, line);
    t.true(line.includes(error.message.replace('select 1 - ', '')), line);
  }
});

test('no control sequence in a line reaches the terminal', (t) => {
  const evil = '\u001b[2J\u009b31m\u202eabc\nnext';
  const line = text({
    msg: `seen ${evil}`,
    note: evil,
    err: { type: 'Error', message: evil, stack: `    at ${evil}` },
  });
  // oxlint-disable-next-line no-control-regex -- the test is about control characters
  t.notRegex(line.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f\u202e]/);
  t.is(line.trimEnd().split('\n').length, 4, 'of the stack alone line ends are line ends');
  t.true(line.includes(String.raw`\u001b[2J`));
});

test('colours differ by level', (t) => {
  const painted = logText(
    JSON.stringify({ level: 'error', time, msg: 'no' }),
    (look, words) => `<${[look].flat().join()}>${words}`,
  );
  t.true(painted.includes('<red>ERROR'));
});
