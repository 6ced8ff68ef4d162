import test, { type ExecutionContext } from 'ava';
import { type BilledShop, billedShop } from '../support/billed-shop.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { isLong } from '../support/counts.ts';
import { freePort } from '../support/free-port.ts';
import { startReplica } from '../support/replica.ts';
import { type Service, startService } from '../support/service.ts';

/** The checkpoints of bill processing at which a replica dies, in order. */
const CHECKPOINTS = [
  'bill.asked',
  'bill.spooled',
  'bill.lines',
  'bill.read',
  'bill.matching',
  'bill.matched',
  'bill-difference.asked',
  'bill-difference.settled',
] as const;

/** A day with one unreported payment and one payment missing from the bill, and the expected differences. */
async function plantedDay(service: Service): Promise<{ shop: BilledShop; expected: string[]; untold: string }> {
  const shop = await billedShop(service, 'wechat');
  await shop.paid();
  const untold = await shop.place();
  await shop.payUntold(untold);
  const missing = await shop.paid();
  await shop.plant('paid_missing_at_channel', missing);
  await shop.nextDay();
  await service.app.bills.plan();
  const expected = [`paid_missing_at_channel ${missing} listed`, `paid_unknown_to_us ${untold} healed`].toSorted();
  return { shop, expected, untold };
}

async function allOnce(t: ExecutionContext, { shop, expected, untold }: Awaited<ReturnType<typeof plantedDay>>) {
  t.deepEqual(await shop.differences(), expected);
  t.deepEqual(
    (await shop.exceptions()).map(({ kind }) => kind),
    ['paid_missing_at_channel'],
  );
  const { store } = shop.service.app;
  const bill = await shop.bill();
  t.like(bill, { state: 'done', lines: 2, notOurs: 0, fault: null });
  const lines = await store.read((tx) => tx.billLines.list({}));
  t.deepEqual(
    lines.map(({ reading }) => reading),
    [bill.reading, bill.reading],
  );
  const events = await store.read((tx) => tx.events.list({ objectNo: untold, type: 'order.paid' }));
  t.is(events.length, 1);
  await assertLedgersMatch(t, shop.service);
}

/** Runs the due bill work in a process that kills itself at the checkpoint; its leases are expired afterwards. */
async function dieAt(t: ExecutionContext, service: Service, crashAt: string): Promise<void> {
  const began = Date.now();
  const victim = await startReplica(t, {
    environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
    simulatorUrl: service.simulator.url,
    port: await freePort(),
    crashAt,
    bills: true,
    aheadMs: service.clock.now().getTime() - Date.now(),
  });
  t.is(await victim.ended, 'SIGKILL', crashAt);
  // The victim's clock runs on while the service's clock stands still.
  service.clock.advance(120 + (Date.now() - began) / 1000);
}

/**
 * A long run tries each checkpoint alone. A short run takes every second one over the same bill, so that a later replica resumes the
 * work of the one that died; the last replica survives.
 */
const DEATHS = isLong
  ? CHECKPOINTS.map((checkpoint) => [checkpoint])
  : [0, 1].map((first) => CHECKPOINTS.filter((_, at) => at % 2 === first));

for (const deaths of DEATHS)
  test(`replicas that die at ${deaths.join(', ')} store the same differences, each once`, async (t) => {
    const service = await startService(t);
    const day = await plantedDay(service);
    for (const checkpoint of deaths) await dieAt(t, service, checkpoint);
    while ((await service.app.bills.sweep.once()) > 0);
    await allOnce(t, day);
  });

test('two concurrent replicas and a repeated run store the same differences', async (t) => {
  const service = await startService(t);
  const day = await plantedDay(service);
  const { databaseUrl: url, simulator, clock } = service;
  const other = await startService(t, { url, simulator, now: clock.now });
  const both = () => Promise.all([service, other].map(({ app }) => app.bills.sweep.once()));
  while ((await both()).some((rows) => rows > 0));
  await allOnce(t, day);
  await Promise.all([day.shop.rerun(), day.shop.rerun()]);
  await allOnce(t, day);
});
