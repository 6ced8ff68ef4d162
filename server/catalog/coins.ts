import { randomUUID } from 'node:crypto';
import type { CoinEntryRow, CoinRow } from '../db/entities/catalog.ts';
import { listCoins, type CoinFilter } from '../db/queries/catalog-lists.ts';
import { productOfCoin } from '../db/queries/catalog.ts';
import { type AccountPart, type EntryPart, listAccounts, listEntries } from '../db/queries/coins.ts';
import { NotFound } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import type { CatalogPorts } from './ports.ts';
import { given, note, requireProject } from './records.ts';
import { CodeTaken, InUse } from './refusals.ts';

/** What may be said about a coin. */
export interface CoinSettings {
  name: string;
  clawback: CoinRow['clawback'];
}

/** Which coin: unique in its project. */
export interface CoinKey {
  project: string;
  code: string;
}

/** The operations on coins themselves and the reads of their ledgers; what moves coins is in spend.ts. */
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
    /** Without `enabled` it flips. A coin that is off is neither sold nor spent; what is paid for is credited. */
    toggle: (actor: Actor, key: CoinKey, enabled: boolean | undefined) =>
      change(actor, key, 'coin.toggle', (coin) => ({ enabled: enabled ?? !coin.enabled })),
    remove: (actor: Actor, key: CoinKey) =>
      store.transaction(async (tx) => {
        const coin = await required(tx.coins.lock(key));
        const product = await productOfCoin(tx, key.project, key.code);
        if (product !== undefined) throw new InUse(`The product ${product} uses the coin.`);
        const [entry] = await tx.coinEntries.list({ project: key.project, coin: key.code }, { limit: 1 });
        if (entry) throw new InUse('The coin has ledger entries.');
        await tx.coinAccounts.delete({ project: key.project, coin: key.code });
        await tx.coins.delete(key);
        await log(tx, actor, 'coin.delete', target(key), coin, null);
      }),
    accounts: (key: CoinKey, part: Omit<AccountPart, 'project' | 'coin'>) =>
      reports.read(async (tx) => {
        await required(tx.coins.find(key));
        return listAccounts(tx, { ...part, project: key.project, coin: key.code });
      }),
    /** The account of a payer; one without any is empty. */
    account: ({ project, code }: CoinKey, userId: string) =>
      store.read(async (tx) => {
        await required(tx.coins.find({ project, code }));
        const found = await tx.coinAccounts.find({ project, coin: code, userId });
        return found ?? { coin: code, userId, balance: 0n, held: 0n, debt: 0n };
      }),
    /** Every account of a payer. */
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

/** What routes may do with coins. */
export type Coins = ReturnType<typeof coins>;

function target({ project, code }: CoinKey): string {
  return `${project}/${code}`;
}

async function required(found: Promise<CoinRow | undefined>): Promise<CoinRow> {
  const coin = await found;
  if (!coin) throw new NotFound('coin');
  return coin;
}
