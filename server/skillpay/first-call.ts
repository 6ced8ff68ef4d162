import type { OrderRow } from '../db/entities/orders.ts';
import { NotAllowed } from '../errors.ts';
import { paymentRequired, type Redeemed } from './answers.ts';
import { readPair } from './claim.ts';
import type { MakeOffer } from './offer.ts';
import type { KeyClaim, SkillCaller, SkillPorts, SkillRequest } from './ports.ts';
import type { Redeem } from './redeem.ts';

const ROUTE = 'POST /api/v2/skillpay/resource';

/** The first call: an offer (402). With a key whose order exists, the answer to what that order is now. */
export type FirstCall = (caller: SkillCaller, request: SkillRequest, key: string | undefined) => Promise<Redeemed>;

/** The operation over its ports. A 402 is never a stored answer: the key only points to the order. */
export function firstCall(ports: SkillPorts, offer: MakeOffer, redeem: Redeem): FirstCall {
  const { store, payments, now } = ports;
  return async (caller, request, key) => {
    if (key === undefined) return refuse(await offer(caller, request));
    const claim = claimOf(caller, request, key);
    const stored = await store.read((tx) => tx.keys.find(whereOf(claim)));
    if (stored && stored.fingerprint !== claim.fingerprint)
      throw new NotAllowed('idempotency_conflict', 'This Idempotency-Key was used with another request.', {
        hint: 'Use a new key for a new request.',
      });
    const known = stored?.intentNo
      ? await store.read((tx) => tx.orders.find({ orderNo: stored.intentNo! }))
      : undefined;
    if (known && !isUnplaced(known)) return redeem(caller, known.orderNo, request);
    claim.resume = known?.orderNo ?? null;
    try {
      return await refuse(await offer(caller, request, claim));
    } finally {
      if (claim.taken) await release(claim);
    }
  };

  async function refuse({ orderNo }: OrderRow): Promise<never> {
    throw paymentRequired(ports, await store.read((tx) => readPair(tx, orderNo)));
  }

  /** The channel never said what the payer needs, so the create is sent again, with the same number. */
  function isUnplaced({ state, credential, expiresAt }: OrderRow): boolean {
    return (state === 'created' || (state === 'pending' && credential === null)) && expiresAt > now();
  }

  async function release(claim: KeyClaim): Promise<void> {
    await store.read((tx) =>
      tx.keys.update({ ...whereOf(claim), leasedUntil: claim.leasedUntil }, { leasedUntil: null }),
    );
  }

  function claimOf({ clientId }: SkillCaller, { resource, input, payWay }: SkillRequest, key: string): KeyClaim {
    const fingerprint = payments.digest({ body: { resource, input, payWay }, params: null });
    return { scope: `app:${clientId}`, route: ROUTE, key, fingerprint, resume: null, taken: false, leasedUntil: null };
  }
}

function whereOf({ scope, route, key }: KeyClaim) {
  return { scope, route, key };
}
