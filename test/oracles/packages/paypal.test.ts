import {
  ApiError,
  CaptureStatus,
  CheckoutPaymentIntent,
  Client,
  Environment,
  OrdersController,
  OrderStatus,
  PaymentsController,
  PaypalExperienceUserAction,
  RefundStatus,
} from '@paypal/paypal-server-sdk';
import test from 'ava';
import { openShop, type Shop } from '../../unit/simulator/paypal/shop.ts';

const PAYPAL = 'https://api-m.sandbox.paypal.com';

let shop: Shop;
test.before(async () => {
  shop = await openShop();
});
test.after.always(() => shop?.close());

interface SdkRequest {
  url: string;
  method: string;
  headers: Record<string, unknown>;
  data?: string;
}

/** PayPal's own client has a fixed address, so its requests are redirected to the simulator. */
async function toSimulator(config: SdkRequest) {
  const url = config.url.replace(PAYPAL, `${shop.world.url}/paypal`);
  const headers = Object.entries(config.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const response = await fetch(url, { method: config.method.toUpperCase(), headers, body: config.data ?? null });
  const { status, statusText } = response;
  return { data: await response.text(), status, statusText, headers: Object.fromEntries(response.headers), config };
}

function controllers(secret = shop.fields['clientSecret']!) {
  const client = new Client({
    environment: Environment.Sandbox,
    clientCredentialsAuthCredentials: { oAuthClientId: shop.fields['clientId']!, oAuthClientSecret: secret },
    unstable_httpClientOptions: { adapter: toSimulator },
  });
  return { orders: new OrdersController(client), payments: new PaymentsController(client) };
}

type Orders = ReturnType<typeof controllers>['orders'];

const create = (orders: Orders, orderNo: string, paypalRequestId = orderNo) =>
  orders.createOrder({
    paypalRequestId,
    prefer: 'return=representation',
    body: {
      intent: CheckoutPaymentIntent.Capture,
      purchaseUnits: [{ amount: { currencyCode: 'USD', value: '12.30' }, customId: orderNo, invoiceId: orderNo }],
      paymentSource: {
        paypal: {
          experienceContext: {
            returnUrl: 'https://shop.example/back',
            cancelUrl: 'https://shop.example/cancelled',
            userAction: PaypalExperienceUserAction.PayNow,
          },
        },
      },
    },
  });

async function issue(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return 'no error';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return (JSON.parse(String(error.body)) as { details?: { issue: string }[] }).details?.[0]?.issue;
  }
}

test("PayPal's own client creates, reads, captures and refunds an order", async (t) => {
  const { orders, payments } = controllers();
  const orderNo = 'SDK_ORDER';
  const { result: order } = await create(orders, orderNo);
  t.is(order.status, OrderStatus.PayerActionRequired);
  t.truthy(order.links?.find(({ rel }) => rel === 'payer-action')?.href);
  t.is((await create(orders, orderNo)).result.id, order.id, 'the same request id is the same order');

  const id = order.id!;
  t.is(await issue(orders.captureOrder({ id, paypalRequestId: `${orderNo}-c1` })), 'ORDER_NOT_APPROVED');
  await shop.world.post('/sim/approve', { orderNo });
  t.is((await orders.getOrder({ id })).result.status, OrderStatus.Approved);
  const prefer = 'return=representation';
  const { result: captured } = await orders.captureOrder({ id, paypalRequestId: `${orderNo}-c1`, prefer });
  const capture = captured.purchaseUnits?.[0]?.payments?.captures?.[0];
  t.like(capture, { status: 'COMPLETED', invoiceId: orderNo, amount: { currencyCode: 'USD', value: '12.30' } });
  t.is((await payments.getCapturedPayment({ captureId: capture!.id! })).result.status, CaptureStatus.Completed);
  t.is(await issue(orders.captureOrder({ id, paypalRequestId: `${orderNo}-c2` })), 'ORDER_ALREADY_CAPTURED');

  const refund = () =>
    payments.refundCapturedPayment({
      captureId: capture!.id!,
      paypalRequestId: 'SDK_REFUND',
      prefer,
      body: { amount: { currencyCode: 'USD', value: '2.30' }, invoiceId: 'SDK_REFUND' },
    });
  const { result: refunded } = await refund();
  t.like(refunded, { status: 'COMPLETED', amount: { currencyCode: 'USD', value: '2.30' } });
  t.is((await refund()).result.id, refunded.id, 'the same request id is the same refund');
  t.is((await payments.getRefund({ refundId: refunded.id! })).result.status, RefundStatus.Completed);
  t.is((await payments.getCapturedPayment({ captureId: capture!.id! })).result.status, CaptureStatus.PartiallyRefunded);
});

// PayPal's own sample requests the minimum and reads the capture (paypal-examples/docs-examples@8095379,
// standard-integration/server/node/server.js and client/html/src/app.js).
test("PayPal's own client reads the capture from the default minimal response", async (t) => {
  const { orders, payments } = controllers();
  for (const prefer of [{ prefer: 'return=minimal' }, {}]) {
    const orderNo = `SDK_MINIMAL_${Object.keys(prefer).length}`;
    const amount = { currencyCode: 'USD', value: '100.00' };
    const body = { intent: CheckoutPaymentIntent.Capture, purchaseUnits: [{ amount, customId: orderNo }] };
    const { result: order } = await orders.createOrder({ body, ...prefer });
    t.deepEqual(Object.keys(order).toSorted(), ['id', 'links', 'status']);
    await shop.world.post('/sim/approve', { orderNo });
    const { result: captured } = await orders.captureOrder({ id: order.id!, ...prefer });
    t.is(captured.status, OrderStatus.Completed);
    const [unit] = captured.purchaseUnits ?? [];
    t.is(unit?.amount, undefined, 'only what is new');
    const capture = unit?.payments?.captures?.[0];
    t.like(capture, { status: 'COMPLETED', amount });
    const { result: refund } = await payments.refundCapturedPayment({ captureId: capture!.id!, ...prefer });
    t.is(refund.amount, undefined);
    const { result: found } = await payments.getRefund({ refundId: refund.id! });
    t.like(found, { status: 'COMPLETED', amount }, 'a GET knows no Prefer');
  }
});

test("PayPal's own client parses the simulator's refusals", async (t) => {
  const { orders, payments } = controllers();
  t.is(await issue(orders.getOrder({ id: '5O190127TN364715T' })), 'INVALID_RESOURCE_ID');
  t.is(await issue(payments.getRefund({ refundId: '1JU08902781691411' })), 'INVALID_RESOURCE_ID');
  await create(orders, 'SDK_TWICE');
  t.is(
    await issue(create(orders, 'SDK_TWICE', 'SDK_OTHER')),
    'no error',
    'an invoice id is used up by its capture only',
  );
});

test("PayPal's own client with a wrong secret is refused", async (t) => {
  await t.throwsAsync(create(controllers('wrong-wrong-wrong').orders, 'SDK_STRANGER'));
});
