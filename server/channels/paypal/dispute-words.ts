import { z } from 'zod';
import type { ChannelDispute, DisputeState, ListedDispute, LostMoney } from '../../payments/channel.ts';
import { readMajorText } from '../../payments/money.ts';
import type { Money } from '../../payments/money.ts';

const Text = z.string().optional().catch(undefined);
const Id = z.string().regex(/^[A-Za-z0-9-]{1,128}$/);
const Time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
const Amount = z.object({ currency_code: z.string(), value: z.string() });
const Links = z
  .array(z.object({ rel: z.string() }))
  .catch([])
  .default([]);

const Dispute = z.object({
  dispute_id: Id,
  create_time: Time,
  update_time: Time.optional().catch(undefined),
  disputed_transactions: z.array(
    z.object({
      seller_transaction_id: Id.optional().catch(undefined),
      custom: Text,
      invoice_number: Text,
      seller: z.object({ merchant_id: Text }).optional().catch(undefined),
    }),
  ),
  reason: z.string(),
  status: z.string(),
  dispute_amount: Amount,
  dispute_outcome: z.object({ outcome_code: Text, amount_refunded: Amount.optional() }).optional(),
  money_movements: z
    .array(
      z.object({
        affected_party: Text,
        type: Text,
        reason: Text,
        amount: Amount.optional(),
        initiated_time: Time.optional().catch(undefined),
      }),
    )
    .optional(),
  seller_response_due_date: Time.optional().catch(undefined),
  links: Links,
});

const Page = z.object({
  items: z.array(z.object({ dispute_id: Id, update_time: Text, status: Text })).default([]),
  links: z
    .array(z.object({ rel: z.string(), href: z.string() }))
    .catch([])
    .default([]),
});

/** A dispute in PayPal's words. */
export type PaypalDispute = z.infer<typeof Dispute>;

/** The dispute in a successful body; undefined when it is not one. */
export function readDispute(body: unknown): PaypalDispute | undefined {
  return Dispute.safeParse(body).data;
}

/** One page of the list and the token of the next one; undefined when it is none. */
export function readDisputePage(
  body: unknown,
): { disputes: readonly ListedDispute[]; next: string | undefined } | undefined {
  const page = Page.safeParse(body).data;
  if (!page) return undefined;
  const href = page.links.find(({ rel }) => rel === 'next')?.href;
  const next = href === undefined ? undefined : (URL.parse(href)?.searchParams.get('next_page_token') ?? undefined);
  const disputes = page.items.map(({ dispute_id, update_time, status }) => ({
    channelDisputeNo: dispute_id,
    mark: [update_time, status].join(' '),
  }));
  return { disputes, next };
}

/** Whether PayPal offers an action now; its links have underscores or hyphens. */
export function offers({ links }: PaypalDispute, action: string): boolean {
  return links.some(({ rel }) => rel.replaceAll('-', '_') === action);
}

const OUR_NUMBER = /^[A-Za-z0-9_]{6,32}$/;

/** Whose money the dispute is about; what PayPal does not say is not compared. */
export function isPayee({ disputed_transactions: transactions }: PaypalDispute, merchantId: string | null): boolean {
  return transactions.every(({ seller }) => !merchantId || !seller?.merchant_id || seller.merchant_id === merchantId);
}

/** What PayPal says about a dispute; a text why nothing can be settled of it. Amounts are minor units. */
export function disputeOf(found: PaypalDispute): ChannelDispute | string {
  const amount = readAmount(found.dispute_amount);
  if (!amount) return 'The disputed amount cannot be read.';
  const tradeNos = found.disputed_transactions.flatMap(({ seller_transaction_id: id }) => (id ? [id] : []));
  const numbers = found.disputed_transactions.flatMap(({ custom, invoice_number }) => [custom, invoice_number]);
  const end = endOf(found);
  if (typeof end === 'string') return end;
  return {
    channelDisputeNo: found.dispute_id,
    tradeNos,
    orderNo: numbers.find((number) => number !== undefined && OUR_NUMBER.test(number)) ?? null,
    reason: found.reason,
    amount,
    dueAt: found.seller_response_due_date ?? null,
    openedAt: found.create_time,
    ...end,
  };
}

/** Whatever is not listed is examined: nothing is decided by a word that nobody knows. */
const UNDER_WAY: Readonly<Record<string, DisputeState>> = {
  OPEN: 'open',
  WAITING_FOR_SELLER_RESPONSE: 'needs_answer',
};

/** Outcomes in which the payer keeps the money; `RESOLVED_WITH_PAYOUT`: PayPal pays, nobody loses. */
const LOST = new Set(['RESOLVED_BUYER_FAVOUR', 'ACCEPTED']);
const KEPT = new Set(['RESOLVED_SELLER_FAVOUR', 'RESOLVED_WITH_PAYOUT', 'CANCELED_BY_BUYER', 'DENIED', 'NONE']);

function endOf(found: PaypalDispute): Pick<ChannelDispute, 'state' | 'lost'> | string {
  if (found.status !== 'RESOLVED') return { state: UNDER_WAY[found.status] ?? 'under_review' };
  const code = found.dispute_outcome?.outcome_code ?? '';
  const booked = bookedLoss(found);
  if (booked) return booked.amount.minor > 0n ? { state: 'lost', lost: booked } : { state: 'won' };
  if (KEPT.has(code)) return { state: 'won' };
  const refunded = found.dispute_outcome?.amount_refunded;
  const amount = refunded && readAmount(refunded);
  if (!LOST.has(code) || !amount) return `The dispute is resolved with ${code || 'no outcome'}, and without an amount.`;
  if (amount.minor === 0n) return { state: 'won' };
  return { state: 'lost', lost: { amount, at: found.update_time ?? found.create_time, booked: false } };
}

/** What PayPal moved from the merchant for the dispute itself, fees aside; undefined when it does not say, or not in one currency. */
function bookedLoss({ money_movements: movements, create_time }: PaypalDispute): LostMoney | undefined {
  const own = (movements ?? []).filter(
    ({ affected_party, reason }) => affected_party === 'SELLER' && reason === 'DISPUTE_SETTLEMENT',
  );
  let sum: Money | undefined;
  let at = create_time;
  for (const { type, amount, initiated_time } of own) {
    const moved = amount && readAmount(amount);
    if (!moved || (sum && moved.currency !== sum.currency)) return undefined;
    const before: bigint = sum?.minor ?? 0n;
    sum = { minor: type === 'CREDIT' ? before - moved.minor : before + moved.minor, currency: moved.currency };
    if (initiated_time && initiated_time > at) at = initiated_time;
  }
  return sum && { amount: sum, at, booked: true };
}

function readAmount({ value, currency_code }: z.infer<typeof Amount>): Money | undefined {
  return readMajorText(value, currency_code);
}
