import type { ProductRow } from '../db/entities/catalog.ts';
import type { Store } from '../db/store.ts';

/** Code of the skill that exists while Debug is on. */
export const DEMO = 'demo';

/** Tells the row that Debug made from a product that somebody named `demo`. */
const DEMO_ID = '00000000-0000-4000-8000-0000000de000';

/** With Debug the project `default` has the skill `demo` for 0.10 CNY; without, it is gone. Safe on every start. */
export async function seedDemo(store: Store, debug: boolean, now: Date): Promise<void> {
  await store.transaction(async (tx) => {
    if (debug) await tx.products.insertIfNew(demoRow(now));
    else await tx.products.delete({ id: DEMO_ID });
  });
}

function demoRow(at: Date): ProductRow {
  return {
    id: DEMO_ID,
    project: 'default',
    code: DEMO,
    version: 1,
    name: 'Demo',
    description: 'Exists only while Debug is on.',
    kind: 'skill',
    enabled: true,
    priceMinor: 10n,
    currency: 'CNY',
    payWays: ['wechat', 'alipay'],
    stock: null,
    perUserLimit: null,
    saleFrom: null,
    saleTo: null,
    orderType: null,
    coin: null,
    coinPrice: null,
    resource: { handler: 'static', content: { message: 'Paid content of the demo resource.' } },
    offerTtlSeconds: null,
    refundAfterFulfilment: true,
    createdAt: at,
    updatedAt: at,
  };
}
