import test from 'ava';
import { accepted, notText, spoiled } from '../../support/catalog-app.ts';
import { serviceOfFile, uniqueCode } from '../../support/file-service.ts';
import { openOwnMarket, type Market } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin, service } = file;
coverRoutes(test, file);

const hat = { userId: 'ann', amount: 20, bizNo: 'hat-1' };

/** A market whose payer `ann` has bought 100 coins `gold`. */
async function sold(): Promise<Market> {
  const market = await openOwnMarket(file);
  await admin('POST', `/api/v1/coins?project=${market.project}`, { code: 'gold', name: 'Gold' });
  await market.product({ code: 'coins-100', kind: 'coin_package', coin: { code: 'gold', amount: 90, bonus: 10 } });
  await market.paid({ product: 'coins-100', userId: 'ann' });
  return market;
}

test.serial('the balance is the purchased amount, bonus included', async (t) => {
  const { shop } = await sold();
  const { status, body } = await shop.call('GET', '/api/v2/coins/gold/balance?userId=ann');
  t.is(status, 200);
  t.deepEqual(body.data, { userId: 'ann', coin: 'gold', available: 100 });
});

test.serial('a payer who never had coins has a balance of zero', async (t) => {
  const { shop } = await sold();
  const { body } = await shop.call('GET', '/api/v2/coins/gold/balance?userId=bob');
  t.deepEqual(body.data, { userId: 'bob', coin: 'gold', available: 0 });
});

test.serial('a debit takes coins and returns the remaining balance', async (t) => {
  const { shop } = await sold();
  const { status, body } = await shop.call('POST', '/api/v2/coins/gold/debit', { ...hat, memo: 'A new hat' });
  t.is(status, 200);
  t.like(body.data, { amount: -20, balanceAfter: 80, kind: 'debit', bizNo: 'hat-1', memo: 'A new hat' });
});

test.serial('a debit with the same bizNo and amount is the same debit', async (t) => {
  const { shop } = await sold();
  const first = await shop.call('POST', '/api/v2/coins/gold/debit', hat);
  const again = await shop.call('POST', '/api/v2/coins/gold/debit', hat);
  t.deepEqual([again.status, again.body], [200, first.body]);
  t.is((await shop.call('GET', '/api/v2/coins/gold/balance?userId=ann')).body.data.available, 80);
});

test.serial('a debit with the same bizNo and another amount is refused', async (t) => {
  const { shop } = await sold();
  await shop.call('POST', '/api/v2/coins/gold/debit', hat);
  refused(t, await shop.call('POST', '/api/v2/coins/gold/debit', { ...hat, amount: 21 }), 409, 'biz_no_used');
});

test.serial('a debit above the balance is refused, and the answer shows the balance', async (t) => {
  const { shop } = await sold();
  const answer = await shop.call('POST', '/api/v2/coins/gold/debit', { ...hat, amount: 101 });
  refused(t, answer, 409, 'coins_insufficient');
  t.is(answer.body.available, 100);
  const poor = await shop.call('POST', '/api/v2/coins/gold/debit', { ...hat, userId: 'bob' });
  refused(t, poor, 409, 'coins_insufficient');
});

test.serial('a disabled coin cannot be spent', async (t) => {
  const { shop, project } = await sold();
  await admin('PUT', `/api/v1/coins/gold/toggle?project=${project}`, { enabled: false });
  refused(t, await shop.call('POST', '/api/v2/coins/gold/debit', hat), 422, 'coin_disabled');
});

test.serial('an Idempotency-Key returns the stored answer, and is refused with another debit', async (t) => {
  const { shop } = await sold();
  const debit = (body: object) => shop.call('POST', '/api/v2/coins/gold/debit', body, { 'idempotency-key': 'k1' });
  const first = await debit(hat);
  const again = await debit(hat);
  t.deepEqual([again.status, again.body], [200, first.body]);
  t.is(again.headers.get('idempotent-replayed'), 'true');
  refused(t, await debit({ ...hat, amount: 1 }), 422, 'idempotency_conflict');
});

test.serial('two concurrent debits with one Idempotency-Key take coins once', async (t) => {
  const { shop } = await sold();
  const debit = () => shop.call('POST', '/api/v2/coins/gold/debit', hat, { 'idempotency-key': 'k1' });
  const both = await Promise.all([debit(), debit()]);
  t.true(both.every(({ status }) => status === 200 || status === 409));
  t.true(both.some(({ status }) => status === 200));
  t.is((await shop.call('GET', '/api/v2/coins/gold/balance?userId=ann')).body.data.available, 80);
});

test.serial('the ledger of a payer is read newest first, in pages', async (t) => {
  const { shop } = await sold();
  await shop.call('POST', '/api/v2/coins/gold/debit', hat);
  const first = await shop.call('GET', '/api/v2/coins/gold/entries?userId=ann&limit=1');
  t.is(first.status, 200);
  t.like(first.body.data[0], { kind: 'debit', amount: -20, balanceAfter: 80 });
  const { nextCursor } = first.body.page;
  const rest = await shop.call('GET', `/api/v2/coins/gold/entries?userId=ann&cursor=${nextCursor}`);
  t.is(rest.body.data.length, 1);
  t.like(rest.body.data[0], { kind: 'credit', amount: 100, balanceAfter: 100 });
});

test.serial('credits and debits are reported as events', async (t) => {
  const { shop } = await sold();
  await shop.call('POST', '/api/v2/coins/gold/debit', hat);
  const { clientId } = shop;
  const events = await service.app.store.read((tx) =>
    tx.events.list({ clientId, type: ['coin.credited', 'coin.debited'] }, { orderBy: { sequence: 'asc' } }),
  );
  t.deepEqual(
    events.map(({ type }) => type),
    ['coin.credited', 'coin.debited'],
  );
});

test.serial('a coin of another project is the same 404 as a missing one', async (t) => {
  const { shop } = await openOwnMarket(file);
  await sold();
  const nothing = uniqueCode('coin');
  for (const [method, path, body] of [
    ['GET', 'balance?userId=ann', undefined],
    ['GET', 'entries?userId=ann', undefined],
    ['POST', 'debit', hat],
  ] as const) {
    const theirs = await shop.call(method, `/api/v2/coins/gold/${path}`, body);
    const nobodys = await shop.call(method, `/api/v2/coins/${nothing}/${path}`, body);
    refused(t, theirs, 404, 'not_found');
    t.deepEqual({ ...theirs.body, requestId: '' }, { ...nobodys.body, requestId: '' });
  }
});

test.serial('a debit with an invalid member is 400 and takes nothing', async (t) => {
  const { shop } = await sold();
  const bad = {
    amount: [0, -1, 1.5, '1', null, {}, [], 1e15, { $gt: 0 }],
    userId: [...notText, 'x'.repeat(65)],
    bizNo: [...notText, 'a b', 'a:b'],
    memo: [1, ''],
  };
  t.deepEqual(await accepted(shop.call, 'POST', '/api/v2/coins/gold/debit', spoiled(hat, bad)), []);
  refused(t, await shop.call('POST', '/api/v2/coins/gold/debit', { ...hat, amount: 0 }), 400, 'invalid_request');
  t.is((await shop.call('GET', '/api/v2/coins/gold/balance?userId=ann')).body.data.available, 100);
});

test.serial('an invalid query is 400', async (t) => {
  const shop = await file.shop({ scopes: ['coin:read'] });
  for (const query of ['', '?userId=', '?user=ann', '?userId=ann&userId=bob'])
    refused(t, await shop.call('GET', `/api/v2/coins/gold/balance${query}`), 400, 'invalid_request');
  const crafted = Buffer.from('2030-01-01T00:00:00.000Z|abc').toString('base64url');
  const entries = `/api/v2/coins/gold/entries?userId=ann&cursor=${crafted}`;
  refused(t, await shop.call('GET', entries), 400, 'invalid_request');
});
