import test, { type ExecutionContext } from 'ava';
import type { FaultName } from '../../server/simulator/faults.ts';
import type { Delivery } from '../../server/simulator/notification.ts';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { assertLedgersMatch, unexplained } from '../support/merchant-ledger.ts';
import { count, isLong } from '../support/counts.ts';
import { assertStands, CLERK, tell, type Standing } from './dispute-courses.ts';
import { dispute, disputeOf } from '../support/disputes.ts';
import { freePort } from '../support/free-port.ts';
import { payOrder } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { startReplica } from '../support/replica.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';
import type { ComplaintResult, PayWay } from '../../server/payments/channel.ts';

/** An action about a complaint: by the payer (or the merchant in the channel's own console), a portal, or an operator of the service. */
type Action =
  | { by: 'payer'; act: string; more?: object }
  | { by: 'portal'; refund: number }
  | { by: 'us'; refund?: number; finish?: ComplaintResult };

/** The actions, after so many days, and the state of the order once the service has checked. */
interface Phase {
  days?: number;
  actions: readonly Action[];
  standing: Standing;
}

/** The course of one or two complaints about a payment of 10. */
interface Course {
  name: string;
  payWay: PayWay;
  phases: readonly Phase[];
}

const payer = (act: string, more: object = {}): Action => ({ by: 'payer', act, more });
/** The payer claims 4 of 10; at Alipay the merchant has a long due date, so only the intended complaints become overdue. */
const open = (more: object = {}): Action => payer('open', { amount: 4, dueDays: 100, ...more });
const answer: Action = { by: 'us' };
const finish = (result: ComplaintResult): Action => ({ by: 'us', finish: result });
const refund = (amount: number): Action => ({ by: 'us', refund: amount });

const waits: Standing = { states: ['needs_answer'], refunded: 0n };
const examined: Standing = { states: ['under_review'], refunded: 0n };
const over: Standing = { states: ['won'], refunded: 0n };
const back = (standing: Standing, refunded: bigint): Standing => ({ ...standing, refunded });
const elsewhere = (standing: Standing): Standing => ({ ...standing, refunded: 1000n, listed: ['refund_elsewhere'] });

const WECHAT: readonly Omit<Course, 'payWay'>[] = [
  {
    name: 'answered and finished by us',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [answer], standing: examined },
      { actions: [finish('other')], standing: over },
    ],
  },
  {
    name: 'finished in the console',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [payer('win')], standing: over },
    ],
  },
  {
    name: 'closed before the first search',
    phases: [{ actions: [open(), payer('review'), payer('win')], standing: over }],
  },
  {
    name: 'the payer writes again',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [answer], standing: examined },
      { actions: [payer('ask')], standing: waits },
      { actions: [answer, finish('agreed')], standing: over },
    ],
  },
  {
    name: 'refunded in part by us',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [refund(4)], standing: back(waits, 400n) },
      { actions: [finish('refunded')], standing: back(over, 400n) },
    ],
  },
  {
    name: 'refunded in the portal',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [{ by: 'portal', refund: 10 }], standing: elsewhere(waits) },
      { actions: [payer('win')], standing: elsewhere(over) },
    ],
  },
  {
    name: 'reopened after its end, and refunded',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [answer, finish('other')], standing: over },
      { actions: [payer('appeal')], standing: waits },
      { actions: [refund(10), finish('refunded')], standing: back(over, 1000n) },
    ],
  },
  {
    name: 'reopened ten days later',
    phases: [
      { actions: [open(), payer('win')], standing: over },
      { days: 10, actions: [payer('appeal')], standing: waits },
      { actions: [payer('win')], standing: over },
    ],
  },
];

const ALIPAY: readonly Omit<Course, 'payWay'>[] = [
  {
    name: 'ended by our answer',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [answer], standing: over },
    ],
  },
  {
    name: 'worked on, and finished by us',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [payer('review')], standing: examined },
      { actions: [finish('agreed')], standing: over },
    ],
  },
  {
    name: 'withdrawn',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [payer('cancel')], standing: over },
    ],
  },
  { name: 'closed before the first search', phases: [{ actions: [open(), payer('win')], standing: over }] },
  {
    name: 'refunded in part by us',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [refund(4)], standing: back(waits, 400n) },
      { actions: [finish('refunded')], standing: back(over, 400n) },
    ],
  },
  {
    name: 'refunded in the portal',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [{ by: 'portal', refund: 10 }], standing: elsewhere(waits) },
      { actions: [finish('refunded')], standing: elsewhere(over) },
    ],
  },
  {
    name: 'overdue, then answered',
    phases: [
      { actions: [open({ dueDays: 3 })], standing: waits },
      { days: 10, actions: [], standing: waits },
      { actions: [answer], standing: over },
    ],
  },
  {
    name: 'overdue, then withdrawn',
    phases: [
      { actions: [open({ dueDays: 3 })], standing: waits },
      { days: 10, actions: [payer('cancel')], standing: over },
    ],
  },
  {
    name: 'complained about twice',
    phases: [
      { actions: [open()], standing: waits },
      { actions: [finish('agreed')], standing: over },
      { actions: [open()], standing: { states: ['won', 'needs_answer'], refunded: 0n } },
      { actions: [refund(4), finish('refunded')], standing: { states: ['won', 'won'], refunded: 400n } },
    ],
  },
];

/** Courses for both channels; complaints take no money, so none loses any. */
const COMPLAINT_COURSES: readonly Course[] = [
  ...WECHAT.map((course) => ({ ...course, name: `WeChat Pay: ${course.name}`, payWay: 'wechat' as const })),
  ...ALIPAY.map((course) => ({ ...course, name: `Alipay: ${course.name}`, payWay: 'alipay' as const })),
];

/** How complaint messages arrive. Alipay sends none, so messages are WeChat Pay's; the service searches for both. */
interface Weather {
  name: string;
  /** For the calls that list, read and answer complaints; `onRead`: for the second alone, where the simulator can distinguish them. */
  fault?: FaultName;
  onRead?: true;
  /** The messages are kept back and delivered like this. */
  deliver?: (messages: readonly Delivery[]) => readonly Delivery[];
  replicas?: 2;
  crashAt?: string;
}

const isComplaint = ({ event }: Delivery) => event.startsWith('COMPLAINT.');

/** The messages that are not about complaints. */
function unsaid(all: readonly Delivery[]): readonly Delivery[] {
  return all.filter((one) => !isComplaint(one));
}

const WEATHERS: readonly Weather[] = [
  // In a short run two replicas also search in the weather without messages.
  ...(isLong ? [{ name: 'no messages', deliver: unsaid } as const] : []),
  { name: 'queries lag', fault: 'query-lag' },
  { name: 'details lag behind the list', fault: 'query-lag', onRead: true, deliver: unsaid },
  { name: 'no answer comes', fault: 'timeout' },
  { name: 'answers come too late', fault: 'commit-then-timeout' },
  { name: 'messages come three times, the newest first', deliver: (all) => [1, 2, 3].flatMap(() => all.toReversed()) },
  { name: 'two replicas look at once', replicas: 2, deliver: unsaid },
  ...(isLong ? [{ name: 'answers are errors', fault: '500-after-commit' } as const] : []),
  ...(isLong
    ? ['dispute.asked', 'dispute.settled'].map((crashAt) => ({
        name: `a replica dies at ${crashAt}`,
        crashAt,
        deliver: (all: readonly Delivery[]) => all,
      }))
    : []),
];

interface Flight {
  course: Course;
  orderNo: string;
}

interface Stage {
  service: Service;
  replicas: readonly Service[];
  shop: Merchant;
  clerk: Admin;
  flights: readonly Flight[];
  weather: Weather;
}

for (const [w, weather] of WEATHERS.entries()) {
  const courses = COMPLAINT_COURSES.filter((_, c) => isLong || (c + w) % WEATHERS.length === 0);

  test.serial(`complaints, ${weather.name}: ${courses.map(({ name }) => name).join('; ')}`, async (t) => {
    const stage = await setUp(t, weather, courses);
    const { service, flights } = stage;
    for (let n = 0; n < Math.max(...courses.map(({ phases }) => phases.length)); n += 1) {
      await playPhase(t, stage, n);
      if (n === 0 && weather.crashAt) await killOne(t, stage, weather.crashAt);
      await lookAround(stage);
      for (const { course, orderNo } of flights) {
        const phase = course.phases[n];
        if (!phase) continue;
        const refunded = phase.standing.refunded;
        await until(
          `refunds of ${course.name}`,
          async () => (await orderOf(service, orderNo)).refunded === refunded,
          20_000,
        ).catch(() => {});
        await assertStands(t, service, orderNo, `${course.name}, step ${n + 1}`, phase.standing);
      }
    }
    for (const { course, orderNo } of flights) {
      await acknowledgeAll(service, orderNo);
      await assertStands(t, service, orderNo, `${course.name}, in the end`, {
        ...course.phases.at(-1)!.standing,
        listed: [],
      });
    }
    t.deepEqual(await unexplained(service), []);
    await assertLedgersMatch(t, service);
    const { proofs } = await proveBooks(service.app);
    t.deepEqual(
      proofs.filter(({ ok }) => !ok),
      [],
    );
    t.log(`${courses.length} cells, ${flights.length} orders`);
  });
}

async function setUp(t: ExecutionContext, weather: Weather, courses: readonly Course[]): Promise<Stage> {
  const options = { simulator: await ownSimulator(t) };
  const service = await startService(t, options);
  const second = { ...options, url: service.databaseUrl, now: service.clock.now };
  const replicas = weather.replicas ? [service, await startService(t, second)] : [service];
  const shop = await service.merchant();
  const flights: Flight[] = [];
  for (const course of courses)
    for (let copy = 0; copy < count(3, 1); copy += 1)
      flights.push({ course, orderNo: await payOrder(service, shop, { payWay: course.payWay, amount: 10 }) });
  if (weather.deliver) await silence(service);
  return { service, replicas, shop, clerk: await firstAdmin(service), flights, weather };
}

/** Plays one step of every course and delivers WeChat Pay's messages about it. */
async function playPhase(t: ExecutionContext, stage: Stage, n: number): Promise<void> {
  const { service, flights, weather } = stage;
  const days = Math.max(0, ...flights.map(({ course }) => course.phases[n]?.days ?? 0));
  if (days > 0) await pass(stage, days * 86_400);
  // The session expires as the hours pass.
  const isClerkAsked = flights.some(({ course }) => course.phases[n]?.actions.some(isOfClerk));
  const clerk = isClerkAsked ? await stage.clerk.logIn() : stage.clerk;
  for (const { course, orderNo } of flights) {
    const actions = course.phases[n]?.actions ?? [];
    const { fault, onRead } = weather;
    const rule = { payWay: course.payWay, fault, hangUpMs: 100, times: 1 };
    if (fault && actions.length > 0) {
      await service.sim('/sim/faults', { ...rule, call: 'dispute', ...(onRead ? { orderNo } : {}) });
      await service.sim('/sim/faults', { ...rule, call: 'dispute-deed', orderNo });
    }
    for (const action of actions) await act(t, { ...stage, clerk }, orderNo, action, n);
  }
  if (!weather.deliver) return;
  for (const { course, orderNo } of flights) {
    if (course.payWay !== 'wechat' || !course.phases[n]) continue;
    for (const message of weather.deliver(await messagesOf(service, orderNo)))
      t.true([200, 204, 503].includes(await tell(service.url, 'wechat', message)), `${course.name}: ${message.event}`);
  }
}

function isOfClerk(action: Action): boolean {
  return action.by === 'us' && action.refund === undefined;
}

async function act(
  t: ExecutionContext,
  { service, shop, clerk }: Stage,
  orderNo: string,
  action: Action,
  n: number,
): Promise<void> {
  if (action.by === 'payer') return dispute(service, orderNo, action.act, action.more);
  if (action.by === 'portal')
    return void (await service.sim('/sim/refund-elsewhere', { orderNo, amount: action.refund }));
  if (action.refund !== undefined)
    return void (await service.app.payments.refund(shop.requester, { orderNo, refundAmount: action.refund }));
  const { disputeNo } = (await disputeOf(service, orderNo))!;
  const [path, body] = action.finish ? ['finish', { result: action.finish }] : ['answer', { text: 'It is on its way' }];
  // As an operator does: repeats under the same key until the outcome is known.
  await until(`${path} of ${orderNo}`, async () => {
    const answer = await clerk.call('POST', `/api/v1/disputes/${disputeNo}/${path}`, body, {
      'idempotency-key': `${disputeNo}-${n}`,
    });
    if (answer.status >= 500) return false;
    t.is(answer.status, 200, JSON.stringify(answer.body));
    return true;
  });
}

/** Every message about an order once, freshly signed, in the order of creation. */
async function messagesOf(service: Service, orderNo: string): Promise<Delivery[]> {
  await service.sim('/sim/notify', { orderNo });
  const deliveries = await service.deliveries(orderNo);
  const newest = new Map<string, Delivery>();
  for (const one of deliveries) newest.set(JSON.parse(Buffer.from(one.bodyBase64, 'base64').toString()).id, one);
  return [...newest.values()];
}

/** Delivers a message to a replica that dies of it. */
async function killOne(t: ExecutionContext, { service, flights }: Stage, crashAt: string): Promise<void> {
  const victim = await startReplica(t, {
    environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
    simulatorUrl: service.simulator.url,
    port: await freePort(),
    crashAt,
    sweepEveryMs: 60_000,
  });
  const { orderNo } = flights.find(({ course }) => course.payWay === 'wechat')!;
  const message = (await messagesOf(service, orderNo)).find(isComplaint)!;
  await tell(victim.url, 'wechat', message).catch(() => {});
  t.is(await victim.ended, 'SIGKILL');
}

/** The service searches for complaints and queries the known ones, first while the faults last. */
async function lookAround(stage: Stage): Promise<void> {
  const { service, replicas, weather } = stage;
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(replicas.flatMap(({ app }) => [app.findDisputes(), app.sweep.once()]));
    if (round === 0) await service.sim('/sim/reset-faults', {});
    // The last round also ends the silence.
    if (round === 0 && weather.deliver) await silence(service);
    await pass(stage, 7 * 3600);
    await Promise.all(replicas.map(({ app }) => app.sweep.once()));
  }
}

async function silence(service: Service): Promise<void> {
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
}

async function pass({ service }: Stage, seconds: number): Promise<void> {
  service.clock.advance(seconds);
  await service.sim('/sim/clock', { advanceSeconds: seconds });
}

async function orderOf({ app }: Service, orderNo: string) {
  return (await app.store.read((tx) => tx.orders.find({ orderNo })))!;
}

async function acknowledgeAll({ app }: Service, orderNo: string): Promise<void> {
  const open = await app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
  for (const { id } of open) await app.payments.resolveException(CLERK, id, 'acknowledge', 'The payer has it.');
}
