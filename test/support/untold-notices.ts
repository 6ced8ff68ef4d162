import type { ExecutionContext } from 'ava';
import type { PayWay } from '../../server/payments/channel.ts';
import type { Delivery } from '../../server/simulator/notice.ts';
import { startSimulator } from '../../server/simulator/simulator.ts';
import { firstAdmin, type Admin } from './admin.ts';
import { temporaryFolder } from './folder.ts';
import { createForger, type Forger, type Message } from './forge.ts';
import { placeOrder } from './orders.ts';
import { startService, type Merchant, type Service } from './service.ts';

export const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** Two projects with accounts of their own at a simulator whose keys are known; no notice is delivered by itself. */
export interface Stage {
  service: Service;
  shop: Merchant;
  neighbour: Merchant;
  admin: Admin;
  forger: Forger;
}

/** Starts it. */
export async function stage(t: ExecutionContext): Promise<Stage> {
  const dir = temporaryFolder(t);
  const simulator = await startSimulator({ dir, listen: { host: '127.0.0.1', port: 0 } });
  t.teardown(() => simulator.close());
  const service = await startService(t, { simulator });
  const admin = await firstAdmin(service);
  await admin.call('POST', '/api/v1/projects', { code: 'other', name: 'Other' });
  await service.app.prepare();
  for (const payWay of PAY_WAYS) await service.sim('/sim/notices', { payWay, enabled: false });
  const neighbour = await service.merchant({ project: 'other' });
  return { service, shop: await service.merchant(), neighbour, admin, forger: createForger(dir) };
}

/** An order that the payer has paid (PayPal: approved) without us knowing, and the message that says so. */
export async function untold({ service }: Stage, shop: Merchant, payWay: PayWay, amount = 10): Promise<Delivery> {
  const orderNo = await placeOrder(shop, { payWay, amount });
  await service.sim('/sim/pay', { orderNo });
  await service.sim('/sim/notify', { orderNo });
  const { deliveries } = (await service.sim(`/sim/deliveries?orderNo=${orderNo}`)) as unknown as {
    deliveries: Delivery[];
  };
  return deliveries[0]!;
}

/** A delivery as it is posted again. */
export const messageOf = ({ headers, bodyBase64 }: Delivery): Message => ({
  headers,
  body: Buffer.from(bodyBase64, 'base64'),
});

/** Delivers a message to the address of a project. */
export async function post(service: { url: string }, project: string, payWay: PayWay, { headers, body }: Message) {
  const answer = await fetch(`${service.url}/notify/${payWay}/${project}`, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
  });
  return { status: answer.status, text: await answer.text() };
}
