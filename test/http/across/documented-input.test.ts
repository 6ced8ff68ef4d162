import test from 'ava';
import { scopes } from '../../../server/domain.ts';
import { firstAdmin } from '../../support/admin.ts';
import { describedService, type Operation } from '../../support/documented.ts';
import { request, startService, type Answer } from '../../support/service.ts';

const GRANT = { grant_type: 'client_credentials' };
const KEY = { 'idempotency-key': 'order-1001' };

/** Sends a request for a documented operation with sufficient rights; only the tested input is valid. */
type Send = (method: string, path: string, query?: string, headers?: Record<string, string>) => Promise<Answer>;

async function openService(t: Parameters<typeof startService>[0]): Promise<Send> {
  const service = await startService(t);
  const { call: admin } = await firstAdmin(service);
  const app = await service.merchant({ scopes: [...scopes], trusted: true });
  return (method, path, query = '', headers = {}) => {
    const at = `${path.replace('{payWay}', 'alipay').replaceAll(/\{\w+\}/g, 'nothing')}${query}`;
    const body = path === '/oauth/token' ? GRANT : method === 'POST' || method === 'PUT' ? {} : undefined;
    if (at.startsWith('/api/v1/') && !at.startsWith('/api/v1/login')) return admin(method, at, body, headers);
    if (at.startsWith('/api/v2/')) return app.call(method, at, body, headers);
    return request(service.url, method, at, body, headers);
  };
}

async function described(): Promise<[method: string, path: string, operation: Operation][]> {
  const { paths } = await describedService();
  return Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]): [string, string, Operation] => [
      verb.toUpperCase(),
      path,
      operation,
    ]),
  );
}

test('no documented query parameter is rejected as one that must not be sent', async (t) => {
  const send = await openService(t);
  const refused: string[] = [];
  let tried = 0;
  for (const [method, path, operation] of await described()) {
    const { parameters = [] } = operation;
    // A stream never ends.
    if ('text/event-stream' in (operation.responses['200']?.content ?? {})) continue;
    for (const { name } of parameters.filter((parameter) => parameter.in === 'query')) {
      tried += 1;
      const { body } = await send(method, path, `?${name}=1`);
      const errors = (body?.errors ?? []) as { pointer: string; code: string }[];
      const { error_description: text = '' } = body ?? {};
      const isRefused = errors.some(({ code }) => code === 'unknown_parameter' || code === 'not_in_query');
      if (isRefused || / in the body, not in the URL/.test(text)) refused.push(`${method} ${path}?${name}`);
    }
  }
  t.deepEqual(refused, []);
  t.true(tried > 50, `${tried} parameters`);
});

test('an Idempotency-Key is honoured, or the response reports that it was not, as documented', async (t) => {
  const send = await openService(t);
  const honoured: string[] = [];
  for (const [method, path, operation] of await described()) {
    if (method === 'GET' || path.endsWith('/logout')) continue;
    const { headers } = await send(method, path, '', KEY);
    const isDocumented = (operation.parameters ?? []).some(
      ({ name, $ref }) => /^idempotency-key$/i.test(name ?? '') || $ref?.endsWith('/IdempotencyKey'),
    );
    t.is(headers.get('idempotency-key-ignored'), isDocumented ? null : 'true', `${method} ${path}`);
    const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
    for (const [status, { headers: named = {} }] of answers)
      t.is('Idempotency-Key-Ignored' in named, !isDocumented, `${method} ${path} ${status}`);
    if (isDocumented) honoured.push(`${method} ${path}`);
    t.is((await send(method, path)).headers.get('idempotency-key-ignored'), null, 'no header without a key');
  }
  t.true(honoured.includes('POST /api/v2/payment/pay'));
  t.is(honoured.length, 15, honoured.join('\n'));
});

test('a read operation does not mention the key', async (t) => {
  const send = await openService(t);
  for (const path of ['/health', '/api/v1/orders'])
    t.is((await send('GET', path, '', KEY)).headers.get('idempotency-key-ignored'), null);
});
