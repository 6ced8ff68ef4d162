import test from 'ava';
import { accepted, catalogApp, notText, spoiled } from '../../support/catalog-app.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin: desk } = file;
coverRoutes(test, file);

const V1 = '/api/v1/coins';
const V2 = '/api/v2/coins';
const debit = { userId: 'ann', amount: 20, bizNo: 'hat-1' };

test.serial('a coin is created, changed, toggled and deleted; with entries or a package it is in use', async (t) => {
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

test.serial('adjustments add and take coins, never below zero, with a line in the audit log', async (t) => {
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

test.serial('an Idempotency-Key used for the coin of one project is refused for the coin of another', async (t) => {
  const [one, other] = [await file.project(), await file.project()];
  for (const project of [one, other]) await desk('POST', `${V1}?project=${project}`, { code: 'gold', name: 'Gold' });
  const body = { userId: 'ann', amount: 5, reason: 'by hand' };
  const adjust = (project: string) =>
    desk('POST', `${V1}/gold/adjustments?project=${project}`, body, { 'idempotency-key': 'one-key' });
  t.is((await adjust(one)).status, 201);
  refused(t, await adjust(other), 422, 'idempotency_conflict');
  t.is((await adjust(one)).headers.get('idempotent-replayed'), 'true');
});

test.serial('invalid bodies are 400 and change nothing', async (t) => {
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

const gold = { code: 'gold', name: 'Gold' };

test.serial('coins are listed and shown', async (t) => {
  const project = await file.project();
  await desk('POST', `${V1}?project=${project}`, gold);
  const list = await desk('GET', `${V1}?project=${project}`);
  t.is(list.status, 200);
  t.is(list.body.data.length, 1);
  t.like(list.body.data[0], { ...gold, project, clawback: 'refuse', enabled: true });
  const shown = await desk('GET', `${V1}/gold?project=${project}`);
  t.is(shown.status, 200);
  t.deepEqual(shown.body.data, list.body.data[0]);
});

test.serial('a coin code is unique within its project', async (t) => {
  const project = await file.project();
  t.is((await desk('POST', `${V1}?project=${project}`, gold)).status, 201);
  refused(t, await desk('POST', `${V1}?project=${project}`, gold), 409, 'code_taken');
});

test.serial('an Idempotency-Key adjusts once, and is refused with another adjustment', async (t) => {
  const project = await file.project();
  await desk('POST', `${V1}?project=${project}`, gold);
  const adjust = (amount: number) => {
    const body = { userId: 'ann', amount, reason: 'by hand' };
    return desk('POST', `${V1}/gold/adjustments?project=${project}`, body, { 'idempotency-key': project });
  };
  const first = await adjust(30);
  t.is(first.status, 201);
  t.deepEqual((await adjust(30)).body, first.body);
  refused(t, await adjust(31), 422, 'idempotency_conflict');
  const account = await desk('GET', `${V1}/gold/accounts/ann?project=${project}`);
  t.like(account.body.data, { balance: 30, available: 30 });
});

const OPERATIONS = [
  ['GET', '', undefined],
  ['PUT', '', { name: 'Gold' }],
  ['PUT', '/toggle', {}],
  ['DELETE', '', undefined],
  ['GET', '/accounts', undefined],
  ['GET', '/accounts/ann', undefined],
  ['GET', '/entries', undefined],
  ['POST', '/adjustments', { userId: 'ann', amount: 1, reason: 'by hand' }],
] as const;

test.serial('an unknown coin is 404 at every operation', async (t) => {
  for (const [method, path, body] of OPERATIONS)
    refused(t, await desk(method, `${V1}/nothing${path}`, body), 404, 'not_found');
});

test.serial('an invalid project is 400 at every operation', async (t) => {
  refused(t, await desk('GET', `${V1}?project=a%20b`), 400, 'invalid_request');
  for (const [method, path, body] of OPERATIONS)
    refused(t, await desk(method, `${V1}/gold${path}?project=a%20b`, body), 400, 'invalid_request');
});
