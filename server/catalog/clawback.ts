import type { CoinClawbackRow, CoinRow } from '../db/entities/catalog.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/store.ts';
import { available, changeAccount, type Holder, ledger, lockAccount } from './ledger.ts';
import type { EffectPorts } from './ports.ts';
import { CoinsSpent } from './refusals.ts';

/** What an order brought, and to whom. */
interface Granted extends Holder {
  amount: bigint;
}

/** The source of the one credit that an order makes. */
export function creditSource(orderNo: string): string {
  return `order:${orderNo}`;
}

/** Takes back the coins of refunded orders: held when the refund is accepted, taken when it succeeded, returned when it failed. The caller holds the order's lock. */
export function clawback(ports: EffectPorts) {
  const { now } = ports;
  const { post } = ledger(ports);
  return { reserve, take, giveBack };

  /** Holds what is due. Too few left: refused, owed or waived by the coin's rule; `forced` never refuses, and a person is told. */
  async function reserve(tx: Tx, order: OrderRow, refund: RefundRow, forced: boolean): Promise<void> {
    const granted = await grantedBy(tx, order, refund);
    if (!granted) return;
    const account = await lockAccount(tx, granted, now());
    const rows = await tx.coinClawbacks.list({ orderNo: order.orderNo });
    const mine = rows.find(({ refundNo }) => refundNo === refund.refundNo);
    if (mine && mine.state !== 'returned') return;
    const due = dueOf(granted.amount, order, rows);
    if (due === 0n) return;
    const held = min(due, available(account));
    const short = due - held;
    const rule = short === 0n ? 'debt' : await ruleOf(tx, granted);
    if (rule === 'refuse' && !forced) throw new CoinsSpent(due, available(account));
    await changeAccount(tx, account, { held: account.held + held }, now());
    const sums = {
      due,
      held,
      taken: 0n,
      debt: rule === 'partial' ? 0n : short,
      waived: rule === 'partial' ? short : 0n,
    };
    await keep(tx, mine, refund, granted, { ...sums, state: 'held' });
    if (!forced || short === 0n) return;
    const detail = { coin: granted.coin, userId: granted.userId, due, held, debt: sums.debt, waived: sums.waived };
    await ports.raise(tx, order, { kind: 'coins_debt', dedupe: refund.refundNo, refundNo: refund.refundNo, detail });
  }

  /** Takes what is held; what was short then and is there now is taken too, the rest is owed. A refund that was given up and happened after all reserves first. */
  async function take(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void> {
    await reserve(tx, order, refund, true);
    const row = await tx.coinClawbacks.lock({ refundNo: refund.refundNo });
    if (row?.state !== 'held') return;
    const account = await lockAccount(tx, row, now());
    const more = min(row.debt, available(account));
    const taken = row.held + more;
    const debt = row.debt - more;
    const freed = await changeAccount(tx, account, { held: account.held - row.held, debt: account.debt + debt }, now());
    if (taken > 0n) await post(tx, freed, posting(order, refund, row, -taken));
    await patch(tx, row, { state: 'taken', held: 0n, taken, debt, turns: row.turns + 1 });
  }

  /** The refund will not happen: what is held is free again, what was taken comes back, what is owed is forgotten. */
  async function giveBack(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void> {
    const row = await tx.coinClawbacks.lock({ refundNo: refund.refundNo });
    if (!row || row.state === 'returned') return;
    const account = await lockAccount(tx, row, now());
    const forgiven = row.state === 'taken' ? min(row.debt, account.debt) : 0n;
    const sums = { held: account.held - row.held, debt: account.debt - forgiven };
    const freed = await changeAccount(tx, account, sums, now());
    // Debt that a later credit has paid already is coins by now.
    const back = row.state === 'taken' ? row.taken + row.debt - forgiven : 0n;
    if (back > 0n) await post(tx, freed, posting(order, refund, row, back));
    await patch(tx, row, {
      state: 'returned',
      held: 0n,
      taken: 0n,
      debt: 0n,
      waived: 0n,
      due: 0n,
      turns: row.turns + 1,
    });
  }

  async function keep(
    tx: Tx,
    mine: CoinClawbackRow | undefined,
    { refundNo, orderNo }: RefundRow,
    { project, coin, userId }: Granted,
    sums: Pick<CoinClawbackRow, 'state' | 'due' | 'held' | 'taken' | 'debt' | 'waived'>,
  ): Promise<void> {
    if (mine) return patch(tx, mine, sums);
    const at = now();
    const row = { refundNo, orderNo, project, coin, userId, ...sums, turns: 0, createdAt: at, updatedAt: at };
    await tx.coinClawbacks.insert(row);
  }

  async function patch(tx: Tx, { refundNo }: CoinClawbackRow, change: Partial<CoinClawbackRow>): Promise<void> {
    await tx.coinClawbacks.update({ refundNo }, { ...change, updatedAt: now() });
  }
}

/** What the order's package has credited; nothing for orders of other things, late money and surplus refunds. */
async function grantedBy(tx: Tx, order: OrderRow, refund: RefundRow): Promise<Granted | undefined> {
  const coin = order.product?.coin?.code;
  if (!coin || refund.surplus || order.paid === 0n) return undefined;
  const { project } = order;
  const entry = await tx.coinEntries.find({ project, coin, source: creditSource(order.orderNo) });
  return entry && { project, coin, userId: entry.userId, amount: entry.delta };
}

/** ceil(granted × (refunded + refunding) / paid) − what other refunds of the order take already; the sums include this one. */
function dueOf(granted: bigint, order: OrderRow, rows: readonly CoinClawbackRow[]): bigint {
  const back = order.refunded + order.refunding;
  const total = min(granted, (granted * back + order.paid - 1n) / order.paid);
  const already = rows.reduce((sum, { state, due }) => (state === 'returned' ? sum : sum + due), 0n);
  return total > already ? total - already : 0n;
}

async function ruleOf(tx: Tx, { project, coin }: Granted): Promise<CoinRow['clawback']> {
  return (await tx.coins.find({ project, code: coin }))?.clawback ?? 'refuse';
}

function posting(order: OrderRow, refund: RefundRow, row: CoinClawbackRow, delta: bigint) {
  return {
    delta,
    kind: 'clawback',
    source: `refund:${refund.refundNo}:${row.turns}`,
    actor: refund.actor,
    clientId: order.clientId,
    orderNo: order.orderNo,
    memo: delta < 0n ? 'refunded' : 'the refund did not happen',
  } as const;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
