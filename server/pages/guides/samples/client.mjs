import { setTimeout } from 'node:timers/promises';

// [call]
const SERVER = process.env.PAY_SERVER ?? 'http://127.0.0.1:8080';

/** Thrown if the service refuses a request. Branch on `code`, never on the text. */
class Refusal extends Error {
  constructor(problem, retryAfter) {
    super(`${problem.code}: ${problem.detail} (request ${problem.requestId})`);
    Object.assign(this, { code: problem.code, retryable: problem.retryable, retryAfter });
  }
}

async function send(method, path, token, { body, key } = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body) headers['Content-Type'] = 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  const signal = AbortSignal.timeout(30_000);
  const response = await fetch(SERVER + path, {
    method,
    headers,
    body: body && JSON.stringify(body),
    signal,
  });
  const answer = await response.json();
  if (!response.ok)
    throw new Refusal(answer, Number(response.headers.get('Retry-After') ?? 1));
  return answer.data;
}

/**
 * Repeats a request whose outcome is not known, at most five times. With an idempotency
 * key the service executes it only once.
 */
async function call(...request) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(...request);
    } catch (error) {
      const isFinal = error instanceof Refusal && !error.retryable;
      if (isFinal || attempt === 5) throw error;
      await setTimeout((error.retryAfter ?? attempt) * 1000);
    }
  }
}
// [/call]

// [token]
/** Requests a token. Use it for a little less than `expires_in` seconds. */
async function getToken(clientId, clientSecret) {
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  };
  const response = await fetch(`${SERVER}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.error}: ${answer.error_description}`);
  return answer.access_token;
}
// [/token]

const shopOrder = process.env.SHOP_ORDER ?? '1001';
const token = await getToken(process.env.CLIENT_ID, process.env.CLIENT_SECRET);

// [pay]
const order = await call('POST', '/api/v2/payment/pay', token, {
  key: `pay-${shopOrder}`,
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
  ({ status } = await call('GET', `/api/v2/payment/query/${order.orderNo}`, token));
}
if (status !== 'paid') throw new Error(`The order is ${status}.`);
// [/query]

// [refund]
const refund = await call('POST', '/api/v2/payment/refund', token, {
  key: `refund-${shopOrder}-1`,
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
