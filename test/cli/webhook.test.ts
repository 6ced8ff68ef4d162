import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { makePlace, type Place, scripted } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { deliveryRow, HOOK_SECRET, webhookRow } from './fakes/rows.ts';

const HOOK = '/api/v1/api-apps/app_1/webhook';

async function place(t: ExecutionContext): Promise<Place> {
  const made = await makePlace();
  t.teardown(() => made.close());
  return made;
}

function withoutWebhook({ api }: Place): void {
  api.on(`GET ${HOOK}`, () => problem(404, 'not_found', 'The webhook was not found.'));
  api.on(`PUT ${HOOK}`, () => ({ status: 201, body: { data: { ...webhookRow, secret: HOOK_SECRET } } }));
}

const wrote = ({ api }: Place) => api.seen.filter(({ method }) => method !== 'GET');

test('the secret of a new webhook is written to the given output; without one no webhook is created', async (t) => {
  const at = await place(t);
  withoutWebhook(at);
  const words = ['app', 'webhook', 'set', 'app_1', '--url', 'https://shop.example/hooks'];
  const none = await at.payctl(words);
  t.is(none.code, 2);
  t.regex(none.stderr, /add --secret-file FILE, -o json or -o env/);
  t.deepEqual(wrote(at), []);
  const filed = await at.payctl([...words, '--secret-file', 'hook.secret']);
  t.is(filed.code, 0, filed.stderr);
  t.is(await readFile(join(at.folder, 'hook.secret'), 'utf8'), `${HOOK_SECRET}\n`);
  t.false(`${filed.stdout}${filed.stderr}`.includes(HOOK_SECRET));
  t.is(JSON.parse((await at.payctl([...words, '-o', 'json'])).stdout).secret, HOOK_SECRET);
});

test('a new webhook requires a URL; an existing webhook keeps the values that are not given', async (t) => {
  const at = await place(t);
  t.is((await at.payctl(['app', 'webhook', 'set', 'app_1', '--types', 'order.paid'])).code, 0);
  t.deepEqual(wrote(at).at(-1)?.body, { types: ['order.paid'] });
  t.is((await at.payctl(['app', 'webhook', 'set', 'app_1'])).code, 2);
  const kept = await at.payctl(['app', 'webhook', 'set', 'app_1', '--enabled', 'true', '--secret-file', 'x']);
  t.regex(kept.stderr, /for a new one: payctl app webhook rotate app_1/);
  withoutWebhook(at);
  const off = await at.payctl(['app', 'webhook', 'set', 'app_1', '--types', 'order.paid', '-o', 'json']);
  t.is(off.code, 2);
  t.regex(off.stderr, /--url/);
  const prompts = scripted({ '--url': 'https://asked.example/' });
  t.is((await at.payctl(['app', 'webhook', 'set', 'app_1', '-o', 'json'], { prompts })).code, 0);
  t.deepEqual(wrote(at).at(-1)?.body, { url: 'https://asked.example/' });
});

test('--dry-run shows the change and requires no output for a secret', async (t) => {
  const at = await place(t);
  const { stdout } = await at.payctl(['app', 'webhook', 'set', 'app_1', '--enabled', 'false', '--dry-run']);
  t.regex(stdout, /- enabled: true\n\+ enabled: false/);
  withoutWebhook(at);
  t.is((await at.payctl(['app', 'webhook', 'set', 'app_1', '--url', 'https://x.example', '--dry-run'])).code, 0);
  t.is((await at.payctl(['app', 'webhook', 'rotate', 'app_1', '--dry-run'])).code, 0);
  t.deepEqual(wrote(at), []);
});

test('a rotation without a grace period requires the typed name', async (t) => {
  const at = await place(t);
  t.is((await at.payctl(['app', 'webhook', 'rotate', 'app_1', '-y', '-o', 'env'])).code, 2);
  t.deepEqual(wrote(at), []);
  const { stdout } = await at.payctl(['app', 'webhook', 'rotate', 'app_1', '--confirm', 'app_1', '-o', 'env']);
  t.true(stdout.includes(`SECRET=${HOOK_SECRET}`));
});

test('a rejected test message is exit 1 with the reason', async (t) => {
  const at = await place(t);
  t.is((await at.payctl(['app', 'webhook', 'test', 'app_1'])).code, 0);
  for (const [answer, why] of [
    [{ lastStatus: 500, lastError: null }, /did not accept the message: HTTP 500\./],
    [{ lastStatus: null, lastError: 'connection refused' }, /did not accept the message: connection refused\./],
  ] as const) {
    at.api.on(`POST ${HOOK}/test`, () => ({ body: { data: { ...deliveryRow, ...answer } } }));
    const { code, stderr } = await at.payctl(['app', 'webhook', 'test', 'app_1']);
    t.is(code, 1);
    t.regex(stderr, why);
  }
});

test('resend --failed sends each failed event once, oldest first, and skips events delivered since', async (t) => {
  const at = await place(t);
  const delivery = (eventId: string, more: Record<string, unknown> = {}) => ({ ...deliveryRow, eventId, ...more });
  at.api.on(`GET ${HOOK}/deliveries`, ({ query }) => {
    const { eventId, state } = query;
    const rows =
      eventId === undefined
        ? [
            delivery('evt_new'),
            delivery('evt_twice'),
            delivery('evt_test', { target: 'test' }),
            delivery('evt_twice'),
            delivery('evt_healed'),
            delivery('evt_old', { createdAt: '2026-11-19T00:00:00.000Z' }),
          ]
        : [delivery(eventId, eventId === 'evt_healed' ? { state: 'delivered' } : {})];
    t.true(eventId !== undefined || state === 'failed');
    return { body: { data: rows, page: { nextCursor: null, hasMore: false } } };
  });
  const resend = (...words: string[]) => at.payctl(['app', 'webhook', 'resend', 'app_1', '--failed', ...words]);
  const dry = await resend('--dry-run', '-q');
  t.is(dry.stdout, 'evt_old\nevt_twice\nevt_new\n');
  t.is((await resend()).code, 2, 'not confirmed');
  t.deepEqual(wrote(at), []);
  const done = await resend('-y', '--since', '2026-11-20');
  t.is(done.code, 0, done.stderr);
  t.deepEqual(
    wrote(at).map(({ path }) => path),
    ['/api/v1/events/evt_twice/resend', '/api/v1/events/evt_new/resend'],
  );
  t.is(done.stderr.match(/as alice/g)?.length, 1, 'they are confirmed together');
  t.regex(done.stderr, /2 events are queued for redelivery\./);
});

test('resend --event sends an event only to an application that has a delivery of it', async (t) => {
  const at = await place(t);
  t.is((await at.payctl(['app', 'webhook', 'resend', 'app_1', '--event', 'evt_1', '-y'])).code, 0);
  at.api.on(`GET ${HOOK}/deliveries`, () => ({ body: { data: [], page: { nextCursor: null, hasMore: false } } }));
  const other = await at.payctl(['app', 'webhook', 'resend', 'app_1', '--event', 'evt_2', '-y']);
  t.is(other.code, 3);
  t.regex(other.stderr, /next: payctl event resend evt_2/);
  t.is(wrote(at).length, 1);
  for (const words of [[], ['--failed', '--event', 'evt_1']])
    t.is((await at.payctl(['app', 'webhook', 'resend', 'app_1', ...words, '-y'])).code, 2);
});

test('a delivery shows its event, state and time on a terminal of 80 columns', async (t) => {
  const at = await place(t);
  const { stdout } = await at.payctl(['app', 'webhook', 'deliveries', 'app_1', '--color', 'never'], { terminal: 80 });
  t.regex(stdout, /^EVENT +TYPE +STATE +CREATED +HTTP +TRIES\b/);
  t.true(stdout.includes(String(deliveryRow['eventId'])));
});

test('the reason of a rejected test message is one sentence', async (t) => {
  const at = await place(t);
  const lastError = 'address_refused: 127.0.0.1 leads to a private address.';
  at.api.on(`POST ${HOOK}/test`, () => ({ body: { data: { ...deliveryRow, state: 'failed', lastError } } }));
  const { code, stderr } = await at.payctl(['app', 'webhook', 'test', 'app_1']);
  t.is(code, 1);
  t.regex(stderr, /leads to a private address\.$/m);
});

test('a webhook without selected types shows all', async (t) => {
  const at = await place(t);
  const { stdout } = await at.payctl(['app', 'webhook', 'get', 'app_1', '--color', 'never'], { terminal: 80 });
  t.regex(stdout, /^types +all$/m);
  t.deepEqual(JSON.parse((await at.payctl(['app', 'webhook', 'get', 'app_1', '--json'])).stdout).types, []);
});
