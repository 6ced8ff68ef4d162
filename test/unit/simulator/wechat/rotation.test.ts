import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { NotificationNotGenuine, type Channel, type PlaceOrder } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import { until, type World } from '../world.ts';
import { channelOf, configOf, newNo, startWechat } from './merchant.ts';

let world: World;
test.before(async () => {
  world = await startWechat();
});
test.after.always(() => world.close());

const ORDERS = 24;

for (const { what, mode, tellsMerchant } of [
  { what: 'platform-certificate', mode: 'certificate', tellsMerchant: false },
  { what: 'platform-certificate', mode: 'both', tellsMerchant: false },
  { what: 'public-key', mode: 'public-key', tellsMerchant: true },
  { what: 'merchant-certificate', mode: 'certificate', tellsMerchant: true },
  { what: 'api-v3-key', mode: 'public-key', tellsMerchant: true },
]) {
  test(`${what} (${mode}) is rotated under traffic: no payment fails and every notification arrives`, async (t) => {
    const account = `rotate-${what}-${mode}`;
    let channel = channelOf(world, await configOf(world, account, { mode }));
    const merchant = await startMerchant(() => channel);
    t.teardown(() => merchant.close());
    const rotate = async () => {
      const { wechat } = await world.post<Record<string, SimulatedChannelConfig>>('/sim/rotate', {
        payWay: 'wechat',
        account,
        what,
      });
      if (tellsMerchant) channel = channelOf(world, wechat!);
    };

    const orders = Array.from({ length: ORDERS }, () => placeOrder(merchant.url));
    const outcomes = await Promise.all(
      orders.map(async (order, index) => {
        // One worker rotates between two of its calls, while calls of the others are under way.
        const before = channel;
        const placed = await before.place(order);
        if (index === ORDERS / 2) await rotate();
        await world.post('/sim/pay', { payWay: 'wechat', orderNo: order.orderNo, account });
        const asked = await channel.query({ ...order, channelOrderId: null, channelTradeNo: null });
        return `${placed.kind} ${asked.kind}`;
      }),
    );
    t.deepEqual(new Set(outcomes), new Set(['pending paid']));
    await until(() => orders.every(({ orderNo }) => merchant.paid.has(orderNo)));
    t.is(merchant.paid.size, ORDERS);
  });
}

test('a value that cannot be rotated is refused', async (t) => {
  const answer = await world.post('/sim/rotate', { payWay: 'wechat', what: 'toString' });
  t.like(answer, { error: { code: 'unknown_rotation' } });
});

interface Merchant {
  url: string;
  /** Orders reported as paid by a genuine notification. */
  paid: Set<string>;
  close(): void;
}

/** Reads every notification with the newest channel, and refuses others so that they are sent again. */
async function startMerchant(newest: () => Channel): Promise<Merchant> {
  const paid = new Set<string>();
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const accepted = await accept(newest(), request.headers as Record<string, string>, Buffer.concat(chunks), paid);
      const { status, body } = newest().ackNotification(accepted ? 'accepted' : 'refused');
      response.writeHead(status).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/notify`, paid, close };
}

async function accept(
  channel: Channel,
  headers: Record<string, string>,
  body: Buffer,
  paid: Set<string>,
): Promise<boolean> {
  try {
    const { outcome, orderNo } = await channel.readNotification(headers, body);
    if (outcome?.kind === 'paid' && orderNo) paid.add(orderNo);
    return true;
  } catch (error) {
    if (error instanceof NotificationNotGenuine) return false;
    throw error;
  }
}

function placeOrder(notifyUrl: string): PlaceOrder {
  return {
    orderNo: newNo(),
    subject: 'A cup of tea',
    amount: { minor: 1234n, currency: 'CNY' },
    scene: 'qr',
    expiresAt: new Date(Date.now() + 3_600_000),
    sentAt: new Date(),
    notifyUrl,
    returnUrl: '',
    cancelUrl: '',
    clientIp: null,
    openId: null,
    payCode: null,
    options: {},
  };
}
