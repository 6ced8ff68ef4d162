import test from 'ava';
import { mock } from 'node:test';
import type { ReadTx, Store, Tx } from '../../../server/db/store.ts';
import { createBoard, liveStreams } from '../../../server/live/board.ts';
import { createReporter } from '../../../server/live/process.ts';
import { fakeSql } from '../../support/fake-sql.ts';

interface Log {
  head: number;
  reads: number;
  reports: number;
  isAway: boolean;
}

/** A board over a log in memory; its other sources are empty. */
function boardOver() {
  const log: Log = { head: 0, reads: 0, reports: 0, isAway: false };
  const eventsIn = (after: number, upTo: number, rows: number) =>
    Array.from({ length: Math.max(0, Math.min(rows, upTo - after)) }, (_, at) => event(after + at + 1));
  const tx = {
    sql: fakeSql((text, values) => {
      if (text.includes('events_sequence_seq')) return [{ head: BigInt(log.head) }];
      const [from = 0, upTo = 0, rows = 0] = values.map(Number);
      if (text.includes('sequence >')) return eventsIn(from, upTo, rows);
      if (text.includes('sequence desc limit') && text.includes('as subject'))
        return eventsIn(Math.max(0, log.head - 100), log.head, 100).toReversed();
      return [];
    }),
  } as unknown as ReadTx;
  const store = {
    read: async (work: (tx: ReadTx) => Promise<unknown>) => {
      log.reads += 1;
      if (log.isAway) throw new Error('away');
      return work(tx);
    },
    autocommit: async (work: (tx: Tx) => Promise<unknown>) => {
      log.reports += 1;
      return work(tx as Tx);
    },
  } as unknown as Store;
  const now = () => new Date('2030-01-31T08:00:00Z');
  const ports = {
    store,
    now,
    log: () => {},
    process: { id: 'p-1', host: 'h', pid: 1, worker: null, version: '1', startedAt: now() },
    measure: () => ({
      loopDelayMs: { p99: 0, max: 0 },
      cpu: 0,
      memoryBytes: 0,
      seconds: 1,
      channels: [],
      underWay: {},
    }),
    due: () => ({ tables: [], lags: () => ({ at: now(), seconds: {} }) }),
    simulated: true,
  };
  let elapsed = 0;
  const reporter = createReporter(ports, 2000, () => elapsed);
  const board = createBoard(ports, reporter, { figuresMs: 2000, eventsMs: 1000 });
  return {
    log,
    board,
    reporter,
    open: liveStreams(board, now, { heartbeatMs: 1e9 }),
    async pass(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        elapsed += 1000;
        mock.timers.tick(1000);
        await settle();
      }
    },
  };
}

function event(sequence: number) {
  const nothing = { clientId: 'app', project: 'default', payWay: null, minor: null, currency: null, subject: null };
  const named = { sequence: BigInt(sequence), type: 'order.paid', objectNo: 'P1', orderNo: 'P1' };
  return { ...nothing, ...named, createdAt: new Date(0) };
}

const settle = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** Reads the frames of a stream. */
function follower(stream: AsyncIterable<unknown> & { destroy(): unknown }) {
  let text = '';
  void (async () => {
    for await (const part of stream) text += String(part);
  })().catch(() => {});
  return {
    frames: () =>
      [...text.matchAll(/^id: (\d+)\nevent: (\w+)\ndata: (.*)$/gm)].map(([, id, kind, data]) => ({
        id: Number(id),
        kind,
        data: JSON.parse(data!),
      })),
    stop: () => stream.destroy(),
  };
}

test.serial.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.serial.afterEach.always(() => mock.timers.reset());

test.serial('the database is read once for all followers, and not at all without followers', async (t) => {
  const { log, board, open, pass, reporter } = boardOver();
  await pass(10);
  t.deepEqual([log.reads, log.reports], [0, 0]);
  const request = { after: undefined, stillAllowed: async () => {} };
  const one = follower(open(request));
  await settle();
  await pass(10);
  const alone = log.reads;
  log.reads = 0;
  const others = Array.from({ length: 20 }, () => follower(open(request)));
  await settle();
  await pass(10);
  t.true(log.reads <= alone, `${log.reads} reads for twenty-one, ${alone} for one`);
  t.true(log.reports <= 11);
  for (const all of [one, ...others]) {
    t.is(all.frames()[0]!.kind, 'snapshot');
    all.stop();
  }
  await settle();
  await pass(3);
  log.reads = log.reports = 0;
  await pass(10);
  t.deepEqual([log.reads, log.reports], [0, 0]);
  t.false(reporter.followedHere);
  t.is(board.sections().size, 0);
});

test.serial('a follower receives bounded messages at any event rate, and each event is counted once', async (t) => {
  const { log, open, pass } = boardOver();
  log.head = 250;
  const first = follower(open({ after: undefined, stillAllowed: async () => {} }));
  await settle();
  const [snapshot] = first.frames();
  t.is(snapshot!.id, 250);
  t.is(snapshot!.data.events.passed, 0);
  t.is(snapshot!.data.events.rows.length, 100);
  for (let second = 0; second < 5; second++) {
    log.head += 1000 * (second + 1);
    await pass(1);
  }
  const frames = first.frames().slice(1);
  t.is(
    frames.reduce((sum, { data }) => sum + (data.events?.passed ?? 0), 0),
    15_000,
  );
  t.true(frames.length <= 12, `${frames.length} messages`);
  for (const { data } of frames) t.true((data.events?.rows.length ?? 0) <= 100);
  t.deepEqual(frames.at(-1)!.data.events.rows.at(-1).sequence, log.head);
  first.stop();

  // After a long absence the missed events are no longer in memory.
  const again = follower(open({ after: 300n, stillAllowed: async () => {} }));
  await settle();
  await pass(1);
  t.is(
    again.frames().reduce((sum, { data }) => sum + (data.events?.passed ?? 0), 0),
    log.head - 300,
  );
  again.stop();
});

test.serial('during a database outage the last figures stay, and a feed that cannot start is closed', async (t) => {
  const { log, open, pass } = boardOver();
  const first = follower(open({ after: undefined, stillAllowed: async () => {} }));
  await settle();
  log.isAway = true;
  await pass(5);
  log.isAway = false;
  log.head = 3;
  await pass(3);
  t.is(
    first.frames().reduce((sum, { data }) => sum + (data.events?.passed ?? 0), 0),
    3,
  );
  first.stop();
  await pass(3);
  log.isAway = true;
  const broken = open({ after: undefined, stillAllowed: async () => {} });
  const failure = new Promise<Error>((resolve) => broken.once('error', resolve));
  broken.resume();
  await settle();
  t.is((await failure).message, 'away');
  log.isAway = false;
  const later = follower(open({ after: undefined, stillAllowed: async () => {} }));
  await settle();
  await pass(1);
  t.is(later.frames()[0]!.kind, 'snapshot');
  later.stop();
});
