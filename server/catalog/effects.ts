import type { OrderRow } from '../db/entities/orders.ts';
import { releaseStock, retakeStock } from '../db/queries/catalog.ts';
import type { Tx } from '../db/store.ts';
import type { Effects } from '../payments/ports.ts';
import { admit, hold } from './admit.ts';
import { clawback, creditSource } from './clawback.ts';
import { ledger, lockAccount } from './ledger.ts';
import type { EffectPorts } from './ports.ts';

/** What else happens when orders and refunds move: stock, limits and coins. Every effect may run again and happens once. */
export function createEffects(ports: EffectPorts): Effects {
  const { credit } = ledger(ports);
  const { reserve, take, giveBack } = clawback(ports);
  return {
    admit: (tx, draft, asked) => admit(ports.now(), tx, draft, asked),
    hold: (tx, order, asked) => hold(ports.now(), tx, order, asked),
    readmit: (tx, order) => readmit(tx, order),
    paid: (tx, order) => creditPackage(tx, order),
    ended: async (tx, order) => {
      if (order.productCode !== null) await releaseStock(tx, order.orderNo);
    },
    refundReserved: reserve,
    refundSucceeded: take,
    refundFailed: giveBack,
  };

  /** Late money: the piece that was given back is taken again, or the money goes back. */
  async function readmit(tx: Tx, order: OrderRow): Promise<boolean> {
    const { orderNo, productCode } = order;
    if (productCode === null) return true;
    const now = await tx.orders.find({ orderNo });
    if (now?.stockHeld) return true;
    const got = await retakeStock(tx, orderNo);
    if (got === 'gone')
      await ports.raise(tx, order, { kind: 'out_of_stock', dedupe: 'late', detail: { product: productCode } });
    return got !== 'gone';
  }

  /** The package's coins, once per order: the account's lock and the source of the entry see to it. */
  async function creditPackage(tx: Tx, order: OrderRow): Promise<void> {
    const { orderNo, project, userId, product, clientId } = order;
    if (!product?.coin || userId === null) return;
    const { code: coin, amount, bonus } = product.coin;
    const account = await lockAccount(tx, { project, coin, userId }, ports.now());
    const source = creditSource(orderNo);
    if (await tx.coinEntries.find({ project, coin, source })) return;
    await credit(tx, account, {
      delta: BigInt(amount) + BigInt(bonus),
      kind: 'credit',
      source,
      actor: 'service',
      clientId,
      orderNo,
      memo: product.name,
    });
  }
}
