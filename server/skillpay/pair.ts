import type { OrderRow } from '../db/entities/orders.ts';
import type { AppTerms } from '../payments/idempotency.ts';
import type { SkillOrderRow } from '../db/entities/skillpay.ts';

/** An order and its pay-per-call part. */
export interface SkillPair {
  order: OrderRow;
  skill: SkillOrderRow;
}

/** The application that calls. */
export interface SkillCaller {
  clientId: string;
  project: string;
  /** Of what was read with its token. */
  terms?: AppTerms | undefined;
}
