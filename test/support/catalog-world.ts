import type { ExecutionContext } from 'ava';
import { createReadShown } from '../../server/db/queries/orders.ts';
import { createCatalog, type Catalog } from '../../server/catalog/catalog.ts';
import { createEffects } from '../../server/catalog/effects.ts';
import { alipayKind as alipay } from '../../server/channels/alipay/kind.ts';
import { paypalKind as paypal } from '../../server/channels/paypal/kind.ts';
import { wechatKind as wechat } from '../../server/channels/wechat/kind.ts';
import type { CoinRow } from '../../server/db/entities/catalog.ts';
import type { AppLimits } from '../../server/db/entities/identity.ts';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import type { Store } from '../../server/db/store.ts';
import { seed } from '../../server/db/migrate.ts';
import { recordEvents } from '../../server/events/record.ts';
import { consoleAppRow, defaultLatePayment, newAppRow } from '../../server/identity/api-app-rows.ts';
import { createAudit } from '../../server/identity/audit.ts';
import { auditKey } from './audit-keys.ts';
import type { Actor } from '../../server/identity/ports.ts';
import type { Channel, Outcome, RefundOutcome } from '../../server/payments/channel.ts';
import { raiseException } from '../../server/payments/side-effects.ts';
import { type PayRequest, placePayment } from '../../server/payments/orders/place.ts';
import { PATIENCE, type Ports } from '../../server/payments/ports.ts';
import { refundPayment } from '../../server/payments/refunds/refund.ts';
import { createUrlRule } from '../../server/outgoing/url-rule.ts';
import { lockPair, settle, settleRefundLocked } from '../../server/payments/settle.ts';
import { inParallel } from './counts.ts';
import { postgresDatabase, type TestDatabase } from './database.ts';

/** The administrator of these tests. */
export const operator: Actor = { kind: 'admin', name: 'tester' };

/** A product with only the members that have no default. */
export const plainProduct = {
  name: 'Tea',
  description: null,
  price: 10,
  currency: 'CNY',
  payWays: ['alipay' as const],
  stock: null,
  perUserLimit: null,
  saleFrom: null,
  saleTo: null,
  orderType: null,
  coin: null,
  coinPrice: null,
  resource: null,
  offerTtlSeconds: null,
  refundAfterFulfilment: true,
};

/** The payment operations with a channel that accepts everything, and the catalog. */
export interface CatalogWorld extends TestDatabase {
  ports: Ports;
  catalog: Catalog;
  place(request?: Partial<PayRequest>): Promise<OrderRow>;
  /** Settles the channel's outcome of an order. */
  say(orderNo: string, outcome: Outcome): Promise<OrderRow>;
  /** Settles the payment. */
  pay(order: OrderRow): Promise<OrderRow>;
  /** Creates a refund of this many yuan, still at the channel; `forced` as if the service made it. */
  refund(orderNo: string, yuan: number): Promise<string>;
  finish(refundNo: string, how: 'succeeded' | 'failed'): Promise<void>;
  /** Settles the channel's present outcome of a refund, as a notification. */
  hear(refundNo: string, outcome: RefundOutcome): Promise<void>;
  /** Creates a coin `gold`, sells a package of 100 for 10 yuan, and spends some coins. */
  soldPackage(clawback: CoinRow['clawback'], spent?: number): Promise<OrderRow>;
  account(userId?: string): Promise<{ balance: number; held: number; debt: number }>;
}

/** Starts the world on its own database with the project `default` and the application `shop`; `through` may wrap its store. */
export async function catalogWorld(
  t: Pick<ExecutionContext, 'teardown'>,
  poolSize = 10,
  through: (store: Store) => Store = (store) => store,
  limits: AppLimits | null = null,
): Promise<CatalogWorld> {
  const opened = await postgresDatabase(t, poolSize);
  const on = { ...opened, store: through(opened.store) };
  const { store } = on;
  const now = () => new Date();
  const kinds = { alipay, wechat, paypal };
  const recordEvent = recordEvents(now);
  const channel = stubChannel();
  const audit = createAudit({ now, key: auditKey });
  const active = (payWay: keyof typeof kinds) => ({
    channel,
    kind: kinds[payWay],
    mode: 'simulator' as const,
    account: 'stub',
    configVersion: 1,
  });
  const base = {
    store,
    reports: store,
    readShown: createReadShown(store),
    now,
    recordEvent,
    audit,
    channels: {
      forNew: async (_project: string, payWay: keyof typeof kinds) => active(payWay),
      forNewAmong: async (_project: string, payWays: readonly (keyof typeof kinds)[]) => payWays.map(active),
      forOrder: async () => channel,
      forNotifications: async () => [],
      kindOf: (payWay: keyof typeof kinds) => kinds[payWay],
    },
    publicUrl: 'http://pay.example',
    urlFault: () => undefined,
    confirmAbove: 1000,
    refundAbove: 0,
    patience: PATIENCE,
    log: () => {},
    checkpoint: () => {},
    count: () => {},
    onReceived: () => {},
  };
  const ports: Ports = {
    ...base,
    effects: createEffects({
      now,
      recordEvent,
      raise: (tx, order, raised) => raiseException(ports, tx, order, raised),
    }),
  };
  const catalog = createCatalog({
    store,
    reports: store,
    log: () => {},
    now,
    audit,
    recordEvent,
    consoleApp: consoleAppRow,
    coinsAbove: 0,
    kindOf: base.channels.kindOf,
    urlFault: createUrlRule({ allowedNetworks: ['10.1.0.0/16'], httpsOnly: true }),
  });
  await seed(store, { consoleApp: consoleAppRow, testApps: () => [] }, { debug: false, now });
  const columns = { name: 'shop', scopes: [], trusted: false, allowedIps: [], rateLimit: null, remark: null };
  const shop = newAppRow(
    { ...columns, latePayment: defaultLatePayment },
    { project: 'default', at: now(), limits },
  ).app;
  await store.transaction((tx) => tx.apps.insert({ ...shop, clientId: 'shop' }));

  const placing = placePayment(ports);
  const refunding = refundPayment(ports);
  const payee = {
    clientId: 'shop',
    project: 'default',
    latePayment: defaultLatePayment,
    limits,
    actor: 'app:shop',
  };
  const world: CatalogWorld = {
    ...on,
    ports,
    catalog,
    place: (request = {}) => placing(payee, { subject: 'Tea', payWay: 'alipay', ...request }),
    say: (orderNo, outcome) => settle(ports, orderNo, { outcome }, { cause: 'test', actor: 'test' }),
    pay: (order) =>
      world.say(order.orderNo, {
        kind: 'paid',
        channelNo: `T${order.orderNo}`,
        amount: { minor: order.amount, currency: order.currency },
        at: now(),
      }),
    refund: async (orderNo, yuan) => {
      const merchantRefundNo = `m${(sequence += 1)}`;
      const requester = { owner: { clientId: 'shop' }, actor: 'app:shop' };
      const { refund } = await refunding(requester, { orderNo, refundAmount: yuan, merchantRefundNo }, {});
      return refund.refundNo;
    },
    finish: async (refundNo, how) => {
      const refund = await store.read((tx) => tx.refunds.find({ refundNo }));
      const amount = { minor: refund?.amount ?? 0n, currency: 'CNY' };
      const outcome =
        how === 'succeeded'
          ? ({ kind: 'succeeded', amount, at: now() } as const)
          : ({ kind: 'failed', code: 'NO', reason: 'no' } as const);
      await world.hear(refundNo, outcome);
    },
    hear: (refundNo, outcome) =>
      store.transaction(async (tx) => {
        const pair = await lockPair(tx, refundNo);
        await settleRefundLocked(ports, tx, pair, { outcome }, { cause: 'test', actor: 'test' });
      }),
    soldPackage: async (clawback, spent = 0) => {
      await catalog.coins.create(operator, { project: 'default', code: 'gold' }, { name: 'Gold', clawback });
      const coin = { code: 'gold', amount: 90, bonus: 10 };
      const key = { project: 'default', code: 'coins-100' };
      await catalog.products.create(operator, key, 'coin_package', { ...plainProduct, coin });
      const order = await world.pay(await world.place({ product: 'coins-100', userId: 'ann' }));
      const gold = { project: 'default', code: 'gold' };
      if (spent > 0)
        await catalog.coins.debit('shop', gold, { userId: 'ann', amount: spent, bizNo: 'spent', memo: null });
      return order;
    },
    account: async (userId = 'ann') => {
      const found = await catalog.coins.account({ project: 'default', code: 'gold' }, userId);
      return { balance: Number(found.balance), held: Number(found.held), debt: Number(found.debt) };
    },
  };
  return world;
}

let sequence = 0;

function stubChannel(): Channel {
  return {
    payWay: 'alipay',
    account: 'stub',
    place: async () => ({ kind: 'pending', pay: { type: 'qr', qrCode: 'https://qr.example/1' } }),
    query: async () => ({ kind: 'pending' }),
    close: async () => ({ kind: 'closed' }),
    refund: async () => ({ kind: 'pending' }),
    queryRefund: async () => ({ kind: 'pending' }),
    lookUpRefund: async () => ({ kind: 'pending' }),
    readNotification: async () => {
      throw new Error('no notices here');
    },
    ackNotification: () => ({ status: 200, contentType: 'text/plain', body: 'success' }),
    probe: async () => ({ ok: true }),
  };
}

/** Runs an action `n` times, ten at a time (the size of the pool); counts successes and the codes of failures. */
export async function tally(n: number, attempt: (index: number) => Promise<unknown>): Promise<Record<string, number>> {
  const words = await inParallel(n, 10, (index) =>
    attempt(index).then(
      () => 'ok',
      (error: { code?: string }) => String(error.code ?? error),
    ),
  );
  const found: Record<string, number> = {};
  for (const word of words) found[word] = (found[word] ?? 0) + 1;
  return found;
}
