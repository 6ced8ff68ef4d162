import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { endpoint } from '../../../server/http/endpoint.ts';
import { createMetrics, listenForMetrics } from '../../../server/http/metrics.ts';
import { type RouteGroup, routeGroup } from '../../../server/http/router.ts';
import { guideRoutes } from '../../../server/routes/docs.ts';
import { publicRoutes } from '../../../server/routes/public.ts';
import { fakeAuthenticators, startEdge } from '../../support/edge.ts';
import { until } from '../../support/service.ts';
import { openSocket, parseAnswer, readAll } from './sockets.ts';

function slowGroup(work: Promise<void>, started: () => void): RouteGroup {
  const router = routeGroup();
  router.get(
    '/slow',
    endpoint({ auth: 'none' }, async () => {
      started();
      await work;
      return 'done';
    }),
  );
  return router;
}

test('a stop lets the request in flight finish and closes its connection; new connections are not accepted', async (t) => {
  const work = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const { url, close } = await startEdge(t, {
    groups: [slowGroup(work.promise, started.resolve)],
    shutdownSeconds: 30,
  });
  const slow = fetch(`${url}/slow`);
  await started.promise;
  const closing = close();
  await until('new ones are refused', () =>
    fetch(`${url}/nothing`).then(
      () => false,
      () => true,
    ),
  );
  work.resolve();
  const answer = await slow;
  t.is(answer.status, 200);
  t.is(answer.headers.get('connection'), 'close');
  t.deepEqual(await answer.json(), { data: 'done' });
  await closing;
  await t.notThrowsAsync(close());
});

test('during a drain the balancer receives 503, every answer closes its connection, and new connections are accepted until the end', async (t) => {
  const draining = Promise.withResolvers<void>();
  let isDraining = false;
  const info = () => Promise.reject(new Error('unused'));
  const groups = [publicRoutes({ info, pingDatabase: async () => {}, isDraining: () => isDraining })];
  const { url, port, close } = await startEdge(t, { groups, drain: draining.promise });
  const idle = await openSocket(t, port, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  t.notRegex(String(await once(idle, 'data')), /connection: close/i);
  isDraining = true;
  const closing = close();
  const refused = await fetch(`${url}/health/db`);
  t.is(refused.status, 503);
  t.is(((await refused.json()) as { code: string }).code, 'shutting_down');
  for (const path of ['/health', '/nothing']) {
    const answer = await fetch(url + path);
    t.is(answer.headers.get('connection'), 'close', path);
  }
  t.false(idle.closed, 'an idle connection lives until the end of the drain, or its next answer');
  draining.resolve();
  await closing;
  await until('the idle one is closed', async () => idle.closed);
  await t.throwsAsync(fetch(`${url}/health`));
});

test.serial('a client that is connected when the port closes is answered', async (t) => {
  const info = () => Promise.reject(new Error('unused'));
  const groups = [publicRoutes({ info, pingDatabase: async () => {} })];
  const { port, close } = await startEdge(t, { groups, shutdownSeconds: 30 });
  // The kernel connects them all at once; Node accepts one in each turn of its loop.
  const request = 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(t, port, request)));
  const closing = close();
  const statuses = (await Promise.all(sockets.map(readAll))).map((answer) => parseAnswer(answer).status);
  t.deepEqual(
    statuses,
    Array.from({ length: 20 }, () => 200),
  );
  await closing;
});

test.serial('a client that connects in the loop turn in which the port closes is answered', async (t) => {
  const info = () => Promise.reject(new Error('unused'));
  const groups = [publicRoutes({ info, pingDatabase: async () => {} })];
  const { port, close } = await startEdge(t, { groups, shutdownSeconds: 30 });
  const first = await openSocket(t, port, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  // From here on the test runs in the poll phase: the loop does not poll again before the next `setImmediate`.
  await once(first, 'data');
  const sockets = Array.from({ length: 5 }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const closing = close();
  const answers = await Promise.all(sockets.map(readAll));
  t.deepEqual(
    answers.map((answer) => parseAnswer(answer).status),
    Array.from({ length: 5 }, () => 200),
  );
  await closing;
});

test('a request that takes longer than the grace period is aborted', async (t) => {
  const started = Promise.withResolvers<void>();
  const { url, close } = await startEdge(t, {
    groups: [slowGroup(new Promise(() => {}), started.resolve)],
    shutdownSeconds: 0.05,
  });
  const slow = t.throwsAsync(fetch(`${url}/slow`));
  await started.promise;
  await close();
  await slow;
});

test('an idle connection does not delay a stop', async (t) => {
  const { port, close } = await startEdge(t, { groups: [], shutdownSeconds: 60 });
  const idle = await openSocket(t, port, 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(idle, 'data');
  await close();
  t.pass();
});

test('a body that is too large is rejected although its length is not declared', async (t) => {
  const router = routeGroup();
  router.post(
    '/raw',
    endpoint({ auth: 'none', accepts: ['raw'] }, ({ request }) => request.rawBody.length),
  );
  const { url } = await startEdge(t, { groups: [router] });
  const body = new Blob([Buffer.alloc(256 * 1024 + 1)]).stream();
  const response = await fetch(`${url}/raw`, { method: 'POST', body, duplex: 'half' } as RequestInit);
  t.is(response.status, 413);
});

test('a request whose caller disconnects before its body is read does not hang', async (t) => {
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const authenticators = {
    ...fakeAuthenticators,
    app: async (token: string, ip: string) => {
      asked.resolve();
      await gone.promise;
      return fakeAuthenticators.app(token, ip);
    },
  };
  const answered = Promise.withResolvers<number>();
  const metrics = createMetrics();
  Object.assign(metrics.requests, { observe: ({ status }: { status: string }) => answered.resolve(Number(status)) });
  const router = routeGroup('/api/v2');
  router.post(
    '/raw',
    endpoint({ auth: 'any-token', accepts: ['raw'] }, ({ request }) => request.rawBody.length),
  );
  const { port } = await startEdge(t, { groups: [router], authenticators, metrics });
  const head =
    'POST /api/v2/raw HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer read-token\r\nContent-Length: 9\r\n\r\nabc';
  const socket = await openSocket(t, port, head);
  await asked.promise;
  socket.destroy();
  await once(socket, 'close');
  // The server sees the disconnect asynchronously; a round trip on another connection completes after it.
  await readAll(await openSocket(t, port, 'NONSENSE\r\n\r\n'));
  gone.resolve();
  t.is(await answered.promise, 400);
});

test('a request that is not HTTP is answered 400 as a problem document', async (t) => {
  const { port } = await startEdge(t, { groups: [] });
  const answer = await readAll(await openSocket(t, port, 'NONSENSE\r\n\r\n'));
  t.regex(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
  t.regex(answer, /application\/problem\+json/);
});

test('metrics are counted by route pattern, on their own address', async (t) => {
  const metrics = createMetrics();
  const groups = [guideRoutes({ publicUrl: 'https://pay.example.com', explorer: false })];
  const { url } = await startEdge(t, { groups, metrics });
  const own = await listenForMetrics(metrics.registry, { host: '127.0.0.1', port: 0 });
  t.teardown(own.close);
  await fetch(`${url}/docs/errors/not_found`);
  await fetch(`${url}/docs/errors/unknown_code`);
  await fetch(`${url}/secret/path`);
  t.is((await fetch(`${url}/metrics`)).status, 404);
  const text = await (await fetch(`http://127.0.0.1:${own.port}/metrics`)).text();
  t.regex(text, /http_request_duration_seconds_count\{method="GET",route="\/docs\/errors\/\{code\}",status="200"\} 1/);
  t.regex(text, /route="\(none\)",status="404"/);
  t.notRegex(text, /secret|unknown_code/);
  t.is((await fetch(`http://127.0.0.1:${own.port}/`)).status, 404);
});
