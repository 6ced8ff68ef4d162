import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { main } from '../../cli/main.ts';
import type { Streams } from '../../cli/terminal.ts';
import { collector, makePlace, type Place } from './payctl.ts';
import { TOKEN } from './fakes/api.ts';
import { temporaryFolder } from '../support/folder.ts';
import { messageOf, startLiveServer } from './fakes/live.ts';
import { screenReader } from './screen-reader.ts';
import { until } from '../support/service.ts';

const MAIN = fileURLToPath(new URL('./top-main.ts', import.meta.url));
const CUTS = 100;

test('top counts every event once at 1,000 events a second over a hundred lost connections', async (t) => {
  const server = await startLiveServer({ eventsPerSecond: 1_000, cuts: CUTS, everyMs: 10 });
  t.teardown(() => server.close());
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...process.env,
      PAYCTL_CONFIG_DIR: temporaryFolder(t),
      PAYCTL_SERVER: server.url,
      PAYCTL_TOKEN: TOKEN,
      PAY_TEST_TOP: JSON.stringify({ argv: ['top'], columns: 120, rows: 40 }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const reader = screenReader(120, 40);
  child.stdout.setEncoding('utf8').on('data', (text: string) => reader.write(text));
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  await until('all cuts', async () => server.cuts === CUTS);
  server.freeze();
  const sum = new Intl.NumberFormat('en').format(server.events());
  await until('every event', async () => reader.rows()[0]!.includes(`${sum} events`));
  child.stdin.write('q');
  const [code] = (await once(child, 'close')) as [number];
  t.is(code, 0, told);
  t.deepEqual([...reader.modes].toSorted(), ['?25', '?7']);
  t.deepEqual(reader.strange, []);
  const { cpuMs, ms } = JSON.parse(told) as { cpuMs: number; ms: number };
  t.log(
    `${sum} events and ${CUTS} cuts in ${(ms / 1000).toFixed(1)} s: ${cpuMs.toFixed(0)} ms of CPU with the start (${((100 * cpuMs) / ms).toFixed(1)} %), ${reader.bytes} bytes drawn`,
  );
});

/** Runs payctl top on a simulated terminal; the test presses its keys. */
function openTop(t: ExecutionContext, place: Place, argv: string[] = [], [columns, rows] = [100, 30]) {
  const reader = screenReader(columns!, rows!);
  const keys = new PassThrough();
  const stdin: Streams['stdin'] = Object.assign(keys, { isTTY: true, setRawMode: () => {} });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns, rows });
  stdout.setEncoding('utf8').on('data', (text: string) => reader.write(text));
  const stderr = collector(columns);
  const cancel = new AbortController();
  t.teardown(() => cancel.abort());
  const code = main(
    ['top', ...argv],
    {
      stdin,
      stdout,
      stderr: stderr.stream,
      env: { PAYCTL_CONFIG_DIR: place.folder },
      cwd: place.folder,
      signal: cancel.signal,
    },
    { now: () => new Date('2026-11-21T06:05:00.000Z'), retryPause: () => 20 },
  );
  const shows = (words: string | RegExp) =>
    until(String(words), async () => {
      const text = reader.rows().join('\n');
      return typeof words === 'string' ? text.includes(words) : words.test(text);
    });
  return { reader, code, shows, stderr: stderr.text, cancel, press: (typed: string) => void keys.write(typed) };
}

const LIVE = 'GET /api/v1/live';
const stream = (...messages: string[]) => ({
  headers: { 'content-type': 'text/event-stream' },
  text: messages.join(''),
  stays: true,
});

async function placeWithFeed(t: ExecutionContext): Promise<Place> {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on(LIVE, ({ headers }) => {
    const after = headers['last-event-id'];
    return stream(messageOf('snapshot', Number(after ?? 0), after === undefined ? 3 : Number(after)));
  });
  return place;
}

test('the board shows every section, keys open and close an explanation, and q exits', async (t) => {
  const place = await placeWithFeed(t);
  const top = openTop(t, place);
  await top.shows('3 events');
  const text = top.reader.rows().join('\n');
  for (const words of [
    /^ dev {2}payctl top {2}http:.* as alice/m,
    /pending +12 +150\.00 CNY +closed +2/,
    /paypal +3\.3 +120 ms +12\.5 % +1m ago/,
    /order +3 +1 +1m ago/,
    /茶馆 +1,000\+ +12 +1m ago/,
    /late_paid +1m ago +P202611210558007K2MQX9WBT/,
    /pay-1 +1\/4711 +3\.2 ms +12 ms +25 % +180 MB/,
    /▸ .*order\.paid +P202611210558000000000003 +12\.50 CNY/,
  ])
    t.regex(text, words);
  t.false(text.includes('delivery'), 'a kind without work is not shown');
  top.press('\t\t\t\t\t\u001B[A');
  await top.shows(/▪ EXCEPTIONS/);
  top.press('\r');
  await top.shows('payctl explain P202611210558007K2MQX9WBT');
  await top.shows('The channel said so.');
  top.press('q');
  await top.shows(/▪ EXCEPTIONS/);
  top.press('?');
  await top.shows('Keys');
  top.press('\u001B');
  await top.shows(/▪ EXCEPTIONS/);
  top.press('/nothing like it\r');
  await top.shows(/EXCEPTIONS +nothing matches the filter/);
  top.press('q');
  t.is(await top.code, 0);
  t.deepEqual([...top.reader.modes].toSorted(), ['?25', '?7']);
  t.deepEqual(top.reader.strange, []);
});

test('the page of an order that cannot be explained shows the error', async (t) => {
  const place = await placeWithFeed(t);
  place.api.on('GET /api/v1/orders/P202611210558000000000003/explain', () => ({ status: 500, body: {} }));
  const top = openTop(t, place);
  await top.shows('3 events');
  top.press('\r');
  await top.shows('payctl explain P202611210558000000000003');
  await top.shows(/HTTP 500|failed|error/i);
  top.press('\u0003');
  t.is(await top.code, 0);
});

test('top restores the terminal and names payctl login when the session has ended', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on(LIVE, () => stream(messageOf('snapshot', 0, 3), 'event: error\ndata: {"code":"unauthenticated"}\n\n'));
  const top = openTop(t, place);
  t.is(await top.code, 4);
  t.deepEqual([...top.reader.modes].toSorted(), ['?25', '?7']);
  t.regex(top.stderr(), /next:.* payctl login/);
});

test('top keeps the last figures while it waits for an unreachable service', async (t) => {
  const place = await placeWithFeed(t);
  let isAway = false;
  place.api.on(LIVE, ({ headers }) => {
    const isBack = headers['last-event-id'] !== undefined;
    if (isBack) return isAway ? { text: null } : stream(messageOf('snapshot', 3, 5));
    isAway = true;
    return { ...stream(messageOf('snapshot', 0, 3)), stays: false };
  });
  const top = openTop(t, place);
  await top.shows(/3 events .*next try in 1 s/);
  t.regex(top.reader.rows().join('\n'), /pending +12/, 'the last figures stay');
  isAway = false;
  await top.shows(/5 events .*\d\d:\d\d:\d\d/);
  top.cancel.abort();
  t.is(await top.code, 130);
  t.deepEqual([...top.reader.modes].toSorted(), ['?25', '?7']);
});

test('top in a pipe and with -o jsonl prints one JSON object per interval with every event once', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on(LIVE, ({ headers }) => {
    const after = Number(headers['last-event-id'] ?? 0);
    const messages = [messageOf('snapshot', after, after + 2), messageOf('change', after + 2, after + 5)];
    return { ...stream(...messages), stays: false };
  });
  for (const [argv, terminal] of [[[], undefined] as const, [['-o', 'jsonl'], 100] as const]) {
    const { code, stdout } = await place.payctl(['top', '--count', '5', '--interval', '0.05', ...argv], {
      retryPause: () => 1,
      ...(terminal === undefined ? {} : { terminal }),
    });
    t.is(code, 0);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    t.is(lines.length, 5);
    const { passed } = lines.at(-1).events;
    t.true(passed >= 5);
    const sequences = lines.flatMap(({ events }) => events.rows.map(({ sequence }: { sequence: number }) => sequence));
    t.deepEqual(
      sequences,
      Array.from({ length: passed }, (_, at) => at + 1),
    );
    t.like(lines[0].orders.open[1], { status: 'pending', count: 12 });
    t.is(lines[0].replicas[0].host, 'pay-1');
  }
});

test('top with an unsupported format or terminal is a usage error', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  for (const argv of [['-q'], ['-o', 'env'], ['-o', 'name'], ['--fields', 'at']])
    t.is((await place.payctl(['top', ...argv])).code, 2, argv.join(' '));
  t.is((await place.payctl(['top'], { terminal: 80, env: { TERM: 'dumb' } })).code, 2);
});
