import { z } from 'zod';
import type { Notice } from '../../payments/channel.ts';
import { NoticeNotGenuine } from '../../payments/channel.ts';
import { captureIdOf, Links, Time } from './answers.ts';
import { readJson, UnreadableJson } from './json.ts';

const OurNumber = z
  .string()
  .regex(/^[A-Za-z0-9_]{6,32}$/)
  .optional()
  .catch(undefined);
const TheirId = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/)
  .optional()
  .catch(undefined);

const Numbers = z.object({ custom_id: OurNumber, invoice_id: OurNumber });
const Related = z.object({ related_ids: z.object({ order_id: TheirId }).optional().catch(undefined) });

const Resource = Numbers.extend({
  id: TheirId,
  dispute_id: TheirId,
  order_id: TheirId,
  purchase_units: z.array(Numbers).optional().catch(undefined),
  supplementary_data: Related.optional().catch(undefined),
  links: Links,
});

const Event = z.object({
  event_type: z.string().regex(/^[A-Z0-9._-]{1,64}$/),
  create_time: Time.optional().catch(undefined),
  resource: Resource,
});
type Resource = z.infer<typeof Resource>;

const REFUND_EVENTS = new Set([
  'PAYMENT.CAPTURE.REFUNDED',
  'PAYMENT.CAPTURE.REVERSED',
  'PAYMENT.REFUND.PENDING',
  'PAYMENT.REFUND.FAILED',
]);

/** What a webhook names, to be looked up. */
export interface Named extends Pick<
  Notice,
  'event' | 'orderNo' | 'refundNo' | 'channelOrderId' | 'paymentNo' | 'approvedAt' | 'disputeId'
> {
  /** PayPal's id of the refund that the event is about. */
  refundId: string | null;
}

/**
 * Takes from a verified webhook what may be looked up: ids, never an amount or a state, because the signature does not
 * cover them well enough (see verifyWebhook). Throws NoticeNotGenuine when it is not an event.
 */
export function readEvent(body: Buffer): Named {
  const parsed = Event.safeParse(parse(body));
  if (!parsed.success) throw new NoticeNotGenuine('malformed', 'The message is not a PayPal event.');
  const { event_type: event, create_time: at, resource } = parsed.data;
  if (event.startsWith('CUSTOMER.DISPUTE.') && resource.dispute_id !== undefined)
    return { event, orderNo: null, refundNo: null, refundId: null, disputeId: resource.dispute_id };
  const channelOrderId = orderId(event, resource);
  if (REFUND_EVENTS.has(event)) {
    const { custom_id, invoice_id, id, links } = resource;
    // A chargeback shows its capture by the link alone, or is one itself.
    const paymentNo = captureIdOf(links) ?? id;
    const named = { orderNo: custom_id ?? null, refundNo: invoice_id ?? null, refundId: id ?? paymentNo ?? null };
    return { event, ...named, ...channelOrderId, ...(paymentNo === undefined ? {} : { paymentNo }) };
  }
  const numbers = resource.purchase_units?.[0] ?? resource;
  const orderNo = numbers.custom_id ?? numbers.invoice_id ?? null;
  const approved = event === 'CHECKOUT.ORDER.APPROVED' && at ? { approvedAt: at } : {};
  return { event, orderNo, refundNo: null, refundId: null, ...channelOrderId, ...approved };
}

function orderId(event: string, { id, order_id, supplementary_data }: Resource): { channelOrderId?: string } {
  const own = event.startsWith('CHECKOUT.ORDER.') ? id : undefined;
  const channelOrderId = own ?? order_id ?? supplementary_data?.related_ids?.order_id;
  return channelOrderId === undefined ? {} : { channelOrderId };
}

function parse(body: Buffer): unknown {
  try {
    return readJson(body);
  } catch (error) {
    if (error instanceof UnreadableJson) throw new NoticeNotGenuine('malformed', error.message);
    throw error;
  }
}
