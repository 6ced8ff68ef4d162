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
  verify?: { secret: string | string[]; headers: Record<string, string>; body: string; later?: number; now?: number };
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
  steps: Step[];
}

const scenarios = JSON.parse(readFileSync(join(import.meta.dirname, 'clients.json'), 'utf8')) as Scenario[];

/** Runs the steps of one client, which it makes for each application. */
type Driver = (url: string, clientId: string, secret: string) => (step: Step) => Promise<Values>;

const inTypeScript: Driver = (baseUrl, clientId, clientSecret) => {
  const client = createClient({ baseUrl, clientId, clientSecret });
  const run = async ({ call, input, verify }: Step): Promise<unknown> => {
    if (call) return (client[call] as (given?: Values) => Promise<unknown>)(input);
    const { secret, headers, body, later = 0, now } = verify!;
    return verifyWebhook(
      secret,
      headers,
      Buffer.from(body),
      now === undefined ? Date.now() + later * 1000 : now * 1000,
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
/** What the proxy between client and service has seen, and what it does with the next requests of operations. */
const wire = { sent: [] as string[], bearer: '', answers: [] as Step[], cuts: 0 };
const proxy = await startInBetween(
  file,
  service.url,
  (method, path, headers) => {
    wire.sent.push(`${method} ${path}`);
    if (path === '/oauth/token') return undefined;
    wire.bearer = String(headers.authorization).replace('Bearer ', '');
    const step = wire.answers.shift();
    if (!step) return undefined;
    const body = { code: 'busy', detail: 'Try again.', retryable: true };
    return { status: step['status'] as number, headers: step['headers'] as Record<string, string>, body };
  },
  (_, path) => {
    if (path === '/oauth/token' || wire.cuts === 0) return undefined;
    wire.cuts -= 1;
    return 'cut';
  },
);

test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

let python: Driver | undefined;
const inPython: Driver = (...client) => (python ??= startPython(file))(...client);

const HOUR = 3600;

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
      const { headers, body } = receiver.received.pop()!;
      const own = Object.entries(headers).filter(([name]) => name.startsWith('webhook-'));
      const shouted = Object.fromEntries(own.map(([name, value]) => [name.toUpperCase(), value]));
      return { secret, headers: Object.fromEntries(own), shouted, body };
    },
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

async function play(t: ExecutionContext, { steps, secret }: Scenario, driver: Driver): Promise<void> {
  const shop = await service.merchant();
  const run = driver(`${proxy.url}/`, shop.clientId, secret ?? shop.secret);
  const undo: (() => void)[] = [];
  const world = worldOf(shop.clientId, undo);
  const values: Values = { client: shop.clientId };
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

test('the client sends no request for a value that a URL would parse as another path', async (t) => {
  const sent: string[] = [];
  const client = createClient({
    baseUrl: 'http://service.example',
    clientId: 'app',
    clientSecret: 'secret',
    async fetch(url) {
      if (!url.endsWith('/oauth/token')) sent.push(new URL(url).pathname);
      return Response.json({ access_token: 'token', token_type: 'Bearer', expires_in: 3600, scope: '', data: {} });
    },
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
    baseUrl: 'http://service.example',
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
