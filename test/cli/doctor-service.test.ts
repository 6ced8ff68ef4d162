import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { operatorAt, type Operator } from './operator.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startService, until, type Service } from '../support/service.ts';

interface Finding {
  check: string;
  status: string;
  detail: string;
  fix: string | null;
}

interface World {
  service: Service;
  operator: Operator;
}

/** A fault: how it is planted (returns flags for doctor), the expected finding, and how it is undone. */
interface Fault {
  name: string;
  plant: (world: World) => Promise<string | void>;
  check: string;
  status: 'degraded' | 'failed';
  detail: RegExp;
  fix: RegExp;
  undo: (world: World) => Promise<unknown>;
}

const DAY = 86_400_000;
const sql = ({ service }: World, statement: string): Promise<unknown> =>
  service.app.database.em.fork().execute(statement);
const credentials = ({ operator }: World): string => join(operator.folder, 'payctl', 'credentials.json');

const FAULTS: readonly Fault[] = [
  {
    name: 'tokens that other users can read',
    plant: (world) => chmod(credentials(world), 0o644),
    check: 'files',
    status: 'failed',
    detail: /credentials\.json is accessible to other users/,
    fix: /^chmod go= .*credentials\.json$/,
    undo: (world) => chmod(credentials(world), 0o600),
  },
  {
    name: 'http to another machine',
    plant: async ({ operator, service }) => {
      // Reaches this machine without being a loopback address.
      const server = service.url.replace('127.0.0.1', '0.0.0.0');
      await operator.done(`context add shop --server ${server} --label prod --allow-http`);
      await operator.done('login -C shop -u alice --password-file own.password');
      return '-C shop';
    },
    check: 'encryption',
    status: 'failed',
    detail: /prod is accessed without HTTPS/,
    fix: /payctl context add prod --server https/,
    undo: async () => {},
  },
  {
    name: 'Debug on prod',
    plant: async () => '-C shop',
    check: 'debug',
    status: 'failed',
    detail: /test applications with publicly known secrets/,
    fix: /set Debug = false/,
    undo: ({ operator }) => operator.done('context use local'),
  },
  {
    name: 'an expired certificate',
    plant: async (world) =>
      void (await sql(
        world,
        `update certs set not_after = now() - interval '1 day' where kind = 'wechat_merchant_cert'`,
      )),
    check: 'wechat_merchant_cert',
    status: 'failed',
    detail: /has expired/,
    fix: /^payctl cert upload FILE --kind wechat_merchant_cert$/,
    undo: (world) =>
      sql(world, `update certs set not_after = now() + interval '1 year' where kind = 'wechat_merchant_cert'`),
  },
  {
    name: 'a certificate that expires soon',
    plant: async (world) =>
      void (await sql(
        world,
        `update certs set not_after = now() + interval '9 days 1 hour' where kind = 'wechat_merchant_cert'`,
      )),
    check: 'wechat_merchant_cert',
    status: 'degraded',
    detail: /expires in 9 days/,
    fix: /cert upload/,
    undo: (world) =>
      sql(world, `update certs set not_after = now() + interval '1 year' where kind = 'wechat_merchant_cert'`),
  },
  {
    name: 'a channel with an incomplete configuration',
    plant: async (world) => {
      await world.operator.done('project create --code shop-eu --name "Shop Europe"');
      await world.service.app.prepare();
      await sql(
        world,
        `update channel_configs set missing = '{clientSecret}' where project = 'shop-eu' and pay_way = 'paypal'`,
      );
    },
    check: 'shop-eu/paypal',
    status: 'failed',
    detail: /^missing: clientSecret$/,
    fix: /^payctl channel set paypal --project shop-eu$/,
    undo: (world) => sql(world, `update channel_configs set missing = '{}' where project = 'shop-eu'`),
  },
  {
    name: 'a channel that rejects its test call',
    plant: async ({ service }) => {
      await service.sim('/sim/faults', { payWay: 'alipay', call: 'query', fault: 'wrong-key', times: 50 });
    },
    check: 'alipay',
    status: 'failed',
    detail: /./,
    fix: /^payctl (channel (test|set) alipay|cert upload FILE --kind alipay_\w+)$/,
    undo: ({ operator }) => operator.done('simulator faults --clear'),
  },
  {
    name: 'notifications that cannot arrive',
    plant: async (world) =>
      void (await sql(
        world,
        `update channel_configs set mode = 'sandbox' where pay_way = 'paypal' and project = 'default'`,
      )),
    check: 'notices',
    status: 'failed',
    detail: /^paypal cannot reach http:\/\/127\.0\.0\.1/,
    fix: /Server\.PublicUrl/,
    undo: (world) =>
      sql(world, `update channel_configs set mode = 'simulator' where pay_way = 'paypal' and project = 'default'`),
  },
  {
    name: 'a channel that does not answer its test call',
    plant: async ({ service }) => {
      await service.sim('/sim/faults', { payWay: 'wechat', call: '*', fault: 'timeout', probability: 1, delayMs: 100 });
    },
    check: 'wechat',
    status: 'failed',
    detail: /^does not answer, .* the network of the server: ./,
    fix: /^payctl channel test wechat$/,
    undo: ({ operator }) => operator.done('simulator faults --clear'),
  },
  {
    name: 'no enabled channel',
    plant: async (world) => void (await sql(world, 'update channel_states set enabled = false')),
    check: 'channels',
    status: 'failed',
    detail: /no payment is possible/,
    fix: /^payctl channel set alipay/,
    undo: (world) => sql(world, 'update channel_states set enabled = true'),
  },
  {
    name: 'webhooks that fail',
    plant: async (world) =>
      void (await sql(
        world,
        `insert into deliveries (id, event_id, client_id, target, url, state, attempts, last_error, created_at)
         values (gen_random_uuid(), 'evt_1', 'app_1', 'webhook', 'https://shop.example', 'pending', 3, 'ECONNREFUSED', now())`,
      )),
    check: 'webhooks',
    status: 'degraded',
    detail: /^app_1: 1 deliveries failed and are retried, .*ECONNREFUSED/,
    fix: /^payctl app webhook deliveries app_1$/,
    undo: (world) => sql(world, 'delete from deliveries'),
  },
  {
    name: 'notifications that stopped',
    plant: async (world) => {
      const shop = await world.service.merchant();
      for (let paid = 0; paid < 3; paid++)
        await lastNotification(world.service, await payOrder(world.service, shop, { payWay: 'paypal' }));
      await world.service.app.messages.flush();
      await sql(world, `delete from channel_messages where direction = 'in'`);
      await sql(world, `update orders set paid_at = now() - interval '1 hour' where pay_way = 'paypal'`);
    },
    check: 'notices',
    status: 'failed',
    detail:
      /^paypal: the channel notified none of the last 3 payments.* Server\.PublicUrl with \/notify\/paypal\/default/,
    fix: /^payctl channel test paypal$/,
    undo: (world) => sql(world, `update orders set paid_at = now() - interval '2 days'`),
  },
  {
    name: 'due work without a worker',
    plant: async (world) => {
      const orderNo = await placeOrder(await world.service.merchant(), { payWay: 'alipay' });
      await sql(
        world,
        `update orders set next_check_at = now() - interval '10 minutes', leased_until = null where order_no = '${orderNo}'`,
      );
    },
    check: 'due work',
    status: 'failed',
    detail: /^1 of the kind order wait, the oldest for \d+ s; the findings about channels/,
    fix: /Server\.Workers/,
    undo: (world) => sql(world, 'update orders set next_check_at = null'),
  },
  {
    name: 'an open exception',
    plant: async ({ service }) => {
      const shop = await service.merchant();
      const orderNo = await placeOrder(shop, { payWay: 'wechat' });
      await service.sim('/sim/faults', { payWay: 'wechat', call: 'query', fault: 'wrong-amount', times: 1 });
      await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
      await service.sim('/sim/pay', { orderNo });
      await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
      await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
      await service.sim('/sim/notices', { payWay: 'wechat', enabled: true });
    },
    check: 'exceptions',
    status: 'degraded',
    detail: /^1 open$/,
    fix: /^payctl explain P\w+$/,
    undo: (world) => sql(world, `update order_exceptions set state = 'resolved'`),
  },
  {
    name: 'an abnormal refund',
    plant: async ({ service }) => {
      const shop = await service.merchant();
      const orderNo = await payOrder(service, shop, {});
      await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
      await service.app.database.em.fork().execute(`update refunds set state = 'abnormal'`);
    },
    check: 'refunds',
    status: 'degraded',
    detail: /^1 abnormal$/,
    fix: /^payctl refund retry R\w+$/,
    undo: (world) => sql(world, `update refunds set state = 'succeeded'`),
  },
  {
    name: 'an overdue order',
    plant: async (world) => {
      const orderNo = await placeOrder(await world.service.merchant(), { payWay: 'wechat' });
      await sql(
        world,
        `update orders set created_at = now() - interval '5 hours', expires_at = now() - interval '3 hours' where order_no = '${orderNo}'`,
      );
    },
    check: 'orders',
    status: 'failed',
    detail: /^1 open for more than an hour/,
    fix: /^payctl explain (P\w+)\nThen: payctl order sync \1$/,
    undo: (world) => sql(world, `update orders set expires_at = now() + interval '1 hour' where state = 'pending'`),
  },
];

async function examine(
  { operator }: World,
  flags = '',
  now?: () => Date,
): Promise<{ code: number; findings: Finding[] }> {
  const { code, stdout } = await operator.payctl(`doctor --json ${flags}`.trim(), now ? { now } : {});
  return { code, findings: JSON.parse(stdout) as Finding[] };
}

function sick(findings: readonly Finding[]): string[] {
  return findings.filter(({ status }) => status !== 'ok').map(({ check, detail }) => `${check}: ${detail}`);
}

/** Waits for PayPal's capture notification of the order, which is the last one. */
async function lastNotification(service: Service, orderNo: string): Promise<void> {
  await until(`the last notification of ${orderNo}`, async () => {
    const deliveries = await service.deliveries(orderNo);
    return deliveries.some(({ event, acknowledged }) => event === 'PAYMENT.CAPTURE.COMPLETED' && acknowledged);
  });
}

async function start(t: ExecutionContext): Promise<World> {
  const service = await startService(t);
  await service.app.prepare();
  return { service, operator: await operatorAt(t, service) };
}

test('doctor finds each planted fault on a real service, and names the fix', async (t) => {
  const world = await start(t);
  const before = await examine(world);
  t.deepEqual(sick(before.findings), []);
  t.is(before.code, 0);
  for (const { name, plant, check, status, detail, fix, undo } of FAULTS) {
    const flags = (await plant(world)) ?? '';
    const { code, findings } = await examine(world, flags);
    const found = findings.find((finding) => finding.check === check && finding.status !== 'ok');
    t.is(found?.status, status, `${name}: ${JSON.stringify(findings)}`);
    t.regex(found?.detail ?? '', detail, name);
    t.regex(found?.fix ?? '', fix, name);
    t.is(code, findings.some((finding) => finding.status === 'failed') ? 1 : 0, name);
    await undo(world);
  }
  t.deepEqual(sick((await examine(world)).findings), [], 'no finding remains after the repairs');
  t.log(`${FAULTS.length + 3} planted faults, each found with its fix`);

  const late = await examine(world, '', () => new Date(Date.now() + 5 * 60_000));
  t.like(
    late.findings.find(({ check }) => check === 'clock'),
    { status: 'failed', fix: 'timedatectl set-ntp true' },
  );
  const expired = await examine(world, '', () => new Date(Date.now() + 3 * DAY));
  t.regex(expired.findings.find(({ check }) => check === 'login')?.fix ?? '', /^payctl login -C/);
  await world.service.stop();
  const gone = await examine(world);
  const service = gone.findings.find(({ check }) => check === 'service');
  t.is(service?.status, 'failed');
  t.regex(
    service?.fix ?? '',
    /^payctl server start\nThe quick start of the README starts it with PAY_DEBUG=true npm start/,
  );
  t.is(gone.code, 1);
});
