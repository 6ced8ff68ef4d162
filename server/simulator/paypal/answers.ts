/** Builds the JSON of orders, captures, refunds and errors as PayPal returns them. */
import { PAYPAL_BILL_RULES } from './bill-rules.ts';
import type { Core } from '../channel-simulator.ts';
import { type Payment, type Refund, type Trade, majorOf } from '../trade.ts';

interface Scenery {
  apiUrl: string;
  payerUrl: string;
  merchantId: string;
  /**
   * The value of `rel` in the link to the payer page. It is `approve` if the create request had no payment source,
   * otherwise `payer-action`.
   */
  linkName: 'payer-action' | 'approve';
}

type Json = Record<string, unknown>;

const PAYER = { payer_id: 'SIMPAYER00001', email_address: 'payer@simulator.invalid', address: { country_code: 'US' } };

/**
 * Returns PayPal's status of an order. An order with a capture, in any state, is COMPLETED. If a capture was refused
 * because of the payer's payment method, the order stays APPROVED, as shops report (woocommerce-paypal-payments, issue
 * 4633). After a refusal with PAYER_ACTION_REQUIRED, the payer must approve the order again, so its status is
 * PAYER_ACTION_REQUIRED or CREATED. PayPal does not document this; it is inferred from the name of the refusal.
 */
function orderStatus(trade: Trade, linkName: Scenery['linkName']): string {
  if (trade.payments.length > 0) return 'COMPLETED';
  const { refusedWith = 'PAYER_ACTION_REQUIRED' } = trade.details;
  if (trade.state === 'approved' || refusedWith !== 'PAYER_ACTION_REQUIRED') return 'APPROVED';
  return linkName === 'approve' ? 'CREATED' : 'PAYER_ACTION_REQUIRED';
}

/** Builds the JSON of an order as `GET /v2/checkout/orders/{id}` returns it. */
export function presentOrder(trade: Trade, scenery: Scenery): Json {
  const approved = trade.state === 'approved' || trade.payments.length > 0 || 'refusedWith' in trade.details;
  return {
    id: trade.id,
    intent: 'CAPTURE',
    status: orderStatus(trade, scenery.linkName),
    payment_source: { paypal: approved ? { email_address: PAYER.email_address, account_id: PAYER.payer_id } : {} },
    purchase_units: [presentUnit(trade, scenery)],
    ...(approved ? { payer: PAYER } : {}),
    create_time: time(trade.createdAt),
    update_time: time(lastChange(trade)),
    links: orderLinks(trade, scenery),
  };
}

/** Builds the JSON of a capture as `GET /v2/payments/captures/{id}` returns it. */
export function presentCapture(trade: Trade, payment: Payment, { apiUrl, merchantId }: Scenery): Json {
  const self = `${apiUrl}/v2/payments/captures/${payment.number}`;
  return {
    id: payment.number,
    status: captureStatus(trade, payment),
    ...(payment.state === 'pending'
      ? { status_details: { reason: trade.details['pendingReason'] ?? 'PENDING_REVIEW' } }
      : {}),
    amount: amount(trade, payment.minor),
    final_capture: true,
    ...(payment.state === 'completed' ? { seller_receivable_breakdown: breakdown(trade, payment.minor) } : {}),
    seller_protection: { status: 'ELIGIBLE', dispute_categories: ['ITEM_NOT_RECEIVED', 'UNAUTHORIZED_TRANSACTION'] },
    ...numbersOf(trade),
    payee: { merchant_id: merchantId },
    supplementary_data: { related_ids: { order_id: trade.id } },
    create_time: time(payment.at),
    update_time: time(payment.completedAt ?? payment.at),
    links: [
      { href: self, rel: 'self', method: 'GET' },
      { href: `${self}/refund`, rel: 'refund', method: 'POST' },
      { href: `${apiUrl}/v2/checkout/orders/${trade.id}`, rel: 'up', method: 'GET' },
    ],
  };
}

/** Builds the JSON of a refund as `GET /v2/payments/refunds/{id}` returns it. */
export function presentRefund(trade: Trade, refund: Refund, { apiUrl }: Scenery): Json {
  const up = `${apiUrl}/v2/payments/captures/${captureIdOf(trade)}`;
  return {
    id: refund.number,
    status: REFUND_STATUS[refund.state],
    amount: amount(trade, refund.minor),
    ...(refund.origin === 'merchant' ? { invoice_id: refund.refundNo } : {}),
    ...('custom_id' in numbersOf(trade) ? { custom_id: numbersOf(trade)['custom_id'] } : {}),
    ...(refund.reason === '' ? {} : { note_to_payer: refund.reason }),
    seller_payable_breakdown: {
      gross_amount: amount(trade, refund.minor),
      total_refunded_amount: amount(trade, refundedSum(trade)),
    },
    create_time: time(refund.at),
    update_time: time(refund.doneAt ?? refund.at),
    links: [
      { href: `${apiUrl}/v2/payments/refunds/${refund.number}`, rel: 'self', method: 'GET' },
      { href: up, rel: 'up', method: 'GET' },
    ],
  };
}

const REFUND_STATUS: Readonly<Record<Refund['state'], string>> = {
  processing: 'PENDING',
  succeeded: 'COMPLETED',
  failed: 'FAILED',
  abnormal: 'FAILED',
};

function presentUnit(trade: Trade, scenery: Scenery): Json {
  const captures = trade.payments.map((payment) => presentCapture(trade, payment, scenery));
  const shown = trade.refunds.filter(({ origin }) => origin !== 'dispute');
  const refunds = shown.map((refund) => presentRefund(trade, refund, scenery));
  const payments = { captures, ...(refunds.length > 0 ? { refunds } : {}) };
  return {
    reference_id: 'default',
    amount: amount(trade, trade.minor),
    payee: { merchant_id: scenery.merchantId },
    ...(trade.subject === '' ? {} : { description: trade.subject }),
    ...numbersOf(trade),
    ...(captures.length > 0 ? { payments } : {}),
  };
}

function orderLinks(trade: Trade, { apiUrl, payerUrl, linkName }: Scenery): Json[] {
  const self = `${apiUrl}/v2/checkout/orders/${trade.id}`;
  const links = [{ href: self, rel: 'self', method: 'GET' }];
  if (trade.payments.length > 0) return links;
  if (orderStatus(trade, linkName) !== 'APPROVED') return [...links, { href: payerUrl, rel: linkName, method: 'GET' }];
  return [...links, { href: `${self}/capture`, rel: 'capture', method: 'POST' }];
}

/** A completed capture's fee and net amount (Payments v2, seller receivable breakdown). The fee rate is invented. */
function breakdown(trade: Trade, minor: number): Json {
  const fee = PAYPAL_BILL_RULES.feeOf(minor);
  return {
    gross_amount: amount(trade, minor),
    paypal_fee: amount(trade, fee),
    net_amount: amount(trade, minor - fee),
  };
}

function captureStatus(trade: Trade, { state, minor }: Payment): string {
  if (state !== 'completed') return state === 'pending' ? 'PENDING' : 'DECLINED';
  const back = refundedSum(trade);
  if (back === 0) return 'COMPLETED';
  return back >= minor ? 'REFUNDED' : 'PARTIALLY_REFUNDED';
}

function refundedSum({ refunds }: Trade): number {
  const shown = refunds.filter(({ state, origin }) => state === 'succeeded' && origin !== 'dispute');
  return shown.reduce((sum, { minor }) => sum + minor, 0);
}

function captureIdOf({ payments }: Trade): string {
  return payments.find(({ state }) => state === 'completed')?.number ?? '';
}

function numbersOf({ details }: Trade): Json {
  const { customId, invoiceId } = details;
  return { ...(customId ? { custom_id: customId } : {}), ...(invoiceId ? { invoice_id: invoiceId } : {}) };
}

function lastChange(trade: Trade): number {
  return Math.max(trade.createdAt, ...trade.payments.map(({ at }) => at), ...trade.refunds.map(({ at }) => at));
}

function amount(trade: Trade, minor: number): Json {
  return { currency_code: trade.currency, value: majorOf(trade, minor) };
}

function time(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** An error response of the PayPal REST API. */
export class PaypalRefusal extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;
  constructor(status: number, body: Record<string, unknown>) {
    super(JSON.stringify(body));
    this.name = 'PaypalRefusal';
    this.status = status;
    this.body = body;
  }
}

const NAMES: Readonly<Record<number, readonly [name: string, message: string]>> = {
  400: ['INVALID_REQUEST', 'Request is not well-formed, syntactically incorrect, or violates schema.'],
  401: [
    'AUTHENTICATION_FAILURE',
    'Authentication failed due to invalid authentication credentials or a missing Authorization header.',
  ],
  403: ['NOT_AUTHORIZED', 'Authorization failed due to insufficient permissions.'],
  404: ['RESOURCE_NOT_FOUND', 'The specified resource does not exist.'],
  405: ['METHOD_NOT_SUPPORTED', 'The server does not implement the requested HTTP method.'],
  409: ['RESOURCE_CONFLICT', 'The server has detected a conflict while processing this request.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The server does not support the request payload media type.'],
  422: [
    'UNPROCESSABLE_ENTITY',
    'The requested action could not be performed, semantically incorrect, or failed business validation.',
  ],
};

/** Builds an error response with one PayPal error code (`issue`). The HTTP status determines its name and message. */
export function refuse(
  status: number,
  issue: string,
  description: string,
  field?: string,
  links: readonly object[] = [],
): PaypalRefusal {
  const [name, message] = NAMES[status] ?? ['INTERNAL_SERVER_ERROR', 'An internal server error has occurred.'];
  const detail = { ...(field === undefined ? {} : { field }), issue, description };
  return new PaypalRefusal(status, { name, message, debug_id: debugId(), details: [detail], links });
}

/**
 * PayPal's error codes (`issue`) that come with HTTP status 403 and the name NOT_AUTHORIZED. Source: the responses of
 * the calls of Orders v2.
 */
const NOT_AUTHORIZED: ReadonlySet<string> = new Set([
  'PERMISSION_DENIED',
  'PAYEE_ACCOUNT_NOT_SUPPORTED',
  'PAYEE_ACCOUNT_NOT_VERIFIED',
  'PAYEE_NOT_CONSENTED',
]);

/**
 * Builds the error response of a call that the simulator refuses because of a fault (a deliberate error). `issue` is
 * the PayPal error code that was set with the fault.
 */
export function refuseWith(issue = 'TRANSACTION_REFUSED', links: readonly object[] = []): PaypalRefusal {
  if (issue === 'INVALID_RESOURCE_ID') return notFound();
  return refuse(
    NOT_AUTHORIZED.has(issue) ? 403 : 422,
    issue,
    `The simulator refuses the call with ${issue} because of a fault that was set.`,
    undefined,
    links,
  );
}

/** Builds the error response for a resource that does not exist or belongs to another account. */
export function notFound(): PaypalRefusal {
  return refuse(
    404,
    'INVALID_RESOURCE_ID',
    'Specified resource ID does not exist. Please check the resource ID and try again.',
  );
}

/** Builds an error response of the token call (RFC 6749). */
export function refuseToken(status: number, error: string, description: string): PaypalRefusal {
  return new PaypalRefusal(status, { error, error_description: description });
}

function debugId(): string {
  return Math.floor(Math.random() * 2 ** 48)
    .toString(16)
    .padStart(13, 'f');
}

/** The base URL of the simulated REST API. */
export function apiUrlOf({ url }: Pick<Core, 'url'>): string {
  return `${url}/paypal`;
}

/**
 * Returns the values that a PayPal response contains but a trade does not, such as the id of the merchant who receives
 * the money.
 */
export function sceneryOf(core: Core, trade: Trade): Scenery {
  return {
    apiUrl: apiUrlOf(core),
    payerUrl: core.payUrl(trade),
    merchantId: String(
      trade.details['merchantId'] ?? core.accounts.get('paypal', trade.account)?.secrets['merchantId'] ?? '',
    ),
    linkName: trade.details['linkName'] === 'approve' ? 'approve' : 'payer-action',
  };
}
