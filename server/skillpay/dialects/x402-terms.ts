import type { OfferEntry } from '../../db/entities/skillpay.ts';
import type { Mode } from '../../payments/channel.ts';
import { digest } from '../../payments/idempotency.ts';
import { exponentOf } from '../../payments/money.ts';
import { payUrlOf } from '../entries.ts';
import type { SkillPair } from '../pair.ts';

/** The network of an entry: its channel, and whether real money moves there. */
export function networkOf({ payWay, mode }: OfferEntry): string {
  return `${payWay}:${mode}`;
}

/** The address of a resource; the fragment names it, all of them are called at one path. */
export function resourceUrlOf(publicUrl: string, resource: string): string {
  return `${publicUrl}/api/v2/skillpay/resource#${resource}`;
}

/** What an x402 client is asked to pay; equal for the life of the order. */
export interface Terms {
  scheme: 'exact';
  network: string;
  /** Minor units. */
  amount: string;
  asset: string;
  payTo: 'merchant';
  maxTimeoutSeconds: number;
  extra: { outTradeNo: string; payUrl: string; expiresAt: string; decimals: number; mode: Mode };
}

/** The terms of an offer, one for each way to pay it, the order's own first (`accepts` of x402 version 2). */
export function termsOf(pair: SkillPair, publicUrl: string): Terms[] {
  return pair.skill.entries.map((entry) => termsOfEntry(pair, entry, publicUrl));
}

function termsOfEntry(pair: SkillPair, entry: OfferEntry, publicUrl: string): Terms {
  const { order } = pair;
  return {
    scheme: 'exact',
    network: networkOf(entry),
    amount: String(order.amount),
    asset: order.currency,
    payTo: 'merchant',
    maxTimeoutSeconds: Math.max(1, Math.round((order.expiresAt.getTime() - order.createdAt.getTime()) / 1000)),
    extra: {
      outTradeNo: order.orderNo,
      payUrl: payUrlOf(publicUrl, pair, entry),
      expiresAt: order.expiresAt.toISOString(),
      decimals: exponentOf(order.currency) ?? 2,
      mode: entry.mode,
    },
  };
}

/** Whether what the client accepted is what the offer asks for. */
export function isOffered(accepted: unknown, pair: SkillPair, publicUrl: string): boolean {
  const sent = digest(accepted ?? null);
  return termsOf(pair, publicUrl).some((one) => digest(one) === sent);
}
