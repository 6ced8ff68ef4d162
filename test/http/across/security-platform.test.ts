import diagnostics from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { connectionLimits } from '../../../server/http/server.ts';
import { endpoint, Reply } from '../../../server/http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../../server/http/router.ts';
import { startEdge } from '../../support/edge.ts';
import { requestText, sendRaw } from './sockets.ts';

function groups(): RouteGroup[] {
  const open = routeGroup();
  open.get(
    '/open',
    endpoint({ auth: 'none' }, () => 'open'),
  );
  open.get(
    '/page',
    endpoint(
      { auth: 'none', raw: 'html' },
      () => new Reply({ body: '<p>page</p>', headers: { 'content-type': 'text/html' } }),
    ),
  );
  const api = routeGroup();
  const Thing = z.object({ name: z.string(), tags: z.record(z.string(), z.unknown()).optional() });
  api.get(
    '/api/v2/things',
    endpoint({ auth: 'any-token' }, () => []),
  );
  api.post(
    '/api/v2/things',
    endpoint({ auth: 'any-token', body: Thing, returns: Thing }, ({ body }) => body),
  );
  api.delete(
    '/api/v2/things',
    endpoint({ auth: 'any-token' }, () => undefined),
  );
  return [open, api];
}

async function start(t: ExecutionContext, server = {}) {
  const { url } = await startEdge(t, { groups: groups(), server, explorer: true });
  const raw = (startLine: string, lines: readonly string[] = [], body = '') =>
    sendRaw(url, requestText(startLine, ['Host: pay.example', ...lines], body));
  return { url, raw };
}

const token = 'Authorization: Bearer read-token';

test('no answer reveals the software of the server', async (t) => {
  const { url, raw } = await start(t);
  const answers = [
    await raw('GET /open'),
    await raw('GET /page'),
    await raw('HEAD /open'),
    await raw('OPTIONS /open'),
    await raw('GET /nothing'),
    await raw('GET /api/v2/things'),
    await raw('GET /swagger/index.html'),
    await raw('POST /api/v2/things', [token, 'Content-Type: application/json'], '{'),
    await raw('GET /open', [`X-Long: ${'a'.repeat(20_000)}`]),
    await sendRaw(url, 'NONSENSE\r\n\r\n'),
    await sendRaw(
      url,
      'GET /open HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n',
    ),
  ];
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 405, 404, 401, 200, 400, 431, 400, 400],
  );
  for (const { head, body } of answers) {
    t.regex(head, /^x-request-id: [0-9a-f-]{36}$/im);
    t.regex(head, /^x-content-type-options: nosniff$/im);
    t.regex(head, /^content-security-policy: default-src 'none'/im);
    t.notRegex(head, /^(server|x-powered-by|via|x-aspnet|x-runtime):/im);
    t.notRegex(head + body, /\bkoa\b(?!2-swagger)|node\.js|node\/\d|postgres|mikro/i);
  }
});

test('headers that are too large or too many are rejected and cause no fault', async (t) => {
  const { url, raw } = await start(t);
  const large = await raw('GET /open', [`Cookie: ${'a=b; '.repeat(5000)}`]);
  t.is(large.status, 431);
  t.is(JSON.parse(large.body).code, 'invalid_request');
  t.is((await raw(`GET /open?${'a'.repeat(20_000)}`)).status, 431);
  const many = Array.from({ length: 1500 }, (_, index) => `X-${index}: 1`);
  t.true([200, 431].includes((await raw('GET /open', many)).status));
  const secret = `Authorization: Bearer ${'a'.repeat(15_000)}`;
  t.is((await raw('GET /api/v2/things', [secret])).status, 401);
  t.is((await fetch(`${url}/open`)).status, 200);
});

test('slow senders are disconnected: the server has the intended limits', async (t) => {
  const servers: Server[] = [];
  const see = (message: unknown) => void servers.push((message as { server: Server }).server);
  diagnostics.subscribe('http.server.request.start', see);
  const { raw } = await start(t);
  await raw('GET /open');
  diagnostics.unsubscribe('http.server.request.start', see);
  const [server] = servers;
  t.true((server?.headersTimeout ?? 0) > 0 && (server?.headersTimeout ?? 0) <= 10_000);
  // A streamed body has an hour, as long as data keeps arriving; every other body has seconds.
  t.true((server?.requestTimeout ?? 0) > 0 && (server?.requestTimeout ?? 0) <= 3_600_000);
  t.true(connectionLimits.requestMs <= 15_000);
});

test('HEAD, OPTIONS and unsupported methods give no access', async (t) => {
  const { raw } = await start(t);
  const head = await raw('HEAD /api/v2/things', [token]);
  t.deepEqual([head.status, head.body], [200, '']);
  t.is((await raw('HEAD /api/v2/things')).status, 401);
  for (const method of ['OPTIONS', 'TRACE', 'PATCH', 'PROPFIND', 'SEARCH', 'LINK']) {
    const answer = await raw(`${method} /api/v2/things`);
    t.is(answer.status, 401, method);
    t.notRegex(answer.head, /access-control-/i);
    const known = await raw(`${method} /api/v2/things`, [token]);
    t.is(known.status, 405, method);
    t.regex(known.head, /^Allow: DELETE, GET, HEAD, POST$/m);
    t.notRegex(known.body, /read-token/);
  }
  const preflight = ['Origin: https://evil.example', 'Access-Control-Request-Method: DELETE'];
  t.is((await raw('OPTIONS /api/v2/things', preflight)).status, 401);
  t.is((await raw('CONNECT evil.example:443')).head, '');
  const upgrade = await raw('GET /open', ['Upgrade: websocket', 'Connection: Upgrade']);
  t.is(upgrade.status, 200);
});

test('a list of origins opens the API to those origins only, never with credentials, and never the console', async (t) => {
  const { raw } = await start(t, { corsOrigins: ['https://shop.example'] });
  const from = (origin: string) => [`Origin: ${origin}`, 'Access-Control-Request-Method: POST'];
  t.is((await raw('OPTIONS /api/v2/things', from('https://shop.example'))).status, 204);
  for (const origin of [
    'null',
    'https://shop.example.evil',
    'http://shop.example',
    'https://evil.example',
    'https://SHOP.example',
  ])
    t.notRegex((await raw('OPTIONS /api/v2/things', from(origin))).head, /access-control-allow/i, origin);
  for (const path of ['/api/v1/login', '/swagger/doc.json', '/open', '/api/v2'])
    t.notRegex((await raw(`OPTIONS ${path}`, from('https://shop.example'))).head, /access-control-allow/i, path);
  const { head } = await raw('GET /api/v2/things', [token, 'Origin: https://shop.example']);
  t.regex(head, /access-control-allow-origin: https:\/\/shop\.example/i);
  t.notRegex(head, /allow-credentials/i);
});

test('bodies that are deep, poisoned or ambiguous are rejected and change nothing', async (t) => {
  const { url, raw } = await start(t);
  const post = (body: string, type = 'application/json') =>
    raw('POST /api/v2/things', [token, `Content-Type: ${type}`], body);
  const deep = await post('['.repeat(50_000) + ']'.repeat(50_000));
  t.deepEqual([deep.status, JSON.parse(deep.body).code], [400, 'body_too_deep']);
  t.is((await post('{"a":'.repeat(17_000))).status, 400);
  t.is((await post('['.repeat(100_000) + ']'.repeat(100_000))).status, 413);
  const poisoned = await post(
    '{"name":"x","tags":{"__proto__":{"evil":1},"constructor":{"prototype":{"evil":1}}},"__proto__":{"evil":1}}',
  );
  t.deepEqual([poisoned.status, JSON.parse(poisoned.body).errors[0].code], [400, 'unknown_member']);
  t.is(({} as { evil?: unknown }).evil, undefined);
  t.is((await post('name=x', 'application/x-www-form-urlencoded')).status, 415);
  t.is((await post('{"name":"x"}', 'text/plain')).status, 415);
  t.is((await post('{"name":"x"}', 'application/json; charset=utf-7')).status, 415);
  t.is(
    (await raw('POST /api/v2/things', [token, 'Content-Type: application/json', 'Content-Encoding: gzip'], 'x')).status,
    415,
  );
  t.is((await post('{"name":{"$ne":null}}')).status, 400);
  t.is((await fetch(`${url}/open`)).status, 200);
});
