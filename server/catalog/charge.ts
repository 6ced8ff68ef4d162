import type { Tx } from '../db/store.ts';
import type { Ports } from '../payments/ports.ts';
import { available, type Holder, ledger, lockAccount } from './ledger.ts';

/** What a call costs, and the number of the order that it pays. */
export interface Charge extends Holder {
  amount: bigint;
  orderNo: string;
  clientId: string;
  memo: string;
}

/** Charges for calls and their refunds, in the caller's transaction. */
export function coinCharges(ports: Pick<Ports, 'now' | 'recordEvent'>) {
  const { post, credit } = ledger(ports);
  return { take, giveBack };

  /** False, and nothing is written, when the coins are not there or the coin is off. */
  async function take(tx: Tx, { project, coin, userId, amount, orderNo, clientId, memo }: Charge): Promise<boolean> {
    const kind = await tx.coins.find({ project, code: coin });
    if (!kind?.enabled) return false;
    const account = await tx.coinAccounts.lock({ project, coin, userId });
    if (!account || available(account) < amount) return false;
    await post(tx, account, {
      delta: -amount,
      kind: 'debit',
      source: `skillpay:${orderNo}`,
      actor: `app:${clientId}`,
      clientId,
      orderNo,
      memo,
    });
    return true;
  }

  /** The coins of an order come back, once: the caller holds its order's lock, and the source of the entry happens once. */
  async function giveBack(tx: Tx, { project, coin, userId, amount, orderNo, clientId, memo }: Charge): Promise<void> {
    const account = await lockAccount(tx, { project, coin, userId }, ports.now());
    await credit(tx, account, {
      delta: amount,
      kind: 'credit',
      source: `skillpay-refund:${orderNo}`,
      actor: `app:${clientId}`,
      clientId,
      orderNo,
      memo,
    });
  }
}
