import test from 'ava';
import { mock } from 'node:test';
import type { ReadyFacts } from '../../server/workers/life.ts';
import { createSink, startProgress, startSpinner } from '../../cli/terminal.ts';
import { fakeOffline } from './fakes/offline.ts';
import { collector, type RunOptions, runPayctl } from './payctl.ts';

test.serial.beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] }));
test.serial.afterEach.always(() => mock.timers.reset());

const CLEARED = '\u001B[G\u001B[K';
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Stderr of a terminal of this width, or of a pipe. */
function stderr(columns?: number) {
  const { stream, text } = collector(columns);
  const err = createSink(stream, 'never', {}, 'notices');
  return { err, stream, text: async () => (await err.flush(), await turn(), text()) };
}

/** Lets time pass in steps of a second, because a timer that starts within a step waits for the next. */
function pass(milliseconds: number): void {
  for (let left = milliseconds; left > 0; left -= 1000) mock.timers.tick(Math.min(left, 1000));
}

test.serial('a progress line appears after two seconds, counts in place and is removed', async (t) => {
  const { err, text } = stderr(80);
  const remove = startProgress(err, 'migrating the database');
  pass(1999);
  t.is(await text(), '');
  pass(1);
  const first = `${CLEARED}migrating the database … 2 s\u001B[G`;
  t.is(await text(), first);
  pass(1000);
  const second = `${CLEARED}migrating the database … 3 s\u001B[G`;
  t.is(await text(), first + second);
  remove();
  pass(10_000);
  t.is(await text(), first + second + CLEARED);
});

test.serial('a progress line fits on a narrow terminal', async (t) => {
  const { err, text } = stderr(12);
  startProgress(err, 'migrating the database');
  pass(2000);
  t.is(await text(), `${CLEARED}migrating …\u001B[G`);
});

test.serial('there is no progress line in a pipe, beside a spinner, or for quick work', async (t) => {
  const pipe = stderr();
  startProgress(pipe.err, 'migrating');
  const busy = stderr(80);
  const spinner = startSpinner(busy.err, 'Checking');
  startProgress(busy.err, 'migrating');
  const quick = stderr(80);
  startProgress(quick.err, 'migrating')();
  pass(5000);
  t.is(await pipe.text(), '');
  t.regex(await busy.text(), /Checking/);
  t.notRegex(await busy.text(), /migrating/);
  t.is(await quick.text(), '');
  spinner.stop();
  startProgress(busy.err, 'migrating');
  pass(2000);
  t.regex(await busy.text(), /migrating … 2 s/, 'the spinner has ended');
});

/** `server migrate` with a database that takes three seconds to open and four to migrate. */
function migrate(flags: readonly string[], options: RunOptions) {
  const database = fakeOffline({ version: null, pending: 2 });
  const slow = {
    ...database,
    async migrate() {
      pass(4000);
      return database.migrate();
    },
  };
  const openOffline = async () => {
    pass(3000);
    return slow;
  };
  return runPayctl(['server', 'migrate', '--color', 'never', ...flags], { ...options, openOffline });
}

test.serial('server migrate shows on a terminal that it opens and migrates the database', async (t) => {
  const ran = await migrate([], { terminal: 80 });
  t.is(ran.code, 0, ran.stderr);
  t.regex(ran.stderr, /preparing the database … 3 s[^…]*database {2}embedded[^…]*migrating the database … 2 s/);
  t.true(ran.stderr.endsWith(`… 4 s\u001B[G${CLEARED}`), JSON.stringify(ran.stderr));
});

for (const [how, flags, options] of [
  ['-q', ['-q'], { terminal: 80 }],
  ['-o json', ['-o', 'json'], { terminal: 80 }],
  ['a pipe', [], {}],
] as const)
  test.serial(`server migrate shows no progress with ${how}`, async (t) => {
    const ran = await migrate(flags, options);
    t.is(ran.code, 0, ran.stderr);
    t.notRegex(ran.stderr, /…/);
  });

const FACTS = {
  version: '1.2.3',
  address: 'http://127.0.0.1:8080',
  publicUrl: 'http://127.0.0.1:8080',
  database: '/srv/pay/data/pglite',
} as ReadyFacts;

test.serial('server start shows that it starts until it is ready', async (t) => {
  const ran = await runPayctl(['server', 'start'], {
    terminal: 80,
    async startServer({ onStart, onReady }) {
      onStart?.();
      pass(3000);
      onReady?.(FACTS);
      pass(3000);
    },
  });
  t.is(ran.code, 0, ran.stderr);
  const [two, three] = [2, 3].map((seconds) => `${CLEARED}starting the service … ${seconds} s\u001B[G`);
  t.is(ran.stderr, `${two}${three}${CLEARED}`);
  t.regex(ran.stdout, /Unified payment service/);
});

test.serial('a start that fails removes its progress line', async (t) => {
  const ran = await runPayctl(['server', 'start'], {
    terminal: 80,
    async startServer({ onStart }) {
      onStart?.();
      pass(2000);
      throw Object.assign(new Error('listen'), { code: 'EADDRINUSE' });
    },
  });
  t.is(ran.code, 6);
  t.regex(ran.stderr, /starting the service … 2 s/);
  t.true(ran.stderr.split(`s\u001B[G${CLEARED}`)[1]?.includes('already in use'), JSON.stringify(ran.stderr));
});

interface BuildProgress {
  step(name: string): void;
  end(): void;
}

test.serial('the build shows its step on a terminal after two seconds, and nothing elsewhere', async (t) => {
  const module = (await import(new URL('../../bin/progress.mjs', import.meta.url).href)) as {
    showProgress(stream: NodeJS.WritableStream, what: string): BuildProgress;
  };
  const [terminal, pipe] = [stderr(80), stderr()];
  const [shown, silent] = [terminal, pipe].map(({ stream }) => module.showProgress(stream, 'building'));
  for (const progress of [shown!, silent!]) progress.step('compiling');
  pass(1999);
  t.is(await terminal.text(), '');
  pass(1);
  t.is(await terminal.text(), '\r\u001B[Kbuilding: compiling … 2 s\r');
  shown!.step('the guides');
  pass(1000);
  shown!.end();
  silent!.end();
  pass(5000);
  t.true((await terminal.text()).endsWith('\r\u001B[Kbuilding: the guides … 3 s\r\r\u001B[K'));
  t.is(await pipe.text(), '');
});
