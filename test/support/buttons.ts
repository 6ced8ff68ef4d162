import type { ExecutionContext } from 'ava';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { untilTaken } from './counts.ts';
import { startInBetween } from './in-between.ts';
import { placeOrder } from './orders.ts';
import { agreeInPage } from './promises/driver.ts';
import { startService, until, type Answer, type Merchant, type Service } from './service.ts';
import { ownSimulator } from './simulator.ts';

const payWay = 'paypal';

/** Two replicas of one database, and a shop whose page shows PayPal's buttons. */
export interface ButtonShop {
  one: Service;
  two: Service;
  shop: Merchant;
  /** Where PayPal's own page is. */
  paypalUrl: string;
}

/** Starts both; PayPal tells nobody by itself. */
export async function openButtonShop(
  t: ExecutionContext,
  options: { timeoutMs?: number; simulator?: { url: string }; paypalUrl?: string } = {},
): Promise<ButtonShop> {
  const { timeoutMs = 60_000, simulator = await ownSimulator(t), paypalUrl = simulator.url } = options;
  const one = await startService(t, { simulator, timeoutMs });
  const two = await startService(t, { url: one.databaseUrl, simulator, timeoutMs, now: one.clock.now });
  await one.sim('/sim/notices', { payWay, enabled: false });
  return { one, two, shop: await one.merchant(), paypalUrl };
}

/** An order whose payer has agreed in PayPal's page. */
export async function agreedOrder(on: ButtonShop, more: Record<string, unknown> = {}): Promise<string> {
  const orderNo = await placeOrder(on.shop, { payWay, amount: 10, ...more });
  await agree(on, orderNo);
  return orderNo;
}

/** The payer agrees in PayPal's page, which the buttons open by PayPal's own number. */
export async function agree(on: ButtonShop, orderNo: string): Promise<void> {
  await agreeInPage(on.paypalUrl, payWay, (await rowOf(on, orderNo)).channelOrderId ?? '');
}

/** The stored order. */
export async function rowOf({ one }: ButtonShop, orderNo: string): Promise<OrderRow> {
  const row = await one.app.store.read((tx) => tx.orders.find({ orderNo }));
  if (!row) throw new Error(`There is no order ${orderNo}.`);
  return row;
}

/** What an application calls about an order at one replica; what may not have been done it says again. */
export function callAt({ shop }: ButtonShop, at: Service, orderNo: string, key?: string) {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  const post = (deed: string): Promise<Answer> =>
    untilTaken(() => shop.callAt(at.url, 'POST', `/api/v2/payment/${deed}/${orderNo}`, undefined, headers));
  return {
    capture: () => post('capture'),
    close: () => post('close'),
    query: () => shop.callAt(at.url, 'GET', `/api/v2/payment/query/${orderNo}`),
  };
}

/** The payer comes back to the return page as well; what that page shows as the state. */
export async function comeBack(on: ButtonShop, at: Service, orderNo: string): Promise<string | undefined> {
  const { channelOrderId } = await rowOf(on, orderNo);
  const page = await (await fetch(`${at.url}/return/${payWay}/${orderNo}?token=${channelOrderId}`)).text();
  return /data-state="(\w+)"/.exec(page)?.[1];
}

/** Brings what PayPal wrote of approvals of the order to one replica, however often it was brought before. */
export async function deliverApprovals({ one }: ButtonShop, at: Service, orderNo: string): Promise<number[]> {
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

/** Stops the next capture before it reaches PayPal, or its answer before it is back. */
export interface CaptureGate {
  shut(where: 'there' | 'back'): { arrived: Promise<void>; open(): void };
}

/** The same with a gate between the replicas and PayPal. */
export async function openGatedShop(t: ExecutionContext): Promise<ButtonShop & CaptureGate> {
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
    // While the gate is shut nobody may give up.
    ...(await openButtonShop(t, { simulator: between, paypalUrl: simulator.url, timeoutMs: 60_000 })),
    shut,
  };
}
