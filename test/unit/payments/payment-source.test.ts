import test from 'ava';
import { PAYMENT_SOURCES, paymentSourceOf } from '../../../server/payments/ledger.ts';

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
  ['place', 'app:app_1', 'code', 'code'],
  ['check', 'service', 'code', 'code'],
  ['notice', 'channel:alipay', 'notice', 'code'],
] as const;

test('the source of a payment follows from the cause and actor of its transition', (t) => {
  for (const [cause, actor, by, scene = 'qr'] of CASES)
    t.is(paymentSourceOf({ cause, actor }, scene), by, `${cause} by ${actor}`);
  t.deepEqual([...new Set(CASES.map(([, , by]) => by))].toSorted(), PAYMENT_SOURCES.toSorted());
});
