import type { OrderRow } from '../db/entities/orders.ts';
import { afterIntent } from '../payments/ask.ts';
import { type KeyClaim, withIntentKey } from '../payments/idempotency.ts';
import { paymentRequired, type Redeemed } from './answers.ts';
import type { CoinCalls } from './coin-calls/calls.ts';
import { coinsWanted } from './coin-calls/packs.ts';
import { type Call, firstFault } from './dialects/dialect.ts';
import { isUnplaced, type MakeOffer } from './offer.ts';
import type { SkillCaller, SkillPair, SkillPorts, SkillRequest } from './ports.ts';
import type { Redeem } from './redeem.ts';

const route = 'POST /api/v2/skillpay/resource';

/** The first call: an offer (402). With a key whose order exists, the answer to what that order is now. */
export type FirstCall = (
  caller: SkillCaller,
  request: SkillRequest,
  key: string | undefined,
  call: Call,
) => Promise<Redeemed>;

/** How a first call can go on. */
interface Ways {
  offer: MakeOffer;
  redeem: Redeem;
  coins: CoinCalls;
}

/** The operation over its ports. A 402 is never a stored answer: the key only points to the order. */
export function firstCall(ports: SkillPorts, { offer, redeem, coins }: Ways): FirstCall {
  const { store, now } = ports;
  return async (caller, request, key, call) => {
    if (key === undefined)
      return (await coins.pay(caller, request)) ?? refuse(caller, request, await offer(caller, request), call);
    const { resource, input, payWay, userId } = request;
    const keyed = { scope: `app:${caller.clientId}`, route, key, body: { resource, input, payWay, userId } } as const;
    return withIntentKey(store, keyed, async (claim) => {
      const { resume } = claim;
      if (resume !== null) {
        const paid = await coins.replay(caller, resume, request);
        if (paid) return paid;
      }
      const known = await orderOf(claim);
      if (known && !isUnplaced(known, now())) return redeem(caller, known.orderNo, request, call);
      const paid = resume === null ? await coins.pay(caller, request, claim) : undefined;
      return paid ?? refuse(caller, request, await offer(caller, request, { claim }), call);
    });
  };

  async function orderOf({ resume }: KeyClaim): Promise<OrderRow | undefined> {
    return resume === null ? undefined : store.read((tx) => tx.orders.find({ orderNo: resume }));
  }

  async function refuse(caller: SkillCaller, request: SkillRequest, pair: SkillPair, call: Call): Promise<never> {
    const { orderNo } = pair.order;
    throw await afterIntent({ orderNo }, async () =>
      paymentRequired(ports, pair, call, {
        why: firstFault(call, pair, now()),
        members: await coinsWanted(ports, caller, request),
      }),
    );
  }
}
