import type { Guide } from './guide.ts';

const CHANNELS = { alipay: 'Alipay', wechat: 'WeChat Pay', paypal: 'PayPal' } as const;
type PayWay = keyof typeof CHANNELS;

/** The application of the tour. */
export interface App {
  client_id: string;
  client_secret: string;
}

/** The channels in the order of the tour. */
export const PAY_WAYS = Object.keys(CHANNELS) as PayWay[];

/** Creates the first administrator offline, starts the service, and creates the first application over HTTP. */
export async function begin({ payctl, stage, report, send, call, enter, until, expect }: Guide): Promise<App> {
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
  const { body: channels } = await until('the channels are configured', async () => {
    const answer = await send('GET', '/api/v1/payment/channels', { status: 200, quiet: true });
    return answer.body.data.every(({ configured }: { configured: boolean }) => configured) && answer;
  });
  expect(`three channels are configured: ${channels.data.map(({ name }: { name: string }) => name).join(', ')}`, true);
  await payctl(['login', '--server', stage.url, '-u', 'admin', '--password-file', 'admin.password'], true);
  const scopes = 'payment:write,payment:read,skillpay:call';
  const app = JSON.parse(await payctl(['app', 'create', '--name', 'shop', '--scope', scopes, '-o', 'json'], true));
  report.answered('done', { client_id: app.client_id, client_secret: 'shown once', scopes: app.scopes });
  enter(app.client_id, app.client_secret);
  const { data: me } = await call(['client_id', 'scopes', 'mode'], (client) => client.getOwnApp());
  expect('the token has the scopes of the application', me.scopes.length === 3);
  return { client_id: app.client_id, client_secret: app.client_secret };
}

/** Shows one channel: payment, notification, query, partial refund, and the close of another order. */
export async function tourChannel(guide: Guide, payWay: PayWay, number: number): Promise<void> {
  const { report, call, payctl, until, expect } = guide;
  report.chapter(`${number} · ${CHANNELS[payWay]}`);
  const orderNo = await place(guide, payWay, 12.5);
  await payAtSimulator(guide, orderNo);
  const query = (...show: string[]) => call(show, (client) => client.queryPayment({ orderNo }));
  const order = await query('status', 'amount', 'currency', 'channelTradeNo', 'paidAt');
  expect('the order is paid, and all of it can be refunded', order.data.refundableAmount === 12.5);

  const body = { orderNo, refundAmount: 2.5, reason: 'one cup was cold' };
  const refund = await call(['refundNo', 'refundAmount', 'status'], (client) => client.refundPayment({ body }));
  const { refundNo } = refund.data;
  await until('the refund succeeds', async () => {
    const { data } = await call(undefined, (client) => client.getRefund({ refundNo }));
    return data.status === 'succeeded';
  });
  const after = await query('status', 'refundedAmount', 'refundableAmount');
  expect('2.50 of 12.50 were refunded', after.data.refundedAmount === 2.5 && after.data.refundableAmount === 10);

  const other = await place(guide, payWay, 3, false);
  if (payWay === 'alipay') {
    report.say('Alipay creates the order when its code is scanned; before that it has no order to close.');
    await payctl(['simulator', 'scan', other, '--fields', 'orderNo,state', '-o', 'json']);
  }
  const closed = await call(['status', 'closeReason'], (client) => client.closePayment({ orderNo: other }));
  expect('another order is closed, at the channel too', closed.data.status === 'closed');
}

async function place({ call, report, stage }: Guide, payWay: PayWay, amount: number, draw = true): Promise<string> {
  const body = { subject: 'Two coffees', amount, payWay };
  const placed = await call(['orderNo', 'status', 'amount', 'currency', 'payUrl'], (client) =>
    client.placePayment({ body }),
  );
  const { orderNo, payment } = placed.data;
  if (draw && payment?.qrCode) await report.qr(payment.qrCode);
  else if (draw) report.say(`the payer goes to ${payment?.url}`);
  if (draw) report.say(`or to the payment page: ${stage.url}/pay/${orderNo}`);
  return orderNo;
}

/** Polls the stored state and not the query, which would query the channel: only the notification may change the state. */
async function payAtSimulator({ payctl, send, simulator, until, expect }: Guide, orderNo: string): Promise<void> {
  await payctl(['simulator', 'pay', orderNo, '--fields', 'orderNo,state', '-o', 'json']);
  await until('the notification arrives', async () => {
    const { body } = await send('GET', `/pay/${orderNo}/state`, { status: 200, quiet: true });
    return body.data.state === 'paid';
  });
  const notification = await until('the notification is acknowledged', async () => {
    const { deliveries } = await simulator(`/sim/deliveries?orderNo=${orderNo}`);
    return deliveries.find(({ acknowledged }: { acknowledged: boolean }) => acknowledged);
  });
  expect(
    `the channel's signed notification ${notification.event} arrived and was acknowledged`,
    notification.acknowledged,
  );
}

/** Shows pay-per-call: 402, payment, 200, a repeat, and a refund. */
export async function payPerCall(guide: Guide, number: number): Promise<void> {
  const { report, call, refusal, until, expect } = guide;
  report.chapter(`${number} · Pay per call: 402, pay, 200`);
  const offer = await refusal(['outTradeNo', 'amount', 'currency', 'status'], (client) =>
    client.callResource({ body: {} }),
  );
  expect('the call requires payment', offer.status === 402 && offer.code === 'payment_required');
  const outTradeNo = offer.headers.get('x-out-trade-no') ?? '';
  report.say(`Weixin-Pay-Required: ${offer.headers.get('weixin-pay-required')?.slice(0, 60)}…`);
  await payAtSimulator(guide, outTradeNo);
  const again = () =>
    call(['content', 'alreadyFulfilled'], (client) =>
      client.callResource({ body: {}, headers: { 'x-out-trade-no': outTradeNo } }),
    );
  const first = await again();
  const second = await again();
  expect('the content was delivered, and the repeat did not run the work again', second.data.alreadyFulfilled === true);
  expect(
    'both calls returned the same content',
    JSON.stringify(first.data.content) === JSON.stringify(second.data.content),
  );
  await call(['refundNo', 'status'], (client) => client.refundCall({ body: { outTradeNo } }));
  await until('the full refund', async () => {
    const { data } = await call(undefined, (client) => client.queryCall({ outTradeNo }));
    return data.status === 'refunded';
  });
  report.checked('refunded');
}

/** Shows that a revoked token is rejected immediately. */
export async function revoke({ report, call, send, expect }: Guide, app: App, number: number): Promise<void> {
  report.chapter(`${number} · A revoked token is rejected`);
  const body = { ...app, grant_type: 'client_credentials' };
  const { access_token: token } = await call([], (client) => client.getToken({ body }));
  const headers = { authorization: `Bearer ${token}` };
  await send('GET', '/api/v2/me', { headers, show: ['client_id', 'mode'], status: 200 });
  await call([], (client) => client.revokeToken({ body: { token } }));
  const refused = await send('GET', '/api/v2/me', { headers, show: ['code', 'detail'], status: 401 });
  expect('the next request is refused', refused.body.status === 401);
}
