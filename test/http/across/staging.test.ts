import test from 'ava';
import { endpoint, Reply } from '../../../server/http/endpoint.ts';
import { routeGroup, type RouteGroup } from '../../../server/http/router.ts';
import { guideRoutes } from '../../../server/routes/docs.ts';
import { publicRoutes } from '../../../server/routes/public.ts';
import { startEdge } from '../../support/edge.ts';
import { openSocket, readAll } from './sockets.ts';

const info = () => Promise.reject(new Error('unused'));
const groups = [
  publicRoutes({ info, pingDatabase: async () => {}, staging: true }),
  guideRoutes({ publicUrl: 'https://pay.example', explorer: false }),
  pages(),
];

/** Pages as text, as bytes, in upper case, and parts of pages. */
function pages(): RouteGroup {
  const router = routeGroup('/pages');
  const html = { 'content-type': 'text/html; charset=utf-8' };
  const bodies = {
    text: '<html><head></head><body class="x"><h1>text</h1></body></html>',
    bytes: Buffer.from('<html><HEAD></HEAD><BODY><h1>bytes</h1></BODY></html>'),
    part: '<p>part</p>',
    header: '<html><head></head><body><header>header</header></body></html>',
  };
  for (const [name, body] of Object.entries(bodies))
    router.get(
      `/${name}`,
      endpoint({ auth: 'none', raw: 'html' }, () => new Reply({ headers: html, body })),
    );
  router.get(
    '/gone',
    endpoint({ auth: 'none', raw: 'html' }, () => new Reply({ status: 303, headers: html, body: '' })),
  );
  return router;
}

test('every answer of staging is marked as staging: success, refusal, page, redirect, another origin, and an unreadable request', async (t) => {
  const { url, port } = await startEdge(t, {
    groups,
    environment: 'staging',
    server: { corsOrigins: ['https://shop.example'] },
  });
  const asked: [path: string, init?: RequestInit][] = [
    ['/health'],
    ['/docs/errors/not_found'],
    ['/nothing'],
    ['/api/v1/info'],
    ['/', { redirect: 'manual' }],
    ['/health', { method: 'POST' }],
    [
      '/api/v2/me',
      { method: 'OPTIONS', headers: { origin: 'https://shop.example', 'access-control-request-method': 'GET' } },
    ],
  ];
  for (const [path, init] of asked) {
    const answer = await fetch(url + path, init);
    await answer.arrayBuffer();
    t.is(answer.headers.get('x-pay-environment'), 'staging', `${init?.method ?? 'GET'} ${path}`);
  }
  const foreign = await fetch(`${url}/api/v2/me`, { headers: { origin: 'https://shop.example' } });
  t.regex(foreign.headers.get('access-control-expose-headers') ?? '', /X-Pay-Environment/);
  for (const nonsense of [
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nExpect: y\r\n\r\n',
  ])
    t.regex(await readAll(await openSocket(t, port, nonsense)), /\r\nX-Pay-Environment: staging\r\n/, nonsense);
});

test('every full page of staging has the ribbon once in its own body, and no other answer is changed', async (t) => {
  const { url } = await startEdge(t, { groups, environment: 'staging' });
  for (const path of ['/pages/text', '/pages/bytes', '/pages/header', '/docs', '/docs/errors/not_found']) {
    const answer = await fetch(url + path);
    const text = await answer.text();
    t.is(Number(answer.headers.get('content-length')), Buffer.byteLength(text), path);
    t.is(text.match(/<body[^>]*><p id="pay-environment"/gi)?.length, 1, path);
    t.regex(text, /<link rel="stylesheet" href="\/staging\.css"><\/head>/i, path);
  }
  t.is(await (await fetch(`${url}/pages/part`)).text(), '<p>part</p>');
  const head = await fetch(`${url}/pages/text`, { method: 'HEAD' });
  t.is(head.status, 200);
  t.is((await fetch(`${url}/pages/gone`, { redirect: 'manual' })).status, 303);
  const style = await fetch(`${url}/staging.css`);
  t.regex(style.headers.get('content-type') ?? '', /^text\/css/);
  t.regex(await style.text(), /#pay-environment/);
});

test('without staging no answer is marked as staging', async (t) => {
  const plain = [publicRoutes({ info, pingDatabase: async () => {} }), pages()];
  const { url, port } = await startEdge(t, { groups: plain });
  const page = await fetch(`${url}/pages/text`);
  t.is(page.headers.get('x-pay-environment'), null);
  t.notRegex(await page.text(), /pay-environment/);
  t.is((await fetch(`${url}/staging.css`)).status, 404);
  t.notRegex(await readAll(await openSocket(t, port, 'nonsense\r\n\r\n')), /staging/i);
});
