import { z } from 'zod';
import type { Notice } from '../../payments/channel.ts';
import { NoticeNotGenuine } from '../../payments/channel.ts';
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
  order_id: TheirId,
  purchase_units: z.array(Numbers).optional().catch(undefined),
  supplementary_data: Related.optional().catch(undefined),
});

const Event = z.object({ event_type: z.string().regex(/^[A-Z0-9._-]{1,64}$/), resource: Resource });
type Resource = z.infer<typeof Resource>;

const REFUND_EVENTS = new Set([
  'PAYMENT.CAPTURE.REFUNDED',
  'PAYMENT.CAPTURE.REVERSED',
  'PAYMENT.REFUND.PENDING',
  'PAYMENT.REFUND.FAILED',
]);

/**
 * Takes from a verified webhook what may be looked up: ids, never an amount or a state, because the signature does not
 * cover them well enough (see verifyWebhook). Throws NoticeNotGenuine when it is not an event.
 */
export function readEvent(body: Buffer): Pick<Notice, 'event' | 'orderNo' | 'refundNo' | 'channelOrderId'> {
  const parsed = Event.safeParse(parse(body));
  if (!parsed.success) throw new NoticeNotGenuine('malformed', 'The message is not a PayPal event.');
  const { event_type: event, resource } = parsed.data;
  if (REFUND_EVENTS.has(event)) {
    return {
      event,
      orderNo: resource.custom_id ?? null,
      refundNo: resource.invoice_id ?? null,
      ...orderId(event, resource),
    };
  }
  const numbers = resource.purchase_units?.[0] ?? resource;
  return {
    event,
    orderNo: numbers.custom_id ?? numbers.invoice_id ?? null,
    refundNo: null,
    ...orderId(event, resource),
  };
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
