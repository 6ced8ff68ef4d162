import type { ExecutionContext } from 'ava';
import type { Delivery } from '../../server/simulator/notification.ts';
import type { Admin } from '../support/admin.ts';
import type { Message } from './forge.ts';
import type { Merchant, Service } from '../support/service.ts';

/** A shop whose administrator changes its account at one channel. */
export interface Shop {
  service: Service;
  shop: Merchant;
  logIn: Admin['logIn'];
  payWay: 'alipay' | 'wechat' | 'paypal';
  /** The project of the configuration; defaults to `default`. */
  project?: string;
}

interface Configuration {
  fields: Record<string, string>;
  pems: Record<string, string[]>;
}

/** Has the channel replace `what` of the account and writes the issued fields as the configuration; `without` clears fields. */
export async function configure(on: Shop, what: string, without: string[] = []): Promise<void> {
  await configureAs(on, 'default', what, without);
}

/** As `configure`, but switches the shop to another account at the simulator. */
export async function configureAs(on: Shop, account: string, what: string, without: string[] = []): Promise<void> {
  const { service, logIn, payWay, project = 'default' } = on;
  const given = (await service.sim('/sim/rotate', { payWay, account, what })) as unknown as Record<
    string,
    Configuration
  >;
  const { fields, pems } = given[payWay]!;
  const cleared = Object.fromEntries(without.map((name) => [name, null]));
  const admin = await logIn();
  const sent = { mode: 'simulator', ...NOT_KEPT[payWay], ...fields, ...pems, ...cleared };
  const { status, body } = await admin.call('POST', `/api/v1/payment/config/${payWay}?project=${project}`, sent);
  if (status !== 200) throw new Error(`config: ${status} ${JSON.stringify(body)}`);
}

/** Fields that the channel no longer issues are cleared. */
const NOT_KEPT: Record<Shop['payWay'], Record<string, null>> = {
  alipay: { appAuthToken: null },
  wechat: { subMchId: null, subAppId: null },
  paypal: {},
};

/** Lets the payer pay and has the channel write the notification without delivering it. */
export async function paidUntold(on: Shop, orderNo: string): Promise<Delivery> {
  await on.service.sim('/sim/pay', { orderNo });
  return messageAbout(on, orderNo);
}

/** Returns the channel's newest message about an order. */
export async function messageAbout({ service }: Pick<Shop, 'service'>, orderNo: string): Promise<Delivery> {
  await service.sim('/sim/notify', { orderNo });
  const deliveries = await service.deliveries(orderNo);
  return deliveries.at(-1)!;
}

/** Posts a message to the service as its channel would; resolves to the status. */
export async function post({ service, payWay }: Shop, { headers, body }: Message): Promise<number> {
  const sent = { method: 'POST', headers, body: new Uint8Array(body) };
  return (await fetch(`${service.url}/notify/${payWay}/default`, sent)).status;
}

/** Posts a recorded delivery of the channel; resolves to the status. */
export async function deliver(on: Shop, { headers, bodyBase64 }: Delivery): Promise<number> {
  return post(on, { headers, body: Buffer.from(bodyBase64, 'base64') });
}

/** Requests a full refund of an order and asserts that it is accepted. */
export async function accept(t: ExecutionContext, { shop }: Shop, orderNo: string): Promise<void> {
  const { status, body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 10 });
  t.true(status === 200 || status === 201 || status === 202, `${orderNo}: ${status} ${JSON.stringify(body)}`);
}
