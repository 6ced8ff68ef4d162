import test from 'ava';
import { assertBooksBalance, ledgerOf, runUntilQuiet, unexplained } from '../support/books.ts';
import { count, isLong } from '../support/counts.ts';
import { dispute, disputeOf, toldOf } from '../support/disputes.ts';
import { payOrder, stateOf } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { ownSimulator, startService, until, type Merchant, type Service } from '../support/service.ts';

const HOUR = 3600;

interface Delivery {
  headers: Record<string, string>;
  bodyBase64: string;
  event: string;
}

/** What payer, merchant and PayPal do about a payment of 10, one after the other, and how it ends. */
interface Course {
  name: string;
  deeds: readonly (readonly [act: string, more?: object] | number)[];
  state: 'won' | 'lost';
  /** What went back in the end, refunds of the merchant's own included. */
  refunded: bigint;
}

const COURSES: readonly Course[] = [
  { name: 'won', deeds: [['open'], ['escalate'], ['win']], state: 'won', refunded: 0n },
  { name: 'withdrawn', deeds: [['open'], ['cancel']], state: 'won', refunded: 0n },
  { name: 'lost', deeds: [['open'], ['escalate'], ['lose', { refund: 'told' }]], state: 'lost', refunded: 1000n },
  { name: 'lost silently', deeds: [['open'], ['lose', { refund: 'untold' }]], state: 'lost', refunded: 1000n },
  { name: 'a refund beside it, won', deeds: [['open'], 4, ['escalate'], ['win']], state: 'won', refunded: 400n },
  {
    name: 'a refund beside it, the rest lost',
    deeds: [['open', { amount: 6 }], 4, ['lose', { refund: 'told' }]],
    state: 'lost',
    refunded: 1000n,
  },
  {
    name: 'won, then lost after an appeal',
    deeds: [['open'], ['win'], ['appeal'], ['lose', { refund: 'told' }]],
    state: 'lost',
    refunded: 1000n,
  },
];

/** How the news of it fares: what is set before the first deed, and how the messages come. */
interface Weather {
  name: string;
  isSilent?: boolean;
  /** A fault of the calls that ask about disputes or make refunds. */
  fault?: string;
  deliver?: (messages: readonly Delivery[]) => readonly Delivery[];
}

const WEATHERS: readonly Weather[] = [
  { name: 'nobody is told', isSilent: true },
  { name: 'no answer comes', fault: 'timeout' },
  { name: 'answers are lost', fault: '500-after-commit' },
  { name: 'answers are spoilt', fault: 'half-body' },
  { name: 'messages come three times', isSilent: true, deliver: (all) => all.flatMap((one) => [one, one, one]) },
  { name: 'messages come in reverse', isSilent: true, deliver: (all) => all.toReversed() },
  { name: 'forged messages come first', isSilent: true, deliver: (all) => [...all.map(forged), ...all] },
];

/** The same message with another end in it: not what PayPal signed. */
function forged(one: Delivery): Delivery {
  const body = Buffer.from(one.bodyBase64, 'base64')
    .toString()
    .replace(/"outcome_code":"\w+"/, '"outcome_code":"RESOLVED_BUYER_FAVOUR"');
  return { ...one, bodyBase64: Buffer.from(`${body} `).toString('base64') };
}

test.beforeEach((t) => t.timeout(900_000));

/** What PayPal wrote about the disputes and refunds of an order, as soon as there are so many messages about disputes. */
async function messagesOf(service: Service, orderNo: string, disputes: number): Promise<Delivery[]> {
  const isAbout = (event: string) => event.startsWith('CUSTOMER.DISPUTE');
  const all = async () => {
    const { deliveries } = (await service.sim(`/sim/deliveries?orderNo=${orderNo}`)) as unknown as {
      deliveries: Delivery[];
    };
    return deliveries;
  };
  await until(
    `messages of ${orderNo}`,
    async () => (await all()).filter(({ event }) => isAbout(event)).length >= disputes,
  );
  return (await all()).filter(({ event }) => isAbout(event) || event.endsWith('REFUNDED'));
}

async function post(service: Service, { headers, bodyBase64 }: Delivery): Promise<number> {
  const sent = { method: 'POST', headers, body: Buffer.from(bodyBase64, 'base64') };
  return (await fetch(`${service.url}/notify/paypal/default`, sent)).status;
}

async function refund(service: Service, shop: Merchant, orderNo: string, refundAmount: number): Promise<void> {
  await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount });
  await until('the refund', async () => {
    await service.app.sweep.once();
    service.clock.advance(60);
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    return order?.refunding === 0n && order.refunded > 0n;
  });
}

const isSampled = (course: number, weather: number) => isLong || (course + weather) % 3 === 0;

for (const [w, weather] of WEATHERS.entries()) {
  const courses = COURSES.filter((_, c) => isSampled(c, w));

  test.serial(`disputes, ${weather.name}: ${courses.map(({ name }) => name).join('; ')}`, async (t) => {
    const service = await startService(t, { simulator: await ownSimulator(t), timeoutMs: 1_000 });
    const shop = await service.merchant();
    const flights: { course: Course; orderNo: string }[] = [];
    for (const course of courses)
      for (let copy = 0; copy < count(3, 1); copy += 1)
        flights.push({ course, orderNo: await payOrder(service, shop, { payWay: 'paypal', amount: 10 }) });
    if (weather.isSilent) await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
    if (weather.fault) {
      const rule = { payWay: 'paypal', fault: weather.fault, delayMs: 1_500 };
      await service.sim('/sim/faults', { ...rule, call: 'dispute', times: flights.length });
      for (const { orderNo } of flights)
        await service.sim('/sim/faults', { ...rule, call: 'refund', orderNo, times: 2 });
    }

    for (const { course, orderNo } of flights)
      for (const deed of course.deeds)
        if (typeof deed === 'number') await refund(service, shop, orderNo, deed);
        else await dispute(service, orderNo, ...deed);
    for (const { course, orderNo } of flights) {
      if (!weather.deliver) continue;
      const genuine = await messagesOf(
        service,
        orderNo,
        course.deeds.filter((deed) => typeof deed !== 'number').length,
      );
      for (const message of weather.deliver(genuine)) {
        const status = await post(service, message);
        const isGenuine = genuine.includes(message);
        t.true(isGenuine ? status === 200 || status === 503 : status === 400, `${message.event}: ${status}`);
      }
    }

    await service.app.findDisputes();
    await runUntilQuiet(service, 13 * HOUR, HOUR);
    await service.app.findDisputes();
    await runUntilQuiet(service, 13 * HOUR, HOUR);
    const ledger = await ledgerOf(service);
    for (const { course, orderNo } of flights) {
      const found = await disputeOf(service, orderNo);
      t.is(found?.state, course.state, `${course.name}: state`);
      const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
      t.is(order?.refunded, course.refunded, `${course.name}: refunded`);
      t.is(ledger.get(orderNo)?.refunded, Number(course.refunded), `${course.name}: the ledger`);
      t.true(order!.refunded + order!.refunding <= order!.paid + order!.overrun, course.name);
      t.is(await stateOf(service, orderNo), 'paid');
      const told = await toldOf(service, found!.disputeNo);
      t.is(told.filter((type) => type === 'dispute.opened').length, 1, `${course.name}: ${told.join()}`);
      t.is(told.at(-1), told.length > 1 ? 'dispute.closed' : 'dispute.opened', `${course.name}: ${told.join()}`);
    }
    t.deepEqual(await unexplained(service), []);
    await assertBooksBalance(t, service);
    const { proofs } = await proveBooks(service.app);
    t.deepEqual(
      proofs.filter(({ ok }) => !ok),
      [],
    );
    t.log(`${flights.length} disputes`);
  });
}
