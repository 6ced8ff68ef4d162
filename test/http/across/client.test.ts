import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import {
  type Client,
  createClient,
  PaymentProblem,
  verifyWebhook,
  WebhookVerificationError,
} from '../../../server/client/ts/index.ts';
import { merchantScopes } from '../../../server/domain.ts';
import { newWebhookSecret } from '../../../server/events/deliver.ts';
import { firstAdmin } from '../../support/admin.ts';
import { startInBetween } from '../../support/in-between.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService, until } from '../../support/service.ts';
import { addSkill } from '../../support/skillpay.ts';

type Values = Record<string, unknown>;

/** A step of `clients.json`: a call or a verification by the client, or something that the test does meanwhile. */
interface Step {
  call?: keyof Client;
  input?: Values;
  verify?: {
    secret: string | string[];
    headers: Record<string, string>;
    body: string;
    asText?: true;
    later?: number;
    now?: number | 'NaN';
  };
  world?: keyof ReturnType<typeof worldOf>;
  expect?: Values;
  /** The requests that the client sends in this step. */
  sent?: string[];
  /** Values for later steps: a path in the result, or a value as `$name`. */
  save?: Record<string, string>;
  [detail: string]: unknown;
}

interface Scenario {
  name: string;
  /** A secret that is not the one of the application. */
  secret?: string;
  /** The address of the service, if it is not that of the proxy. */
  url?: string;
  allowHttp?: boolean;
  steps: Step[];
}

const scenarios = JSON.parse(readFileSync(join(import.meta.dirname, 'clients.json'), 'utf8')) as Scenario[];

/** Runs the steps of one client, which it makes for each application. */
type Driver = (url: string, clientId: string, secret: string, allowHttp: boolean) => (step: Step) => Promise<Values>;

const inTypeScript: Driver = (baseUrl, clientId, clientSecret, allowHttp) => {
  let client: Client | undefined;
  const run = async ({ call, input, verify }: Step): Promise<unknown> => {
    client ??= createClient({ baseUrl, clientId, clientSecret, allowHttp });
    if (call) return (client[call] as (given?: Values) => Promise<unknown>)(input);
    const { secret, headers, body, asText, later = 0, now } = verify!;
    return verifyWebhook(
      secret,
      headers,
      asText ? body : Buffer.from(body),
      now === undefined ? Date.now() + later * 1000 : Number(now) * 1000,
    );
  };
  return async (step) => {
    try {
      return { answer: await run(step) };
    } catch (error) {
      if (error instanceof PaymentProblem) {
        const { name, operation, code, status, retryable, requestId, problem } = error;
        return { error: { name, operation, code, status, retryable, problem, hasRequestId: requestId !== undefined } };
      }
      if (error instanceof WebhookVerificationError) return { error: { name: error.name, code: error.code } };
      const { name, message, cause } = error as Error;
      return { error: { name: cause === undefined ? name : 'connection', message } };
    }
  };
};

/** Starts `clients.py`, which reads a step a line and prints its result. */
function startPython(t: Pick<ExecutionContext, 'teardown'>): Driver {
  const { status } = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))']);
  if (status !== 0)
    throw new Error('The Python client needs python3, version 3.11 or newer. Debian: apt install python3');
  const PYTHONPATH = join(import.meta.dirname, '../../../server/client/python');
  const env = { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1', NO_PROXY: '*' };
  const script = [join(import.meta.dirname, 'clients.py')];
  const child = spawn('python3', script, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => void child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return (...client) => {
    child.stdin.write(`${JSON.stringify({ client })}\n`);
    return async (step) => {
      child.stdin.write(`${JSON.stringify(step)}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error('clients.py ended.');
      return JSON.parse(value) as Values;
    };
  };
}

const ends: (() => unknown)[] = [];
const file = { teardown: (end: () => unknown) => void ends.push(end) } as unknown as ExecutionContext;
const service = await startService(file, { env: { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' } });
const { call: admin } = await firstAdmin(service);
const receiver = await startReceiver(file);
await addSkill(service);
/** The requests that the proxy between client and service has seen, and the faults that it plants in the next ones. */
const wire = { sent: [] as string[], bearer: '', answers: [] as Step[], cuts: 0 };
const proxy = await startInBetween(
  file,
  service.url,
  (method, path, headers) => {
    wire.sent.push(`${method} ${path}`);
    const isToken = path === '/oauth/token';
    if (!isToken) wire.bearer = String(headers.authorization).replace('Bearer ', '');
    if (isToken !== (wire.answers[0]?.['to'] === 'token')) return undefined;
    const step = wire.answers.shift();
    if (!step) return undefined;
    const body = { code: step['code'] ?? 'busy', detail: 'Try again.', retryable: true };
    return { status: step['status'] as number, headers: step['headers'] as Record<string, string>, body };
  },
  (_, path) => {
    if (path === '/oauth/token' || wire.cuts === 0) return undefined;
    wire.cuts -= 1;
    return 'cut';
  },
);

/** Another machine to which an answer could lead a client. */
const foreign = await startInBetween(file, service.url, (method, path) => {
  wire.sent.push(`foreign ${method} ${path}`);
  return undefined;
});

test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

let python: Driver | undefined;
const inPython: Driver = (...client) => (python ??= startPython(file))(...client);

const HOUR = 3600;

/** The newest message of the receiver, with the headers of the signature. */
function received() {
  const { headers, body } = receiver.received.pop()!;
  return { headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-'))), body };
}

/** The steps that the client does not run, for one application. Some return values for later steps. */
function worldOf(clientId: string, undo: (() => void)[]) {
  const hook = `/api/v1/api-apps/${clientId}/webhook`;
  let secret = '';
  return {
    pay: async ({ number }: Step) => {
      await service.sim('/sim/pay', { orderNo: number });
      await until('the order is paid', async () =>
        (await (await fetch(`${service.url}/pay/${String(number)}/state`)).text()).includes('"paid"'),
      );
    },
    answer: (step: Step) => void wire.answers.push(...Array.from({ length: step['times'] as number }, () => step)),
    cut: () => void (wire.cuts += 1),
    revoke: async () => {
      const body = new URLSearchParams({ token: wire.bearer });
      await fetch(`${service.url}/oauth/revoke`, { method: 'POST', body });
    },
    expire: () => {
      service.clock.advance(2 * HOUR);
      undo.push(() => service.clock.advance(-2 * HOUR));
    },
    webhook: async () => {
      if (secret === '') secret = (await admin('PUT', hook, { url: receiver.url })).body.data.secret;
      await admin('POST', `${hook}/test`);
      const { headers, body } = received();
      const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
      return { secret, headers, shouted, body };
    },
    receiver: () => ({ receiver: receiver.url }),
    received,
    rotate: async () => {
      secret = (await admin('POST', `${hook}/rotate-secret`, { graceSeconds: HOUR })).body.data.secret;
    },
    sign: ({ body }: Step) => {
      const at = new Date();
      const own = newWebhookSecret();
      const headers = {
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(own).sign('evt_1', at, String(body)),
      };
      return { secret: own, headers, body };
    },
  };
}

/** Replaces `$name` by the value of that name, also inside other text. */
function filled(part: unknown, values: Values): unknown {
  if (typeof part === 'string')
    return part.startsWith('$') && part.slice(1) in values
      ? values[part.slice(1)]
      : part.replaceAll(/\$(\w+)/g, (_, name: string) => String(values[name]));
  if (Array.isArray(part)) return part.map((one) => filled(one, values));
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, filled(one, values)]));
}

async function play(
  t: ExecutionContext,
  { steps, secret, url, allowHttp = false }: Scenario,
  driver: Driver,
): Promise<void> {
  const shop = await service.merchant({ scopes: merchantScopes });
  const run = driver(url ?? `${proxy.url}/`, shop.clientId, secret ?? shop.secret, allowHttp);
  const undo: (() => void)[] = [];
  const world = worldOf(shop.clientId, undo);
  const values: Values = { client: shop.clientId, foreign: foreign.url };
  try {
    for (const [at, written] of steps.entries()) {
      const step = filled(written, values) as Step;
      const where = `step ${at + 1}: ${JSON.stringify(step)}`;
      wire.sent = [];
      const result = step.world ? await world[step.world](step) : await run(step);
      if (step.expect) t.like(result, step.expect, `${where}\n${JSON.stringify(result)}`);
      if (step.sent) t.deepEqual(wire.sent, step.sent, where);
      for (const [name, path] of Object.entries(step.save ?? {})) values[name] = valueAt(result, path);
      if (step.world) Object.assign(values, result);
    }
  } finally {
    for (const end of undo) end();
  }
}

/** The value at a path in the answer or the error; a text that is no path is the value. */
function valueAt(result: unknown, path: string): unknown {
  const { answer, error } = (result ?? {}) as Values;
  const [first = '', ...rest] = path.split('.');
  const start = (answer ?? error) as Values | undefined;
  if (start?.[first] === undefined) return path;
  return rest.reduce<unknown>((part, name) => (part as Values)[name], start[first]);
}

for (const scenario of scenarios) {
  test.serial(`TypeScript: ${scenario.name}`, (t) => play(t, scenario, inTypeScript));
  test.serial(`Python: ${scenario.name}`, (t) => play(t, scenario, inPython));
}

/** A client whose requests get these answers, except for those of a token. */
function clientOf(answer: (pathname: string, init: RequestInit) => Response): Client {
  return createClient({
    baseUrl: 'https://service.example',
    clientId: 'app',
    clientSecret: 'secret',
    async fetch(url, init) {
      if (!url.endsWith('/oauth/token')) return answer(new URL(url).pathname, init);
      return Response.json({ access_token: 'token', token_type: 'Bearer', expires_in: 3600, scope: '' });
    },
  });
}

test('the client sends no request for a value that a URL would parse as another path', async (t) => {
  const sent: string[] = [];
  const client = clientOf((pathname) => {
    sent.push(pathname);
    return Response.json({ data: {} });
  });
  for (const userId of ['', '.', '..'])
    await t.throwsAsync(
      client.getUser({ userId }),
      { instanceOf: TypeError, message: /parameter userId must / },
      userId,
    );
  t.deepEqual(sent, []);
  await client.getUser({ userId: '...' });
  t.deepEqual(sent, ['/api/v2/users/...']);
});

test('the client replaces an expired token once; it reports wrong credentials and tries again on the next call', async (t) => {
  const tokens = ['first', 'second'];
  const asked: string[] = [];
  const client = createClient({
    baseUrl: 'https://service.example',
    clientId: 'app',
    clientSecret: 'secret',
    async fetch(url, init) {
      const bearer = new Headers(init.headers).get('authorization');
      asked.push(`${new URL(url).pathname} ${bearer}`);
      if (url.endsWith('/oauth/token')) {
        const access_token = tokens.shift();
        if (access_token === undefined) return Response.json({ error: 'invalid_client' }, { status: 401 });
        return Response.json({ access_token, token_type: 'Bearer', expires_in: 3600, scope: '' });
      }
      if (bearer === 'Bearer second' && asked.length < 5) return Response.json({ data: { client_id: 'app' } });
      return Response.json({ code: 'unauthenticated', detail: 'No.' }, { status: 401 });
    },
  });
  t.is((await client.getOwnApp()).data.client_id, 'app');
  t.deepEqual(asked, ['/oauth/token null', '/api/v2/me Bearer first', '/oauth/token null', '/api/v2/me Bearer second']);
  for (const code of ['invalid_client', 'invalid_client']) {
    const refused = (await t.throwsAsync(client.getOwnApp())) as PaymentProblem;
    t.is(refused.code, code as typeof refused.code);
    t.is(refused.status, 401);
  }
});

test('the client sends its secret over http to this machine only, or where that is allowed', (t) => {
  const of = (baseUrl: string, allowHttp?: boolean) => () =>
    createClient({ baseUrl, clientId: 'app', clientSecret: 'secret', allowHttp });
  for (const url of [
    'http://pay.example.com',
    'http://10.0.0.1',
    'http://127.0.0.1.example.com',
    'ftp://localhost',
    '',
  ])
    t.throws(of(url), { instanceOf: TypeError }, url);
  t.throws(of('ftp://localhost', true), { instanceOf: TypeError });
  for (const url of ['https://pay.example.com', 'http://127.0.0.2:80', 'http://[::1]:8080', 'HTTP://LocalHost'])
    t.notThrows(of(url), url);
  t.notThrows(of('http://pay.example.com', true));
});

test('a value that cannot be sent is no broken connection: it is reported once, and nothing is sent', async (t) => {
  const asked: string[] = [];
  const client = clientOf((pathname, init) => {
    asked.push([pathname, new Headers(init.headers).get('idempotency-key')].join(' '));
    throw new TypeError('fetch failed');
  });
  const body = { subject: 'Tea', amount: 3, payWay: 'wechat' } as const;
  await t.throwsAsync(client.placePayment({ body, headers: { 'Idempotency-Key': 'a\nb' } }), { instanceOf: TypeError });
  const big = { ...body, amount: 3n as unknown as number };
  await t.throwsAsync(client.placePayment({ body: big, headers: { 'Idempotency-Key': '1' } }), { message: /BigInt/ });
  t.deepEqual(asked, []);
  // Neither is null a value: it is no key, and the payment is not repeated.
  const none = null as unknown as string;
  await t.throwsAsync(client.placePayment({ body, headers: { 'Idempotency-Key': none } }), { message: 'fetch failed' });
  t.deepEqual(asked, ['/api/v2/payment/pay ']);
});

test('an answer that breaks off is a broken connection, an answer that is not JSON is not', async (t) => {
  const answers = [
    new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError('terminated')) })),
    Response.json({ data: { client_id: 'app' } }),
    new Response('{', { headers: { 'content-type': 'application/json' } }),
  ];
  const client = clientOf(() => answers.shift()!);
  t.is((await client.getOwnApp()).data.client_id, 'app');
  await t.throwsAsync(client.getOwnApp(), { instanceOf: SyntaxError });
});

test('a webhook is verified with headers of any class that gives pairs', async (t) => {
  const secret = newWebhookSecret();
  const at = new Date();
  const body = '{"type":"webhook.test"}';
  const pairs: [string, string][] = [
    ['webhook-id', 'evt_1'],
    ['Webhook-Timestamp', String(Math.floor(at.getTime() / 1000))],
    ['webhook-signature', new Webhook(secret).sign('evt_1', at, body)],
  ];
  const own = { get: () => undefined, [Symbol.iterator]: () => pairs[Symbol.iterator]() };
  for (const headers of [pairs, new Map(pairs), new Headers(pairs), own, Object.fromEntries(pairs)])
    t.is((await verifyWebhook(secret, headers, body)).type, 'webhook.test');
});
