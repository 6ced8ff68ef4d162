import { hash } from 'node:crypto';
import { skillStats, type SkillStatsFilter } from '../db/queries/skillpay.ts';
import { NotFound } from '../errors.ts';
import type { KeyClaim } from '../payments/idempotency.ts';
import { majorNumber } from '../payments/money.ts';
import type { Redeemed } from './answers.ts';
import { chooseWay } from './choose-way.ts';
import { readPair } from './claim.ts';
import { coinCalls } from './coin-calls/calls.ts';
import { coinWork } from './coin-calls/work.ts';
import type { CallHeaders, Proof } from './dialects/dialect.ts';
import { firstCall } from './first-call.ts';
import { createFulfilment } from './fulfil.ts';
import { makeOffer } from './offer.ts';
import { askerOf, type SkillCaller, type SkillPorts, type SkillRequest } from './ports.ts';
import { redeemOffer } from './redeem.ts';
import { ProofInvalid } from './refusals.ts';
import { skillsOnSale } from './resource.ts';
import { resumeFulfilment } from './resume.ts';
import { offerSuccessor } from './successor.ts';
import { viewSkillOrder } from './view.ts';

/** What comes with a call besides its request. */
export interface CallFacts {
  /** The headers that its dialects read. */
  headers: CallHeaders;
  /** The body as it came. */
  rawBody: Uint8Array;
  /** Only asked for when no proof names an order; throws when the key is malformed. */
  idempotencyKey: () => string | undefined;
}

/** A refund request of the consumer. */
export interface SkillRefundRequest {
  outTradeNo: string;
  /** Major units; left out = all that is left. */
  refundAmount?: number | string | undefined;
  reason?: string | undefined;
  merchantRefundNo?: string | undefined;
}

/** The pay-per-call operations as routes and jobs see them. */
export function skillOperations(ports: SkillPorts) {
  const { store, payments, now } = ports;
  const fulfilment = createFulfilment(ports);
  const offer = makeOffer(ports);
  const successorOf = offerSuccessor(ports, offer);
  const redeem = redeemOffer(ports, fulfilment, successorOf);
  const work = coinWork(ports);
  const coins = coinCalls(ports, work);
  const first = firstCall(ports, { offer, redeem, coins });

  return {
    /** Calls a resource: the first time an offer (402, thrown), with a proof the paid content. */
    async call(caller: SkillCaller, request: SkillRequest | undefined, facts: CallFacts): Promise<Redeemed> {
      const { headers, rawBody } = facts;
      const read = ports.dialects.map((dialect) => dialect.read?.(headers, caller)).filter((one) => one !== undefined);
      const proofs = await Promise.all(read.map(found));
      const bodyDigest = rawBody.length > 0 ? hash('sha256', rawBody, 'base64') : undefined;
      const outTradeNo = numberOf(proofs);
      const call = { headers, proofs, bodyDigest };
      if (outTradeNo === undefined) return first(caller, request ?? {}, facts.idempotencyKey(), call);
      return redeem(caller, outTradeNo, request, call).catch(async (error: unknown) => {
        // Calls that coins paid are the rarer ones.
        const paid = error instanceof NotFound ? await coins.replay(caller, outTradeNo, request) : undefined;
        if (!paid) throw error;
        return paid;
      });
    },
    /** One order with its refunds; asked at the channel while it is open. */
    async query(caller: SkillCaller, outTradeNo: string) {
      const paidWithCoins = await coins.query(caller, outTradeNo);
      if (paidWithCoins) return paidWithCoins;
      await store.read((tx) => readPair(tx, outTradeNo, caller));
      const { stale } = await payments.query(askerOf(caller), outTradeNo);
      return store.read(async (tx) => {
        const pair = await readPair(tx, outTradeNo, caller);
        const refunds = await tx.refunds.list({ orderNo: outTradeNo }, { orderBy: { createdAt: 'asc' } });
        return viewSkillOrder(pair, refunds, stale);
      });
    },
    /** Gives money back as its consumer asks; refused while the work is being done. */
    async refund(caller: SkillCaller, { outTradeNo, ...request }: SkillRefundRequest, claim?: KeyClaim) {
      const isPart = request.refundAmount !== undefined;
      const back = await coins.refund(caller, outTradeNo, { isPart, claim });
      if (back) return back;
      await store.read((tx) => readPair(tx, outTradeNo, caller));
      const refund = await payments.refund(askerOf(caller), { orderNo: outTradeNo, ...request }, claim);
      return { outTradeNo, ...refund };
    },
    /** What can be called in a project now, with prices. */
    async resources({ project }: { project: string }) {
      const skills = await skillsOnSale(store, project, now());
      return skills.map(({ code, name, description, priceMinor, currency, payWays, offerTtlSeconds, ...skill }) => {
        const price = priceOf(priceMinor, currency);
        return {
          resource: code,
          name,
          description,
          price,
          amount: price,
          amountMinor: Number(priceMinor),
          currency,
          payWays,
          offerTtlSeconds: offerTtlSeconds ?? ports.offerTtlSeconds,
          coinPrice: skill.coinPrice ?? null,
          refundAfterFulfilment: skill.refundAfterFulfilment,
        };
      });
    },
    /** Figures by app and resource. */
    async stats(filter: SkillStatsFilter) {
      const rows = await ports.reports.read((tx) => skillStats(tx, filter));
      return rows.map(({ revenueMinor, ...row }) => ({
        ...row,
        revenue: majorNumber({ minor: BigInt(revenueMinor), currency: row.currency }),
        revenueMinor: Number(revenueMinor),
      }));
    },
    /** How payers take another channel. */
    choice: chooseWay(ports, successorOf),
    /** Does what is due for one claimed row. */
    resume: resumeFulfilment(ports, fulfilment),
    /** Confirms to Alipay what its agent was given. */
    confirmDelivery: (orderNo: string) => ports.confirmDelivery(orderNo),
    /** The same for one call that coins paid. */
    resumeCoinCall: (orderNo: string) => work.resume(orderNo),
    /** Resolves when no work is under way in this process. */
    idle: async () => {
      await Promise.all([fulfilment.idle(), work.idle()]);
    },
  };
}

/** Some proofs name their order only to the channel. */
async function found(proof: Proof): Promise<Proof> {
  return proof.find ? { ...proof, outTradeNo: await proof.find() } : proof;
}

/** The order that the proofs name; two that disagree are refused. */
function numberOf(proofs: readonly Proof[]): string | undefined {
  const [first, ...others] = proofs.filter(({ outTradeNo }) => outTradeNo !== undefined);
  for (const { header, outTradeNo } of others)
    if (outTradeNo !== first?.outTradeNo)
      throw new ProofInvalid(header, `refers to another order than ${first?.header}`);
  return first?.outTradeNo;
}

/** What routes and jobs may call. */
export type SkillOperations = ReturnType<typeof skillOperations>;

/** Only PayPal sells in other currencies than CNY. */
function priceOf(minor: bigint, currency: string): number {
  return majorNumber({ minor, currency });
}
