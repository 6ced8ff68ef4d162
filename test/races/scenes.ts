import type { ExecutionContext } from 'ava';
import type { PayWay } from '../../server/payments/channel.ts';
import { isLong } from '../support/counts.ts';
import { isOpenedByPayer, ORDER_SCENES, type OrderScene, requestIn } from '../support/order-scenes.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Merchant, type Service, type ServiceOptions } from '../support/service.ts';

/** A scene in which the guarantees are tested. */
export interface RacedScene extends OrderScene {
  title: string;
  /** Whether an order without a scene gets this one. */
  isDefault: boolean;
  /** In the name of a sub-merchant. */
  isPartner: boolean;
  /** PayPal's buttons get the channel's number, and the shop requests the capture itself. */
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

/** All scenes in a long run; otherwise the default scene of each channel and one other. */
export const RACED_SCENES = EVERY.filter(({ title, isDefault }) => isLong || isDefault || SAMPLES.includes(title));

/** The scenes of one channel, the default first; a test may choose the other one of a short run. */
export function racedOf(payWay: PayWay, samples = SAMPLES): readonly RacedScene[] {
  const chosen = EVERY.filter(({ title, isDefault }) => isLong || isDefault || samples.includes(title));
  return chosen.filter((one) => one.payWay === payWay);
}

/** Whether the channel reports a payment; WeChat Pay sends no notification for a code payment. */
export function isTold({ payWay, scene }: OrderScene): boolean {
  return payWay !== 'wechat' || scene !== 'code';
}

/** The scenes that differ in their channel calls, not only in the payer's parameters: default, codes, partner, buttons. */
export const SAMPLED_SCENES = RACED_SCENES.filter(({ title, isDefault }) => isDefault || SAMPLES.includes(title));

/** Repeats each default scene `ofDefault` times and every other scene `ofOthers` times. */
export function ordersIn(scenes: readonly RacedScene[], ofDefault: number, ofOthers: number): RacedScene[] {
  return scenes.flatMap((one) => Array.from({ length: one.isDefault ? ofDefault : ofOthers }, () => one));
}

/** A service in which every scene can be paid. */
export interface Shops {
  service: Service;
  /** The shop of a scene: a partner's sub-merchant has a project of its own. */
  shopOf(scene: RacedScene): Merchant;
}

/** The partner's project, and its account at the simulator. */
export const PARTNER = 'partner';

/** Starts a service with the shops of these scenes. */
export async function openShops(
  t: ExecutionContext,
  scenes: readonly RacedScene[],
  options: ServiceOptions = {},
): Promise<Shops> {
  const service = await startService(t, options);
  // As at a normal start: otherwise the first order of an impatient service would meet a slow simulator.
  await service.app.prepare();
  return { service, shopOf: await shopsOf(service, scenes, await service.merchant()) };
}

/** The shops of a running service; `own` sells in every scene that needs no other. */
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
  // The simulator issues the account of that name as the configuration of the project.
  await service.app.prepare();
  const partner = await service.merchant({ project: PARTNER });
  return ({ isPartner }) => (isPartner ? partner : own);
}

/** Places an order in a scene. */
export function placeIn({ shopOf }: Shops, on: RacedScene, request: object = {}): Promise<string> {
  return placeOrder(shopOf(on), requestIn(on, request));
}

/** The payer's action at the channel; PayPal's payer approves, and the capture is still due. */
export async function payerOf({ service }: Shops, on: RacedScene, orderNo: string): Promise<() => Promise<unknown>> {
  if (!isOpenedByPayer(on)) return () => service.sim('/sim/pay', { orderNo });
  const found = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  const { url, params } = found?.credential ?? {};
  const payUrl = url ?? `${service.simulator.url}/alipay/gateway.do?${params?.['orderString']}`;
  return () => service.sim('/sim/pay', { orderNo, payUrl });
}

/** Pays an order; for PayPal's buttons the shop then requests the capture. */
export async function payIn(shops: Shops, on: RacedScene, orderNo: string): Promise<void> {
  const pay = await payerOf(shops, on, orderNo);
  await pay();
  if (on.hasButtons) await shops.shopOf(on).call('POST', `/api/v2/payment/capture/${orderNo}`);
}

/** An order that the payer has paid and whose payment is stored. */
export async function paidIn(shops: Shops, on: RacedScene, request: object = {}): Promise<string> {
  const orderNo = await placeIn(shops, on, request);
  await payIn(shops, on, orderNo);
  await until(`${orderNo} (${on.title}) paid`, async () => {
    if (on.scene === 'code') await askAgain(shops, on, orderNo);
    return (await stateOf(shops.service, orderNo)) === 'paid';
  });
  return orderNo;
}

/** A code payment may have no notification, so the order is queried regardless of its last query. */
async function askAgain({ service, shopOf }: Shops, on: RacedScene, orderNo: string): Promise<void> {
  await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
  await shopOf(on).call('GET', `/api/v2/payment/query/${orderNo}`);
}
