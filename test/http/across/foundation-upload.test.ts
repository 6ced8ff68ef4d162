import { once } from 'node:events';
import { request } from 'node:http';
import test from 'ava';
import { pino } from 'pino';
import { z } from 'zod';
import { endpoint } from '../../../server/http/endpoint.ts';
import { UploadedFile } from '../../../server/http/uploads.ts';
import { type RouteGroup, routeGroup } from '../../../server/http/router.ts';
import { startEdge } from '../../support/edge.ts';
import { until } from '../../support/service.ts';

const Upload = z.object({ kind: z.string(), file: UploadedFile.optional(), content: z.string().optional() });

function group(): RouteGroup {
  const router = routeGroup();
  router.post(
    '/upload',
    endpoint({ auth: 'none', accepts: ['multipart', 'json'], body: Upload }, ({ body }) => ({
      kind: body.kind,
      text: body.file?.bytes.toString() ?? body.content,
    })),
  );
  return router;
}

function form(parts: [string, string | Blob][]): FormData {
  const data = new FormData();
  for (const [name, value] of parts) data.append(name, value);
  return data;
}

test('a multipart file is read into memory, and JSON is accepted instead', async (t) => {
  const { url } = await startEdge(t, { groups: [group()] });
  const upload = await fetch(`${url}/upload`, {
    method: 'POST',
    body: form([
      ['kind', 'k'],
      ['file', new Blob(['pem text'])],
    ]),
  });
  t.deepEqual(await upload.json(), { data: { kind: 'k', text: 'pem text' } });
  const plain = await fetch(`${url}/upload`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"kind":"k","content":"c"}',
  });
  t.deepEqual(await plain.json(), { data: { kind: 'k', text: 'c' } });
});

test('a file over 64 KB is 413, a malformed or repeated part is 400', async (t) => {
  const { url } = await startEdge(t, { groups: [group()] });
  const post = async (body: RequestInit['body'], headers = {}) =>
    (await fetch(`${url}/upload`, { method: 'POST', body, headers })).status;
  t.is(
    await post(
      form([
        ['kind', 'k'],
        ['file', new Blob([Buffer.alloc(65_537)])],
      ]),
    ),
    413,
  );
  t.is(
    await post(
      form([
        ['kind', 'k'],
        ['kind', 'l'],
      ]),
    ),
    400,
  );
  t.is(
    await post(
      form([
        ['kind', 'k'],
        ['file', 'not a file'],
      ]),
    ),
    400,
  );
  t.is(
    await post(
      form([
        ['kind', 'k'],
        ['file', new Blob(['a'])],
        ['file', new Blob(['b'])],
      ]),
    ),
    400,
  );
  t.is(await post(form([['kind', 'nul\u0000']])), 400);
  t.is(await post('--x\r\nnonsense', { 'content-type': 'multipart/form-data; boundary=x' }), 400);
  t.is(await post('kind=k', { 'content-type': 'application/x-www-form-urlencoded' }), 415);
  t.is(await post('{}', { 'content-type': 'application/json', 'content-encoding': 'gzip' }), 415);
});

const BOUNDARY = 'a-boundary';
const multipart = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

/** One form part with custom headers. */
const partWith = (head: string, content = 'k') =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
const end = `--${BOUNDARY}--\r\n`;

test('the header of a part may have only a few names: a long header is 400 and costs nothing', async (t) => {
  const { url } = await startEdge(t, { groups: [group()] });
  const post = async (body: string) => {
    const answer = await fetch(`${url}/upload`, { method: 'POST', body, headers: multipart });
    return [answer.status, ((await answer.json()) as { code?: string }).code];
  };
  t.is((await post(partWith('name="kind"') + end))[0], 200);
  t.is((await post(`a preamble, as mail has one\r\n${partWith('name="kind"')}${end}`))[0], 200);
  const long = `name="kind"; x="${'x'.repeat(3_000)}"`;
  for (const head of [long, `name="kind"\r\nx-more: ${'filename="'.repeat(300)}`])
    for (const body of [partWith(head), partWith('name="kind"') + partWith(head), `junk${partWith(head)}`])
      t.deepEqual(await post(body + end), [400, 'body_malformed']);
  t.deepEqual(await post(`--${BOUNDARY}\r\nx: ${'x'.repeat(3_000)}`), [400, 'body_malformed']);
});

test('a form is read up to its maximum length, whatever it contains', async (t) => {
  const { url } = await startEdge(t, { groups: [group()] });
  const { hostname, port } = new URL(url);
  const answer = await new Promise<{ status: number | undefined; sent: number }>((resolve, reject) => {
    const sending = request({ hostname, port, path: '/upload', method: 'POST', headers: multipart });
    let sent = 0;
    const more = (): void => {
      for (let chunks = 0; chunks < 16 && !sending.destroyed; chunks += 1) {
        sent += 65_536;
        if (!sending.write('x'.repeat(65_536))) return void sending.once('drain', more);
      }
      setImmediate(more);
    };
    sending.on('response', (response) => {
      resolve({ status: response.statusCode, sent });
      response.resume();
      sending.destroy();
    });
    sending.on('error', reject);
    sending.write(`--${BOUNDARY}\r\nx: `);
    more();
  });
  t.is(answer.status, 413);
});

test('a client that disconnects inside a form is answered as usual, and nothing waits for the rest', async (t) => {
  const answered: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => void answered.push(line) });
  const { url } = await startEdge(t, { groups: [group()], logger });
  const { hostname, port } = new URL(url);
  const tries = 10;
  for (let one = 0; one < tries; one += 1) {
    const sending = request({ hostname, port, path: '/upload', method: 'POST', headers: multipart });
    sending.on('error', () => {});
    sending.flushHeaders();
    await once(sending, 'socket');
    for (let part = 0; part < one; part += 1) {
      sending.write(partWith('name="file"; filename="a"', 'x'.repeat(5_000)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const socket = sending.socket!;
    if (socket.connecting) await once(socket, 'connect');
    await new Promise<void>((resolve) => socket.write('', () => resolve()));
    sending.destroy();
  }
  await until('every try was answered', async () => answered.length === tries);
  for (const line of answered) t.like(JSON.parse(line), { route: '/upload', status: 400 });
});
