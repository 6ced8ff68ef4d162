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
  for (const words of [[], ['--failed', '--event', 'evt_1'], ['--event', 'evt_1', '--max', '5']])
    t.is((await at.payctl(['app', 'webhook', 'resend', 'app_1', ...words, '-y'])).code, 2);
});

test('resend --event reports the refusal of the service as it is', async (t) => {
  const at = await place(t);
  at.api.on('POST /api/v1/events/evt_1/resend', () => problem(409, 'webhook_not_configured', 'There is no webhook.'));
  const { code, stderr } = await at.payctl(['app', 'webhook', 'resend', 'app_1', '--event', 'evt_1', '-y', '--json']);
  t.is(code, 6);
  t.like(JSON.parse(stderr.trim().split('\n').at(-1) ?? ''), {
    error: { code: 'webhook_not_configured', status: 409 },
  });
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

test('an administrator names the application', async (t) => {
  const at = await place(t);
  for (const verb of ['get', 'test', 'deliveries', 'rotate', 'delete']) {
    const { code, stderr } = await at.payctl(['app', 'webhook', verb]);
    t.is(code, 2, verb);
    t.regex(stderr, /Missing required argument 'client_id'/, verb);
  }
  t.deepEqual(at.api.seen, []);
});

interface Stand {
  at: Place;
  /** The deliveries of each application, oldest first. */
  events: Map<string, { eventId: string; state: string; attempts: number }[]>;
  /** Resends by event. */
  resent: string[];
  /** The most events of one application that were pending and untried at once. */
  mostAtOnce: () => number;
  run(...words: string[]): ReturnType<Place['payctl']>;
}

const errorOf = ({ stderr }: { stderr: string }) =>
  (
    JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as {
      error: { code: string; message: string; notResent: { eventId: string; clientId: string; code: string }[] };
    }
  ).error;

/** A service whose applications have failed events; `receive` is the state of a resent event after its next attempt. */
async function standWith(
  t: ExecutionContext,
  apps: Record<string, number>,
  receive: (eventId: string) => string,
): Promise<Stand> {
  const at = await place(t);
  const events: Stand['events'] = new Map(
    Object.entries(apps).map(([clientId, count]) => [
      clientId,
      Array.from({ length: count }, (_, n) => ({ eventId: `evt_${clientId}_${n}`, state: 'failed', attempts: 12 })),
    ]),
  );
  const resent: string[] = [];
  let most = 0;
  const listed = (data: unknown[], nextCursor: string | null = null) => ({
    body: { data, page: { nextCursor, hasMore: nextCursor !== null } },
  });
  at.api.on('GET /api/v1/api-apps', () => listed(Object.keys(apps).map((client_id) => ({ client_id }))));
  for (const [clientId, rows] of events) {
    at.api.on(`GET /api/v1/api-apps/${clientId}/webhook/deliveries`, ({ query }) => {
      const ofEvent = rows.filter(({ eventId }) => eventId === query['eventId']);
      for (const row of ofEvent)
        if (row.state === 'pending' && row.attempts === 0)
          Object.assign(row, { attempts: 1, state: receive(row.eventId) });
      const failed = rows.filter(({ state }) => state === query['state']).toReversed();
      const found = query['eventId'] === undefined ? failed : ofEvent;
      return listed(found.map((row) => ({ ...deliveryRow, ...row })));
    });
    for (const row of rows)
      at.api.on(`POST /api/v1/events/${row.eventId}/resend`, () => {
        if (clientId === 'app_bare') return problem(409, 'webhook_not_configured', 'There is no webhook.');
        resent.push(row.eventId);
        Object.assign(row, { state: 'pending', attempts: 0 });
        most = Math.max(most, rows.filter(({ state, attempts }) => state === 'pending' && attempts === 0).length);
        return { status: 201, body: { data: { ...deliveryRow, ...row } } };
      });
  }
  const run: Stand['run'] = (...words) => at.payctl(['event', 'resend', '--failed', ...words], { retryPause: () => 0 });
  return { at, events, resent, mostAtOnce: () => most, run };
}

test('event resend --failed resends the failed events of all applications, ten at once to each', async (t) => {
  const stand = await standWith(t, { app_a: 23, app_b: 2, app_c: 0 }, () => 'delivered');
  const dry = await stand.run('--dry-run', '-q', '--since', '2026-11-01');
  t.is(dry.stdout.split('\n').length - 1, 25);
  t.regex(dry.stderr, /25 events would be resent/);
  const unasked = await stand.run('--since', '2026-11-01');
  t.is(unasked.code, 2);
  t.regex(unasked.stderr, /25 failed events of 2 applications\.[\s\S]*--yes is required/);
  t.deepEqual(stand.resent, []);
  const { code, stdout, stderr } = await stand.run('--since', '2026-11-01', '-y', '--fields', 'eventId');
  t.is(code, 0, stderr);
  t.deepEqual(stdout.trimEnd().split('\n'), stand.resent);
  t.is(stand.resent[0], 'evt_app_a_0', 'oldest first');
  t.is(new Set(stand.resent).size, 25);
  t.is(stand.mostAtOnce(), 10);
  t.is(stderr.match(/as alice/g)?.length, 1, 'they are confirmed together');
  t.regex(stderr, /25 events are queued for redelivery/);
  const again = await stand.run('--since', '2026-11-01', '-y');
  t.is(again.code, 0);
  t.regex(again.stderr, /No event has failed; nothing was resent\./);
  t.is(stand.resent.length, 25, 'a repeat sends nothing again');
});

test('event resend --failed sends at most --max events, of the chosen applications', async (t) => {
  const stand = await standWith(t, { app_a: 7, app_b: 7 }, () => 'delivered');
  const first = await stand.run('--since', '2026-11-01', '--max', '10', '-y');
  t.is(first.code, 0, first.stderr);
  t.regex(first.stderr, /More than 10 events failed: this run resends 10, the newest of each application/);
  const numbers = [2, 3, 4, 5, 6];
  t.deepEqual(stand.resent, [...numbers.map((n) => `evt_app_a_${n}`), ...numbers.map((n) => `evt_app_b_${n}`)]);
  t.is((await stand.run('--since', '2026-11-01', '--max', '10', '-y', '--app', 'app_a')).code, 0);
  t.is(stand.resent.length, 12, 'app_b is not sent');
  t.is((await stand.run('--since', '2026-11-01', '--max', '10', '-y')).code, 0);
  t.is(new Set(stand.resent).size, 14);
  t.is((await stand.run('--since', '2d', 'evt_1')).code, 2, 'an id or --failed');
  t.is((await stand.run('--since', '2d', '--app', 'app_a', '--project', 'eu', '-y')).code, 2);
  for (const words of ['--since 2d', '--app app_a', '--project eu', '--max 5'])
    t.is((await stand.at.payctl(['event', 'resend', 'evt_1', ...words.split(' ')])).code, 2, words);
  t.is(stand.resent.length, 14);
  t.is((await stand.at.payctl(['event', 'resend', '--failed', '-y'])).code, 2, 'without --since');
  t.is((await stand.at.payctl(['event', 'resend'])).code, 2);
});

test('event resend --failed lists what was not resent: a receiver that refuses, no webhook, an error of the service', async (t) => {
  const stand = await standWith(t, { app_a: 15, app_bare: 2, app_c: 3 }, (id) =>
    id.startsWith('evt_app_a') ? 'pending' : 'delivered',
  );
  stand.at.api.on('POST /api/v1/events/evt_app_c_1/resend', () => problem(500, 'internal_error', 'A fault.'));
  const ended = await stand.run('--since', '2026-11-01', '-y', '--json');
  t.is(ended.code, 1);
  t.is(JSON.parse(ended.stdout).length, 12);
  const error = errorOf(ended);
  t.is(error.code, 'resend_incomplete');
  t.is(error.message, '8 of 20 events were not resent.');
  t.deepEqual(
    error.notResent.map(({ eventId, code }) => `${eventId} ${code}`),
    [
      ...[10, 11, 12, 13, 14].map((n) => `evt_app_a_${n} receiver_refuses`),
      'evt_app_bare_0 webhook_not_configured',
      'evt_app_bare_1 webhook_not_configured',
      'evt_app_c_1 internal_error',
    ],
  );
  const plain = await stand.run('--since', '2026-11-01', '-y', '--app', 'app_c');
  t.regex(plain.stderr, /not resent: evt_app_c_1 of app_c \(internal_error\)/);
  t.is(stand.resent.filter((id) => id.startsWith('evt_app_c')).length, 2, 'only what failed is sent again');
});

test('event resend --failed stops at the end of the login, and names every event that is left', async (t) => {
  const stand = await standWith(t, { app_a: 3, app_b: 2 }, () => 'delivered');
  stand.at.api.on('POST /api/v1/events/evt_app_a_1/resend', () => problem(401, 'unauthenticated', 'Log in again.'));
  const ended = await stand.run('--since', '2026-11-01', '-y', '--json');
  t.is(ended.code, 1);
  t.deepEqual(
    errorOf(ended).notResent.map(({ eventId }) => eventId),
    ['evt_app_a_1', 'evt_app_a_2', 'evt_app_b_0', 'evt_app_b_1'],
  );
  t.deepEqual(stand.resent, ['evt_app_a_0']);
});

test('event resend --failed resends the events with a notifyUrl of an application without a webhook', async (t) => {
  const stand = await standWith(t, { app_a: 3 }, () => 'delivered');
  for (const n of [0, 2])
    stand.at.api.on(`POST /api/v1/events/evt_app_a_${n}/resend`, () => problem(409, 'webhook_not_configured', 'None.'));
  const ended = await stand.run('--since', '2026-11-01', '-y', '--json');
  t.is(ended.code, 1);
  t.deepEqual(stand.resent, ['evt_app_a_1']);
  t.deepEqual(
    errorOf(ended).notResent.map(({ eventId, code }) => `${eventId} ${code}`),
    ['evt_app_a_0 webhook_not_configured', 'evt_app_a_2 webhook_not_configured'],
  );
});

for (const [what, answer, code] of [
  ['unreachable', { text: null }, 'unreachable'],
  ['overloaded', problem(503, 'overloaded', 'Later.'), 'overloaded'],
] as const)
  test(`event resend --failed stops when the server is ${what}, and each event keeps its own reason`, async (t) => {
    const stand = await standWith(t, { app_a: 4, app_b: 1 }, () => 'delivered');
    const refuse = problem(409, 'webhook_not_configured', 'None.');
    stand.at.api.on('POST /api/v1/events/evt_app_a_0/resend', () => refuse);
    stand.at.api.on('POST /api/v1/events/evt_app_a_2/resend', () => answer);
    const ended = await stand.run('--since', '2026-11-01', '-y', '--json');
    t.is(ended.code, 1);
    t.deepEqual(stand.resent, ['evt_app_a_1']);
    t.deepEqual(
      errorOf(ended).notResent.map((event) => `${event.eventId} ${event.code}`),
      ['evt_app_a_0 webhook_not_configured', ...['a_2', 'a_3', 'b_0'].map((id) => `evt_app_${id} ${code}`)],
    );
  });

test('event resend --failed ends with 130 after Ctrl-C during a request', async (t) => {
  const stand = await standWith(t, { app_a: 3 }, () => 'delivered');
  const stop = new AbortController();
  stand.at.api.on('POST /api/v1/events/evt_app_a_1/resend', () => {
    stop.abort();
    return { stays: true };
  });
  const words = ['event', 'resend', '--failed', '--since', '2026-11-01', '-y', '--json'];
  const ended = await stand.at.payctl(words, { signal: stop.signal });
  t.is(ended.code, 130, ended.stderr);
  t.deepEqual(
    errorOf(ended).notResent.map(({ eventId, code }) => `${eventId} ${code}`),
    ['evt_app_a_1 cancelled', 'evt_app_a_2 cancelled'],
  );
});
