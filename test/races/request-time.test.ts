import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { TIMEOUTS } from '../../server/db/orm.ts';
import { isLong } from '../support/counts.ts';
import { createDatabase } from '../support/database.ts';
import { layCable } from '../support/in-between.ts';
import { payOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';
import { requestTime, type RequestTime } from '../../server/db/pool.ts';

interface Wait {
  ms: number;
  answered: boolean;
}

/** The time that requests wait for the database pool. */
interface Waits {
  /** The fruitless waits: one sum in ms per request. */
  inVain(): number[];
  forget(): void;
  /** Called before each statement of a request. */
  onQuery(listen: () => void): void;
}

/** Records the pool waits of each request of this process, and the fruitless ones by these time limits. */
function watchWaits(t: ExecutionContext, bounds: Record<'query' | 'connect', number>): Waits {
  const waits = new Map<RequestTime, Wait[]>();
  let listener = (): void => {};
  const note = <T>(most: number, given: number | undefined, work: Promise<T>): Promise<T> => {
    const time = requestTime();
    // Work after the response delays no caller.
    if (!time || !Number.isFinite(time.left())) return work;
    const wait = { ms: Math.min(most, given ?? most), answered: false };
    waits.set(time, [...(waits.get(time) ?? []), wait]);
    work.then(
      () => (wait.answered = true),
      () => {},
    );
    return work;
  };
  const { query } = pg.Client.prototype;
  const { connect } = pg.Pool.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...words: Parameters<typeof query>) {
    if (Number.isFinite(requestTime()?.left())) listener();
    const [config] = words as unknown as [{ query_timeout?: number }];
    return note(bounds.query, config.query_timeout, Reflect.apply(query, this, words) as never);
  } as never;
  pg.Pool.prototype.connect = function (this: pg.Pool) {
    return note(bounds.connect, requestTime()?.left(), Reflect.apply(connect, this, []) as never);
  } as never;
  t.teardown(() => Object.assign(pg.Client.prototype, { query }) && Object.assign(pg.Pool.prototype, { connect }));
  return {
    inVain: () =>
      [...waits.values()].map((all) => all.reduce((sum, { ms, answered }) => (answered ? sum : sum + ms), 0)),
    forget: () => waits.clear(),
    onQuery: (listen) => void (listener = listen),
  };
}

/** The service's own time limits, halved in a short run because each of them is waited out repeatedly. */
const BOUNDS = Object.fromEntries(Object.entries(TIMEOUTS).map(([name, ms]) => [name, isLong ? ms : ms / 2])) as Record<
  keyof typeof TIMEOUTS,
  number
>;

test('a request waits for an unresponsive database once, not once per statement', async (t) => {
  const database = await createDatabase();
  t.teardown(() => database.drop());
  const cable = await layCable(t, database.url);
  const service = await startService(t, { url: cable.url, databaseTimeouts: BOUNDS });
  const shop = await service.merchant();
  const paid = await payOrder(service, shop, { amount: 20 });
  const waits = watchWaits(t, BOUNDS);
  const asked: number[] = [];
  const pay = { subject: 'Late', amount: 5, payWay: 'alipay' };
  const refund = { orderNo: paid, refundAmount: 1 };
  const scenes: [string, () => Promise<unknown>][] = [
    ['pay', () => shop.call('POST', '/api/v2/payment/pay', pay, { 'idempotency-key': 'late-1' })],
    ['refund', () => shop.call('POST', '/api/v2/payment/refund', refund)],
    ['query', () => shop.call('GET', `/api/v2/payment/query/${paid}`)],
    ['close', () => shop.call('POST', `/api/v2/payment/close/${paid}`)],
  ];
  for (const [what, ask] of scenes)
    for (const statement of [1, 4, 7]) {
      await until('back', async () => (await shop.call('GET', `/api/v2/payment/query/${paid}`)).status === 200);
      waits.forget();
      // The black hole begins during the request, after some statements were answered.
      let passed = 0;
      waits.onQuery(() => void ((passed += 1) === statement && cable.swallow()));
      const { status } = (await ask()) as { status: number };
      waits.onQuery(() => {});
      cable.mend();
      const longest = Math.max(...waits.inVain());
      asked.push(longest);
      t.true(longest <= BOUNDS.request, `${what} waited ${longest} ms from its statement ${statement} on (${status})`);
    }
  t.true(asked.filter((ms) => ms > 0).length > 8, `${asked.join()}: the black hole was met`);
  t.log(`waited for in vain (ms): ${asked.join(', ')}`);
});
