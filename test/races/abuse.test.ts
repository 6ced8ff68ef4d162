import test from 'ava';
import { performance } from 'node:perf_hooks';
import { firstAdmin } from '../support/admin.ts';
import { count, inParallel } from '../support/counts.ts';
import { request, startService } from '../support/service.ts';

test('G12: a hundred connections of failed logins and token requests do not block other requests', async (t) => {
  const service = await startService(t, { env: { PAY_RATE_LIMIT_BAD_CREDENTIALS_PER_MINUTE: '100000' } });
  const admin = await firstAdmin(service);
  const shop = await service.merchant();
  let running = true;
  const answers: Record<string, number> = {};
  const attack = inParallel(100, 100, async (queueKey) => {
    for (let turn = 0; running; turn += 1) {
      const [path, body] =
        queueKey % 2 === 0
          ? [
              '/api/v1/login',
              { username: queueKey % 4 === 0 ? 'alice' : `nobody-${queueKey}`, password: `wrong-${turn}-wrong` },
            ]
          : ['/oauth/token', { grant_type: 'client_credentials', client_id: shop.clientId, client_secret: `x${turn}` }];
      const { status } = await request(service.url, 'POST', path as string, body);
      const key = `${path} ${status}`;
      answers[key] = (answers[key] ?? 0) + 1;
      t.true([401, 429, 503].includes(status), key);
    }
  });
  const attacked = () => Object.values(answers).reduce((sum, times) => sum + times, 0);
  const times: number[] = [];
  for (let asked = 0; asked < count(500, 30) || attacked() <= 100; asked += 1) {
    const start = performance.now();
    const { status, body } = await request(service.url, 'GET', '/api/v1/payment/channels');
    times.push(performance.now() - start);
    t.is(status, 200);
    t.is(body.data.length, 3);
  }
  t.is((await shop.call('GET', '/api/v2/me')).status, 200, 'a good token works meanwhile');
  t.is((await admin.call('GET', '/api/v1/me')).status, 200, 'a good session works meanwhile');
  running = false;
  await attack;
  const p99 = times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;
  t.log(`${times.length} answers, p99 ${p99.toFixed(0)} ms; meanwhile ${JSON.stringify(answers)}`);
});
