import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PayWay } from '../payments/channel.ts';
import { writePrivately } from './folder.ts';
import { SimulatorRefusal } from './requests.ts';

/** `secrets` contains the account's ids, and its keys as PEM text. Each channel simulator chooses the field names. */
export interface Account {
  payWay: PayWay;
  name: string;
  secrets: Record<string, string>;
}

export interface Accounts {
  get(payWay: PayWay, name: string): Account | undefined;
  /** Returns the accounts of a channel, oldest first. */
  of(payWay: PayWay): readonly Account[];
  add(account: Account): Account;
  /** Stores the accounts; called after a channel simulator changed an account's secrets. */
  save(): void;
}

/**
 * Returns the secrets of the existing account whose merchant a new account joins. Undefined = `options.merchantOf` is
 * absent.
 */
export function merchantOf(
  { accounts }: { accounts: Accounts },
  payWay: PayWay,
  { merchantOf: name }: Readonly<Record<string, unknown>>,
): Account['secrets'] | undefined {
  if (name === undefined) return undefined;
  const found = accounts.get(payWay, String(name));
  if (!found)
    throw new SimulatorRefusal(
      404,
      'no_such_account',
      `The simulator has no account ${String(name)} for this channel.`,
    );
  return found.secrets;
}

/** Reads the merchant accounts from `accounts.json` in the folder `dir`; every change is written to that file. */
export function openAccounts(dir: string): Accounts {
  const file = join(dir, 'accounts.json');
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Account[]) : [];
  return keepAccounts(known, (accounts) => writePrivately(file, JSON.stringify(accounts, null, 2)));
}

/** Manages the accounts in memory; `keep` stores them after each change. */
export function keepAccounts(accounts: Account[], keep: (accounts: readonly Account[]) => void): Accounts {
  const save = () => keep(accounts);
  const get = (payWay: PayWay, name: string) =>
    accounts.find((account) => account.payWay === payWay && account.name === name);
  return {
    get,
    of: (payWay) => accounts.filter((account) => account.payWay === payWay),
    add(account) {
      if (get(account.payWay, account.name)) {
        throw new SimulatorRefusal(
          409,
          'account_exists',
          `The simulator already has an account ${account.name} for this channel.`,
        );
      }
      accounts.push(account);
      save();
      return account;
    },
    save,
  };
}
