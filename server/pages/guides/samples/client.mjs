import { setTimeout } from 'node:timers/promises';
// [call]
import { createClient, PaymentProblem } from 'unified-payment-client';

/**
 * Repeats a request that the service marks as retryable, at most five times. With an
 * idempotency key the service executes it only once.
 */
async function call(operation, request) {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await operation(request)).data;
    } catch (error) {
      const canRepeat = error instanceof PaymentProblem && error.retryable;
      if (!canRepeat || attempt === 5) throw error;
      await setTimeout(Number(error.headers.get('Retry-After') ?? attempt) * 1000);
    }
  }
}
// [/call]

// [token]
/** Gets a token before the first call, and another one when it has expired. */
const client = createClient({
  baseUrl: process.env.PAY_SERVER ?? 'http://127.0.0.1:8080',
  clientId: process.env.CLIENT_ID,
  clientSecret: process.env.CLIENT_SECRET,
  fetch: (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(30_000) }),
});
// [/token]

const shopOrder = process.env.SHOP_ORDER ?? '1001';

// [pay]
const order = await call(client.placePayment, {
  headers: { 'Idempotency-Key': `pay-${shopOrder}` },
  body: {
    subject: 'Two coffees',
    amount: '12.50',
    payWay: 'alipay',
    merchantOrderNo: shopOrder,
  },
});
console.log(`Please pay at ${order.payUrl}`);
// [/pay]

// [query]
let { status } = order;
while (status === 'created' || status === 'pending') {
  await setTimeout(2000);
  ({ status } = await call(client.queryPayment, { orderNo: order.orderNo }));
}
if (status !== 'paid') throw new Error(`The order is ${status}.`);
// [/query]

// [refund]
const refund = await call(client.refundPayment, {
  headers: { 'Idempotency-Key': `refund-${shopOrder}-1` },
  body: {
    orderNo: order.orderNo,
    refundAmount: '2.50',
    merchantRefundNo: `${shopOrder}-1`,
  },
});
console.log(
  `Refund ${refund.refundNo} is ${refund.status}, ${refund.refundableAmount} left`,
);
// [/refund]
