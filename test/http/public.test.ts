import test from 'ava';
import { publicRoutes } from '../../server/routes/public.ts';
import { startEdge } from '../support/edge.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes, refused } from '../support/route-file.ts';
import { request } from '../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin, viewer, nobody, service } = file;
coverRoutes(test, file);

test.serial('/health reports ok to every caller, and nothing else', async (t) => {
  const { status, body, headers } = await nobody('GET', '/health');
  t.is(status, 200);
  t.deepEqual(body, { status: 'ok' });
  t.regex(headers.get('content-type') ?? '', /^application\/json/);
});

test.serial('/health/db reports ok while the database answers', async (t) => {
  const { status, body } = await nobody('GET', '/health/db');
  t.is(status, 200);
  t.deepEqual(body, { status: 'ok' });
});

test.serial('/health/db is 503 without details when the database does not answer', async (t) => {
  const pingDatabase = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:5432'));
  const groups = [publicRoutes({ info: () => Promise.reject(new Error('unused')), pingDatabase })];
  const { url } = await startEdge(t, { groups });
  const answer = await request(url, 'GET', '/health/db');
  refused(t, answer, 503, 'database_unavailable');
  t.truthy(answer.headers.get('retry-after'));
  t.notRegex(JSON.stringify(answer.body), /10\.0\.0\.7|ECONNREFUSED/);
});

test.serial('an administrator sees the name, version, database and uptime of the service', async (t) => {
  for (const call of [admin, viewer]) {
    const { status, body } = await call('GET', '/api/v1/info');
    t.is(status, 200);
    t.like(body.data, { name: 'unified-payment-service', debug: true, database: 'postgresql' });
    t.regex(body.data.version, /^\d+\.\d+\.\d+/);
    t.regex(body.data.schemaVersion, /^\w+/);
    t.true(Number.isInteger(body.data.uptimeSeconds) && body.data.uptimeSeconds >= 0);
  }
});

test.serial('the root redirects to the explorer', async (t) => {
  const answer = await fetch(`${service.url}/`, { redirect: 'manual' });
  t.is(answer.status, 302);
  t.is(answer.headers.get('location'), '/swagger/index.html');
});

test.serial('without the explorer the root redirects to the guides', async (t) => {
  const info = () => Promise.reject(new Error('unused'));
  const groups = [publicRoutes({ info, pingDatabase: async () => {}, explorer: false })];
  const { url } = await startEdge(t, { groups });
  const answer = await fetch(`${url}/`, { redirect: 'manual' });
  t.deepEqual([answer.status, answer.headers.get('location')], [302, '/docs']);
});

test.serial('staging serves the style of its ribbon', async (t) => {
  const info = () => Promise.reject(new Error('unused'));
  const { url } = await startEdge(t, { groups: [publicRoutes({ info, pingDatabase: async () => {}, staging: true })] });
  const answer = await request(url, 'GET', '/staging.css');
  t.is(answer.status, 200);
  t.regex(answer.body, /#pay-environment/);
});
