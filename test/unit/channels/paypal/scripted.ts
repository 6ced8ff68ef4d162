import { Buffer } from 'node:buffer';
import { createPaypalChannel } from '../../../../server/channels/paypal/channel.ts';
import type {
  CaptureRef,
  Channel,
  ChannelInput,
  OrderRef,
  Outcome,
  PlaceOrder,
  RefundOrder,
  RefundRef,
  Transport,
  WireAnswer,
  WireRequest,
} from '../../../../server/payments/channel.ts';

export type Script = (request: WireRequest) => WireAnswer | Promise<WireAnswer>;

export const NOW = new Date('2026-03-01T08:00:00Z');
export const ORDER_NO = 'P20260301080000ABCDEFGHJK';
export const REFUND_NO = 'R20260301090000ABCDEFGHJK';
export const PAYPAL_ORDER = '5O190127TN364715T';
export const CAPTURE_ID = '3C679366HH908993F';
export const MERCHANT = 'SIMMERCHANT01';

export const FIELDS = {
  clientId: 'client-id-of-the-test',
  clientSecret: 'client-secret-of-the-test',
  webhookId: '1JE4291016473214C',
  merchantId: MERCHANT,
};

export function json(status: number, body: unknown): WireAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) };
}

export function refusal(status: number, issue: string): WireAnswer {
  return json(status, {
    name: 'UNPROCESSABLE_ENTITY',
    message: 'The requested action could not be performed.',
    debug_id: 'b1d1f06c7246c',
    details: [{ issue, description: `About ${issue}.` }],
  });
}

export const token = (text = 'A21-token', seconds = 32400): WireAnswer =>
  json(200, { access_token: text, token_type: 'Bearer', expires_in: seconds });

/** A channel whose token call always succeeds and whose other calls go to `script`; `sent` records all calls. */
export function scripted(
  script: Script,
  input: Partial<ChannelInput> = {},
): { channel: Channel; sent: WireRequest[]; calls: () => string[] } {
  const sent: WireRequest[] = [];
  const send: Transport = async (request) => {
    sent.push(request);
    return request.about.call === 'token' ? token() : script(request);
  };
  const base: ChannelInput = {
    mode: 'sandbox',
    fields: FIELDS,
    pems: {},
    simulatorUrl: null,
    send,
    now: () => NOW,
  };
  return {
    channel: createPaypalChannel({ ...base, ...input }),
    sent,
    calls: () => sent.map(({ about }) => about.call).filter((call) => call !== 'token'),
  };
}

/** A PayPal order; `unit` and `order` overwrite members. */
export function orderBody(order: Record<string, unknown> = {}, unit: Record<string, unknown> = {}): object {
  return {
    id: PAYPAL_ORDER,
    intent: 'CAPTURE',
    status: 'APPROVED',
    payer: { payer_id: 'QYR5Z8XDVJNXQ' },
    links: [
      { rel: 'self', href: `https://api-m.sandbox.paypal.com/v2/checkout/orders/${PAYPAL_ORDER}`, method: 'GET' },
      { rel: 'payer-action', href: `https://www.sandbox.paypal.com/checkoutnow?token=${PAYPAL_ORDER}`, method: 'GET' },
    ],
    purchase_units: [
      {
        reference_id: 'default',
        amount: { currency_code: 'USD', value: '12.30' },
        payee: { merchant_id: MERCHANT },
        custom_id: ORDER_NO,
        invoice_id: ORDER_NO,
        ...unit,
      },
    ],
    ...order,
  };
}

export function captureBody(more: Record<string, unknown> = {}): object {
  return {
    id: CAPTURE_ID,
    status: 'COMPLETED',
    amount: { currency_code: 'USD', value: '12.30' },
    custom_id: ORDER_NO,
    invoice_id: ORDER_NO,
    create_time: '2026-03-01T08:05:00Z',
    ...more,
  };
}

export function refundBody(more: Record<string, unknown> = {}): object {
  return {
    id: '1JU08902781691411',
    status: 'COMPLETED',
    amount: { currency_code: 'USD', value: '2.30' },
    invoice_id: REFUND_NO,
    create_time: '2026-03-01T09:00:01Z',
    ...more,
  };
}

export const paidOrder = (capture: Record<string, unknown> = {}, refunds: object[] = []): object =>
  orderBody({ status: 'COMPLETED' }, { payments: { captures: [captureBody(capture)], refunds } });

export const placeOrder: PlaceOrder = {
  orderNo: ORDER_NO,
  subject: 'Blue kettle',
  amount: { minor: 1230n, currency: 'USD' },
  scene: 'redirect',
  expiresAt: new Date('2026-03-01T10:00:00Z'),
  sentAt: NOW,
  notifyUrl: 'https://pay.example/notify/paypal/default',
  returnUrl: `https://pay.example/return/paypal/${ORDER_NO}`,
  cancelUrl: `https://pay.example/return/paypal/${ORDER_NO}?cancelled=1`,
  clientIp: null,
  openId: null,
  payCode: null,
  options: {},
};

export const orderRef: CaptureRef = {
  orderNo: ORDER_NO,
  amount: { minor: 1230n, currency: 'USD' },
  scene: 'redirect',
  sentAt: NOW,
  expiresAt: placeOrder.expiresAt,
  channelOrderId: PAYPAL_ORDER,
  channelTradeNo: null,
  captureNo: `${ORDER_NO}-c1`,
};

export const refundOrder: RefundOrder = {
  ...orderRef,
  channelTradeNo: CAPTURE_ID,
  refundNo: REFUND_NO,
  refundAmount: { minor: 230n, currency: 'USD' },
  reason: 'The kettle leaks',
  notifyUrl: placeOrder.notifyUrl,
  refundSentAt: NOW,
};

export const refundRef: RefundRef = { ...refundOrder, channelRefundNo: null };

/** Returns the adapter's outcome for an order with an unlisted status. */
export function unknownWord(order: OrderRef): Promise<Outcome> {
  const unit = {
    custom_id: order.orderNo,
    invoice_id: order.orderNo,
    amount: { currency_code: 'USD', value: '12.34' },
  };
  const wonderful = orderBody({ id: 'WONDERFUL', status: 'WONDERFUL' }, unit);
  return scripted(() => json(200, wonderful)).channel.query({ ...order, channelOrderId: 'WONDERFUL' });
}
