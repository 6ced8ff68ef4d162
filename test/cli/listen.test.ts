import { createServer } from 'node:http';
import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { problem } from './fakes/api.ts';
import { makePlace, type Place } from './payctl.ts';
import { eventRow } from './fakes/rows.ts';
import { freePort } from '../support/free-port.ts';
import { startReceiver } from '../support/receiver.ts';

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3';
const STREAM = 'GET /api/v1/events/stream';
const streamOf = (...ids: number[]) => ({
  headers: { 'content-type': 'text/event-stream' },
  text: ids
    .map((id) => `id: ${id}\ndata: ${JSON.stringify({ ...eventRow, id: `evt_${id}`, sequence: id })}\n\n`)
    .join(''),
});

const retryPause = () => 1;

test('event listen forwards events signed like the real webhook, prints each response, and resumes after the last event', async (t) => {
  const place = await makePlace();
  const receiver = await startReceiver(t);
  t.teardown(() => place.close());
  receiver.answer = (_message, count) => ({ status: count === 1 ? 500 : 204 });
  await writeFile(join(place.folder, 'hook.secret'), `whsec_${KEY}\n`);
  const words = ['event', 'listen', '--since', '2h', '--count', '2', '--secret-file', 'hook.secret'];
  const { code, stderr } = await place.payctl([...words, '--forward-to', receiver.url], { retryPause });
  t.is(code, 0, stderr);
  t.is(receiver.received.length, 3, 'one rejected, then two accepted');
  const { headers, body } = receiver.received[1]!;
  // Verifies by signing, because the verifier uses the real clock and payctl a fixed one.
  const verifier = new Webhook(KEY);
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  t.is(headers['webhook-signature'], verifier.sign(String(headers['webhook-id']), at, body));
  t.deepEqual(JSON.parse(body), eventRow);
  t.regex(stderr, /→ 500 \d+ ms\n {2}→ 204 \d+ ms\n/);
  const streams = place.api.seen.filter(({ path }) => path.endsWith('/stream'));
  t.truthy(streams[0]?.query['since']);
  t.is(streams[1]?.headers['last-event-id'], '7');
  t.is(streams[1]?.query['since'], undefined);
});

test('event listen misses no event between two connections, even before the first event', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  let connections = 0;
  place.api.on(STREAM, () => ((connections += 1) === 1 ? { ...streamOf(), text: ': nothing yet\n\n' } : streamOf(8)));
  t.is((await place.payctl(['event', 'listen', '--count', '1', '-q'], { retryPause })).code, 0);
  t.deepEqual(
    place.api.seen.map(({ query }) => query['since']),
    [undefined, '2026-11-21T06:05:00.000Z'],
  );
});

test('event listen waits for a receiver that restarts, and signs with the same secret after reconnecting', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on(STREAM, ({ headers }) => streamOf(Number(headers['last-event-id'] ?? 6) + 1));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/hook`;
  const taken: { headers: Record<string, unknown>; body: string }[] = [];
  /** Accepts one event, then stops. */
  const serveOnce = (): Promise<void> =>
    new Promise((resolve) => {
      const server = createServer((request, response) => {
        let body = '';
        request.on('data', (part) => (body += part));
        request.on('end', () => {
          taken.push({ headers: request.headers, body });
          response.writeHead(204, { connection: 'close' }).end();
          server.close(() => resolve());
        });
      });
      server.listen(port, '127.0.0.1');
    });
  let tries = 0;
  const words = ['event', 'listen', '--after', '6', '--count', '3', '--forward-to', url];
  const restarting: Promise<void>[] = [];
  const run = await place.payctl(words, {
    // The receiver is down for the first tries of each event.
    retryPause: () => {
      if ((tries += 1) % 4 === 0) restarting.push(serveOnce());
      return 20;
    },
  });
  await Promise.all(restarting);
  t.is(run.code, 0, run.stderr);
  t.is(taken.length, 3);
  t.true(tries > 6);
  const [, secret = ''] = /Signing with whsec_(\S+) /.exec(run.stderr) ?? [];
  for (const { headers, body } of taken)
    t.is(
      headers['webhook-signature'],
      new Webhook(secret).sign(
        String(headers['webhook-id']),
        new Date(Number(headers['webhook-timestamp']) * 1000),
        body,
      ),
    );
  t.is(run.stderr.match(/Signing with/g)?.length, 1);
  t.regex(run.stderr, new RegExp(`→ connection refused; waiting for ${url}\n`));
  t.deepEqual(
    taken.map(({ headers }) => headers['webhook-id']),
    ['evt_7', 'evt_8', 'evt_9'],
  );
});

test('event listen ends with exit 7 and the cursor when the receiver rejects an event', async (t) => {
  const place = await makePlace();
  const receiver = await startReceiver(t);
  t.teardown(() => place.close());
  receiver.answer = () => ({ status: 422 });
  const { code, stderr } = await place.payctl(['event', 'listen', '--after', '6', '--forward-to', receiver.url], {
    retryPause,
  });
  t.is(code, 7);
  t.is(receiver.received.length, 5);
  t.regex(stderr, /did not accept event evt_5f0c2b6e8a179d3f01935b2e: 422 \d+ ms/);
  t.regex(stderr, /next: payctl event listen --after 6/);
});

test('event listen on a terminal prints one table with one heading and fixed columns', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on(STREAM, () => streamOf(8, 9, 10));
  const words = ['event', 'listen', '--count', '3', '--color', 'never'];
  for (const terminal of [80, 120]) {
    const { stdout, stderr } = await place.payctl(words, { terminal });
    const [heading, ...rows] = stdout.trimEnd().split('\n');
    t.regex(heading!, /^CREATED {2}TYPE +ORDER/);
    t.is(rows.length, 3, stdout);
    for (const row of rows) t.is(row.indexOf('P2026'), heading!.indexOf('ORDER'));
    t.true((stderr.match(/do not fit/g)?.length ?? 0) <= 1);
  }
  const piped = await place.payctl(words);
  t.regex(piped.stdout.split('\n')[0]!, /^evt_8\torder\.paid\t2026/, 'the columns in a pipe are unchanged');
});

test('event listen reconnects when the session lookup fails, and ends when the service rejects the session', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const refusal = (code: string) => ({ ...streamOf(), text: `event: error\ndata: {"code":"${code}"}\n\n` });
  let connections = 0;
  place.api.on(STREAM, () => ((connections += 1) < 3 ? refusal('unavailable') : streamOf(8)));
  t.is((await place.payctl(['event', 'listen', '--count', '1', '-q'], { retryPause })).code, 0);
  place.api.on(STREAM, () => refusal('unauthenticated'));
  const ended = await place.payctl(['event', 'listen', '--count', '1', '-q'], { retryPause });
  t.is(ended.code, 4);
  t.regex(ended.stderr, /next: payctl login/);
});

const merchant = (place: Place) => ({
  PAYCTL_CLIENT_ID: 'app_1',
  PAYCTL_CLIENT_SECRET: 'pays_x',
  PAYCTL_SERVER: place.api.url,
});

test('event listen signs with the same secret at each start, one for each server and application', async (t) => {
  const place = await makePlace();
  const receiver = await startReceiver(t);
  t.teardown(() => place.close());
  const secretOf = async (words: readonly string[], env: Record<string, string> = {}) => {
    const argv = ['event', 'listen', '--after', '6', '--count', '1', '--forward-to', receiver.url, ...words];
    const { code, stderr } = await place.payctl(argv, { retryPause, env, terminal: 200 });
    t.is(code, 0, stderr);
    const [, secret = '', kept = ''] = /Signing with (whsec_\S+) \((.*)\)/.exec(stderr) ?? [];
    const { headers, body } = receiver.received.at(-1)!;
    const at = new Date(Number(headers['webhook-timestamp']) * 1000);
    t.is(headers['webhook-signature'], new Webhook(secret).sign(String(headers['webhook-id']), at, body));
    return { secret, kept };
  };
  const words = ['event', 'listen', '--after', '6', '--count', '1', '--forward-to', receiver.url];
  const { stderr: made } = await place.payctl(words);
  const first = await secretOf([]);
  t.true(made.includes(`Signing with ${first.secret} (`), 'a secret that is made is printed');
  const { stderr: log } = await place.payctl(words);
  t.false(log.includes('whsec_'), 'a kept secret is printed only on a terminal');
  t.true(log.includes(`Signing with the secret in ${join(place.folder, 'listen-secrets.json')} (`), log);
  t.regex(first.kept, /the same at each start; --new-secret makes another/);
  t.deepEqual(await secretOf([]), first);
  const { secret: second } = await secretOf(['--new-secret']);
  t.not(second, first.secret);
  t.is((await secretOf([])).secret, second);
  const ofApp = await secretOf(['--app', 'app_1']);
  t.not(ofApp.secret, second);
  t.is((await secretOf([], merchant(place))).secret, ofApp.secret, 'the application itself has the same secret');
  t.is((await stat(join(place.folder, 'listen-secrets.json'))).mode & 0o777, 0o600);
  await chmod(join(place.folder, 'listen-secrets.json'), 0o644);
  const unkept = await secretOf([], merchant(place));
  t.regex(unkept.kept, /^only for this run: /);
  const both = ['event', 'listen', '--forward-to', receiver.url, '--new-secret', '--secret-file', 'x'];
  t.is((await place.payctl(both)).code, 2);
  for (const alone of [['--new-secret'], ['--secret-file', 'x']]) {
    const { code, stderr } = await place.payctl(['event', 'listen', '--count', '1', ...alone]);
    t.is(code, 2);
    t.regex(stderr, /requires --forward-to/);
  }
});

test('event listen of an application reads its event log page by page, from the time of the server on, and goes on after an interruption', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const createdAt = '2026-11-21T06:05:01.000Z';
  const event = (sequence: number) => ({ ...eventRow, createdAt, id: `evt_${sequence}`, sequence });
  const page = (sequences: number[], nextCursor: string | null) => ({
    body: { data: sequences.map(event), page: { nextCursor, hasMore: nextCursor !== null } },
  });
  const answers = [
    page([], null),
    page([7, 8], '8'),
    page([9], null),
    page([], null),
    ...Array.from({ length: 3 }, () => problem(503, 'database_unavailable', 'No database.')),
    page([10], null),
  ];
  place.api.on('GET /api/v2/events', () => answers.shift() ?? page([], null));
  const words = ['event', 'listen', '--types', 'order.paid', '--count', '4', '--interval', '0.001', '-q'];
  // The clock of this machine is ahead by an hour.
  const now = () => new Date('2026-11-21T07:05:00.000Z');
  const { code, stdout, stderr } = await place.payctl(words, { retryPause, env: merchant(place), now });
  t.is(code, 0, stderr);
  t.is(stdout, 'evt_7\nevt_8\nevt_9\nevt_10\n');
  const asked = place.api.seen.filter(({ path }) => path === '/api/v2/events').map(({ query }) => query);
  const since = '2026-11-21T06:04:00.000Z';
  t.deepEqual(
    asked.map(({ since, after }) => since ?? after),
    [since, since, '8', '9', '9', '9', '9', '9'],
  );
  t.true(asked.every(({ types, limit }) => types === 'order.paid' && limit === '200'));
  t.is(stderr.match(/Connection lost/g)?.length, 1);
});

test('event listen of an application shows no event from before its start, but one that is committed later', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  // The server's time at the start is 06:05:00.
  const event = (sequence: number, time: string) => ({
    ...eventRow,
    id: `evt_${sequence}`,
    sequence,
    createdAt: `2026-11-21T${time}.000Z`,
  });
  const page = (...data: object[]) => ({ body: { data, page: { nextCursor: null, hasMore: false } } });
  for (const [looks, expected] of [
    [[page(), page(event(7, '06:04:58'))], 'evt_7\n'],
    [[page(event(7, '06:04:30'), event(8, '06:05:00')), page(event(9, '06:04:59'))], 'evt_8\nevt_9\n'],
  ] as const) {
    const answers = [...looks];
    place.api.on('GET /api/v2/events', () => answers.shift() ?? page());
    const count = String(expected.split('\n').length - 1);
    const words = ['event', 'listen', '--count', count, '--interval', '0.001', '-q'];
    const { code, stdout, stderr } = await place.payctl(words, { retryPause, env: merchant(place) });
    t.is(code, 0, stderr);
    t.is(stdout, expected);
  }
});

test('event listen refuses --interval for an administrator, whose events arrive when they occur', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const words = ['event', 'listen', '--count', '1', '--interval', '5'];
  const { code, stderr } = await place.payctl(words);
  t.is(code, 2);
  t.regex(stderr, /--interval is for an application/);
  t.deepEqual(place.api.seen, []);
});

test('event listen of an application is ready only after the service has answered', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v2/events', () => problem(403, 'forbidden', 'Not for this application.'));
  const words = ['event', 'listen', '--after', '6', '--count', '1'];
  const refused = await place.payctl(words, { env: merchant(place) });
  t.is(refused.code, 5);
  t.notRegex(refused.stderr, /Ready/);
  const answers = [problem(503, 'x', 'No.'), problem(503, 'x', 'No.'), problem(503, 'x', 'No.')];
  const rows = { body: { data: [eventRow], page: { nextCursor: null, hasMore: false } } };
  place.api.on('GET /api/v2/events', () => answers.shift() ?? rows);
  const late = await place.payctl(words, { retryPause, env: merchant(place) });
  t.is(late.code, 0, late.stderr);
  t.regex(late.stderr, /Connection lost; reconnecting\.[\s\S]*Ready/);
});
