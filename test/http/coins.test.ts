import test from 'ava';
import { accepted, catalogApp, notText, spoiled } from '../support/catalog-app.ts';

const V1 = '/api/v1/coins';
const V2 = '/api/v2/coins';
const debit = { userId: 'ann', amount: 20, bizNo: 'hat-1' };

test('a coin is made, changed, toggled and deleted; with entries or a package it is in use', async (t) => {
  const { admin, soldPackage } = await catalogApp(t);
  t.like((await admin('POST', V1, { code: 'silver', name: 'Silver' })).body.data, {
    clawback: 'refuse',
    enabled: true,
  });
  t.is((await admin('POST', V1, { code: 'silver', name: 'Silver' })).body.code, 'code_taken');
  t.like((await admin('PUT', `${V1}/silver`, { clawback: 'debt' })).body.data, { name: 'Silver', clawback: 'debt' });
  t.like((await admin('PUT', `${V1}/silver/toggle`)).body.data, { enabled: false });
  t.is((await admin('DELETE', `${V1}/silver`)).status, 204);
  t.is((await admin('GET', `${V1}/silver`)).status, 404);
  await soldPackage('refuse');
  t.like(await admin('DELETE', `${V1}/gold`), { status: 409, body: { code: 'in_use' } });
  t.like((await admin('GET', '/api/v1/users/ann/coins')).body.data, [{ coin: 'gold', balance: 100, available: 100 }]);
});

test('balance, debit and entries of a merchant; the same bizNo once, another amount 409, too much 409', async (t) => {
  const { shop, soldPackage, store } = await catalogApp(t);
  await soldPackage('refuse');
  t.deepEqual((await shop('GET', `${V2}/gold/balance?userId=ann`)).body.data, {
    userId: 'ann',
    coin: 'gold',
    available: 100,
  });
  const taken = await shop('POST', `${V2}/gold/debit`, { ...debit, memo: 'A new hat' });
  t.is(taken.status, 200);
  t.like(taken.body.data, { amount: -20, balanceAfter: 80, kind: 'debit', bizNo: 'hat-1', memo: 'A new hat' });
  t.deepEqual((await shop('POST', `${V2}/gold/debit`, debit)).body.data, taken.body.data);
  t.like(await shop('POST', `${V2}/gold/debit`, { ...debit, amount: 21 }), {
    status: 409,
    body: { code: 'biz_no_used' },
  });
  t.like(await shop('POST', `${V2}/gold/debit`, { ...debit, bizNo: 'b', amount: 81 }), {
    status: 409,
    body: { code: 'coins_insufficient' },
  });
  t.is((await shop('POST', `${V2}/gold/debit`, { ...debit, userId: 'bob' })).body.code, 'coins_insufficient');
  t.deepEqual((await shop('GET', `${V2}/gold/balance?userId=bob`)).body.data, {
    userId: 'bob',
    coin: 'gold',
    available: 0,
  });
  const first = await shop('GET', `${V2}/gold/entries?userId=ann&limit=1`);
  const rest = await shop('GET', `${V2}/gold/entries?userId=ann&cursor=${first.body.page?.nextCursor}`);
  const kinds = [first, rest].map(({ body }) => (body.data as { kind: string }[]).map(({ kind }) => kind));
  t.deepEqual(kinds, [['debit'], ['credit']]);
  const events = await store.read((tx) => tx.events.list({ type: ['coin.credited', 'coin.debited'] }));
  t.deepEqual(events.map(({ type, clientId }) => [type, clientId]).toSorted(), [
    ['coin.credited', 'shop'],
    ['coin.debited', 'shop'],
  ]);
});

test('an Idempotency-Key gives the stored answer back, refuses another body, and two at once are one debit', async (t) => {
  const { shop, soldPackage, account } = await catalogApp(t);
  await soldPackage('refuse');
  const headers = { 'idempotency-key': 'k1' };
  const send = (body: object) => shop('POST', `${V2}/gold/debit`, body, headers);
  const both = await Promise.all([send(debit), send(debit)]);
  t.true(both.every(({ status }) => status === 200 || status === 409));
  t.true(both.some(({ status }) => status === 200));
  const replayed = await send(debit);
  t.is(replayed.headers.get('idempotent-replayed'), 'true');
  t.is((replayed.body.data as { amount: number }).amount, -20);
  t.like(await send({ ...debit, amount: 1 }), { status: 422, body: { code: 'idempotency_conflict' } });
  t.is((await account()).balance, 80);
});

test('a disabled coin is neither spent nor sold; another project sees nothing of it', async (t) => {
  const { admin, shop, stranger, soldPackage, place } = await catalogApp(t);
  await soldPackage('refuse');
  await admin('PUT', `${V1}/gold/toggle`, { enabled: false });
  t.like(await shop('POST', `${V2}/gold/debit`, debit), { status: 422, body: { code: 'coin_disabled' } });
  await t.throwsAsync(place({ product: 'coins-100', userId: 'ann' }), { message: /coin of the package/ });
  for (const [method, path, body] of [
    ['GET', `${V2}/gold/balance?userId=ann`, undefined],
    ['GET', `${V2}/gold/entries?userId=ann`, undefined],
    ['POST', `${V2}/gold/debit`, debit],
  ] as const) {
    const [theirs, nothing] = [
      await stranger(method, path, body),
      await stranger(method, path.replace('gold', 'no'), body),
    ];
    t.is(theirs.status, 404, path);
    t.deepEqual({ ...theirs.body, requestId: '', instance: '' }, { ...nothing.body, requestId: '', instance: '' });
  }
});

test('adjustments add and take, never below zero, with a line in the audit log', async (t) => {
  const { admin, viewer, store } = await catalogApp(t);
  await admin('POST', V1, { code: 'gold', name: 'Gold' });
  const adjust = (amount: number) =>
    admin('POST', `${V1}/gold/adjustments`, { userId: 'ann', amount, reason: 'by hand' });
  t.is((await adjust(30)).status, 201);
  t.like((await adjust(-10)).body.data, { amount: -10, balanceAfter: 20, kind: 'adjustment' });
  t.is((await adjust(-21)).body.code, 'coins_insufficient');
  t.deepEqual((await viewer('GET', `${V1}/gold/accounts/ann`)).body.data, {
    userId: 'ann',
    coin: 'gold',
    balance: 20,
    held: 0,
    available: 20,
    debt: 0,
  });
  t.is(((await viewer('GET', `${V1}/gold/accounts`)).body.data as unknown[]).length, 1);
  t.is(((await viewer('GET', `${V1}/gold/entries?userId=ann`)).body.data as unknown[]).length, 2);
  t.is(await store.read((tx) => tx.audit.count({ action: 'coin.adjust' })), 2);
  t.is((await viewer('POST', `${V1}/gold/adjustments`, { userId: 'ann', amount: 1, reason: 'x' })).status, 403);
});

test('bad bodies are 400 and move nothing', async (t) => {
  const { admin, shop, as, soldPackage, account } = await catalogApp(t);
  await soldPackage('refuse');
  const amounts = [0, 1.5, '1', null, {}, [], 1e15, { $gt: 0 }];
  const userId = [...notText, 'x'.repeat(65)];
  const taken = spoiled(debit, { amount: [...amounts, -1], userId, bizNo: [...notText, 'a b', 'a:b'], memo: [1, ''] });
  t.deepEqual(await accepted(shop, 'POST', `${V2}/gold/debit`, taken), []);
  const adjusted = spoiled({ userId: 'ann', amount: 1, reason: 'x' }, { amount: amounts, userId, reason: notText });
  t.deepEqual(await accepted(admin, 'POST', `${V1}/gold/adjustments`, adjusted), []);
  const made = spoiled(
    { code: 'x', name: 'x' },
    { code: [...notText, 'a b'], name: notText, clawback: ['x', 1, null] },
  );
  t.deepEqual(await accepted(admin, 'POST', V1, made), []);
  t.deepEqual(await accepted(admin, 'PUT', `${V1}/gold`, [null, [], { clawback: 'never' }, { name: '' }]), []);
  t.is((await account()).balance, 100);
  for (const query of ['', '?userId=', '?user=ann', '?userId=ann&userId=bob'])
    t.is((await shop('GET', `${V2}/gold/balance${query}`)).status, 400, query);
  const crafted = Buffer.from('2030-01-01T00:00:00.000Z|abc').toString('base64url');
  t.is((await shop('GET', `${V2}/gold/entries?userId=ann&cursor=${crafted}`)).status, 400);
  t.is((await admin('GET', `${V1}/gold/accounts?cursor=${crafted}`)).status, 400);
  t.is((await as('payer-only')('POST', `${V2}/gold/debit`, debit)).status, 403);
  t.is((await as('payer-only')('GET', `${V2}/gold/balance?userId=ann`)).status, 403);
});
