import { randomBytes } from 'node:crypto';
import {
  verdictOf,
  type PlaceOrder,
  type ProbeCheck,
  type ProbeResult,
  type ProbeRequest,
} from '../../payments/channel.ts';
import { credentialChecks, notReached, passed, traced, wanting, type Fault } from '../checks.ts';
import { type Call, type TokenSource, readOrder } from './reply.ts';
import { createOrderRequest, getWebhookRequest } from './requests.ts';
import type { PaypalSettings } from './settings.ts';
import { webhookChecks, WEBHOOK_SUBJECTS } from './notification.ts';

interface Prober {
  settings: PaypalSettings;
  tokens: TokenSource;
  call: Call;
  notifyUrl: string | undefined;
  now: () => Date;
}

const CLIENT = { name: 'Client ID and secret', fields: ['clientSecret'] };
const PRODUCT = 'Checkout orders (redirect)';

/**
 * Tests the configuration: requests a token and queries the webhook, which changes nothing at PayPal. If `products` is
 * given, the test also creates an order that is never shown to a payer.
 */
export async function probe(prober: Prober, { products }: ProbeRequest = {}): Promise<ProbeResult> {
  const client = await traced(async () => credentialChecks('PayPal', [CLIENT], await testClient(prober)));
  const isUsable = client.every(({ status }) => status === 'ok');
  const rest = isUsable
    ? await traced(() => testWebhook(prober))
    : WEBHOOK_SUBJECTS.map((name) => notReached('notifications', name));
  if (!products) return verdictOf([...client, ...rest]);
  const orders = isUsable ? await traced(() => testOrder(prober)) : [notReached('product', PRODUCT)];
  return verdictOf([...client, ...rest, ...orders]);
}

async function testClient({ tokens }: Prober): Promise<Fault> {
  const token = await tokens.renew();
  if (token.kind === 'token') return undefined;
  const field = token.cause === 'misconfigured' ? 'clientSecret' : null;
  return { field, code: field ? 'invalid_client' : token.cause, message: token.detail };
}

async function testWebhook({ settings, call, notifyUrl }: Prober): Promise<readonly ProbeCheck[]> {
  const reply = await call(getWebhookRequest(settings));
  if (reply.kind === 'ok') return webhookChecks(reply.body, settings, notifyUrl);
  const [webhook, ...others] = WEBHOOK_SUBJECTS;
  const note =
    reply.kind === 'unknown'
      ? { field: null, code: reply.cause, message: reply.detail }
      : {
          field: 'webhookId',
          code: reply.code,
          message: `PayPal did not return the webhook with this webhookId: ${reply.reason}`,
        };
  return [
    wanting('notifications', webhook, 'failed', note),
    ...others.map((name) => notReached('notifications', name)),
  ];
}

/** Creates a test order. No payer gets its link, so the order cannot be approved or captured. */
async function testOrder({ settings, call, notifyUrl, now }: Prober): Promise<readonly ProbeCheck[]> {
  const reply = await call(createOrderRequest(settings, unseenOrder(notifyUrl, now())));
  if (reply.kind === 'unknown')
    return [wanting('product', PRODUCT, 'failed', { code: reply.cause, message: reply.detail })];
  if (reply.kind === 'refused') {
    const message = `PayPal refused an order of ${CURRENCY} 1.00 for this account: ${reply.reason}`;
    return [wanting('product', PRODUCT, 'failed', { code: reply.code, message })];
  }
  const order = readOrder(reply.body);
  if (!order)
    return [
      wanting('product', PRODUCT, 'failed', { code: 'unparsable', message: "PayPal's response is not an order." }),
    ];
  const left = `PayPal has no call to cancel the order ${order.id} of the test: no payer got its link, and it expires.`;
  const payee = order.purchase_units[0].payee?.merchant_id;
  const isOurs = !settings.merchantId || !payee || payee === settings.merchantId;
  if (isOurs) return [passed('product', PRODUCT, left)];
  const message = `Orders of this client pay the merchant ${payee}.`;
  return [
    wanting('credential', 'Merchant ID', 'failed', { field: 'merchantId', code: 'payee', message }),
    passed('product', PRODUCT, left),
  ];
}

const CURRENCY = 'USD';

function unseenOrder(notifyUrl: string | undefined, now: Date): PlaceOrder {
  const url = notifyUrl ?? 'https://example.invalid/';
  return {
    orderNo: `probe${now.getTime().toString(36)}${randomBytes(6).toString('hex')}`,
    subject: 'Test of the configuration',
    amount: { minor: 100n, currency: CURRENCY },
    scene: 'redirect',
    expiresAt: now,
    sentAt: now,
    notifyUrl: url,
    returnUrl: url,
    cancelUrl: url,
    clientIp: null,
    openId: null,
    payCode: null,
    options: {},
  };
}
