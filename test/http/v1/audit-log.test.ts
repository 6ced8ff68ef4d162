import test from 'ava';
import { appWithToken, identityApp } from '../../support/identity-app.ts';
import { serviceOfFile, assertMarked, viewerToken } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin } = file;
coverRoutes(test, file);

test.serial('the log shows actor, action, object and address, without secrets, in pages', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const { client_id, client_secret } = await appWithToken(app, token);
  const headers = { 'x-request-id': 'rename-1' };
  await app.call('PUT', `/api/v1/api-apps/${client_id}`, { token, body: { name: 'store' }, headers });
  await app.call('POST', `/api/v1/api-apps/${client_id}/rotate-secret`, { token });
  const { body } = await app.call('GET', '/api/v1/audit-log', { token });
  const actions = body.data.map((line: { action: string }) => line.action);
  t.deepEqual(actions, ['app.rotate-secret', 'app.update', 'app.create', 'admin.login', 'bootstrap.admin']);
  const renamed = body.data[1];
  t.like(renamed, { actorKind: 'admin', actor: 'alice', target: client_id, ip: '127.0.0.1' });
  t.regex(renamed.requestId, /^[0-9a-f-]{36}$/, "the client's id is not ours");
  t.deepEqual([renamed.before.name, renamed.after.name], ['shop', 'store']);
  t.is(body.data[0].previousHash, renamed.hash);
  t.false(JSON.stringify(body).includes(client_secret));
  const filtered = await app.call('GET', `/api/v1/audit-log?action=app.create&target=${client_id}&actor=alice`, {
    token,
  });
  t.is(filtered.body.data.length, 1);
  const first = await app.call('GET', '/api/v1/audit-log?limit=3', { token });
  const rest = await app.call('GET', `/api/v1/audit-log?limit=3&cursor=${first.body.page.nextCursor}`, { token });
  t.deepEqual([...first.body.data, ...rest.body.data], body.data);
  const past = `createdTo=2020-01-01T00:00:00Z`;
  t.deepEqual((await app.call('GET', `/api/v1/audit-log?${past}`, { token })).body.data, []);
});

test.serial('the log is exported with the filters of the list, and the export itself is its newest line', async (t) => {
  for (const name of ['tea', '=1+1,"evil"'])
    await admin('POST', '/api/v1/projects', { code: `p-${name.length}`, name });
  const listed = (await admin('GET', '/api/v1/audit-log?limit=200')).body.data;
  const exported = await admin('GET', '/api/v1/audit-log/export?format=ndjson');
  t.is(exported.status, 200);
  t.regex(exported.headers.get('content-type') ?? '', /^application\/x-ndjson/);
  t.is(exported.headers.get('content-disposition'), 'attachment; filename="audit-log.ndjson"');
  const lines = String(exported.body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.like(lines[0], { action: 'audit-log.exported', actor: 'alice', after: { format: 'ndjson' } });
  t.deepEqual(lines.slice(1), listed);
  t.is(lines[0].previousHash, lines[1].hash);
  const csv = String((await admin('GET', '/api/v1/audit-log/export?action=project.create')).body);
  const [heading, ...rows] = csv.trimEnd().split('\r\n');
  t.is(heading, 'id,at,actorKind,actor,action,target,before,after,ip,requestId,previousHash,hash');
  t.is(rows.length, listed.filter(({ action }: { action: string }) => action === 'project.create').length);
  t.true(rows.some((row) => row.includes('=1+1')));
  // Each export adds a line to the log, so only earlier lines are compared.
  await assertMarked(t, `${file.service.url}/api/v1/audit-log/export?action=project.create`, await viewerToken(file));
  for (const bad of ['bom=1', 'format=xlsx', 'limit=5', 'cursor=x', 'colour=red', 'createdFrom=today'])
    refused(t, await admin('GET', `/api/v1/audit-log/export?${bad}`), 400, 'invalid_request');
});

test.serial('an export of many lines has each of them once', async (t) => {
  await file.service.app.database.em.fork().execute(
    `insert into audit_log (at, actor_kind, actor, action, target, previous_hash, hash, key_id)
     select now(), 'system', 'seed', 'seed.line', n::text, '', '', '' from generate_series(1, 1234) n`,
  );
  const { body } = await admin('GET', '/api/v1/audit-log/export?format=ndjson&actor=seed');
  const targets = String(body)
    .trimEnd()
    .split('\n')
    .map((line) => Number(JSON.parse(line).target));
  t.deepEqual(
    targets,
    Array.from({ length: 1234 }, (_, at) => 1234 - at),
  );
});

test.serial('a changed, removed or added line breaks the chain at its place', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  await appWithToken(app, token);
  const em = app.on.database.em.fork();
  const verify = () => app.identity.verifyAudit();
  const whole = await verify();
  t.deepEqual([whole.lines, whole.broken], [3, undefined]);
  const [second] = await em.execute<{ id: string; actor: string }[]>(
    'select * from audit_log order by id offset 1 limit 1',
  );
  const id = String(second?.id);
  await em.execute('update audit_log set actor = ? where id = ?', ['mallory', id]);
  t.deepEqual((await verify()).broken, { id, reason: 'line_changed' });
  await em.execute('update audit_log set actor = ? where id = ?', [second?.actor, id]);
  t.is((await verify()).broken, undefined);
  await em.execute('delete from audit_log where id = ?', [id]);
  t.is((await verify()).broken?.reason, 'line_missing');
});

test.serial('a refused action writes no line', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const { id } = (await app.call('GET', '/api/v1/me', { token })).body.data;
  await app.call('DELETE', `/api/v1/admins/${id}`, { token });
  await app.call('POST', '/api/v1/api-apps', { token, body: { name: 'x', scopes: ['user:read'], project: 'no' } });
  const { body } = await app.call('GET', '/api/v1/audit-log', { token });
  t.deepEqual(
    body.data.map((line: { action: string }) => line.action),
    ['admin.login', 'bootstrap.admin'],
  );
});

test.serial('an invalid filter is 400', async (t) => {
  for (const query of ['limit=0', 'cursor=x', 'createdFrom=today', 'actor=', 'verb=create'])
    refused(t, await admin('GET', `/api/v1/audit-log?${query}`), 400, 'invalid_request');
});
