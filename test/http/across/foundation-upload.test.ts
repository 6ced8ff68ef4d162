import test from 'ava';
import { z } from 'zod';
import { endpoint } from '../../../server/http/endpoint.ts';
import { UploadedFile } from '../../../server/http/multipart.ts';
import { type RouteGroup, routeGroup } from '../../../server/routes/index.ts';
import { startEdge } from '../../support/edge.ts';

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

test('a multipart file arrives in memory, JSON is the other way', async (t) => {
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

test('a file over 64 KB is 413, a broken or doubled part 400', async (t) => {
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
