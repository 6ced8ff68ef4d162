import { AppError, NotFound } from '../errors.ts';
import type { PayWay } from '../payments/channel.ts';
import { type KeyClaim, withIntentKey } from '../payments/idempotency.ts';
import { readPair } from './claim.ts';
import { isUnplaced, type MakeOffer } from './offer.ts';
import type { SkillCaller, SkillPair, SkillPorts } from './ports.ts';

const route = 'offer in place of another';

/** What a successor may be paid with. */
export interface Wanted {
  /** Only this; left out = all that the product takes. */
  payWay?: PayWay | undefined;
}

/** Gives the offer that takes the place of one that ended unpaid; the same one each time. Undefined when none can be made. */
export type SuccessorOf = (caller: SkillCaller, ended: SkillPair, wanted: Wanted) => Promise<SkillPair | undefined>;

/** The operation over its ports. The row of the ended offer names its successor, written in the commit of the successor's intent. */
export function offerSuccessor(ports: SkillPorts, offer: MakeOffer): SuccessorOf {
  const { store, now, log } = ports;
  return async (caller, ended, wanted) => {
    const { orderNo, successor } = ended.skill;
    const known = await find(successor);
    if (known && !isUnplaced(known.order, now())) return known;
    try {
      const keyed = { scope: `app:${caller.clientId}`, route, key: orderNo, body: null } as const;
      return await withIntentKey(store, keyed, (claim) => make(caller, ended, wanted, claim));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log('info', 'an ended offer has no successor yet', { orderNo, code: error.code });
      // Another request may have made it meanwhile.
      return find((await store.read((tx) => tx.skillOrders.find({ orderNo })))?.successor ?? null);
    }
  };

  async function make(caller: SkillCaller, ended: SkillPair, { payWay }: Wanted, claim: KeyClaim): Promise<SkillPair> {
    const { resume } = claim;
    const known = resume === null ? undefined : await store.read((tx) => readPair(tx, resume));
    if (known && !isUnplaced(known.order, now())) return known;
    const { resource, input, orderNo } = ended.skill;
    const all = ended.skill.entries.length > 1;
    const request = { resource, input: input ?? undefined, payWay: payWay ?? (all ? undefined : ended.order.payWay) };
    return offer(caller, request, { claim, inPlaceOf: orderNo });
  }

  /** Offers that nobody paid are removed one day. */
  async function find(orderNo: string | null): Promise<SkillPair | undefined> {
    if (orderNo === null) return undefined;
    return store
      .read((tx) => readPair(tx, orderNo))
      .catch((error: unknown) => {
        if (error instanceof NotFound) return undefined;
        throw error;
      });
  }
}
