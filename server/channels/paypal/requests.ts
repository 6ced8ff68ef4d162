import { Buffer } from 'node:buffer';
import type { CaptureRef, OrderRef, PlaceOrder, RefundOrder, RefundRef, WireRequest } from '../../payments/channel.ts';
import { type Money, majorText } from '../../money.ts';
import { plainText } from '../transport.ts';
import type { PaypalSettings } from './settings.ts';
import type { Transmission } from './signature.ts';

/**
 * The longest texts that PayPal accepts. PayPal's OpenAPI document (orders v2 and payments v2) gives the lengths for
 * US-ASCII and counts any other character as more than one. So the service counts bytes of UTF-8.
 */
const LONGEST = { description: 127, brandName: 127, noteToPayer: 255 } as const;

/** `POST /v1/oauth2/token`: requests an access token with the client id and secret. */
export function tokenRequest({ apiUrl, clientId, clientSecret }: PaypalSettings): WireRequest {
  const basic = Buffer.from(`${clientId}:${clientSecret}`, 'utf8').toString('base64');
  return {
    method: 'POST',
    url: `${apiUrl}/v1/oauth2/token`,
    headers: {
      accept: 'application/json',
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
    about: { call: 'token' },
  };
}

/** Builds `POST /v2/checkout/orders`; the amount is in major units, and a repeat has the same bytes. */
export function createOrderRequest(settings: PaypalSettings, order: PlaceOrder): WireRequest {
  const options = order.options.paypal ?? {};
  const body = {
    intent: 'CAPTURE',
    purchase_units: [
      {
        reference_id: 'default',
        amount: paypalAmount(order.amount),
        description: plainText(order.subject, LONGEST.description, 'bytes') || undefined,
        custom_id: order.orderNo,
        invoice_id: order.orderNo,
        soft_descriptor: options.softDescriptor,
      },
    ],
    payment_source: {
      paypal: {
        experience_context: {
          brand_name: options.brandName && (plainText(options.brandName, LONGEST.brandName, 'bytes') || undefined),
          locale: options.locale,
          landing_page: options.landingPage,
          payment_method_preference:
            options.immediatePayment || order.isForCall ? 'IMMEDIATE_PAYMENT_REQUIRED' : undefined,
          return_url: order.returnUrl,
          cancel_url: order.cancelUrl,
          user_action: 'PAY_NOW',
          shipping_preference: 'NO_SHIPPING',
        },
      },
    },
  };
  const request = post(settings, '/v2/checkout/orders', order.orderNo, body, {
    call: 'create',
    orderNo: order.orderNo,
  });
  if (settings.mode !== 'simulator') return request;
  // At PayPal the webhook URL is set in the dashboard. The simulator has no dashboard, so it gets the URL with each
  // order.
  return { ...request, headers: { ...request.headers, 'simulator-notify-url': order.notifyUrl } };
}

/** `GET /v2/checkout/orders/{id}`. */
export function getOrderRequest(settings: PaypalSettings, id: string, orderNo: string): WireRequest {
  return get(settings, `/v2/checkout/orders/${encodeURIComponent(id)}`, { call: 'query', orderNo });
}

/** Builds `POST …/capture`. `captureNo` is the PayPal-Request-Id, so a repeat does not capture twice. */
export function captureRequest(settings: PaypalSettings, id: string, ref: CaptureRef): WireRequest {
  const path = `/v2/checkout/orders/${encodeURIComponent(id)}/capture`;
  return post(settings, path, ref.captureNo, {}, { call: 'capture', orderNo: ref.orderNo });
}

/**
 * Builds `GET /v2/payments/captures/{id}`. It is used if PayPal has deleted the order, or to find the order of a
 * refund.
 */
export function getCaptureRequest(settings: PaypalSettings, id: string, ref?: OrderRef): WireRequest {
  return get(settings, `/v2/payments/captures/${encodeURIComponent(id)}`, { call: 'query', orderNo: ref?.orderNo });
}

/** Builds `POST …/refund`. The refund number is both the PayPal-Request-Id and the invoice id. */
export function refundRequest(settings: PaypalSettings, captureId: string, refund: RefundOrder): WireRequest {
  const body = {
    amount: paypalAmount(refund.refundAmount),
    custom_id: refund.orderNo,
    invoice_id: refund.refundNo,
    note_to_payer: plainText(refund.reason, LONGEST.noteToPayer, 'bytes') || undefined,
  };
  const path = `/v2/payments/captures/${encodeURIComponent(captureId)}/refund`;
  return post(settings, path, refund.refundNo, body, aboutRefund('refund', refund));
}

/** `GET /v2/payments/refunds/{id}`. */
export function getRefundRequest(settings: PaypalSettings, id: string, ref?: RefundRef): WireRequest {
  const about = ref ? aboutRefund('refund-query', ref) : { call: 'refund-query' };
  return get(settings, `/v2/payments/refunds/${encodeURIComponent(id)}`, about);
}

/** Builds `GET /v1/notifications/webhooks/{id}`: returns the configured webhook if it belongs to this REST app. */
export function getWebhookRequest(settings: PaypalSettings): WireRequest {
  return get(settings, `/v1/notifications/webhooks/${encodeURIComponent(settings.webhookId)}`, { call: 'probe' });
}

/** Builds `POST …/verify-webhook-signature`. The webhook's body is inserted unchanged, because it is signed. */
export function verifyWebhookRequest(settings: PaypalSettings, sent: Transmission, event: Buffer): WireRequest {
  const verification = JSON.stringify({
    auth_algo: sent.algorithm,
    cert_url: sent.certUrl,
    transmission_id: sent.id,
    transmission_sig: sent.signature,
    transmission_time: sent.time,
    webhook_id: settings.webhookId,
  });
  return {
    method: 'POST',
    url: `${settings.apiUrl}/v1/notifications/verify-webhook-signature`,
    headers: { ...COMMON, 'content-type': 'application/json' },
    body: `${verification.slice(0, -1)},"webhook_event":${event.toString('utf8')}}`,
    about: { call: 'verify-webhook' },
  };
}

/** Builds `GET /v1/notifications/webhooks`: all webhooks of the REST app. */
export function listWebhooksRequest(settings: PaypalSettings): WireRequest {
  return get(settings, '/v1/notifications/webhooks', { call: 'webhooks' });
}

/** Builds `GET /v1/notifications/webhooks-event-types`: the events that a webhook can subscribe to. */
export function listEventTypesRequest(settings: PaypalSettings): WireRequest {
  return get(settings, '/v1/notifications/webhooks-event-types', { call: 'webhooks' });
}

/** Builds `POST /v1/notifications/webhooks`. PayPal accepts only one webhook per URL and refuses to create another. */
export function createWebhookRequest(settings: PaypalSettings, url: string, events: readonly string[]): WireRequest {
  const event_types = events.map((name) => ({ name }));
  return aboutWebhooks(settings, 'POST', '', { url, event_types });
}

/** Builds `PATCH /v1/notifications/webhooks/{id}`: replaces the list of subscribed events. */
export function changeWebhookRequest(settings: PaypalSettings, id: string, events: readonly string[]): WireRequest {
  const value = events.map((name) => ({ name }));
  return aboutWebhooks(settings, 'PATCH', `/${encodeURIComponent(id)}`, [
    { op: 'replace', path: '/event_types', value },
  ]);
}

function aboutWebhooks({ apiUrl }: PaypalSettings, method: 'POST' | 'PATCH', path: string, body: unknown): WireRequest {
  const headers = { ...COMMON, 'content-type': 'application/json' };
  const url = `${apiUrl}/v1/notifications/webhooks${path}`;
  return { method, url, headers, body: JSON.stringify(body), about: { call: 'webhooks' } };
}

/** Formats an amount for PayPal: major units with the decimals that PayPal accepts (HUF, JPY and TWD have none). */
export function paypalAmount(money: Money): { currency_code: string; value: string } {
  return { currency_code: money.currency, value: majorText(money) };
}

function aboutRefund(call: string, { orderNo, refundNo }: RefundRef | RefundOrder): WireRequest['about'] {
  return { call, orderNo, refundNo };
}

function get({ apiUrl }: PaypalSettings, path: string, about: WireRequest['about']): WireRequest {
  return { method: 'GET', url: apiUrl + path, headers: { ...COMMON }, about };
}

const COMMON = { accept: 'application/json', prefer: 'return=representation' };

function post(
  { apiUrl }: PaypalSettings,
  path: string,
  requestId: string,
  body: unknown,
  about: WireRequest['about'],
): WireRequest {
  const headers = { ...COMMON, 'content-type': 'application/json', 'paypal-request-id': requestId };
  return { method: 'POST', url: apiUrl + path, headers, body: JSON.stringify(body), about };
}
