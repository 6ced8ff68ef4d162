import { randomUUID } from 'node:crypto';
import type { Core } from '../half.ts';
import type { Trade } from '../trade.ts';
import { newPaypalId, webhooksOf } from './secrets.ts';

type Json = Record<string, unknown>;

/** What a notice of this half says: fixed when the event happens, so every delivery has the same bytes. */
export interface EventFacts extends Json {
  webhookId: string;
  event: Json;
}

const RESOURCE_TYPES: Readonly<Record<string, string>> = {
  'CHECKOUT.ORDER': 'checkout-order',
  'PAYMENT.CAPTURE': 'capture',
  'PAYMENT.REFUND': 'refund',
  'CUSTOMER.DISPUTE': 'dispute',
};

/** In the place of the webhook's id for events that the dashboard makes up (developer.paypal.com, "Webhooks simulator"). */
const TRY_OUT = 'WEBHOOK_ID';

/** Tells every webhook of the account that listens, and the address that the order brought along. */
export function tell(
  core: Core,
  trade: Trade,
  eventType: string,
  summary: string,
  resource: Json,
  isTest = false,
): void {
  const account = core.accounts.get('paypal', trade.account);
  if (!account) return;
  const event = { ...describe(core, eventType, summary), resource };
  for (const { id: webhookId, url, eventTypes } of webhooksOf(account)) {
    const address = webhookId === account.secrets['webhookId'] ? (trade.notifyUrl ?? url) : url;
    if (address === null || !(eventTypes.includes('*') || eventTypes.includes(eventType))) continue;
    const facts: EventFacts = { webhookId: isTest ? TRY_OUT : webhookId, event };
    core.notices.send(trade, { id: randomUUID(), event: eventType, url: address, facts }, core.noticeDelay(trade));
  }
}

function describe(core: Core, eventType: string, summary: string): Json {
  const family = eventType.split('.').slice(0, 2).join('.');
  return {
    id: `WH-${newPaypalId()}-${newPaypalId()}`,
    event_version: '1.0',
    create_time: new Date(core.clock.now()).toISOString(),
    resource_type: eventType === 'PAYMENT.CAPTURE.REFUNDED' ? 'refund' : (RESOURCE_TYPES[family] ?? 'unknown'),
    resource_version: '2.0',
    event_type: eventType,
    summary,
  };
}
