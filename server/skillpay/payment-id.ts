import { AppError } from '../errors.ts';
import { claimKey, withIntentKey } from '../payments/idempotency.ts';
import type { Proof } from './dialects/dialect.ts';
import type { SkillCaller, SkillPorts } from './ports.ts';
import { PaymentIdUsed } from './refusals.ts';

const route = 'payment-identifier';

/**
 * Binds a client's own key of a payment to the payload that first came with it, among the application's keys; throws
 * PaymentIdUsed when it came with another. The answer is found by the order, so nothing else is kept.
 */
export async function bindPaymentId(
  { store, now }: Pick<SkillPorts, 'store' | 'now'>,
  { clientId }: SkillCaller,
  { key, payload }: NonNullable<Proof['once']>,
  orderNo: string,
): Promise<void> {
  const keyed = { scope: `app:${clientId}`, route, key, body: payload } as const;
  try {
    await withIntentKey(store, keyed, async (claim) => {
      if (claim.resume === null) await store.transaction((tx) => claimKey(tx, claim, orderNo, now()));
    });
  } catch (error) {
    throw error instanceof AppError && error.code === 'idempotency_conflict' ? new PaymentIdUsed() : error;
  }
}
