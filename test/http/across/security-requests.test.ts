import test, { type ExecutionContext } from 'ava';
import { firstAdmin, type Admin } from '../../support/admin.ts';
import { type Merchant, request, type Service, startService } from '../../support/service.ts';
import { requestText, sendRaw } from './sockets.ts';

interface Stage {
  service: Service;
  admin: Admin;
  shop: Merchant;
  /** Sends raw request lines. */
  raw(start: string, lines: readonly string[], body?: string): ReturnType<typeof sendRaw>;
}

async function stage(t: ExecutionContext, env: Record<string, string> = {}): Promise<Stage> {
  const service = await startService(t, { env });
  const [admin, shop] = [await firstAdmin(service), await service.merchant()];
  const raw: Stage['raw'] = (start, lines, body) => sendRaw(service.url, requestText(start, lines, body));
  return { service, admin, shop, raw };
}

const host = 'Host: pay.example';

test('a request with two Authorization headers is rejected, in either order', async (t) => {
  const { admin, shop, raw } = await stage(t);
  const good = `Authorization: Bearer ${shop.token}`;
  const bad = 'Authorization: Bearer nothing';
  t.is((await raw('GET /api/v2/me', [host, good])).status, 200);
  for (const lines of [
    [good, bad],
    [bad, good],
    [good, good.replace('Authorization', 'authorization')],
  ]) {
    const { status, head } = await raw('GET /api/v2/me', [host, ...lines]);
    t.is(status, 401);
    t.regex(head, /www-authenticate: Bearer error="invalid_token"/i);
  }
  const session = `Authorization: Bearer ${admin.token}`;
  t.is((await raw('GET /api/v1/me', [host, session])).status, 200);
  t.is((await raw('GET /api/v1/me', [host, session, bad])).status, 401);
  t.is((await raw('GET /api/v1/me', [host, session, bad, `Cookie: auth_token=${admin.token}`])).status, 401);
  const basic = `Authorization: Basic ${Buffer.from(`${shop.clientId}:${shop.secret}`).toString('base64')}`;
  const form = ['Content-Type: application/x-www-form-urlencoded'];
  t.is((await raw('POST /oauth/token', [host, basic, ...form], 'grant_type=client_credentials')).status, 200);
  const twice = await raw('POST /oauth/token', [host, basic, basic, ...form], 'grant_type=client_credentials');
  t.deepEqual([twice.status, JSON.parse(twice.body).error], [401, 'invalid_client']);
});

test('the word Bearer is case-insensitive, and a token outside the Authorization header is ignored', async (t) => {
  const { admin, shop, service } = await stage(t);
  const status = async (path: string, headers: Record<string, string>) =>
    (await request(service.url, 'GET', path, undefined, headers)).status;
  for (const word of ['bearer', 'BEARER', 'Bearer']) {
    t.is(await status('/api/v2/me', { authorization: `${word} ${shop.token}` }), 200, word);
    t.is(await status('/api/v1/me', { authorization: `${word} ${admin.token}` }), 200, word);
  }
  for (const word of ['', 'Basic ', 'Token ', 'Bearer: ', 'Bearer\t', 'JWT '])
    t.is(await status('/api/v2/me', { authorization: `${word}${shop.token}` }), 401, word);
  for (const name of ['access_token', 'token', 'authorization', 'auth_token']) {
    t.is(await status(`/api/v2/me?${name}=${shop.token}`, {}), 401, name);
    t.is(await status(`/api/v1/me?${name}=${admin.token}`, {}), 401, name);
    t.is(await status(`/api/v1/events/stream?${name}=${admin.token}`, {}), 401, name);
  }
  t.is(await status('/api/v2/me', { cookie: `auth_token=${shop.token}` }), 401);
  t.is(await status('/api/v1/me', { cookie: `auth_token=${shop.token}` }), 401);
  t.is(await status('/api/v2/me', { 'x-access-token': shop.token, 'x-api-key': shop.secret }), 401);
});

test('links use the public address, whatever Host, X-Forwarded-Host or the request line contain', async (t) => {
  const { shop, service, raw } = await stage(t);
  const evil = [
    'Host: evil.example',
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: gopher',
    'Forwarded: host=evil.example',
  ];
  const auth = `Authorization: Bearer ${shop.token}`;
  const json = 'Content-Type: application/json';
  const pay = JSON.stringify({ subject: 'Tea', amount: 1, payWay: 'alipay' });
  const paid = await raw('POST /api/v2/payment/pay', [...evil, auth, json], pay);
  t.is(paid.status, 201);
  const { payUrl, orderNo } = JSON.parse(paid.body).data;
  t.is(payUrl, `${service.url}/pay/${orderNo}`);
  const answers = [
    paid,
    await raw('POST /api/v2/skillpay/resource', [...evil, auth, json], '{"resource":"demo"}'),
    await raw(`GET /pay/${orderNo}`, evil),
    await raw(`GET http://evil.example/pay/${orderNo}`, evil),
    await raw('GET /.well-known/oauth-authorization-server', evil),
    await raw('GET /swagger', evil),
    await raw('GET /swagger/index.html', evil),
    await raw('GET /swagger/doc.json', evil),
    await raw('GET /nothing', evil),
  ];
  t.deepEqual(
    answers.map(({ status }) => status),
    [201, 402, 200, 200, 200, 302, 200, 200, 404],
  );
  for (const { head, body } of answers) {
    t.notRegex(head + body, /evil\.example|gopher/);
    for (const [value] of head.matchAll(/(?<=payment-required: )\S+/gi))
      t.notRegex(Buffer.from(value, 'base64').toString(), /evil/);
  }
});

test('ids with path traversal are 404, at every kind of path', async (t) => {
  const { admin, shop, service } = await stage(t);
  const climbs = [
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e%2f%2e%2e%2fpackage.json',
    '..%5c..%5cwindows',
    '..%2f',
    '%252e%252e%252f',
  ];
  for (const climb of climbs) {
    for (const path of ['/api/v2/payment/query', '/api/v2/payment/refunds', '/api/v2/skillpay/query'])
      t.is((await shop.call('GET', `${path}/${climb}`)).status, 404, `${path}/${climb}`);
    for (const path of ['/api/v1/orders', '/api/v1/api-apps', '/api/v1/projects', '/api/v1/products', '/api/v1/admins'])
      t.is((await admin.call('GET', `${path}/${climb}`)).status, 404, `${path}/${climb}`);
    t.is((await admin.call('POST', `/api/v1/certs/${climb}/download`)).status, 404);
    for (const path of ['/docs/errors', '/swagger', '/pay', '/pay/assets', '/return/alipay']) {
      const { status, body } = await request(service.url, 'GET', `${path}/${climb}`);
      t.is(status, 404, `${path}/${climb}`);
      t.notRegex(String(typeof body === 'string' ? body : JSON.stringify(body)), /root:|"dependencies"/);
    }
    t.is((await request(service.url, 'POST', `/notify/alipay/${climb}`, {})).status, 404);
  }
});

test('no header and no member changes the method of a request', async (t) => {
  const { admin, service } = await stage(t);
  const made = await admin.call('POST', '/api/v1/projects', { code: 'keep', name: 'Keep' });
  t.is(made.status, 201);
  for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override', 'method']) {
    t.is((await admin.call('GET', '/api/v1/projects/keep', undefined, { [name]: 'DELETE' })).status, 200, name);
    t.is(
      (await admin.call('POST', '/api/v1/projects/keep', { _method: 'DELETE' }, { [name]: 'DELETE' })).status,
      405,
      name,
    );
  }
  t.is((await admin.call('GET', '/api/v1/projects/keep?_method=DELETE')).status, 400);
  const cookie = `auth_token=${admin.token}`;
  t.is((await request(service.url, 'DELETE', '/api/v1/projects/keep', undefined, { cookie })).status, 403);
  t.is((await admin.call('GET', '/api/v1/projects/keep')).status, 200);
});

test('a planted cookie gives no access: repeated session cookies and csrf values are rejected', async (t) => {
  const { admin, service } = await stage(t);
  const account = { username: 'alice', password: 'seven-quiet-otters-swim' };
  const login = await request(service.url, 'POST', '/api/v1/login', account);
  const csrf = /csrf_token=([^;]+)/.exec(login.headers.get('set-cookie') ?? '')?.[1] ?? '';
  const mine = `auth_token=${login.body.data.token}`;
  const put = async (cookie: string, token: string) =>
    (
      await request(
        service.url,
        'POST',
        '/api/v1/projects',
        { code: 'x y', name: 'X' },
        { cookie, 'x-csrf-token': token },
      )
    ).status;
  t.is(await put(`${mine}; csrf_token=${csrf}`, csrf), 400, 'let in, and refused for its code');
  const planted = [
    `auth_token=${admin.token}; ${mine}; csrf_token=${csrf}`,
    `${mine}; auth_token=; csrf_token=${csrf}`,
    `${mine}; csrf_token=${csrf}; csrf_token=${csrf}`,
    `csrf_token=planted; ${mine}; csrf_token=${csrf}`,
    `${mine}; csrf_token=planted`,
    mine,
  ];
  for (const cookie of planted) {
    t.is(await put(cookie, csrf), 403, cookie.slice(0, 20));
    t.is(await put(cookie, 'planted'), 403, cookie.slice(0, 20));
  }
  const other = await request(service.url, 'POST', '/api/v1/login', account);
  const theirs = /csrf_token=([^;]+)/.exec(other.headers.get('set-cookie') ?? '')?.[1] ?? '';
  t.is(await put(`${mine}; csrf_token=${theirs}`, theirs), 403, 'the value of another session');
});

test('names of built-in object members are not a channel, scope, mode, project or kind', async (t) => {
  const { admin, shop, service } = await stage(t);
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'prototype']) {
    const pay = { subject: 'Tea', amount: 1, payWay: name };
    t.is((await shop.call('POST', '/api/v2/payment/pay', pay)).status, 400, name);
    t.is((await shop.call('POST', '/api/v2/skillpay/resource', { resource: name })).status, 404, name);
    t.is((await shop.call('POST', '/api/v2/skillpay/resource', { resource: 'demo', payWay: name })).status, 400, name);
    t.is((await admin.call('GET', `/api/v1/payment/config/${name}`)).status, 404, name);
    t.is((await admin.call('GET', `/api/v1/payment/config/alipay?project=${name}`)).status, 404, name);
    t.is((await admin.call('POST', '/api/v1/payment/config/alipay', { mode: name })).status, 400, name);
    const app = { name: 'x', scopes: [name] };
    t.is((await admin.call('POST', '/api/v1/api-apps', app)).status, 400, name);
    const cert = { payWay: 'alipay', kind: name, content: 'x' };
    t.is((await admin.call('POST', '/api/v1/certs/upload', cert)).status, 400, name);
    t.is((await request(service.url, 'POST', `/notify/${name}/default`, {})).status, 404, name);
    t.is((await request(service.url, 'GET', `/return/${name}/P1`)).status, 404, name);
    t.is((await request(service.url, 'GET', `/docs/errors/${name}`)).status, 404, name);
    const grant = { grant_type: name, client_id: shop.clientId, client_secret: shop.secret };
    t.is((await request(service.url, 'POST', '/oauth/token', grant)).body.error, 'unsupported_grant_type', name);
  }
});
