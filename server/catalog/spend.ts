import type { CoinAccountRow, CoinEntryRow } from '../db/entities/catalog.ts';
import type { Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import { claimKey, type KeyClaim } from '../payments/idempotency.ts';
import type { CoinKey } from './coins.ts';
import { available, ledger, lockAccount, type Posting } from './ledger.ts';
import type { CatalogPorts } from './ports.ts';
import { note } from './records.ts';
import { BizNoUsed, CoinDisabled, CoinsInsufficient } from './refusals.ts';
import { randomUUID } from 'node:crypto';

/** A merchant takes coins of a payer for something of its own, `bizNo`. */
export interface Debit {
  userId: string;
  /** Coins, a positive integer. */
  amount: number;
  bizNo: string;
  memo: string | null;
}

/** An administrator corrects a balance. */
export interface Adjustment {
  userId: string;
  /** Coins, negative to take. */
  amount: number;
  reason: string;
}

/** Debits and adjustments: one transaction under the account's lock, never below what is available. */
export function spend({ store, now, audit, recordEvent, consoleApp, coinsAbove }: CatalogPorts) {
  const { post, credit } = ledger({ now, recordEvent });
  const log = note(audit);
  return {
    /** The same bizNo and amount of one application again is the same debit; another amount is refused. */
    debit: (clientId: string, key: CoinKey, debit: Debit, claim?: KeyClaim) =>
      store.transaction(async (tx) => {
        const earlier = await resumed(tx, claim);
        if (earlier) return earlier;
        const coin = await tx.coins.find(key);
        if (!coin) throw new NotFound('coin');
        const { userId, bizNo } = debit;
        const account = await tx.coinAccounts.lock({ project: key.project, coin: key.code, userId });
        const actor = `app:${clientId}`;
        const same = await tx.coinEntries.find({
          project: key.project,
          coin: key.code,
          kind: 'debit',
          actor,
          userId,
          bizNo,
        });
        if (same && same.delta !== -BigInt(debit.amount)) throw new BizNoUsed(bizNo);
        if (!same && !coin.enabled) throw new CoinDisabled();
        const entry =
          same ??
          (await take(tx, account, {
            delta: -BigInt(debit.amount),
            kind: 'debit',
            // Neither number has a colon, so that no payer's name can make two of them alike.
            source: `spend:${clientId}:${userId}:${bizNo}`,
            actor,
            clientId,
            bizNo,
            memo: debit.memo,
          }));
        if (claim) await claimKey(tx, claim, String(entry.id), now());
        return entry;
      }),

    /** `mayAdd` may refuse to add more coins than an administrator may without a confirmation. */
    adjust: (
      actor: Actor,
      key: CoinKey,
      { userId, amount, reason }: Adjustment,
      claim?: KeyClaim,
      mayAdd?: () => void,
    ) =>
      store.transaction(async (tx) => {
        const earlier = await resumed(tx, claim);
        if (earlier) return earlier;
        if (amount > coinsAbove) mayAdd?.();
        // The lock keeps the coin from being deleted while its first entry is written.
        if (!(await tx.coins.lock(key))) throw new NotFound('coin');
        const account = await lockAccount(tx, { project: key.project, coin: key.code, userId }, now());
        const posting: Posting = {
          delta: BigInt(amount),
          kind: 'adjustment',
          source: `adjustment:${randomUUID()}`,
          actor: `admin:${actor.name}`,
          clientId: consoleApp(key.project, now()).clientId,
          memo: reason,
        };
        const entry = amount > 0 ? (await credit(tx, account, posting)).entry : await take(tx, account, posting);
        if (claim) await claimKey(tx, claim, String(entry.id), now());
        await log(tx, actor, 'coin.adjust', `${key.project}/${key.code}`, null, { userId, amount, reason });
        return entry;
      }),
  };

  async function take(tx: Tx, account: CoinAccountRow | undefined, posting: Posting): Promise<CoinEntryRow> {
    const left = account ? available(account) : 0n;
    if (!account || left + posting.delta < 0n) throw new CoinsInsufficient(left);
    return (await post(tx, account, posting)).entry;
  }

  /** What an earlier try under the same key wrote before its answer was lost. */
  async function resumed(tx: Tx, claim: KeyClaim | undefined): Promise<CoinEntryRow | undefined> {
    if (!claim?.resume) return undefined;
    await claimKey(tx, claim, claim.resume, now());
    const entry = await tx.coinEntries.find({ id: BigInt(claim.resume) });
    if (!entry) throw new Error('a claimed intent has no entry');
    return entry;
  }
}

/** What routes may do to balances. */
export type Spend = ReturnType<typeof spend>;
