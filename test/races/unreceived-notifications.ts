import type { ExecutionContext } from 'ava';
import type { PayWay } from '../../server/payments/channel.ts';
import type { Delivery } from '../../server/simulator/notification.ts';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { createForger, type Forger, type Message } from './forge.ts';
import { placeOrder } from '../support/orders.ts';
import { payIn, placeIn, type RacedScene, type Shops, shopsOf } from './scenes.ts';
import { startService, type Merchant, type Service } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

export const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** Two projects with accounts of their own at a simulator with known keys; notifications are off. */
export interface Stage extends Shops {
  service: Service;
  shop: Merchant;
  neighbour: Merchant;
  admin: Admin;
  forger: Forger;
}

/** Starts the stage with the shops of these scenes. */
export async function stage(t: ExecutionContext, scenes: readonly RacedScene[] = []): Promise<Stage> {
  const simulator = await ownSimulator(t);
  const { dir } = simulator;
  const service = await startService(t, { simulator });
  const admin = await firstAdmin(service);
  await admin.call('POST', '/api/v1/projects', { code: 'other', name: 'Other' });
  await service.app.prepare();
  for (const payWay of PAY_WAYS) await service.sim('/sim/notices', { payWay, enabled: false });
  const neighbour = await service.merchant({ project: 'other' });
  const shop = await service.merchant();
  const shopOf = await shopsOf(service, scenes, shop);
  return { service, shop, shopOf, neighbour, admin, forger: createForger(dir) };
}

/** Returns the message of a payment (PayPal: an approval) that the service does not know. */
export async function untold({ service }: Stage, shop: Merchant, payWay: PayWay, amount = 10): Promise<Delivery> {
  const orderNo = await placeOrder(shop, { payWay, amount });
  await service.sim('/sim/pay', { orderNo });
  return firstMessage(service, orderNo);
}

/** Returns the payment message of an order in a scene. For PayPal's buttons it reports a capture whose answer was lost. */
export async function untoldIn(on: Stage, scene: RacedScene, amount = 10): Promise<Delivery> {
  const orderNo = await placeIn(on, scene, { amount });
  await payUnheard(on, scene, orderNo);
  return firstMessage(on.service, orderNo, scene.hasButtons ? 'PAYMENT.CAPTURE.COMPLETED' : undefined);
}

/** Pays an order without a report to the service. */
export async function payUnheard(on: Stage, scene: RacedScene, orderNo: string): Promise<void> {
  const lost = { payWay: scene.payWay, call: 'capture', orderNo, fault: '500-after-commit', times: 1 };
  if (scene.hasButtons) await on.service.sim('/sim/faults', lost);
  await payIn(on, scene, orderNo);
}

async function firstMessage(service: Service, orderNo: string, event?: string): Promise<Delivery> {
  await service.sim('/sim/notify', { orderNo });
  const deliveries = await service.deliveries(orderNo);
  const found = deliveries.find((delivery) => event === undefined || delivery.event === event);
  if (!found) throw new Error(`${orderNo}: the channel wrote no message`);
  return found;
}

/** A recorded delivery as a message to post. */
export const messageOf = ({ headers, bodyBase64 }: Delivery): Message => ({
  headers,
  body: Buffer.from(bodyBase64, 'base64'),
});

/** Posts a message to the notification address of a project. */
export async function post(service: { url: string }, project: string, payWay: PayWay, { headers, body }: Message) {
  const answer = await fetch(`${service.url}/notify/${payWay}/${project}`, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
  });
  return { status: answer.status, text: await answer.text() };
}
