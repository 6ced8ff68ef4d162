import test from 'ava';
import { listEvents, settledHead } from '../../../server/db/queries/events.ts';
import { recordEvents } from '../../../server/events/record.ts';
import { dueEffectRows, lookForDue } from '../../../server/db/queries/due.ts';
import { FOLLOWED } from '../../../server/db/queries/figures.ts';
import { createBoard } from '../../../server/live/board.ts';
import { createReporter } from '../../../server/live/process.ts';
import { embeddedDatabase } from '../../support/database.ts';

test('the embedded database reads the event log and the live feed in the same way', async (t) => {
  const { store } = await embeddedDatabase(t);
  const record = recordEvents(() => new Date());
  const read = (after: bigint) => store.read((tx) => listEvents(tx, {}, after, 200));
  t.is(await store.read(settledHead), 0n);
  for (const objectNo of ['a', 'b'])
    await store.transaction((tx) =>
      record(tx, {
        type: 'order.paid',
        clientId: 'app_a',
        project: 'default',
        objectNo,
        dedupe: 'once',
        since: new Date(),
        object: { orderNo: objectNo },
      }),
    );
  const [first] = await read(0n);
  t.deepEqual(
    (await read(first!.sequence)).map(({ objectNo }) => objectNo),
    ['b'],
  );

  const now = () => new Date();
  const figures = {
    loopDelayMs: { p99: 1, max: 2 },
    cpu: 0.5,
    memoryBytes: 1,
    seconds: 60,
    channels: [],
    underWay: {},
  };
  const ports = {
    store,
    now,
    log: (_level: string, message: string) => t.fail(message),
    process: {
      id: '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52',
      host: '茶',
      pid: 1,
      worker: 2,
      version: '1',
      startedAt: now(),
    },
    measure: () => figures,
    due: () => ({ tables: [], lags: () => ({ at: now(), seconds: {} }) }),
    simulated: true,
  };
  const reporter = createReporter(ports);
  const board = createBoard(ports, reporter);
  t.is(await board.join(), 2n);
  const [replica] = JSON.parse(board.sections().get('replicas')!.json);
  t.like(replica, { host: '茶', worker: 2, cpu: 0.5, silent: false });
  t.deepEqual(
    board.newest().map(({ orderNo }) => orderNo),
    ['a', 'b'],
  );
  const look = () => store.read((tx) => lookForDue(tx, [{ oldestLag: () => FOLLOWED }, dueEffectRows()], now()));
  t.deepEqual(await look(), [1, undefined]);
  board.leave();
  board.feed.stop();
  await reporter.leave();
  t.deepEqual(await look(), [undefined, undefined]);
});
