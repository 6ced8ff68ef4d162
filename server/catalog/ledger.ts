import { randomUUID } from 'node:crypto';
import type { CoinAccountRow, CoinEntryRow } from '../db/entities/catalog.ts';
import { appendEntry } from '../db/queries/coins.ts';
import type { Tx } from '../db/store.ts';
import type { Ports } from '../payments/ports.ts';

/** Whose coins of which kind. */
export interface Holder {
  project: string;
  coin: string;
  userId: string;
}

/** One movement of coins. `source` happens once per coin; `clientId` hears about it. */
export interface Posting {
  delta: bigint;
  kind: CoinEntryRow['kind'];
  source: string;
  actor: string;
  clientId: string;
  orderNo?: string | null;
  bizNo?: string | null;
  memo?: string | null;
}

/** What may be spent: what is there and not held for a refund. */
export function available({ balance, held }: Pick<CoinAccountRow, 'balance' | 'held'>): bigint {
  return balance - held;
}

/** The account, locked until the transaction ends; made when there is none. */
export async function lockAccount(tx: Tx, holder: Holder, now: Date): Promise<CoinAccountRow> {
  const { project, coin, userId } = holder;
  const found = await tx.coinAccounts.lock({ project, coin, userId });
  if (found) return found;
  const zero = { balance: 0n, held: 0n, debt: 0n, createdAt: now, updatedAt: now };
  await tx.coinAccounts.insertIfNew({ id: randomUUID(), project, coin, userId, ...zero });
  const made = await tx.coinAccounts.lock({ project, coin, userId });
  if (!made) throw new Error('a coin account was not kept');
  return made;
}

/** Writes the account's new sums; the caller holds its lock. */
export async function changeAccount(
  tx: Tx,
  account: CoinAccountRow,
  patch: Partial<Pick<CoinAccountRow, 'balance' | 'held' | 'debt'>>,
  now: Date,
): Promise<CoinAccountRow> {
  await tx.coinAccounts.update({ id: account.id }, { ...patch, updatedAt: now });
  return { ...account, ...patch, updatedAt: now };
}

/** Makes the writer of ledgers: balance, line and event in one commit; the account is locked by the caller. */
export function ledger({ now, recordEvent }: Pick<Ports, 'now' | 'recordEvent'>) {
  return { post, credit };

  /** One line. The balance after it must not be negative and not below what is held. */
  async function post(
    tx: Tx,
    account: CoinAccountRow,
    posting: Posting,
  ): Promise<{ account: CoinAccountRow; entry: CoinEntryRow }> {
    const { clientId, orderNo = null, bizNo = null, memo = null, ...line } = posting;
    const { project, coin, userId } = account;
    const at = now();
    const balance = account.balance + line.delta;
    const changed = await changeAccount(tx, account, { balance }, at);
    const row = { project, coin, userId, ...line, balanceAfter: balance, orderNo, bizNo, memo, createdAt: at };
    const id = await appendEntry(tx, row);
    const entry: CoinEntryRow = { ...row, id };
    await recordEvent(tx, {
      type: line.delta > 0n ? 'coin.credited' : 'coin.debited',
      clientId,
      project,
      objectNo: `coin_${id}`,
      dedupe: 'once',
      since: at,
      object: { ...viewEntry(entry), available: Number(available(changed)) },
    });
    return { account: changed, entry };
  }

  /** Coins that come in pay an account's debt first: the credit in full, then what is owed of it. */
  async function credit(tx: Tx, account: CoinAccountRow, posting: Posting) {
    const credited = await post(tx, account, posting);
    const owed = account.debt < posting.delta ? account.debt : posting.delta;
    if (owed === 0n) return credited;
    const settled = await post(tx, credited.account, {
      ...posting,
      delta: -owed,
      kind: 'clawback',
      source: `debt:${posting.source}`.slice(0, 200),
      memo: 'owed from an earlier refund',
    });
    return {
      account: await changeAccount(tx, settled.account, { debt: account.debt - owed }, now()),
      entry: credited.entry,
    };
  }
}

/** A line of a ledger as it leaves: coins are integers. */
export function viewEntry(entry: CoinEntryRow) {
  return {
    id: String(entry.id),
    userId: entry.userId,
    coin: entry.coin,
    amount: Number(entry.delta),
    balanceAfter: Number(entry.balanceAfter),
    kind: entry.kind,
    orderNo: entry.orderNo,
    bizNo: entry.bizNo,
    memo: entry.memo,
    actor: entry.actor,
    createdAt: entry.createdAt.toISOString(),
  };
}
