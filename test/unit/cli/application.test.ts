import test from 'ava';
import { createApplicationClient } from '../../../cli/application.ts';
import { problem, startFakeApi } from '../../cli/fakes/api.ts';

function clientAt(url: string, now: () => Date) {
  const setup = {
    server: async () => url,
    allowsHttp: async () => false,
    authorities: async () => undefined,
    trace: { request: async () => {}, answer: async () => {} },
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    userAgent: 'test',
  };
  return createApplicationClient(setup, { clientId: 'app_1', secret: 'pays_x' }, now);
}

test('requests that run at the same time replace a refused or expired token once', async (t) => {
  const service = await startFakeApi();
  t.teardown(() => service.close());
  let given = 0;
  service.on('POST /oauth/token', () => ({ body: { access_token: `token-${(given += 1)}`, expires_in: 3600 } }));
  let at = new Date('2026-11-21T06:05:00.000Z');
  const { api } = clientAt(service.url, () => at);
  const together = () => Promise.all(['/api/v2/me', '/api/v2/limits', '/api/v2/me'].map((path) => api.get(path)));
  const replaced = Promise.withResolvers<void>();
  const refuse = problem(401, 'unauthenticated', 'The token was revoked.');
  const isOld = (headers: Record<string, string | undefined>) => headers['authorization'] === 'Bearer token-1';
  service.on('GET /api/v2/me', ({ headers }) => {
    if (isOld(headers)) return refuse;
    replaced.resolve();
    return { body: { data: { name: 'shop' } } };
  });
  // Its refusal arrives after another request has replaced the token.
  service.on('GET /api/v2/limits', async ({ headers }) => {
    if (!isOld(headers)) return { body: { data: {} } };
    await replaced.promise;
    return refuse;
  });
  await together();
  t.is(given, 2);
  at = new Date('2026-11-21T08:05:00.000Z');
  await together();
  t.is(given, 3);
});

test('wrong credentials are sent once', async (t) => {
  const service = await startFakeApi();
  t.teardown(() => service.close());
  service.on('POST /oauth/token', () => problem(401, 'invalid_client', 'The client credentials are wrong.'));
  const { api } = clientAt(service.url, () => new Date('2026-11-21T06:05:00.000Z'));
  await t.throwsAsync(api.get('/api/v2/me'), { message: /credentials are wrong/ });
  t.deepEqual(
    service.seen.map(({ path }) => path),
    ['/oauth/token'],
  );
});
