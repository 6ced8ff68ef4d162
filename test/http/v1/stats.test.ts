import test from 'ava';
import { catalogApp } from '../../support/catalog-app.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

const S = '/api/v1/stats/overview';

interface Figures {
  createdOrders: number;
  paidOrders: number;
  refunds: number;
  states: Record<string, number>;
  amounts: { payWay: string; paidAmount: number; refundedAmount: number }[];
}
interface Overview {
  mode: string;
  totals: Figures;
  days: (Figures & { date: string })[];
}

test.serial('an order is counted on the day of the time zone in which it was created, paid and refunded', async (t) => {
  const { admin, place, pay, refund, finish, store } = await catalogApp(t);
  const paid = await pay(await place({ amount: 12.5 }));
  await place({ amount: 1 });
  await finish(await refund(paid.orderNo, 2.5), 'succeeded');
  const at = (text: string) => new Date(text);
  const { orderNo } = paid;
  await store.transaction(async (tx) => {
    await tx.orders.update({ orderNo }, { createdAt: at('2030-01-01T15:59:59Z'), paidAt: at('2030-01-01T16:00:00Z') });
    await tx.refunds.update({ orderNo }, { finishedAt: at('2030-01-03T00:00:00Z') });
  });
  const { data } = (await admin('GET', `${S}?from=2030-01-01&to=2030-01-03&mode=simulator`)).body;
  const { days, totals } = data as Overview;
  t.deepEqual(
    days.map(({ date }) => date),
    ['2030-01-01', '2030-01-02', '2030-01-03'],
  );
  t.deepEqual(
    days.map(({ createdOrders }) => createdOrders),
    [1, 0, 0],
  );
  t.deepEqual(
    days.map(({ paidOrders }) => paidOrders),
    [0, 1, 0],
  );
  t.deepEqual(
    days.map(({ refunds }) => refunds),
    [0, 0, 1],
  );
  t.like(totals.amounts[0], { payWay: 'alipay', paidAmount: 12.5, refundedAmount: 2.5 });
  t.deepEqual(totals.states, { paid: 1 });
  const utc = (await admin('GET', `${S}?from=2030-01-01&to=2030-01-01&mode=simulator&tz=UTC`)).body.data as Overview;
  t.like(utc.totals, { createdOrders: 1, paidOrders: 1, refunds: 0 });
  const instant = 'from=2030-01-01T16:00:00Z&to=2030-01-02T16:00:00Z';
  const cut = (await admin('GET', `${S}?${instant}&mode=simulator`)).body.data as Overview;
  t.like(cut.totals, { createdOrders: 0, paidOrders: 1 });
  t.is(cut.days.length, 1);
});

test.serial('statistics cover one mode, live by default, and each project has its own', async (t) => {
  const { admin, viewer, place } = await catalogApp(t);
  await place({ amount: 1 });
  const read = async (path: string) => (await viewer('GET', path)).body.data as Overview;
  t.like(await read(S), { mode: 'live', totals: { createdOrders: 0 } });
  const simulated = await read(`${S}?mode=simulator`);
  t.is(simulated.totals.createdOrders, 1);
  t.is(simulated.days.length, 30);
  t.is(simulated.days.at(-1)?.createdOrders, 1);
  t.is((await read('/api/v1/projects/default/stats?mode=simulator')).totals.createdOrders, 1);
  t.is((await read('/api/v1/projects/other/stats?mode=simulator')).totals.createdOrders, 0);
  t.is((await read(`${S}?mode=simulator&project=other`)).totals.createdOrders, 0);
  t.is((await admin('GET', '/api/v1/projects/nothing/stats')).status, 404);
});

test.serial('invalid parameters are 400', async (t) => {
  const { admin, as, shop } = await catalogApp(t);
  for (const query of [
    'from=yesterday',
    'from=2030-02-30',
    'from=2030-01-02&to=2030-01-01',
    'from=2028-01-01&to=2030-01-01',
    'from=2030-01-01T00:00:00Z&to=2030-01-01T00:00:00Z',
    'from=0001-01-01T00:00:00Z&to=0001-01-02T00:00:00Z',
    'from=9999-12-31&to=9999-12-31',
    'tz=Mars/Olympus',
    "tz=UTC'--",
    'mode=all',
    'mode[]=live',
    'project=a%20b',
    'day=1',
  ])
    t.is((await admin('GET', `${S}?${query}`)).status, 400, query);
  t.is((await as('')('GET', S)).status, 401);
  t.is((await shop('GET', S)).status, 401);
});
