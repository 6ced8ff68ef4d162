import test from 'ava';
import { stats } from '../../server/catalog/stats.ts';
import { listEvents } from '../../server/db/queries/events.ts';
import { skillStats } from '../../server/db/queries/skillpay.ts';
import { runUntilQuiet } from '../support/merchant-ledger.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { type Service, startService, until } from '../support/service.ts';
import { addSkill, offerSkill, paidSkill } from '../support/skillpay.ts';
import { dumpTables } from '../support/tables.ts';

const DAY = 86_400;

/** Daily statistics in several time zones, pay-per-call figures, and the ledger checks. */
async function truths({ app }: Service, from: Date) {
  const { store, ports } = app;
  const day = (at: Date) => at.toISOString().slice(0, 10);
  const range = {
    from: day(new Date(from.getTime() - DAY * 1000)),
    to: day(new Date(from.getTime() + 5 * DAY * 1000)),
  };
  const zones = ['UTC', 'Asia/Shanghai', 'Asia/Kathmandu', 'America/St_Johns', 'Australia/Eucla'];
  const overview = (tz: string, project?: string) =>
    stats({ store, reports: store, now: ports.now }).overview({ ...range, tz, mode: 'simulator', project });
  const days = await Promise.all(zones.map((tz) => overview(tz)));
  const books = await proveBooks(app);
  return {
    days: [...days, await overview('UTC', 'default'), await overview('UTC', 'other')],
    offers: await store.read((tx) => skillStats(tx, {})),
    proofs: books.proofs,
    ok: books.ok,
  };
}

test.serial(
  'scheduled retention removes expired rows, and payments, statistics, ledger and event cursors stay the same',
  async (t) => {
    const began = new Date();
    const service = await startService(t);
    const { store } = service.app;
    const shop = await service.merchant();
    await addSkill(service);
    const abandoned = await placeOrder(shop, { payWay: 'wechat' });
    const offer = await offerSkill(shop);
    const paid = await payOrder(service, shop, { payWay: 'wechat' });
    const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo: paid, refundAmount: 4 });
    t.is(refund.status, 200);
    const bought = await paidSkill(service, shop);
    await runUntilQuiet(service, 4 * 3600, 600);
    await runUntilQuiet(service, 3 * DAY, 6 * 3600);
    t.is(await stateOf(service, abandoned), 'closed');
    t.is(await stateOf(service, offer), 'closed');
    await service.app.messages.flush();
    const before = await truths(service, began);
    t.true(before.ok, JSON.stringify(before.proofs.filter(({ ok }) => !ok)));
    t.is(before.days[0]?.totals.createdOrders, 4);
    t.is(before.offers[0]?.offered, 2);
    const events = await store.read((tx) => listEvents(tx, {}, 0n, 100));
    const ofPaid = async () =>
      (await dumpTables(service))
        .split('\n')
        .filter(
          (line) => line.includes(paid) && !line.startsWith('channel_messages') && !line.startsWith('notifications'),
        );
    const facts = await ofPaid();
    t.true(facts.length > 6);

    service.clock.advance(380 * DAY);
    service.app.startJobs();
    await until(
      'the unpaid are gone',
      async () => (await stateOf(service, abandoned)) === undefined && (await stateOf(service, offer)) === undefined,
    );
    await until('messages and notifications are gone', async () =>
      store.read(async (tx) => (await tx.messages.count({ orderNo: paid })) + (await tx.notifications.count({})) === 0),
    );

    await until(
      'months that were set aside are dropped',
      async () => (await store.read((tx) => tx.sql`select 1 from pg_class where relname ~ '_gone$'`)).length === 0,
    );
    const dump = await dumpTables(service);
    for (const gone of [abandoned, offer]) t.false(dump.includes(gone), `${gone} is nowhere`);
    t.deepEqual(await ofPaid(), facts, 'the stored facts of the payment and its refund');
    t.is(await stateOf(service, bought), 'paid');
    t.deepEqual(await truths(service, began), before);
    const removed = events.filter(({ objectNo }) => objectNo === abandoned || objectNo === offer);
    t.true(removed.length > 0);
    for (const { sequence } of events) {
      const after = await store.read((tx) => listEvents(tx, {}, sequence, 100));
      t.deepEqual(
        after.map(({ id }) => id).slice(0, events.length),
        events.filter((event) => event.sequence > sequence && !removed.includes(event)).map(({ id }) => id),
        `a cursor at ${sequence}`,
      );
    }
  },
);
