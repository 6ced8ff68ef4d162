import { randomUUID } from 'node:crypto';
import type { CoinAccountRow, CoinEntryRow, CoinRow } from '../db/entities/catalog.ts';
import {
  type AccountPart,
  type CoinFilter,
  type EntryPart,
  appendEntry,
  listAccounts,
  listCoins,
  listEntries,
  productOfCoin,
} from '../db/queries/catalog.ts';
import type { Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import { type KeyClaim, claimKey } from '../payments/idempotency.ts';
import type { Ports } from '../payments/ports.ts';
import { type CatalogPorts, given, note, requireProject } from './ports.ts';
import { BizNoUsed, CodeTaken, CoinDisabled, CoinsInsufficient, InUse } from './errors.ts';

/** The name of a coin, and the rule for a refund whose coins the payer has already spent (`clawback`). */
interface CoinSettings {
  name: string;
  clawback: CoinRow['clawback'];
}

interface CoinKey {
  project: string;
  code: string;
}

/** Returns the functions that manage coins and read ledger entries; none of them changes a balance. */
export function coins({ store, reports, now, audit }: CatalogPorts) {
  const log = note(audit);
  return {
    list: (filter: CoinFilter) => store.read((tx) => listCoins(tx, filter)),
    get: (key: CoinKey) => store.read((tx) => required(tx.coins.find(key))),
    create: (actor: Actor, key: CoinKey, settings: CoinSettings) =>
      store.transaction(async (tx) => {
        await requireProject(tx, key.project);
        const at = now();
        const row: CoinRow = { id: randomUUID(), ...key, ...settings, enabled: true, createdAt: at, updatedAt: at };
        if (!(await tx.coins.insertIfNew(row))) throw new CodeTaken('coin');
        await log(tx, actor, 'coin.create', target(key), null, row);
        return row;
      }),
    update: (
      actor: Actor,
      key: CoinKey,
      patch: { name?: string | undefined; clawback?: CoinRow['clawback'] | undefined },
    ) => change(actor, key, 'coin.update', () => given(patch)),
    /** A disabled coin can be neither bought nor spent, but paid orders are still credited. */
    toggle: (actor: Actor, key: CoinKey, enabled: boolean | undefined) =>
      change(actor, key, 'coin.toggle', (coin) => ({ enabled: enabled ?? !coin.enabled })),
    remove: (actor: Actor, key: CoinKey) =>
      store.transaction(async (tx) => {
        const coin = await required(tx.coins.lock(key));
        const product = await productOfCoin(tx, key.project, key.code);
        if (product !== undefined) throw new InUse(`The coin is used by the product ${product}.`);
        const [entry] = await tx.coinEntries.list({ project: key.project, coin: key.code }, { limit: 1 });
        if (entry) throw new InUse('The coin cannot be deleted, because it has ledger entries.');
        await tx.coinAccounts.delete({ project: key.project, coin: key.code });
        await tx.coins.delete(key);
        await log(tx, actor, 'coin.delete', target(key), coin, null);
      }),
    accounts: (key: CoinKey, part: Omit<AccountPart, 'project' | 'coin'>) =>
      reports.read(async (tx) => {
        await required(tx.coins.find(key));
        return listAccounts(tx, { ...part, project: key.project, coin: key.code });
      }),
    /** Returns the coin account of a payer. If the payer has none, returns an account with balance 0. */
    account: ({ project, code }: CoinKey, userId: string) =>
      store.read(async (tx) => {
        await required(tx.coins.find({ project, code }));
        const found = await tx.coinAccounts.find({ project, coin: code, userId });
        return found ?? { coin: code, userId, balance: 0n, held: 0n, debt: 0n };
      }),
    accountsOf: (project: string, userId: string) =>
      store.read(async (tx) => {
        if (!(await tx.users.find({ project, userId }))) throw new NotFound('user');
        return tx.coinAccounts.list({ project, userId }, { orderBy: { coin: 'asc' }, limit: 200 });
      }),
    entries: (key: CoinKey, part: Omit<EntryPart, 'project' | 'coin'>): Promise<CoinEntryRow[]> =>
      reports.read(async (tx) => {
        await required(tx.coins.find(key));
        return listEntries(tx, { ...part, project: key.project, coin: key.code });
      }),
  };

  function change(actor: Actor, key: CoinKey, action: string, decide: (coin: CoinRow) => Partial<CoinRow>) {
    return store.transaction(async (tx) => {
      const before = await required(tx.coins.lock(key));
      const patch = { ...decide(before), updatedAt: now() };
      await tx.coins.update(key, patch);
      const after: CoinRow = { ...before, ...patch };
      await log(tx, actor, action, target(key), before, after);
      return after;
    });
  }
}

export type Coins = ReturnType<typeof coins>;

function target({ project, code }: CoinKey): string {
  return `${project}/${code}`;
}

async function required(found: Promise<CoinRow | undefined>): Promise<CoinRow> {
  const coin = await found;
  if (!coin) throw new NotFound('coin');
  return coin;
}

export interface Holder {
  project: string;
  coin: string;
  userId: string;
}

/**
 * `source` is unique per coin, so that no entry is written twice. The application `clientId` receives the webhook event
 * of the entry.
 */
interface Posting {
  delta: bigint;
  kind: CoinEntryRow['kind'];
  source: string;
  actor: string;
  clientId: string;
  orderNo?: string | null;
  bizNo?: string | null;
  memo?: string | null;
}

/** The coins that can be spent: the balance minus the coins that are reserved for refunds (`held`). */
export function available({ balance, held }: Pick<CoinAccountRow, 'balance' | 'held'>): bigint {
  return balance - held;
}

/** Locks the account until the transaction ends. Creates the account if it does not exist. */
export async function lockAccount(tx: Tx, holder: Holder, now: Date): Promise<CoinAccountRow> {
  const { project, coin, userId } = holder;
  const found = await tx.coinAccounts.lock({ project, coin, userId });
  if (found) return found;
  const zero = { balance: 0n, held: 0n, debt: 0n, createdAt: now, updatedAt: now };
  await tx.coinAccounts.insertIfNew({ id: randomUUID(), project, coin, userId, ...zero });
  const made = await tx.coinAccounts.lock({ project, coin, userId });
  if (!made) throw new Error('The coin account was not found after it was inserted.');
  return made;
}

/** Writes the account's new balances. The caller must have locked the account. */
export async function changeAccount(
  tx: Tx,
  account: CoinAccountRow,
  patch: Partial<Pick<CoinAccountRow, 'balance' | 'held' | 'debt'>>,
  now: Date,
): Promise<CoinAccountRow> {
  await tx.coinAccounts.update({ id: account.id }, { ...patch, updatedAt: now });
  return { ...account, ...patch, updatedAt: now };
}

/**
 * Creates the functions that write ledger entries in the caller's transaction; the caller must have locked the account.
 */
export function ledger({ now, recordEvent }: Pick<Ports, 'now' | 'recordEvent'>) {
  return { post, credit };

  /** The new balance must be neither negative nor below the coins reserved for refunds (`held`). */
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

  /** If the account has a debt, two entries are written: the whole credit, and the coins that pay the debt. */
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

/** Coins are whole numbers, so `amount` is an integer. */
function viewEntry(entry: CoinEntryRow) {
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

/** A debit that a merchant requests. `bizNo` is the number that the merchant gives to the debit. */
interface Debit {
  userId: string;
  /** Number of coins to debit, a positive integer. */
  amount: number;
  bizNo: string;
  memo: string | null;
}

interface Adjustment {
  userId: string;
  /** Number of coins. A positive number adds coins, a negative number takes coins. */
  amount: number;
  reason: string;
}

/** Creates the operations that debit and adjust balances under the account's lock, never beyond the available coins. */
export function spend({ store, now, audit, recordEvent, consoleApp, coinsAbove }: CatalogPorts) {
  const { post, credit } = ledger({ now, recordEvent });
  const log = note(audit);
  return {
    /**
     * Debits coins. A repeat with the same application, user, bizNo and amount returns the first debit. A repeat with
     * another amount is refused.
     */
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
            // clientId and bizNo contain no colon. So two different debits always have different sources, even if
            // userId contains a colon.
            source: `spend:${clientId}:${userId}:${bizNo}`,
            actor,
            clientId,
            bizNo,
            memo: debit.memo,
          }));
        if (claim) await claimKey(tx, claim, String(entry.id), now());
        return entry;
      }),

    /**
     * Adds coins to a balance or takes coins from it. If more than `coinsAbove` coins are added, `mayAdd` is called.
     * `mayAdd` throws unless the administrator has confirmed password and second factor.
     */
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
        await log(tx, actor, 'coin.adjust', target(key), null, { userId, amount, reason });
        return entry;
      }),
  };

  async function take(tx: Tx, account: CoinAccountRow | undefined, posting: Posting): Promise<CoinEntryRow> {
    const left = account ? available(account) : 0n;
    if (!account || left + posting.delta < 0n) throw new CoinsInsufficient(left);
    return (await post(tx, account, posting)).entry;
  }

  /** Returns the entry of an earlier request with the same Idempotency-Key whose response was lost. */
  async function resumed(tx: Tx, claim: KeyClaim | undefined): Promise<CoinEntryRow | undefined> {
    if (!claim?.resume) return undefined;
    await claimKey(tx, claim, claim.resume, now());
    const entry = await tx.coinEntries.find({ id: BigInt(claim.resume) });
    if (!entry) throw new Error('The ledger entry of an earlier request with this Idempotency-Key was not found.');
    return entry;
  }
}

export type Spend = ReturnType<typeof spend>;

/** A payment in coins for one pay-per-call request: the price, and the number of the order that the coins pay. */
interface Charge extends Holder {
  amount: bigint;
  orderNo: string;
  clientId: string;
  memo: string;
}

/** Creates the functions that debit and refund coins of a pay-per-call request in the caller's transaction. */
export function coinCharges(ports: Pick<Ports, 'now' | 'recordEvent'>) {
  const { post, credit } = ledger(ports);
  return { take, giveBack };

  /** Returns false and writes nothing if the balance is too low or the coin is disabled. */
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

  /** Refunds the coins of an order once: the caller holds the order's lock, and the entry's `source` is unique. */
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
