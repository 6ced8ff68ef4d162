import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { checkOrder } from '../../server/payments/orders/order.ts';
import { placeOrder, payOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';
import { addSkill, offerSkill, paySkill, redeemAt } from '../support/skillpay.ts';

/** Channel messages are written beside the requests, many at once. */
const MESSAGES = /^with fresh as materialized/;
const BEGIN = /^(?:start transaction|begin)\b/i;
const END = /^(?:commit|rollback)\b(?! to)/i;

/**
 * Counts the transactions of this process: a single statement is one, and so is everything from begin to commit. A begin sent with
 * the next statement (db/pool.ts) is no statement of its own.
 */
function watchTransactions(t: ExecutionContext) {
  const { query } = pg.Client.prototype;
  const open = new WeakSet<pg.Client>();
  let transactions = 0;
  let statements = 0;
  pg.Client.prototype.query = function (this: pg.Client, ...words: Parameters<typeof query>) {
    const [{ text, names = [] }] = words as unknown as [{ text: string; names?: readonly string[] }];
    const begins = BEGIN.test(text) || names.includes('pay_begin');
    if (!MESSAGES.test(text)) {
      statements += 1;
      if (begins) open.add(this);
      if (END.test(text)) open.delete(this);
      if (begins || !(open.has(this) || END.test(text))) transactions += 1;
    }
    return Reflect.apply(query, this, words);
  } as never;
  t.teardown(() => void Object.assign(pg.Client.prototype, { query }));
  return {
    forget() {
      transactions = 0;
      statements = 0;
    },
    seen: () => ({ transactions, statements }),
  };
}

test('common merchant calls and nightly jobs take few transactions', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant({ scopes: ['payment:write', 'payment:read', 'skillpay:call'] });
  await addSkill(service);
  const paid = await payOrder(service, shop, { amount: 20 });
  const offer = await offerSkill(shop);
  await paySkill(service, offer);
  await redeemAt(service.url, shop, offer);
  const tea = { subject: 'Tea', amount: 5, payWay: 'alipay' };
  const pay = (key?: string) =>
    shop.call('POST', '/api/v2/payment/pay', tea, key === undefined ? {} : { 'Idempotency-Key': key });
  // The first payment of a process builds its channel and records the use of the application.
  await pay('first');
  const open = await placeOrder(shop, {});
  const { seen, forget } = watchTransactions(t);
  const scenes: [
    string,
    (turn: number) => Promise<{ status: number }>,
    { transactions: number; statements: number },
  ][] = [
    [
      'the query of a paid order',
      () => shop.call('GET', `/api/v2/payment/query/${paid}`),
      { transactions: 2, statements: 2 },
    ],
    ['pay', () => pay(), { transactions: 4, statements: 8 }],
    ['pay with an Idempotency-Key', (turn) => pay(`key-${turn}`), { transactions: 5, statements: 10 }],
    ['a repeated pay', () => pay('key-0'), { transactions: 1, statements: 1 }],
    [
      'an offer',
      () => shop.call('POST', '/api/v2/skillpay/resource', { resource: 'weather', payWay: 'alipay' }),
      { transactions: 5, statements: 14 },
    ],
    [
      'the repeat of a call that was given',
      () => redeemAt(service.url, shop, offer),
      { transactions: 2, statements: 2 },
    ],
    [
      'the check of an unpaid order',
      async () => {
        await checkOrder(service.app.ports)(open);
        return { status: 200 };
      },
      { transactions: 3, statements: 6 },
    ],
  ];
  for (const [what, ask, most] of scenes) {
    const tries: { transactions: number; statements: number }[] = [];
    // The run with the fewest counts: occasional writes (a channel's health, the last use of an application) and the preparation of
    // a new connection (db/pool.ts) belong to none.
    for (let turn = 0; turn < 5; turn += 1) {
      forget();
      t.true((await ask(turn)).status < 403, what);
      tries.push(seen());
    }
    const [{ transactions, statements } = most] = tries.toSorted(
      (a, b) => a.transactions - b.transactions || a.statements - b.statements,
    );
    t.log(`${what}: ${transactions} transactions, ${statements} statements`);
    t.true(transactions <= most.transactions, `${what}: ${transactions} transactions`);
    // Behind a pooler a begin is a message of its own, and a single writing statement a transaction.
    const bounds = service.app.database.pooler ? 8 : 0;
    t.true(statements <= most.statements + bounds, `${what}: ${statements} statements`);
  }
});
