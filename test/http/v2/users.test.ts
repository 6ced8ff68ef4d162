import test from 'ava';
import { accepted, notText, spoiled } from '../../support/catalog-app.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { openOwnMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { service } = file;
coverRoutes(test, file);

const ann = { userId: 'ann', nickname: 'Ann', email: 'ann@example.com', metadata: { a: [1] } };

test.serial('a new payer is created with its known data', async (t) => {
  const { shop, project } = await openOwnMarket(file);
  const { status, body } = await shop.call('POST', '/api/v2/users', ann);
  t.is(status, 201);
  t.like(body.data, { ...ann, project, phone: null, status: 'active' });
});

test.serial('a second POST for a payer changes it, and omitted members are unchanged', async (t) => {
  const { shop } = await openOwnMarket(file);
  await shop.call('POST', '/api/v2/users', ann);
  const { status, body } = await shop.call('POST', '/api/v2/users', { userId: 'ann', phone: '+86 138-0000-0000' });
  t.is(status, 200);
  t.like(body.data, { nickname: 'Ann', email: 'ann@example.com', phone: '+86 138-0000-0000' });
});

test.serial('twenty concurrent requests for one new payer create one: one 201, nineteen 200', async (t) => {
  const { shop, project } = await openOwnMarket(file);
  const send = () => shop.call('POST', '/api/v2/users', { userId: 'ann' });
  const answers = await Promise.all(Array.from({ length: 20 }, send));
  t.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array(19).fill(200), 201]);
  t.is(await service.app.store.read((tx) => tx.users.count({ project })), 1);
});

test.serial('a payer is read and changed under any id that a merchant uses, and null clears a member', async (t) => {
  const { shop } = await openOwnMarket(file);
  await shop.call('POST', '/api/v2/users', { ...ann, userId: 'ann 安' });
  const path = `/api/v2/users/${encodeURIComponent('ann 安')}`;
  const read = await shop.call('GET', path);
  t.is(read.status, 200);
  t.like(read.body.data, { userId: 'ann 安', nickname: 'Ann' });
  const changed = await shop.call('PUT', path, { nickname: null });
  t.is(changed.status, 200);
  t.like(changed.body.data, { userId: 'ann 安', nickname: null, email: 'ann@example.com' });
});

test.serial('the payers of the project are listed newest first, in pages, filtered', async (t) => {
  const { shop } = await openOwnMarket(file);
  for (const userId of ['a', 'b', 'c'])
    await shop.call('POST', '/api/v2/users', { userId, email: `${userId}@example.com` });
  const ids = ({ body }: { body: { data: { userId: string }[] } }) => body.data.map(({ userId }) => userId);
  const first = await shop.call('GET', '/api/v2/users?limit=2');
  t.deepEqual(ids(first), ['c', 'b']);
  const rest = await shop.call('GET', `/api/v2/users?limit=2&cursor=${first.body.page.nextCursor}`);
  t.deepEqual(ids(rest), ['a']);
  t.deepEqual(rest.body.page, { nextCursor: null, hasMore: false });
  t.deepEqual(ids(await shop.call('GET', '/api/v2/users?email=b@example.com')), ['b']);
});

test.serial('an invalid filter is 400', async (t) => {
  const shop = await file.shop({ scopes: ['user:read'] });
  const crafted = Buffer.from('2030-01-01T00:00:00.000Z|not-a-uuid').toString('base64url');
  for (const query of [`cursor=${crafted}`, 'status=x', 'email=x', 'userId=', 'status[$ne]=x', 'project=default'])
    refused(t, await shop.call('GET', `/api/v2/users?${query}`), 400, 'invalid_request');
});

test.serial('a payer of another project is the same 404 as a missing one', async (t) => {
  const { shop } = await openOwnMarket(file);
  const { shop: stranger } = await openOwnMarket(file);
  await shop.call('POST', '/api/v2/users', ann);
  const theirs = await stranger.call('GET', '/api/v2/users/ann');
  const nobodys = await stranger.call('GET', '/api/v2/users/bob');
  refused(t, theirs, 404, 'not_found');
  t.deepEqual({ ...theirs.body, requestId: '' }, { ...nobodys.body, requestId: '' });
  refused(t, await stranger.call('PUT', '/api/v2/users/ann', { nickname: 'Mine' }), 404, 'not_found');
  t.deepEqual((await stranger.call('GET', '/api/v2/users')).body.data, []);
});

test.serial('an invalid member is 400, and nothing is stored', async (t) => {
  const { shop, project } = await openOwnMarket(file);
  const bad = {
    userId: [...notText, 'x'.repeat(65), 'a\u0007'],
    nickname: [1, {}, '', 'x'.repeat(129)],
    email: [1, 'x', 'a@b', `${'x'.repeat(250)}@example.com`, { $gt: '' }],
    phone: [1, 'abc', '1'.repeat(40)],
    status: ['dead', 1, null, ['active']],
    metadata: [1, 'x', [], { x: 'y'.repeat(5000) }, { ['k'.repeat(65)]: 1 }, { a: 'b\u0000' }],
  };
  t.deepEqual(await accepted(shop.call, 'POST', '/api/v2/users', spoiled({ userId: 'good' }, bad)), []);
  t.is(await service.app.store.read((tx) => tx.users.count({ project })), 0);
  refused(t, await shop.call('POST', '/api/v2/users', { userId: '' }), 400, 'invalid_request');
  refused(t, await shop.call('PUT', '/api/v2/users/ann', { email: 'x' }), 400, 'invalid_request');
  refused(t, await shop.call('GET', '/api/v2/users/ann?project=other'), 400, 'invalid_request');
});
