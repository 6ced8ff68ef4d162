import { z } from 'zod';
import type { CoinAccountRow, CoinEntryRow, CoinRow } from '../../catalog/records.ts';
import { Code, Flag, Id, SafeText, Timestamp, UserId } from './fields.ts';
import { InProject } from './projects.ts';
import { NumberPaging, UuidPaging } from './uuid-cursor.ts';

const Clawback = z.enum(['refuse', 'debt', 'partial']);
const mostCoins = 1_000_000_000_000;

/** A new coin. */
export const NewCoin = z
  .object({ code: Code, name: SafeText(1, 128), clawback: Clawback.default('refuse') })
  .meta({ id: 'NewCoin' });

/** A change of a coin; what is left out stays. */
export const CoinChange = z
  .object({ name: SafeText(1, 128), clawback: Clawback })
  .partial()
  .meta({ id: 'CoinChange' });

/** A coin in an answer. */
export const Coin = z
  .object({
    code: Code,
    project: z.string(),
    name: z.string(),
    enabled: z.boolean(),
    clawback: Clawback,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Coin' });

/** A payer's account of one coin; `available` is what can be spent. */
export const CoinAccount = z
  .object({ userId: z.string(), coin: z.string(), balance: z.int(), held: z.int(), available: z.int(), debt: z.int() })
  .meta({ id: 'CoinAccount' });

/** What a merchant sees of an account. */
export const CoinBalance = z
  .object({ userId: z.string(), coin: z.string(), available: z.int() })
  .meta({ id: 'CoinBalance' });

/** One line of a coin ledger. */
export const CoinEntry = z
  .object({
    id: z.string(),
    userId: z.string(),
    coin: z.string(),
    amount: z.int().describe('Negative for a debit.'),
    balanceAfter: z.int(),
    kind: z.enum(['credit', 'debit', 'adjustment', 'clawback']),
    orderNo: z.string().nullable(),
    bizNo: z.string().nullable(),
    memo: z.string().nullable(),
    actor: z.string(),
    createdAt: Timestamp,
  })
  .meta({ id: 'CoinEntry' });

/** The body of an adjustment. */
export const Adjustment = z
  .object({
    userId: UserId,
    amount: z
      .int()
      .min(-mostCoins)
      .max(mostCoins)
      .refine((amount) => amount !== 0, 'must not be 0'),
    reason: SafeText(1, 200),
  })
  .meta({ id: 'CoinAdjustment' });

/** The body of a debit. */
export const Debit = z
  .object({
    userId: UserId,
    amount: z.int().min(1).max(mostCoins),
    bizNo: Id.describe("The caller's own number for the debit; reusing it never debits twice."),
    memo: SafeText(1, 200).optional(),
  })
  .meta({ id: 'CoinDebit' });

/** Filters of the coin list. */
export const CoinsQuery = z.object({ ...UuidPaging, ...InProject.shape, enabled: Flag.optional() });
/** The part of the account list that is wanted. */
export const AccountsQuery = z.object({ ...UuidPaging, ...InProject.shape });
/** Filters of a ledger. */
export const EntriesQuery = z.object({ ...NumberPaging, ...InProject.shape, userId: UserId.optional() });
/** The part of a payer's own ledger that is wanted. */
export const OwnEntriesQuery = z.object({ ...NumberPaging, userId: UserId });

/** How a coin is shown. */
export function presentCoin(row: CoinRow): z.input<typeof Coin> {
  const { code, project, name, enabled, clawback, createdAt, updatedAt } = row;
  const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
  return { code, project, name, enabled, clawback, ...times };
}

/** How an account is shown. */
export function presentAccount(
  row: Pick<CoinAccountRow, 'userId' | 'coin' | 'balance' | 'held' | 'debt'>,
): z.input<typeof CoinAccount> {
  const { userId, coin, balance, held, debt } = row;
  const sums = { balance: Number(balance), held: Number(held), available: Number(balance - held), debt: Number(debt) };
  return { userId, coin, ...sums };
}

/** How a line of a ledger is shown. */
export function presentEntry(row: CoinEntryRow): z.input<typeof CoinEntry> {
  const { userId, coin, kind, actor } = row;
  return {
    id: String(row.id),
    userId,
    coin,
    kind,
    actor,
    amount: Number(row.delta),
    balanceAfter: Number(row.balanceAfter),
    orderNo: row.orderNo ?? null,
    bizNo: row.bizNo ?? null,
    memo: row.memo ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}
