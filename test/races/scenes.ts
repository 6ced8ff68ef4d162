import type { ExecutionContext } from 'ava';
import type { PayWay } from '../../server/payments/channel.ts';
import { isLong } from '../support/counts.ts';
import { isOpenedByPayer, ORDER_SCENES, type OrderScene, requestIn } from '../support/order-scenes.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Merchant, type Service, type ServiceOptions } from '../support/service.ts';

/** A scene that the promises are shown in. */
export interface RacedScene extends OrderScene {
  title: string;
  /** Whether it is the scene of an order that names none. */
  isDefault: boolean;
  /** In the name of a sub-merchant. */
  isPartner: boolean;
  /** PayPal's buttons are given the channel's number, and the shop asks for the money itself. */
  hasButtons: boolean;
}

const DEFAULTS = ['alipay qr', 'wechat qr', 'paypal redirect'];
const SAMPLES = ['alipay code', 'wechat code as a partner', 'paypal buttons'];

const EVERY: readonly RacedScene[] = ORDER_SCENES.flatMap((one): RacedScene[] => {
  const title = `${one.payWay} ${one.scene}`;
  const plain = { ...one, title, isDefault: DEFAULTS.includes(title), isPartner: false, hasButtons: false };
  const other = { ...plain, isDefault: false };
  if (one.payWay === 'wechat') return [plain, { ...other, title: `${title} as a partner`, isPartner: true }];
  if (one.payWay === 'paypal') return [plain, { ...other, title: 'paypal buttons', hasButtons: true }];
  return [plain];
});

/** All of them in a long run; otherwise the default scene of each channel and one other. */
export const RACED_SCENES = EVERY.filter(({ title, isDefault }) => isLong || isDefault || SAMPLES.includes(title));

/** Those of one channel, the default first; a test may choose the other one of a short run. */
export function racedOf(payWay: PayWay, samples = SAMPLES): readonly RacedScene[] {
  const chosen = EVERY.filter(({ title, isDefault }) => isLong || isDefault || samples.includes(title));
  return chosen.filter((one) => one.payWay === payWay);
}

/** Whether the channel tells of a payment; nobody is notified of a code of WeChat Pay. */
export function isTold({ payWay, scene }: OrderScene): boolean {
  return payWay !== 'wechat' || scene !== 'code';
}

/** Those that differ in what is asked of the channel, not only in what is handed to the payer: the default, codes, a partner, the buttons. */
export const SAMPLED_SCENES = RACED_SCENES.filter(({ title, isDefault }) => isDefault || SAMPLES.includes(title));

/** So many orders in the default scene of a channel, so many in each other one. */
export function ordersIn(scenes: readonly RacedScene[], ofDefault: number, ofOthers: number): RacedScene[] {
  return scenes.flatMap((one) => Array.from({ length: one.isDefault ? ofDefault : ofOthers }, () => one));
}

/** A service in which every scene can be paid. */
export interface Shops {
  service: Service;
  /** The shop that sells in a scene: as a partner's sub-merchant it is one of a project of its own. */
  shopOf(scene: RacedScene): Merchant;
}

/** Project, and account at the simulator, of the partner. */
export const PARTNER = 'partner';

/** Starts a service with the shops of these scenes. */
export async function openShops(
  t: ExecutionContext,
  scenes: readonly RacedScene[],
  options: ServiceOptions = {},
): Promise<Shops> {
  const service = await startService(t, options);
  // As the service does when it starts: an impatient one would otherwise meet a slow simulator with its first order.
  await service.app.prepare();
  return { service, shopOf: await shopsOf(service, scenes, await service.merchant()) };
}

/** The shops of a service that runs; `own` sells in whatever scene needs no other. */
export async function shopsOf(
  service: Service,
  scenes: readonly RacedScene[],
  own: Merchant,
): Promise<Shops['shopOf']> {
  if (!scenes.some(({ isPartner }) => isPartner)) return () => own;
  await service.sim('/sim/accounts', { payWay: 'wechat', name: PARTNER, partner: true, subApp: true });
  const at = service.clock.now();
  await service.app.store.transaction((tx) =>
    tx.projects.insertIfNew({
      code: PARTNER,
      name: 'Partner',
      enabled: true,
      remark: null,
      createdAt: at,
      updatedAt: at,
    }),
  );
  // The account of that name is handed over as the configuration of the project.
  await service.app.prepare();
  const partner = await service.merchant({ project: PARTNER });
  return ({ isPartner }) => (isPartner ? partner : own);
}

/** Places an order in a scene. */
export function placeIn({ shopOf }: Shops, on: RacedScene, request: object = {}): Promise<string> {
  return placeOrder(shopOf(on), requestIn(on, request));
}

/** What the payer of an order does at the channel; PayPal's payer agrees, and the money is still to be taken. */
export async function payerOf({ service }: Shops, on: RacedScene, orderNo: string): Promise<() => Promise<unknown>> {
  if (!isOpenedByPayer(on)) return () => service.sim('/sim/pay', { orderNo });
  const found = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  const { url, params } = found?.credential ?? {};
  const payUrl = url ?? `${service.simulator.url}/alipay/gateway.do?${params?.['orderString']}`;
  return () => service.sim('/sim/pay', { orderNo, payUrl });
}

/** The payer pays; PayPal's buttons tell the shop, which asks for the money. */
export async function payIn(shops: Shops, on: RacedScene, orderNo: string): Promise<void> {
  const pay = await payerOf(shops, on, orderNo);
  await pay();
  if (on.hasButtons) await shops.shopOf(on).call('POST', `/api/v2/payment/capture/${orderNo}`);
}

/** An order that the payer has paid, and the service knows it. */
export async function paidIn(shops: Shops, on: RacedScene, request: object = {}): Promise<string> {
  const orderNo = await placeIn(shops, on, request);
  await payIn(shops, on, orderNo);
  await until(`${orderNo} (${on.title}) paid`, async () => {
    if (on.scene === 'code') await askAgain(shops, on, orderNo);
    return (await stateOf(shops.service, orderNo)) === 'paid';
  });
  return orderNo;
}

/** Nobody need be notified of a code, so it is asked about, however short ago it was asked last. */
async function askAgain({ service, shopOf }: Shops, on: RacedScene, orderNo: string): Promise<void> {
  await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
  await shopOf(on).call('GET', `/api/v2/payment/query/${orderNo}`);
}
