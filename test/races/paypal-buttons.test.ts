import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import { assertLedgersMatch, ledgerOf, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { count, inParallel, untilTaken } from '../support/counts.ts';
import { type Answer, until, startService, type Merchant, type Service } from '../support/service.ts';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { startInBetween } from '../support/in-between.ts';
import { placeOrder } from '../support/orders.ts';
import { agreeInPage } from '../unit/channels/promises/driver.ts';
import { ownSimulator } from '../support/simulator.ts';

const payWay = 'paypal';

/** Two replicas of one database, and a shop whose page shows PayPal's buttons. */
interface ButtonShop {
  one: Service;
  two: Service;
  shop: Merchant;
  /** The address of PayPal's own page. */
  paypalUrl: string;
}

/** Starts both replicas; PayPal's notifications are off. */
async function openButtonShop(
  t: ExecutionContext,
  options: { timeoutMs?: number; simulator?: { url: string }; paypalUrl?: string } = {},
): Promise<ButtonShop> {
  const { timeoutMs = 60_000, simulator = await ownSimulator(t), paypalUrl = simulator.url } = options;
  const one = await startService(t, { simulator, timeoutMs });
  const two = await startService(t, { url: one.databaseUrl, simulator, timeoutMs, now: one.clock.now });
  await one.sim('/sim/notices', { payWay, enabled: false });
  return { one, two, shop: await one.merchant(), paypalUrl };
}

/** An order whose payer has approved in PayPal's page. */
async function agreedOrder(on: ButtonShop, more: Record<string, unknown> = {}): Promise<string> {
  const orderNo = await placeOrder(on.shop, { payWay, amount: 10, ...more });
  await agree(on, orderNo);
  return orderNo;
}

/** The payer approves in PayPal's page, which the buttons open by PayPal's own number. */
async function agree(on: ButtonShop, orderNo: string): Promise<void> {
  await agreeInPage(on.paypalUrl, payWay, (await rowOf(on, orderNo)).channelOrderId ?? '');
}

async function rowOf({ one }: ButtonShop, orderNo: string): Promise<OrderRow> {
  const row = await one.app.store.read((tx) => tx.orders.find({ orderNo }));
  if (!row) throw new Error(`There is no order ${orderNo}.`);
  return row;
}

/** The calls of an application about an order at one replica; failed ones are repeated. */
function callAt({ shop }: ButtonShop, at: Service, orderNo: string, key?: string) {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  const post = (action: string): Promise<Answer> =>
    untilTaken(() => shop.callAt(at.url, 'POST', `/api/v2/payment/${action}/${orderNo}`, undefined, headers));
  return {
    capture: () => post('capture'),
    close: () => post('close'),
    query: () => shop.callAt(at.url, 'GET', `/api/v2/payment/query/${orderNo}`),
  };
}

/** The payer also returns to the return page; returns the state that the page shows. */
async function comeBack(on: ButtonShop, at: Service, orderNo: string): Promise<string | undefined> {
  const { channelOrderId } = await rowOf(on, orderNo);
  const page = await (await fetch(`${at.url}/return/${payWay}/${orderNo}?token=${channelOrderId}`)).text();
  return /data-state="(\w+)"/.exec(page)?.[1];
}

/** Delivers PayPal's approval messages of the order to one replica, also repeatedly. */
async function deliverApprovals({ one }: ButtonShop, at: Service, orderNo: string): Promise<number[]> {
  const deliveries = await until(`the webhook of ${orderNo}`, async () => {
    const told = await one.deliveries(orderNo);
    return told.length > 0 && told;
  });
  const approvals = deliveries.filter(({ event }) => event === 'CHECKOUT.ORDER.APPROVED');
  return Promise.all(
    approvals.map(async ({ headers, bodyBase64 }) => {
      const sent = { method: 'POST', headers, body: Buffer.from(bodyBase64, 'base64') };
      return (await fetch(`${at.url}/notify/${payWay}/default`, sent)).status;
    }),
  );
}

/** Holds the next capture before it reaches PayPal, or its answer on the way back. */
interface CaptureGate {
  shut(where: 'there' | 'back'): { arrived: Promise<void>; open(): void };
}

/** A button shop with a gate between the replicas and PayPal. */
async function openGatedShop(t: ExecutionContext): Promise<ButtonShop & CaptureGate> {
  const simulator = await ownSimulator(t);
  const gates: Partial<Record<'there' | 'back', { arrive(): void; opened: Promise<void> }>> = {};
  const pass = (where: 'there' | 'back') => async (method: string, path: string) => {
    const gate = gates[where];
    if (!gate || method !== 'POST' || !path.endsWith('/capture')) return undefined;
    delete gates[where];
    gate.arrive();
    await gate.opened;
    return undefined;
  };
  const between = await startInBetween(t, simulator.url, pass('there'), pass('back'));
  const shut: CaptureGate['shut'] = (where) => {
    const [arrival, opening] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    gates[where] = { arrive: arrival.resolve, opened: opening.promise };
    return { arrived: arrival.promise, open: opening.resolve };
  };
  return {
    // No time-out may fire while the gate is shut.
    ...(await openButtonShop(t, { simulator: between, paypalUrl: simulator.url, timeoutMs: 60_000 })),
    shut,
  };
}

const DAY = 86_400;
/** A short silence; late effects happen between the following calls or long after them (the channel's clock is advanced). */
const SILENCES = [
  { hangUpMs: 200, delayMs: 300 },
  { hangUpMs: 200, delayMs: 20_000 },
] as const;

/** The expected final state of an order; ledger amounts in minor units. */
interface End {
  state: 'paid' | 'closed';
  /** The expected number of captures; at most one by default. */
  payments?: 0 | 1;
}

/** Asserts that every order ends as expected and no capture is doubled. Returns the number of refunded orders. */
async function assertEnds(t: ExecutionContext, on: ButtonShop, ends: ReadonlyMap<string, End>): Promise<number> {
  const { one } = on;
  await until('no capture is under way', async () => {
    const live = await one.app.store.read((tx) => tx.orders.count({ captureState: 'live' }));
    return live === 0 || void one.clock.advance(31) || (await one.app.sweep.once(), false);
  });
  // Small steps first: an order still approved at PayPal is captured before it expires.
  await runUntilQuiet(one, 900, 60);
  await runUntilQuiet(one, 4 * DAY, 6 * 3600);
  const ledger = await ledgerOf(one);
  for (const [orderNo, { state, payments }] of ends) {
    t.is((await rowOf(on, orderNo)).state, state, orderNo);
    const theirs = ledger.get(orderNo)!;
    if (payments === undefined) t.true(theirs.payments <= 1, `${orderNo}: taken ${theirs.payments} times`);
    else t.is(theirs.payments, payments, `${orderNo}: taken`);
    t.is(theirs.paid - theirs.refunded, state === 'paid' ? 1000 : 0, `${orderNo}: what the shop has`);
    const events = await one.app.store.read((tx) =>
      tx.events.list({ objectNo: orderNo, type: ['order.paid', 'order.closed'] }),
    );
    t.deepEqual(
      events.map(({ type }) => type),
      [`order.${state}`],
      orderNo,
    );
  }
  t.deepEqual(await unexplained(one), []);
  t.is(await assertLedgersMatch(t, one), ends.size);
  return [...ledger.values()].filter(({ refunded }) => refunded > 0).length;
}

/** The state in a response; every one of these calls returns the order. */
function toldBy(t: ExecutionContext, { status, body }: Answer): string {
  t.is(status, 200, JSON.stringify(body));
  return body.data.status;
}

test('a capture before a close returns paid to every caller, and the close is refused', async (t) => {
  const on = await openGatedShop(t);
  const orderNo = await agreedOrder(on);
  const { arrived, open } = on.shut('back');
  const first = callAt(on, on.one, orderNo).capture();
  await arrived;
  t.is(toldBy(t, await callAt(on, on.two, orderNo, 'again').capture()), 'pending', 'another replica holds the capture');
  const closed = await callAt(on, on.two, orderNo).close();
  t.is(closed.status, 409);
  t.is(closed.body.code, 'order_already_paid');
  open();
  t.is(toldBy(t, await first), 'paid');
  t.is(toldBy(t, await callAt(on, on.two, orderNo).capture()), 'paid');
  await assertEnds(t, on, new Map([[orderNo, { state: 'paid', payments: 1 }]]));
});

test('a close during a capture call is stored, and the money is refunded', async (t) => {
  const on = await openGatedShop(t);
  const orderNo = await agreedOrder(on);
  const { arrived, open } = on.shut('there');
  const first = callAt(on, on.one, orderNo).capture();
  await arrived;
  t.is(toldBy(t, await callAt(on, on.two, orderNo).close()), 'closing');
  t.is(toldBy(t, await callAt(on, on.two, orderNo).capture()), 'closing');
  open();
  t.is(toldBy(t, await first), 'closed');
  await assertEnds(t, on, new Map([[orderNo, { state: 'closed', payments: 1 }]]));
});

test('a close before any capture takes no money, and every capture call returns closed', async (t) => {
  const on = await openGatedShop(t);
  const orderNo = await agreedOrder(on);
  t.is(toldBy(t, await callAt(on, on.two, orderNo).close()), 'closed');
  const told = await Promise.all([on.one, on.two].map((at) => callAt(on, at, orderNo).capture()));
  for (const answer of told) t.is(toldBy(t, answer), 'closed');
  await assertEnds(t, on, new Map([[orderNo, { state: 'closed', payments: 0 }]]));
});

test('a capture outlives its lease: another replica captures, and the first one finds the capture', async (t) => {
  const on = await openGatedShop(t);
  const orderNo = await agreedOrder(on);
  const { arrived, open } = on.shut('there');
  const first = callAt(on, on.one, orderNo).capture();
  await arrived;
  on.one.clock.advance(31);
  t.is(
    toldBy(t, await callAt(on, on.two, orderNo).capture()),
    'pending',
    'PayPal shows no capture, so the outcome is known',
  );
  t.is(toldBy(t, await callAt(on, on.two, orderNo).capture()), 'paid');
  open();
  t.is(toldBy(t, await first), 'paid');
  t.is((await rowOf(on, orderNo)).captures, 2);
  await assertEnds(t, on, new Map([[orderNo, { state: 'paid', payments: 1 }]]));
});

test('a capture outlives its lease and a close: a late capture is refunded', async (t) => {
  const on = await openGatedShop(t);
  const orderNo = await agreedOrder(on);
  const { arrived, open } = on.shut('there');
  const first = callAt(on, on.one, orderNo).capture();
  await arrived;
  on.one.clock.advance(31);
  t.is(toldBy(t, await callAt(on, on.two, orderNo).close()), 'closing');
  // A few steps, well within the lifetime of the shop's token.
  for (let step = 0; step < 20 && (await rowOf(on, orderNo)).state !== 'closed'; step += 1) {
    on.one.clock.advance(60);
    await on.two.app.sweep.once();
  }
  t.is((await rowOf(on, orderNo)).state, 'closed');
  t.is(toldBy(t, await callAt(on, on.two, orderNo).capture()), 'closed');
  open();
  t.is(toldBy(t, await first), 'closed');
  await assertEnds(t, on, new Map([[orderNo, { state: 'closed', payments: 1 }]]));
});

const refuse = ({ one }: ButtonShop, orderNo: string, word: string) =>
  one.sim('/sim/faults', { payWay: 'paypal', call: 'capture', fault: 'refused', word, orderNo, times: 1 });

for (const word of ['INSTRUMENT_DECLINED', 'PAYER_ACTION_REQUIRED'])
  test(`${word}: the order stays payable, is not retried, and is paid with the next instrument`, async (t) => {
    const on = await openGatedShop(t);
    const orderNo = await agreedOrder(on);
    await refuse(on, orderNo, word);
    const { arrived, open } = on.shut('back');
    const first = callAt(on, on.one, orderNo).capture();
    await arrived;
    t.is(toldBy(t, await callAt(on, on.two, orderNo).capture()), 'pending', 'said of the same approval');
    t.is(await comeBack(on, on.two, orderNo), 'confirming');
    open();
    const { body } = await first;
    t.like(body.data, { orderNo, status: 'pending', captureReason: word, channelTradeNo: null });
    t.truthy(body.data.payment.url, 'the way back to PayPal');
    const waiting = { state: 'pending', captures: 1, approvalsAsked: 1, captureReason: word };
    on.one.clock.advance(60);
    await Promise.all([on.one.app.sweep.once(), on.two.app.sweep.once()]);
    t.like(await rowOf(on, orderNo), waiting, 'the same instrument is not tried again');
    await agree(on, orderNo);
    const told = await Promise.all([on.one, on.two].map((at) => callAt(on, at, orderNo).capture()));
    t.true(told.map((answer) => toldBy(t, answer)).includes('paid'));
    t.like(await rowOf(on, orderNo), { state: 'paid', captures: 2, captureReason: null });
    await assertEnds(t, on, new Map([[orderNo, { state: 'paid', payments: 1 }]]));
  });

/** The number of statements that wait for a lock. */
async function waiting({ one }: ButtonShop): Promise<number> {
  const asked =
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  const [row] = await one.app.store.read((tx) => tx.sql<{ n: number }>`${sql.raw(asked)}`);
  return row?.n ?? 0;
}

test('a message about the approval from before its refusal is known does not count as another approval', async (t) => {
  const on = await openGatedShop(t);
  const orderNo = await agreedOrder(on);
  await refuse(on, orderNo, 'INSTRUMENT_DECLINED');
  const { arrived, open } = on.shut('back');
  const first = callAt(on, on.one, orderNo).capture();
  await arrived;
  const [locked, unlock] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = on.one.app.store.transaction(async (tx) => {
    await tx.orders.lock({ orderNo });
    locked.resolve();
    await unlock.promise;
  });
  await locked.promise;
  open();
  await until('the refusal waits to be written', async () => (await waiting(on)) === 1);
  const second = callAt(on, on.two, orderNo).capture();
  await until('the second one waits behind it', async () => (await waiting(on)) === 2);
  unlock.resolve();
  await holding;
  for (const answer of await Promise.all([first, second])) t.is(toldBy(t, answer), 'pending');
  t.like(await rowOf(on, orderNo), { state: 'pending', captures: 1, approvalsAsked: 1 });
  t.is(
    toldBy(t, await callAt(on, on.two, orderNo).capture()),
    'pending',
    'said afterwards it counts, and is refused as well',
  );
  t.like(await rowOf(on, orderNo), { state: 'pending', captures: 2, approvalsAsked: 2 });
  await agree(on, orderNo);
  t.is(toldBy(t, await callAt(on, on.one, orderNo).capture()), 'paid');
  await assertEnds(t, on, new Map([[orderNo, { state: 'paid', payments: 1 }]]));
});

/** PayPal's faults for the calls about an order. */
const WEATHERS: readonly {
  name: string;
  faults: readonly (readonly [call: string, fault: string, times: number])[];
}[] = [
  { name: 'clear', faults: [] },
  { name: 'the answer is lost', faults: [['capture', 'commit-then-timeout', 1]] },
  { name: 'nothing is done, and nothing said', faults: [['capture', 'timeout', 1]] },
  { name: 'it is done later', faults: [['capture', 'timeout-then-commit', 1]] },
  { name: '500 after it was done', faults: [['capture', '500-after-commit', 1]] },
  { name: '502', faults: [['capture', '502', 2]] },
  { name: 'half an answer', faults: [['capture', 'half-body', 1]] },
  { name: 'a twin is refused', faults: [['capture', 'same-id-concurrent-refusal', 1]] },
  { name: 'queries lag', faults: [['query', 'query-lag', 2]] },
  {
    name: 'queries lag behind a lost answer',
    faults: [
      ['capture', '500-after-commit', 1],
      ['query', 'query-lag', 4],
    ],
  },
  { name: 'queries fail', faults: [['query', '502', 3]] },
  { name: 'the first instrument is declined', faults: [] },
];

/** Delays either side of a race by a few network turns, so that each can be first. */
async function after<T>(turns: number, work: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns * 3; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return work();
}

/** The first instrument is declined at the first capture call, and the payer approves with another one. */
async function declineFirst(t: ExecutionContext, on: ButtonShop, orderNo: string, key: string): Promise<void> {
  await refuse(on, orderNo, 'INSTRUMENT_DECLINED');
  const [first, second] = await Promise.all([
    callAt(on, on.one, orderNo, key).capture(),
    callAt(on, on.two, orderNo, key).capture(),
    deliverApprovals(on, on.one, orderNo),
    deliverApprovals(on, on.two, orderNo),
    callAt(on, on.two, orderNo).query(),
  ]);
  for (const answer of [first, second]) t.is(toldBy(t, answer), 'pending');
  const row = await until('the refusal is known', async () => {
    // As a shop does: a capture without a response is followed by a query.
    await callAt(on, on.one, orderNo).query();
    const now = await rowOf(on, orderNo);
    return now.captureState === null && now;
  });
  t.like(row, { state: 'pending', captureReason: 'INSTRUMENT_DECLINED', captures: row.approvalsAsked });
  t.true(row.approvalsAsked <= 2, `${orderNo}: requested ${row.approvalsAsked} times for one approval`);
  t.like((await callAt(on, on.one, orderNo).query()).body.data, { status: 'pending' });
  await agree(on, orderNo);
}

test('both replicas capture while webhook, return page, query and close arrive, under every PayPal fault', async (t) => {
  const on = await openButtonShop(t);
  const { one, two } = on;
  const rounds = count(24, 2);
  const seen = { closed: 0, refusedAsPaid: 0 };
  const ends = new Map<string, End>();
  await inParallel(rounds * WEATHERS.length, 6, async (index) => {
    const { name, faults } = WEATHERS[index % WEATHERS.length]!;
    const round = Math.floor(index / WEATHERS.length);
    const key = `key-${index}`;
    const orderNo = await agreedOrder(on);
    if (name === 'the first instrument is declined') await declineFirst(t, on, orderNo, key);
    for (const [call, fault, times] of faults)
      await one.sim('/sim/faults', { payWay: 'paypal', call, fault, times, orderNo, ...SILENCES[round % 2] });
    const turn = (factor: number) => (index * factor + round) % 5;
    const capture = (at: typeof one, turns: number, under?: string) =>
      after(turns, () => callAt(on, at, orderNo, under).capture());
    const [closed, page, queried, , , ...captures] = await Promise.all([
      round % 2 === 1 ? after(turn(3), () => callAt(on, index % 2 ? one : two, orderNo, key).close()) : undefined,
      after(turn(2), () => comeBack(on, index % 2 ? one : two, orderNo)),
      after(turn(5), () => callAt(on, index % 2 ? two : one, orderNo).query()),
      after(turn(7), () => deliverApprovals(on, one, orderNo)),
      after(turn(4), () => deliverApprovals(on, two, orderNo)),
      capture(one, 0, key),
      capture(two, 0, key),
      capture(one, turn(3)),
      capture(two, turn(4)),
    ]);
    captures.push(...(await Promise.all([capture(one, 0, key), capture(two, 0)])));
    for (const { headers } of captures.slice(0, 2)) t.is(headers.get('idempotency-key-ignored'), 'true');
    const told = new Set([page, queried.body.data.status, ...captures.map((answer) => toldBy(t, answer))]);
    // A refused close means that the money arrived; an accepted one, that the shop keeps none of it.
    const isClosed = closed?.status === 200;
    if (closed && !isClosed) t.is(closed.body.code, 'order_already_paid', `${name}: ${JSON.stringify(closed.body)}`);
    t.false(told.has(isClosed ? 'paid' : 'closed'), `${name} ${orderNo}: ${[...told].join(' ')}`);
    ends.set(orderNo, isClosed ? { state: 'closed' } : { state: 'paid', payments: 1 });
    if (closed) seen[isClosed ? 'closed' : 'refusedAsPaid'] += 1;
  });
  const givenBack = await assertEnds(t, on, ends);
  t.log(
    `${ends.size} orders; of the closes ${seen.closed} were kept (${givenBack} gave money back), ${seen.refusedAsPaid} refused`,
  );
});
