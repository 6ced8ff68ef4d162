import test from 'ava';
import { accepted, catalogApp, notText, spoiled } from '../support/catalog-app.ts';

const P = '/api/v1/projects';

test('a project is made with its console application, changed, toggled and deleted; each change is in the audit log', async (t) => {
  const { admin, store } = await catalogApp(t);
  const made = await admin('POST', P, { code: 'tea-shop', name: 'Tea 茶 🍵', unknown: 1 });
  t.is(made.status, 201);
  t.like(made.body.data, { code: 'tea-shop', name: 'Tea 茶 🍵', enabled: true, remark: null });
  const apps = await store.read((tx) => tx.apps.list({ project: 'tea-shop' }));
  t.deepEqual(
    apps.map(({ kind }) => kind),
    ['console'],
  );
  t.like((await admin('PUT', `${P}/tea-shop`, { remark: 'green' })).body.data, { name: 'Tea 茶 🍵', remark: 'green' });
  t.like((await admin('PUT', `${P}/tea-shop`, { remark: null })).body.data, { remark: null });
  t.like((await admin('PUT', `${P}/tea-shop/toggle`)).body.data, { enabled: false });
  t.like((await admin('PUT', `${P}/tea-shop/toggle`, { enabled: false })).body.data, { enabled: false });
  t.is((await admin('DELETE', `${P}/tea-shop`)).status, 204);
  t.is((await admin('GET', `${P}/tea-shop`)).status, 404);
  t.is((await store.read((tx) => tx.apps.list({ project: 'tea-shop' }))).length, 0);
  const lines = await store.read((tx) => tx.audit.list({ target: 'tea-shop' }, { orderBy: { id: 'asc' } }));
  const verbs = lines.map(({ action }) => action.slice('project.'.length));
  t.deepEqual(verbs, ['create', 'update', 'update', 'toggle', 'toggle', 'delete']);
});

test('default cannot be deleted, a project with anything in it neither; a code is taken once', async (t) => {
  const { admin } = await catalogApp(t);
  t.like(await admin('DELETE', `${P}/default`), { status: 409, body: { code: 'in_use' } });
  await admin('POST', '/api/v1/users?project=other', { userId: 'u' });
  t.like(await admin('DELETE', `${P}/other`), { status: 409, body: { code: 'in_use' } });
  const racing = await Promise.all(Array.from({ length: 8 }, () => admin('POST', P, { code: 'once', name: 'Once' })));
  t.deepEqual(racing.map(({ status }) => status).toSorted(), [201, ...Array(7).fill(409)]);
  t.is(racing.find(({ status }) => status === 409)?.body.code, 'code_taken');
});

test('a list is paged newest first and filtered; a foreign cursor and an unknown parameter are 400', async (t) => {
  const { admin } = await catalogApp(t);
  for (const code of ['a', 'b', 'c']) await admin('POST', P, { code, name: code });
  const first = await admin('GET', `${P}?limit=2`);
  t.deepEqual(
    (first.body.data as { code: string }[]).map(({ code }) => code),
    ['c', 'b'],
  );
  const next = await admin('GET', `${P}?limit=200&cursor=${first.body.page?.nextCursor}`);
  t.deepEqual(
    (next.body.data as { code: string }[]).map(({ code }) => code),
    ['a', 'other', 'default'],
  );
  t.false(next.body.page?.hasMore);
  t.deepEqual((await admin('GET', `${P}?enabled=false`)).body.data, []);
  for (const query of ['cursor=xx', 'limit=0', 'limit=201', 'limit=1e1', 'enabled=1', 'name=x', 'limit=1&limit=2'])
    t.is((await admin('GET', `${P}?${query}`)).status, 400, query);
});

test('bad bodies are 400 and leave nothing; bad codes in the path are 404', async (t) => {
  const { admin, store } = await catalogApp(t);
  const good = { code: 'good', name: 'Good' };
  const bad = {
    code: [...notText, 'has space', 'a/b', 'x'.repeat(65), 'é', '../default'],
    name: [...notText, 'x'.repeat(129), 'a\u0007'],
    remark: [1, {}, 'x'.repeat(1001)],
  };
  t.deepEqual(await accepted(admin, 'POST', P, spoiled(good, bad)), []);
  t.is(await store.read((tx) => tx.projects.count({})), 2);
  t.deepEqual(await accepted(admin, 'PUT', `${P}/other`, [null, [], { name: 1 }, { name: '' }, { remark: 5 }]), []);
  t.deepEqual(await accepted(admin, 'PUT', `${P}/other/toggle`, [{ enabled: 'yes' }, { enabled: 1 }, []]), []);
  for (const code of ['nothing', '..%2fdefault', 'a%20b', 'x'.repeat(65), '%00'])
    t.true([400, 404].includes((await admin('GET', `${P}/${code}`)).status), code);
});

test('a viewer may look and not change; without a session it is 401', async (t) => {
  const { viewer, shop, as } = await catalogApp(t);
  t.is((await viewer('GET', P)).status, 200);
  t.is((await viewer('GET', `${P}/default/stats`)).status, 200);
  t.is((await viewer('POST', P, { code: 'x', name: 'x' })).status, 403);
  t.is((await viewer('DELETE', `${P}/other`)).status, 403);
  t.is((await as('')('GET', P)).status, 401);
  t.is((await shop('GET', P)).status, 401);
});
