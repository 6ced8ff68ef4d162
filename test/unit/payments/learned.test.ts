import test from 'ava';
import { LEARNED_BY, learnedBy } from '../../../server/payments/learned.ts';

const CASES = [
  ['notice', 'channel:wechat', 'notice'],
  ['capture', 'channel:paypal', 'notice'],
  ['check', 'channel:paypal', 'notice'],
  ['query', 'app:app_1', 'poll'],
  ['query', 'payer', 'payer'],
  ['capture', 'payer', 'payer'],
  ['agent', 'app:app_1', 'payer'],
  ['capture', 'app:app_1', 'poll'],
  ['place', 'app:app_1', 'poll'],
  ['check', 'service', 'poll'],
  ['capture', 'service', 'poll'],
  ['close', 'app:app_1', 'poll'],
  ['sync', 'admin:alice', 'poll'],
  ['bill', 'service', 'bill'],
  ['resolve', 'admin:alice', 'person'],
] as const;

test('what told of a payment first follows from why its order moved', (t) => {
  for (const [cause, actor, by] of CASES) t.is(learnedBy({ cause, actor }), by, `${cause} by ${actor}`);
  t.deepEqual(new Set(CASES.map(([, , by]) => by)), new Set(LEARNED_BY));
});
