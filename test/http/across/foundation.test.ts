import { brotliCompressSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { z } from 'zod';
import { AppError, Conflict } from '../../../server/errors.ts';
import { endpoint, Reply } from '../../../server/http/endpoint.ts';
import { type RouteGroup, joinGroups, routeGroup } from '../../../server/http/router.ts';
import { Amount, Id, Paging, SafeText } from '../../../server/routes/schemas/fields.ts';
import { type EdgeOptions, startEdge } from '../../support/edge.ts';

const Thing = z.object({ id: z.string(), note: z.string().optional() });

const FILE = 'The same words again and again. '.repeat(100);

function things(): RouteGroup[] {
  const v2 = routeGroup();
  v2.get(
    '/api/v2/things',
    endpoint({ auth: 'any-token', query: z.object(Paging), returns: Thing, list: true }, ({ query }) => ({
      data: [{ id: String(query.limit), secret: 'x' }],
      page: { nextCursor: null, hasMore: false },
    })),
  );
  v2.get(
    '/api/v2/things/:id',
    endpoint(
      { auth: { scope: 'payment:read' }, params: z.object({ id: Id }), returns: Thing },
      ({ params, caller }) => ({
        id: params.id,
        note: caller.clientId,
        password: 'never shown',
      }),
    ),
  );
  v2.post(
    '/api/v2/things',
    endpoint(
      {
        auth: { scope: 'payment:write' },
        body: z.object({ name: SafeText(1, 10), amount: Amount }),
        returns: Thing,
        status: 201,
      },
      ({ body }) => ({ id: body.name }),
    ),
  );
  const v1 = routeGroup();
  v1.get(
    '/api/v1/things',
    endpoint({ auth: { admin: 'viewer', projectScope: 'own' } }, () => 'all'),
  );
  v1.get(
    '/api/v1/things/:id',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'own' }, params: z.object({ id: Id }), returns: Thing },
      ({ params }) => ({
        id: params.id,
      }),
    ),
  );
  v1.delete(
    '/api/v1/things/:id',
    endpoint({ auth: { admin: 'admin', projectScope: 'own' }, params: z.object({ id: Id }), status: 204 }, () => {}),
  );
  v1.post(
    '/api/v1/things/export',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'own' }, raw: 'stream' },
      () => new Reply({ status: 202, headers: { 'content-type': 'text/csv' }, body: 'a,b\n' }),
    ),
  );
  const other = routeGroup();
  other.post(
    '/notify/:payWay',
    endpoint({ auth: 'none', accepts: ['raw'], params: z.object({ payWay: Id }) }, ({ request }) => ({
      size: request.rawBody.length,
      search: request.search,
    })),
  );
  other.get(
    '/file',
    endpoint({ auth: 'none', raw: 'stream' }, () => {
      const [body, encoded] = [Buffer.from(FILE), { br: brotliCompressSync(FILE), gzip: gzipSync(FILE) }];
      return new Reply({ headers: { 'content-type': 'text/plain', 'cache-control': 'no-cache' }, body, encoded });
    }),
  );
  other.post(
    '/oauth/token',
    endpoint(
      { auth: 'none', style: 'oauth', accepts: ['json', 'form'], body: z.object({ grant_type: z.string() }) },
      ({ body }) => {
        throw new AppError('unsupported_grant_type', 400, `No "${body.grant_type}" here.`);
      },
    ),
  );
  other.get(
    '/fault/:kind',
    endpoint({ auth: 'none', params: z.object({ kind: Id }) }, ({ params }) => fault(params.kind)),
  );
  other.post(
    '/login',
    endpoint(
      { auth: 'none', sameSite: true, body: z.object({ username: z.string() }) },
      () =>
        new Reply({
          data: { ok: true },
          cookies: [
            { name: 'auth_token', value: 'root-jwt' },
            { name: 'csrf_token', value: 'csrf-j1', httpOnly: false },
          ],
        }),
    ),
  );
  return [v2, v1, other];
}

function fault(kind: string): never {
  if (kind === 'conflict')
    throw new Conflict('order_already_paid', 'Paid.', { hint: 'Refund it.', extra: { orderNo: 'P1' } });
  if (kind === 'lock') throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
  if (kind === 'down')
    throw Object.assign(new Error('insert into "x" - connect'), {
      cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }),
    });
  throw new Error('secret detail in /srv/app');
}

const start = (t: Parameters<typeof startEdge>[0], options: Partial<EdgeOptions> = {}) =>
  startEdge(t, { groups: things(), ...options });
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const asJson = { 'content-type': 'application/json' };

async function codeOf(response: Response): Promise<unknown> {
  const body = (await response.json()) as { code?: string; error?: string };
  return body.code ?? body.error;
}

test('an answer has only the members that the contract names', async (t) => {
  const { url } = await start(t);
  const response = await fetch(`${url}/api/v2/things/t1`, { headers: bearer('read-token') });
  t.is(response.status, 200);
  t.deepEqual(await response.json(), { data: { id: 't1', note: 'app_reader' } });
  const list = await fetch(`${url}/api/v2/things?limit=7`, { headers: bearer('read-token') });
  t.deepEqual(await list.json(), { data: [{ id: '7' }], page: { nextCursor: null, hasMore: false } });
});

test('a precompressed file is sent compressed to a client that accepts it, and each form has its own tag', async (t) => {
  const { url } = await start(t);
  const tags = new Set<string | null>();
  for (const [accepted, coding] of [
    ['identity', null],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', null],
  ] as const) {
    const headers = { 'accept-encoding': accepted };
    const answer = await fetch(`${url}/file`, { headers });
    t.is(answer.headers.get('content-encoding'), coding, accepted);
    t.is(answer.headers.get('vary'), 'Accept-Encoding');
    t.is(await answer.text(), FILE);
    const tag = answer.headers.get('etag') ?? '';
    tags.add(tag);
    t.is((await fetch(`${url}/file`, { headers: { ...headers, 'if-none-match': tag } })).status, 304);
  }
  t.is(tags.size, 3);
});

test('a request with several faults is refused in the order 401, 403, 404, 405, 415, 413, 400', async (t) => {
  const { url } = await start(t);
  const post = (path: string, token: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      body: '{',
      ...init,
      headers: { ...asJson, ...(token ? bearer(token) : {}), ...init.headers },
    });
  t.is((await post('/api/v2/things', '')).status, 401);
  t.is((await post('/api/v2/things', 'wrong')).status, 401);
  t.is((await post('/api/v2/things', 'read-token')).status, 403);
  t.is((await post('/api/v2/nothing', '')).status, 401);
  t.is((await post('/api/v2/nothing', 'read-token')).status, 404);
  t.is((await post('/api/v2/things/t1', 'read-token')).status, 405);
  t.is((await post('/api/v2/things/t1', '')).status, 401);
  t.is((await post('/api/v2/things', 'admin-token', { headers: { 'content-type': 'text/plain' } })).status, 415);
  t.is((await post('/api/v2/things', 'admin-token', { body: 'x'.repeat(102_401) })).status, 413);
  t.is((await post('/api/v2/things', 'admin-token')).status, 400);
  t.is((await fetch(`${url}/api`)).status, 401);
  t.is((await fetch(`${url}/nothing`)).status, 404);
});

test('a path that the router would not join with its prefix is rejected', (t) => {
  for (const path of ['', '/']) {
    const group = routeGroup('/shops');
    group.get(
      path,
      endpoint({ auth: 'none' }, () => 'all'),
    );
    t.throws(() => joinGroups([group]), { instanceOf: TypeError, message: /must not be empty or end in a slash/ });
  }
});

test('405 lists the methods of the path, HEAD is answered without a body', async (t) => {
  const { url } = await start(t);
  const refused = await fetch(`${url}/api/v1/things/t1`, { method: 'PUT', headers: bearer('root-jwt') });
  t.is(refused.headers.get('allow'), 'DELETE, GET, HEAD');
  const head = await fetch(`${url}/api/v1/things/t1`, { method: 'HEAD', headers: bearer('root-jwt') });
  t.is(head.status, 200);
  t.is(await head.text(), '');
});

test('WWW-Authenticate names the missing credential or scope', async (t) => {
  const { url } = await start(t);
  const challenge = async (path: string, headers = {}) =>
    (await fetch(`${url}${path}`, { headers })).headers.get('www-authenticate');
  t.is(await challenge('/api/v2/things/t1'), 'Bearer');
  t.is(await challenge('/api/v2/things/t1', bearer('wrong')), 'Bearer error="invalid_token"');
  t.is(await challenge('/api/v2/things/t1', { authorization: 'Basic abc' }), 'Bearer error="invalid_token"');
  const refused = await fetch(`${url}/api/v2/things`, { method: 'POST', headers: bearer('read-token') });
  t.is(refused.headers.get('www-authenticate'), 'Bearer error="insufficient_scope", scope="payment:write"');
});

test('an invalid path id is 404, one with NUL is 400', async (t) => {
  const { url } = await start(t);
  const status = async (id: string) =>
    (await fetch(`${url}/api/v2/things/${id}`, { headers: bearer('read-token') })).status;
  t.is(await status('..%2f..%2fetc'), 404);
  t.is(await status('a%20b'), 404);
  t.is(await status('%ff'), 404);
  t.is(await status('a'.repeat(65)), 404);
  t.is(await status('a%00'), 400);
});

test('the query is strict below /api and ignored elsewhere', async (t) => {
  const { url } = await start(t);
  const get = async (search: string) => fetch(`${url}/api/v2/things?${search}`, { headers: bearer('read-token') });
  t.is((await get('limt=5')).status, 400);
  t.is((await get('limit=5&limit=6')).status, 400);
  t.is((await get('limit=201')).status, 400);
  t.is((await get('limit[$gt]=1')).status, 400);
  t.is((await get('cursor=bm90LWEtY3Vyc29y')).status, 400);
  const fault = (await (await get('limt=5')).json()) as { errors: { pointer: string; code: string }[] };
  t.like(fault.errors[0], { pointer: '/query/limt', code: 'unknown_parameter' });
  const notification = await fetch(`${url}/notify/alipay?anything=1&anything=2`, { method: 'POST', body: 'abc' });
  t.deepEqual(await notification.json(), { data: { size: 3, search: 'anything=1&anything=2' } });
});

test('hostile bodies are 400, and the answer names the location', async (t) => {
  const { url } = await start(t);
  const post = async (body: string | Buffer) =>
    fetch(`${url}/api/v2/things`, { method: 'POST', headers: { ...bearer('admin-token'), ...asJson }, body });
  t.is(await codeOf(await post('[1')), 'body_malformed');
  t.is(await codeOf(await post(Buffer.from([0x22, 0xff, 0x22]))), 'body_malformed');
  t.is(await codeOf(await post('['.repeat(40_000) + ']'.repeat(40_000))), 'body_too_deep');
  t.is(await codeOf(await post('{"name":"\\u0000","amount":1}')), 'invalid_request');
  t.is(await codeOf(await post('{"name":"\\ud800","amount":1}')), 'invalid_request');
  t.is(await codeOf(await post('{"name":{"$ne":"x"},"amount":1}')), 'invalid_request');
  const tooLong = (await (await post(`{"name":"${'支'.repeat(11)}","amount":1}`)).json()) as { errors: unknown[] };
  t.like(tooLong.errors[0], { pointer: '/name' });
  t.is((await post(`{"name":"${'😀'.repeat(10)}","amount":"1.00"}`)).status, 201);
  const unknown = (await (await post('{"naem":"x","name":"y","amount":1}')).json()) as { errors: unknown[] };
  t.like(unknown.errors[0], { pointer: '/naem', code: 'unknown_member' });
});

test('__proto__ in a body is rejected like any other unknown member, and changes nothing', async (t) => {
  const { url } = await start(t);
  const response = await fetch(`${url}/api/v2/things`, {
    method: 'POST',
    headers: { ...bearer('admin-token'), ...asJson },
    body: '{"__proto__":{"polluted":true,"name":"p"},"name":"ok","amount":1}',
  });
  t.like(await response.json(), { code: 'invalid_request', errors: [{ pointer: '/__proto__' }] });
  t.is((Object.prototype as Record<string, unknown>)['polluted'], undefined);
});

test('a problem document has the members of the contract', async (t) => {
  const { url } = await start(t);
  const response = await fetch(`${url}/fault/conflict`, { headers: { 'x-request-id': 'my-id_1' } });
  t.is(response.status, 409);
  t.regex(response.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  t.is(response.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  t.deepEqual(await response.json(), {
    orderNo: 'P1',
    type: '/docs/errors/order_already_paid',
    title: 'Order already paid',
    status: 409,
    detail: 'Paid.',
    code: 'order_already_paid',
    requestId: response.headers.get('x-request-id'),
    hint: 'Refund it.',
    retryable: false,
  });
});

test('faults of dependencies are translated, and the answer contains no detail of them', async (t) => {
  const { url } = await start(t);
  const lock = await fetch(`${url}/fault/lock`);
  t.is(lock.status, 503);
  t.truthy(lock.headers.get('retry-after'));
  t.is(await codeOf(lock), 'database_busy');
  t.is(await codeOf(await fetch(`${url}/fault/down`)), 'database_unavailable');
  const unknown = await fetch(`${url}/fault/other`);
  t.is(unknown.status, 500);
  t.notRegex(await unknown.text(), /secret detail|srv|Error:/);
});

test('/oauth answers in the shape of RFC 6749', async (t) => {
  const { url } = await start(t);
  const form = (body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(`${url}/oauth/token`, { method: 'POST', headers: { 'content-type': type }, body });
  t.deepEqual(await (await form('grant_type=password')).json(), {
    error: 'unsupported_grant_type',
    error_description: "No 'password' here.",
  });
  t.is(await codeOf(await form('grant_type=a&grant_type=b')), 'invalid_request');
  const plain = await form('x', 'text/plain');
  t.is(plain.status, 400);
  t.is(await codeOf(plain), 'invalid_request');
  t.is(await codeOf(await fetch(`${url}/oauth/none`)), 'invalid_request');
});

test('every answer has the security headers and an id, and credentials are never cached', async (t) => {
  const { url } = await start(t);
  for (const path of ['/fault/x', '/nothing', '/api/v2/things/t1', '/fault/conflict']) {
    const { headers } = await fetch(url + path, { headers: { 'x-request-id': 'bad id!' } });
    t.is(headers.get('x-content-type-options'), 'nosniff', path);
    t.regex(headers.get('content-security-policy') ?? '', /default-src 'none'/);
    t.regex(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
    t.is(headers.get('strict-transport-security'), null);
    if (path.startsWith('/api')) t.is(headers.get('cache-control'), 'no-store');
  }
  const secure = await start(t, { server: { publicUrl: 'https://pay.example' } });
  t.truthy((await fetch(`${secure.url}/nothing`)).headers.get('strict-transport-security'));
});

test('cookies are Secure exactly if the public address is https', async (t) => {
  const login = async (publicUrl: string) => {
    const { url } = await start(t, { server: { publicUrl } });
    return fetch(`${url}/login`, { method: 'POST', headers: asJson, body: '{"username":"root"}' });
  };
  const plain = (await login('http://pay.example')).headers.getSetCookie();
  t.regex(plain[0] ?? '', /^auth_token=root-jwt; path=\/; samesite=strict; httponly$/i);
  t.regex(plain[1] ?? '', /^csrf_token=csrf-j1; path=\/; samesite=strict$/i);
  const secure = (await login('https://pay.example')).headers.getSetCookie();
  t.deepEqual(
    secure.map((cookie) => /; secure/i.test(cookie)),
    [true, true],
  );
});

test('an answer may have a media type other than JSON', async (t) => {
  const { url } = await start(t);
  const response = await fetch(`${url}/api/v1/things/export`, { method: 'POST', headers: bearer('viewer-jwt') });
  t.is(response.status, 202);
  t.is(response.headers.get('content-type'), 'text/csv');
  t.is(await response.text(), 'a,b\n');
});

test('a fixed path takes precedence over a parameter, and a longer prefix over a shorter one', async (t) => {
  const router = routeGroup('/a');
  const says = (text: string) => endpoint({ auth: 'none' }, () => text);
  router.get('/:x', says('/a/{x}'));
  router.get('/fixed', says('/a/fixed'));
  router.post('/:x', says('POST /a/{x}'));
  router.get('/:x/:y', says('/a/{x}/{y}'));
  router.get('/b/:y', says('/a/b/{y}'));
  router.get('/b/:y/c', says('/a/b/{y}/c'));
  const { url } = await startEdge(t, { groups: [router] });
  const say = async (path: string, method = 'GET') =>
    ((await (await fetch(url + path, { method })).json()) as { data: string }).data;
  t.is(await say('/a/fixed'), '/a/fixed');
  t.is(await say('/a/fixed', 'POST'), 'POST /a/{x}');
  t.is(await say('/a/other'), '/a/{x}');
  t.is(await say('/a/b/1'), '/a/b/{y}');
  t.is(await say('/a/z/1'), '/a/{x}/{y}');
  t.is(await say('/a/b/1/c'), '/a/b/{y}/c');
  t.is((await fetch(`${url}/a/b/1/c/d`)).status, 404);
});
