import type { Guide } from './guide.ts';

const CHANNELS = { alipay: 'Alipay', wechat: 'WeChat Pay', paypal: 'PayPal' } as const;
type PayWay = keyof typeof CHANNELS;

/** The channels in the order of the tour. */
export const PAY_WAYS = Object.keys(CHANNELS) as PayWay[];

/** The first administrator, made offline; then the service starts, and the first application is made over HTTP. */
export async function begin({ payctl, stage, report, send, carry, until, expect }: Guide): Promise<void> {
  report.chapter('1 · An empty folder becomes a payment service');
  await payctl([
    'bootstrap',
    'admin',
    '-u',
    'admin',
    '--generate',
    '--secret-file',
    'admin.password',
    '--migrate',
    '-o',
    'json',
  ]);
  report.asked('payctl server start');
  await stage.start();
  report.checked(`the service is ready at ${stage.url}`);
  const { body: channels } = await until('the channels are there', async () => {
    const answer = await send('GET', '/api/v1/payment/channels', { status: 200, quiet: true });
    return answer.body.data.every(({ configured }: { configured: boolean }) => configured) && answer;
  });
  expect(`three channels are configured: ${channels.data.map(({ name }: { name: string }) => name).join(', ')}`, true);
  await payctl(['login', '--server', stage.url, '-u', 'admin', '--password-file', 'admin.password'], true);
  const scopes = 'payment:write,payment:read,skillpay:call';
  const app = JSON.parse(await payctl(['app', 'create', '--name', 'shop', '--scope', scopes, '-o', 'json'], true));
  report.answered('done', { client_id: app.client_id, client_secret: 'shown once', scopes: app.scopes });
  const { body } = await send('POST', '/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: app.client_id, client_secret: app.client_secret },
    show: ['token_type', 'expires_in', 'scope'],
    status: 200,
  });
  carry(body.access_token);
  expect('the token has the scopes of the application', body.scope.split(' ').length === 3);
}

/** Pay, be told, query, refund a part, close another: once for a channel. */
export async function tourChannel(guide: Guide, payWay: PayWay, number: number): Promise<void> {
  const { report, send, payctl, until, expect } = guide;
  report.chapter(`${number} · ${CHANNELS[payWay]}`);
  const orderNo = await place(guide, payWay, 12.5);
  await payAtSimulator(guide, orderNo);
  const { body: order } = await send('GET', `/api/v2/payment/query/${orderNo}`, {
    show: ['status', 'amount', 'currency', 'channelTradeNo', 'paidAt'],
    status: 200,
  });
  expect('the order is paid, and all of it can be refunded', order.data.refundableAmount === 12.5);

  const { body: refund } = await send('POST', '/api/v2/payment/refund', {
    body: { orderNo, refundAmount: 2.5, reason: 'one cup was cold' },
    show: ['refundNo', 'refundAmount', 'status'],
    status: 200,
  });
  const path = `/api/v2/payment/refunds/${refund.data.refundNo}`;
  await until('the refund succeeds', async () => {
    const { body } = await send('GET', path, { status: 200, quiet: true });
    return body.data.status === 'succeeded';
  });
  const { body: after } = await send('GET', `/api/v2/payment/query/${orderNo}`, {
    show: ['status', 'refundedAmount', 'refundableAmount'],
    status: 200,
  });
  expect('2.50 of 12.50 went back', after.data.refundedAmount === 2.5 && after.data.refundableAmount === 10);

  const other = await place(guide, payWay, 3, false);
  if (payWay === 'alipay') {
    report.say('Alipay makes the order when its code is scanned; before that there is nothing that it could close.');
    await payctl(['simulator', 'scan', other, '--fields', 'orderNo,state', '-o', 'json']);
  }
  const { body: closed } = await send('POST', `/api/v2/payment/close/${other}`, {
    show: ['status', 'closeReason'],
    status: 200,
  });
  expect('another order is closed, at the channel too', closed.data.status === 'closed');
}

async function place({ send, report, stage }: Guide, payWay: PayWay, amount: number, draw = true): Promise<string> {
  const { body } = await send('POST', '/api/v2/payment/pay', {
    body: { subject: 'Two coffees', amount, payWay },
    show: ['orderNo', 'status', 'amount', 'currency', 'payUrl'],
    status: 201,
  });
  const { orderNo, payment } = body.data;
  if (draw && payment.qrCode) await report.qr(payment.qrCode);
  else if (draw) report.say(`the payer goes to ${payment.url}`);
  if (draw) report.say(`or to the payment page: ${stage.url}/pay/${orderNo}`);
  return orderNo;
}

/** The stored state is watched, not the query, which would ask the channel: what changes it is the notice. */
async function payAtSimulator({ payctl, send, simulator, until, expect }: Guide, orderNo: string): Promise<void> {
  await payctl(['simulator', 'pay', orderNo, '--fields', 'orderNo,state', '-o', 'json']);
  await until('the notice arrives', async () => {
    const { body } = await send('GET', `/pay/${orderNo}/state`, { status: 200, quiet: true });
    return body.data.state === 'paid';
  });
  const notice = await until('the notice is acknowledged', async () => {
    const { deliveries } = await simulator(`/sim/deliveries?orderNo=${orderNo}`);
    return deliveries.find(({ acknowledged }: { acknowledged: boolean }) => acknowledged);
  });
  expect(`the channel's signed notice ${notice.event} came, and was acknowledged`, notice.acknowledged);
}

/** 402, pay, 200, the same again, refund. */
export async function payPerCall(guide: Guide, number: number): Promise<void> {
  const { report, send, until, expect } = guide;
  report.chapter(`${number} · Pay per call: 402, pay, 200`);
  const path = '/api/v2/skillpay/resource';
  const offer = await send('POST', path, {
    body: {},
    show: ['outTradeNo', 'amount', 'currency', 'status'],
    status: 402,
  });
  const outTradeNo = offer.headers.get('x-out-trade-no') ?? '';
  report.say(`Weixin-Pay-Required: ${offer.headers.get('weixin-pay-required')?.slice(0, 60)}…`);
  await payAtSimulator(guide, outTradeNo);
  const call = () =>
    send('POST', path, {
      body: {},
      headers: { 'x-out-trade-no': outTradeNo },
      show: ['content', 'alreadyFulfilled'],
      status: 200,
    });
  const first = await call();
  const second = await call();
  expect('the content came, and the repeat did not fulfil twice', second.body.data.alreadyFulfilled === true);
  expect('both times the same', JSON.stringify(first.body.data.content) === JSON.stringify(second.body.data.content));
  await send('POST', '/api/v2/skillpay/refund', { body: { outTradeNo }, show: ['refundNo', 'status'], status: 200 });
  await until('all of it goes back', async () => {
    const { body } = await send('GET', `/api/v2/skillpay/query/${outTradeNo}`, { status: 200, quiet: true });
    return body.data.status === 'refunded';
  });
  report.checked('refunded');
}

/** A revoked token is dead at once. */
export async function revoke({ report, send, expect }: Guide, token: string, number: number): Promise<void> {
  report.chapter(`${number} · A revoked token is dead`);
  await send('GET', '/api/v2/me', { show: ['client_id', 'mode'], status: 200 });
  await send('POST', '/oauth/revoke', { body: { token }, status: 200 });
  const { body } = await send('GET', '/api/v2/me', { show: ['code', 'detail'], status: 401 });
  expect('the next request is refused', body.status === 401);
}
