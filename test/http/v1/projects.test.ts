import test from 'ava';
import { accepted, catalogApp, notText, spoiled } from '../../support/catalog-app.ts';
import { placeOrder } from '../../support/orders.ts';
import { serviceOfFile, uniqueCode } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin } = file;
coverRoutes(test, file);

const P = '/api/v1/projects';

test.serial(
  'a project is created with its console application, changed, toggled and deleted, and each change is in the audit log',
  async (t) => {
    const { admin, store } = await catalogApp(t);
    const made = await admin('POST', P, { code: 'tea-shop', name: 'Tea 茶 🍵' });
    t.is(made.status, 201);
    t.like(made.body.data, { code: 'tea-shop', name: 'Tea 茶 🍵', enabled: true, remark: null });
    const apps = await store.read((tx) => tx.apps.list({ project: 'tea-shop' }));
    t.deepEqual(
      apps.map(({ kind }) => kind),
      ['console'],
    );
    t.like((await admin('PUT', `${P}/tea-shop`, { remark: 'green' })).body.data, {
      name: 'Tea 茶 🍵',
      remark: 'green',
    });
    t.like((await admin('PUT', `${P}/tea-shop`, { remark: null })).body.data, { remark: null });
    t.like((await admin('PUT', `${P}/tea-shop/toggle`)).body.data, { enabled: false });
    t.like((await admin('PUT', `${P}/tea-shop/toggle`, { enabled: false })).body.data, { enabled: false });
    t.is((await admin('DELETE', `${P}/tea-shop`)).status, 204);
    t.is((await admin('GET', `${P}/tea-shop`)).status, 404);
    t.is((await store.read((tx) => tx.apps.list({ project: 'tea-shop' }))).length, 0);
    const lines = await store.read((tx) => tx.audit.list({ target: 'tea-shop' }, { orderBy: { id: 'asc' } }));
    const verbs = lines.map(({ action }) => action.slice('project.'.length));
    t.deepEqual(verbs, ['create', 'update', 'update', 'toggle', 'toggle', 'delete']);
  },
);

test.serial('the project default and a project with content cannot be deleted, and a code is unique', async (t) => {
  const { admin } = await catalogApp(t);
  t.like(await admin('DELETE', `${P}/default`), { status: 409, body: { code: 'in_use' } });
  await admin('POST', '/api/v1/users?project=other', { userId: 'u' });
  t.like(await admin('DELETE', `${P}/other`), { status: 409, body: { code: 'in_use' } });
  const racing = await Promise.all(Array.from({ length: 8 }, () => admin('POST', P, { code: 'once', name: 'Once' })));
  t.deepEqual(racing.map(({ status }) => status).toSorted(), [201, ...Array(7).fill(409)]);
  t.is(racing.find(({ status }) => status === 409)?.body.code, 'code_taken');
});

test.serial(
  'a list is paged newest first and filtered; a foreign cursor and an unknown parameter are 400',
  async (t) => {
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
  },
);

test.serial('invalid bodies are 400 and store nothing; invalid codes in the path are 404', async (t) => {
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

test.serial('a viewer may read and not change, and a request without a session is 401', async (t) => {
  const { viewer, shop, as } = await catalogApp(t);
  t.is((await viewer('GET', P)).status, 200);
  t.is((await viewer('GET', `${P}/default/stats`)).status, 200);
  t.is((await viewer('POST', P, { code: 'x', name: 'x' })).status, 403);
  t.is((await viewer('DELETE', `${P}/other`)).status, 403);
  t.is((await as('')('GET', P)).status, 401);
  t.is((await shop('GET', P)).status, 401);
});

test.serial('a project is shown as it was created', async (t) => {
  await admin('POST', P, { code: 'tea-house', name: 'Tea house', remark: 'green' });
  const { status, body } = await admin('GET', `${P}/tea-house`);
  t.is(status, 200);
  t.like(body.data, { code: 'tea-house', name: 'Tea house', remark: 'green', enabled: true });
});

test.serial('the statistics of a project count its own orders', async (t) => {
  const project = await file.project();
  const shop = await file.shop({ project });
  await placeOrder(shop, {});
  const { status, body } = await admin('GET', `${P}/${project}/stats?mode=simulator`);
  t.is(status, 200);
  t.like(body.data, { mode: 'simulator', totals: { createdOrders: 1, paidOrders: 0 } });
});

test.serial('an unknown project is 404 at every operation', async (t) => {
  refused(t, await admin('GET', `${P}/nothing`), 404, 'not_found');
  refused(t, await admin('PUT', `${P}/nothing`, { name: 'Tea' }), 404, 'not_found');
  refused(t, await admin('PUT', `${P}/nothing/toggle`, {}), 404, 'not_found');
  refused(t, await admin('DELETE', `${P}/nothing`), 404, 'not_found');
  refused(t, await admin('GET', `${P}/nothing/stats`), 404, 'not_found');
});

test.serial('an invalid period of the statistics is 400', async (t) => {
  for (const query of ['from=yesterday', 'tz=Mars/Olympus', 'mode=all'])
    refused(t, await admin('GET', `${P}/default/stats?${query}`), 400, 'invalid_request');
});

test.serial('a project to which an administrator is limited cannot be deleted', async (t) => {
  const code = await file.project();
  const account = { username: uniqueCode('bob'), password: 'nine-tidy-green-anchors', role: 'viewer' };
  const { id } = (await admin('POST', '/api/v1/admins', { ...account, projects: [code] })).body.data;
  const refusal = await admin('DELETE', `${P}/${code}`);
  refused(t, refusal, 409, 'in_use');
  t.regex(refusal.body.detail, /administrators/);
  await admin('PUT', `/api/v1/admins/${id}`, { projects: null });
  t.is((await admin('DELETE', `${P}/${code}`)).status, 204);
});
