import test from 'ava';
import fc from 'fast-check';
import { z } from 'zod';
import { createLogger } from '../../../server/http/logger.ts';
import { endpoint } from '../../../server/http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../../server/http/router.ts';
import { Amount, Id, Paging, SafeText, UserId } from '../../../server/routes/schemas/fields.ts';
import { startEdge } from '../../support/edge.ts';

const Body = z.object({ name: SafeText(1, 20), amount: Amount, extra: z.string().max(100).optional() });

function group(): RouteGroup {
  const router = routeGroup();
  router.get(
    '/api/v2/things/:id',
    endpoint({ auth: 'any-token', params: z.object({ id: Id }), query: z.object(Paging) }, ({ params }) => params.id),
  );
  router.get(
    '/api/v2/things/users/:userId',
    endpoint({ auth: 'any-token', params: z.object({ userId: UserId }) }, ({ params }) => params.userId),
  );
  router.post(
    '/api/v2/things',
    endpoint({ auth: 'any-token', body: Body, returns: Body }, ({ body }) => body),
  );
  return router;
}

const headers = { authorization: 'Bearer read-token', 'content-type': 'application/json' };
const isPlain = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

test('no body causes a 500, and an accepted body contains only plain text', async (t) => {
  const { url } = await startEdge(t, { groups: [group()] });
  const text = fc.string({ unit: 'binary', maxLength: 30 });
  const bodies = fc.oneof(
    fc.record(
      { name: fc.oneof(text, fc.jsonValue()), amount: fc.oneof(fc.double(), text), extra: text },
      { requiredKeys: [] },
    ),
    fc.jsonValue({ maxDepth: 30 }),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const response = await fetch(`${url}/api/v2/things`, { method: 'POST', headers, body: JSON.stringify(body) });
      const answer = (await response.json()) as { data?: { name: string } };
      return response.status === 400 || (response.status === 200 && isPlain(answer.data?.name ?? '\u0000'));
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('no path, query or bytes cause a 500', async (t) => {
  const { url } = await startEdge(t, { groups: [group()] });
  const part = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom('%', '%00', '%ff', '..%2f', '%2F..', '%ED%A0%80', "'", '\u0000'),
  );
  const clean = fc.array(part, { maxLength: 4 }).map((parts) => parts.join('').replaceAll(/[/?#\s\\]/g, '_'));
  await fc.assert(
    fc.asyncProperty(clean, clean, fc.uint8Array({ maxLength: 40 }), async (id, search, bytes) => {
      const answers = await Promise.all([
        fetch(`${url}/api/v2/things/x${id}?${search}`, { headers }),
        fetch(`${url}/api/v2/things/users/${id}`, { headers }),
        fetch(`${url}/api/v2/things`, { method: 'POST', headers, body: bytes }),
      ]);
      await Promise.all(answers.map((answer) => answer.arrayBuffer()));
      return answers.every(({ status }) => status < 500);
    }),
    { numRuns: 150 },
  );
  t.pass();
});

test('a request is logged in one line without its query, body or credential', async (t) => {
  const lines: string[] = [];
  const logger = createLogger({ log: { level: 'debug' } }, { write: (line) => void lines.push(line) });
  const { url } = await startEdge(t, { groups: [group()], logger });
  await fetch(`${url}/api/v2/things/t1?limit=7`, { headers: { ...headers, 'x-request-id': 'r-1' } });
  await fetch(`${url}/api/v2/things`, { method: 'POST', headers, body: '{"name":"told","amount":1}' });
  const [first] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  t.is(lines.length, 2);
  t.like(first, {
    level: 'info',
    clientRequestId: 'r-1',
    method: 'GET',
    route: '/api/v2/things/{id}',
    status: 200,
    ip: '127.0.0.1',
    caller: 'app_reader',
    msg: 'request',
  });
  t.regex(String(first?.requestId), /^[0-9a-f-]{36}$/);
  t.notRegex(lines.join(''), /limit|told|read-token|t1/);
});

test("a client's own request id is logged beside ours, shortened and without terminal control characters", async (t) => {
  const lines: string[] = [];
  const logger = createLogger({ log: { level: 'debug' } }, { write: (line) => void lines.push(line) });
  const { url } = await startEdge(t, { groups: [group()], logger });
  const sent = ['00-4bf92f3577b34da6/a3ce 929d:1', `${'x'.repeat(500)}`, 'a\u0085\u009b31mb\tc'];
  for (const id of sent) await fetch(`${url}/api/v2/things/t1`, { headers: { ...headers, 'x-request-id': id } });
  await fetch(`${url}/api/v2/things/t1`, { headers });
  const logged = lines.map((line) => JSON.parse(line) as { requestId: string; clientRequestId?: string });
  t.is(new Set(logged.map(({ requestId }) => requestId)).size, 4);
  t.deepEqual(
    logged.map(({ clientRequestId }) => clientRequestId),
    ['00-4bf92f3577b34da6/a3ce 929d:1', 'x'.repeat(128), 'a??31mb?c', undefined],
  );
});

test('an unexpected fault is logged with its location, and a refusal is not', async (t) => {
  const lines: string[] = [];
  const logger = createLogger({ log: { level: 'warn' } }, { write: (line) => void lines.push(line) });
  const router = routeGroup();
  router.get(
    '/fault',
    endpoint({ auth: 'none' }, () => Promise.reject(new Error('with Bearer abc.def.ghi'))),
  );
  const { url } = await startEdge(t, { groups: [router], logger });
  await fetch(`${url}/nothing`);
  t.deepEqual(lines, []);
  const { requestId } = (await (await fetch(`${url}/fault`)).json()) as { requestId: string };
  const line = JSON.parse(lines.join('')) as { err: { message: string; stack: string } };
  t.like(line, { level: 'error', requestId, msg: 'internal_error', route: '/fault' });
  t.is(line.err.message, 'with [redacted]');
  t.regex(line.err.stack, /foundation-hostile/);
});
