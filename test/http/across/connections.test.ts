import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { endpoint, Reply } from '../../../server/http/endpoint.ts';
import { InvalidRequest } from '../../../server/errors.ts';
import { StreamedBody } from '../../../server/http/uploads.ts';
import { createLogger } from '../../../server/http/logger.ts';
import { createMetrics, listenForMetrics } from '../../../server/http/metrics.ts';
import { routeGroup } from '../../../server/http/router.ts';
import { publicRoutes } from '../../../server/routes/public.ts';
import { startEdge, type EdgeOptions } from '../../support/edge.ts';
import { until } from '../../support/service.ts';
import { openSocket, parseAnswer, readAll } from './sockets.ts';

const groups = [publicRoutes({ info: () => Promise.reject(new Error('unused')), pingDatabase: async () => {} })];

const unreadable: [name: string, request: string, status: number][] = [
  ['no Host header', 'GET /health HTTP/1.1\r\n\r\n', 400],
  ['an empty Host header', 'GET /health HTTP/1.1\r\nHost:\r\n\r\n', 400],
  ['two Host headers', 'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['the same Host header twice', 'GET /health HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n', 400],
  ['a Host header with a space', 'GET /health HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
  ['a Host header with a path', 'GET /health HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
  ['a Host header with a user', 'GET /health HTTP/1.1\r\nHost: u@a\r\n\r\n', 400],
  ['two Host headers in HTTP/1.0', 'GET /health HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['an unknown expectation', 'POST /health HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n', 417],
  ['HTTP/0.9', 'GET /health\r\n\r\n', 400],
  ['HTTP/0.9 by name', 'GET /health HTTP/0.9\r\nHost: a\r\n\r\n', 400],
  ['HTTP/2 by name', 'GET /health HTTP/2.0\r\nHost: a\r\n\r\n', 400],
  ['headers without end', `GET /health HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}`, 431],
];

for (const [name, request, status] of unreadable)
  test(`${name} is refused with a problem document, and the connection is closed`, async (t) => {
    const { port } = await startEdge(t, { groups });
    const answer = parseAnswer(await readAll(await openSocket(t, port, request)));
    t.is(answer.status, status);
    t.is(answer.type, 'application/problem+json; charset=utf-8');
    t.like(answer.body, { status, code: 'invalid_request', title: 'Invalid request', retryable: false });
    t.truthy(answer.body['requestId']);
  });

for (const host of ['a', 'pay.example:8080', '127.0.0.1', '[::1]:8080', 'xn--bcher-kva.example.', 'under_score'])
  test(`Host: ${host} is accepted`, async (t) => {
    const { port } = await startEdge(t, { groups });
    const sent = `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    t.is(parseAnswer(await readAll(await openSocket(t, port, sent))).status, 200);
  });

test('a balancer may check by HTTP/1.0 without Host', async (t) => {
  const { port } = await startEdge(t, { groups });
  t.is(parseAnswer(await readAll(await openSocket(t, port, 'GET /health HTTP/1.0\r\n\r\n'))).status, 200);
});

test('HTTP/1.0 with Transfer-Encoding is answered, then its connection closes, and later requests on it are not served', async (t) => {
  const paths: string[] = [];
  const router = routeGroup('');
  for (const path of ['/first', '/second'])
    router.post(
      path,
      endpoint({ auth: 'none', accepts: ['raw'] }, () => {
        paths.push(path);
        return new Reply({ body: path });
      }),
    );
  const { port } = await startEdge(t, { groups: [router], limits: { quietMs: 1_000 } });
  const request = (path: string, more = '') => `POST ${path} HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n${more}`;
  const chunked = request('/first', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n');
  const plain = request('/second', 'Content-Length: 0\r\n\r\n');
  const answer = await readAll(await openSocket(t, port, chunked + plain));
  t.regex(answer, /^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n[^]*\r\n\r\n\/first$/i);
  t.deepEqual(paths, ['/first']);
  const kept = await readAll(await openSocket(t, port, plain + chunked));
  t.regex(
    kept,
    /Connection: keep-alive[^]*\/second[^]*Connection: close[^]*\/first$/i,
    'other requests keep the connection',
  );
});

const BODY = 'POST /raw HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc';

test('a body that does not arrive in time is answered 408, and its connection closes', async (t) => {
  const { port } = await edge(t, { requestMs: 300, headersMs: 100 });
  const answer = parseAnswer(await readAll(await openSocket(t, port, BODY)));
  t.is(answer.status, 408);
  t.like(answer.body, { code: 'request_timeout', retryable: true });
});

test('a streamed body may take longer than other bodies, as long as data keeps arriving', async (t) => {
  const { port } = await edge(t, { requestMs: 1000 });
  const head = 'POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n';
  const moving = await openSocket(t, port, head);
  const silent = readAll(await openSocket(t, port, head));
  let isCut = false;
  moving.once('close', () => (isCut = true));
  const feed = setInterval(() => moving.write(Buffer.alloc(200_000)), 20);
  t.teardown(() => clearInterval(feed));
  t.is(parseAnswer(await silent).status, 408);
  t.false(isCut, 'the body sent at the same time continues');
  clearInterval(feed);
  t.is(parseAnswer(await readAll(moving)).status, 408);
});

test('a handler that stops reading a body can still answer', async (t) => {
  const { url } = await edge(t, {});
  const body = Buffer.alloc(5_000_000);
  const answer = await fetch(`${url}/stream-refused`, { method: 'POST', body });
  t.is(answer.status, 400);
  const form = new FormData();
  form.append('file', new Blob(['x']));
  t.is((await fetch(`${url}/stream`, { method: 'POST', body: form })).status, 415);
  t.is(await (await fetch(`${url}/stream`, { method: 'POST', body })).text(), '{"data":5000000}');
});

test('one address has a bounded number of slow bodies; other addresses and complete bodies are not affected', async (t) => {
  const { port, url } = await edge(t, { slowAfterMs: 50, slowPerAddress: 3 }, { trustedProxies: 1 });
  const from = (address: string) => BODY.replace('Host: x', `Host: x\r\nX-Forwarded-For: ${address}`);
  const sockets = await Promise.all(Array.from({ length: 8 }, () => openSocket(t, port, from('2001:db8::1'))));
  const refused: Promise<string>[] = sockets.map((socket) => readAll(socket));
  await until('five are refused', async () => sockets.filter(({ closed }) => closed).length === 5);
  const texts = await Promise.all(refused.filter((_, index) => sockets[index]!.closed));
  for (const text of texts) t.like(parseAnswer(text), { status: 408, body: { code: 'request_timeout' } });
  const other = await openSocket(t, port, from('2001:db8:1::1'));
  t.is((await fetch(`${url}/raw`, { method: 'POST', body: 'whole' })).status, 200);
  other.write('defghi');
  t.regex(String(await once(other, 'data')), /200 OK/);
  for (const socket of sockets.filter(({ closed }) => !closed)) socket.write('defghi');
  const next = await openSocket(t, port, from('2001:db8::2'));
  const socketsLeft = sockets.filter(({ closed }) => !closed).length;
  t.is(socketsLeft, 3, 'those that were slow and within the bound end well');
  next.write('defghi');
  t.regex(String(await once(next, 'data')), /200 OK/);
});

test.serial(
  'a client that does not read the response is disconnected; a client that waits for a slow one is not',
  async (t) => {
    const gate = Promise.withResolvers<void>();
    const { port } = await edge(t, { quietMs: 200 }, {}, gate.promise);
    const patient = await openSocket(t, port, 'GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const heard = readAll(patient);
    for (const path of ['/large', '/endless']) {
      const greedy = await openSocket(t, port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, { reads: false });
      // No client reads, so the end of the connection is only seen by writing.
      await until(`${path} is cut off`, async () => !greedy.write(' ') || greedy.destroyed || greedy.errored);
      await until(`${path} is reset`, async () => greedy.destroyed || void greedy.write(' '));
    }
    gate.resolve();
    t.is(parseAnswer(await heard).status, 200);
  },
);

test('a response that the client reads drop by drop is cut off after a while', async (t) => {
  const { port } = await edge(t, { takeMs: 500 });
  const slow = await openSocket(t, port, 'GET /large HTTP/1.1\r\nHost: x\r\n\r\n', { reads: false });
  let taken = 0;
  await until('cut off', async () => {
    taken += (slow.read(1) as Buffer | null)?.length ?? 0;
    return slow.destroyed || void slow.write(' ');
  });
  t.true(taken < LARGE);
});

test('the data buffered for one connection is bounded', async (t) => {
  const { port } = await edge(t, { waitingBytes: 1024 * 1024 });
  const greedy = await openSocket(t, port, 'GET /large HTTP/1.1\r\nHost: x\r\n\r\n', { reads: false });
  await until('cut off', async () => greedy.destroyed || void greedy.write(' '));
  t.pass();
});

test('connections beyond Server.MaxConnections are closed immediately and logged once; existing connections continue', async (t) => {
  const lines: string[] = [];
  const logger = createLogger({ log: { level: 'warn' } }, { write: (line) => void lines.push(line) });
  const { port } = await startEdge(t, { groups, maxConnections: 4, logger });
  const first = await openSocket(t, port);
  const sockets = await Promise.all(Array.from({ length: 10 }, () => openSocket(t, port)));
  for (const socket of sockets) socket.resume();
  await until('what is too much is closed', async () => sockets.filter(({ closed }) => closed).length === 7);
  first.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  t.is(parseAnswer(await readAll(first)).status, 200);
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0]!), { level: 'warn', maxConnections: 4 });
});

test('metrics are not buffered for a client that does not read them', async (t) => {
  const own = await listenForMetrics(createMetrics().registry, { host: '127.0.0.1', port: 0 });
  t.teardown(own.close);
  const sockets = await Promise.all(Array.from({ length: 80 }, () => openSocket(t, own.port)));
  await until('what is too much is closed', async () => sockets.filter(({ closed }) => closed).length >= 16);
  t.true(sockets.some(({ closed }) => !closed));
});

const LARGE = 32 * 1024 * 1024;
const large = Buffer.alloc(LARGE);

function edge(
  t: ExecutionContext,
  limits: EdgeOptions['limits'],
  server: EdgeOptions['server'] = {},
  gate: Promise<void> = Promise.resolve(),
) {
  const router = routeGroup();
  const type = { 'content-type': 'application/octet-stream' };
  router.post(
    '/raw',
    endpoint({ auth: 'none', accepts: ['raw'] }, ({ request }) => request.rawBody.length),
  );
  const stream = { auth: 'none', accepts: ['stream'], body: StreamedBody } as const;
  router.post(
    '/stream',
    endpoint(stream, async ({ body }) => {
      let size = 0;
      for await (const piece of body) size += piece.byteLength;
      return size;
    }),
  );
  router.post(
    '/stream-refused',
    endpoint(stream, async ({ body }) => {
      for await (const piece of body) if (piece.byteLength > 0) break;
      throw new InvalidRequest('No.', []);
    }),
  );
  router.get(
    '/slow',
    endpoint({ auth: 'none' }, async () => {
      await gate;
      return 'done';
    }),
  );
  router.get(
    '/large',
    endpoint({ auth: 'none', raw: 'stream' }, () => new Reply({ headers: type, body: large })),
  );
  router.get(
    '/endless',
    endpoint({ auth: 'none', raw: 'stream' }, () => new Reply({ headers: type, body: endless() })),
  );
  return startEdge(t, { groups: [router], limits, server });
}

function endless(): Readable {
  return Readable.from(
    (function* () {
      for (;;) yield large.subarray(0, 65_536);
    })(),
    { objectMode: false },
  );
}
