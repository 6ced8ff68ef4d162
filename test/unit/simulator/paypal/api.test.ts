import test from 'ava';
import { issueOf, openShop, orderRequest, type Shop } from './shop.ts';

let shop: Shop;
test.before(async () => {
  shop = await openShop();
});
test.after.always(() => shop?.close());

let count = 0;
const nextNo = () => `ORDER${String(++count).padStart(6, '0')}`;
const create = (orderNo: string, value?: string, currency?: string) =>
  shop.call('POST', '/v2/checkout/orders', orderRequest(orderNo, value, currency), { 'paypal-request-id': orderNo });

async function approved(orderNo: string, value?: string): Promise<string> {
  const { body } = await create(orderNo, value);
  await shop.world.post('/sim/approve', { orderNo });
  return String(body['id']);
}

/** Returns the capture id of a paid order. */
async function captured(orderNo: string, value?: string): Promise<string> {
  const id = await approved(orderNo, value);
  const { body } = await shop.call(
    'POST',
    `/v2/checkout/orders/${id}/capture`,
    {},
    { 'paypal-request-id': `${orderNo}-c1` },
  );
  const [unit] = body['purchase_units'] as { payments: { captures: { id: string }[] } }[];
  return unit?.payments.captures[0]?.id ?? '';
}

test('a token needs the right credentials, and only a complete token is accepted', async (t) => {
  const ask = (authorization: string, grant_type = 'client_credentials') =>
    fetch(`${shop.world.url}/paypal/v1/oauth2/token`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams({ grant_type }),
    });
  const basic = (id?: string, secret?: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
  const { clientId, clientSecret } = shop.fields;
  const good = await ask(basic(clientId, clientSecret));
  t.is(good.status, 200);
  t.like(await good.json(), { token_type: 'Bearer', expires_in: 32_400 });
  for (const header of [basic(clientId, 'wrong'), basic('wrong', clientSecret), 'Bearer x', '']) {
    const answer = await ask(header);
    t.is(answer.status, 401, header);
    t.like(await answer.json(), { error: 'invalid_client' });
  }
  t.is((await ask(basic(clientId, clientSecret), 'password')).status, 400);
  for (const authorization of [undefined, 'Bearer nonsense', `Bearer ${shop.token}x`, shop.token]) {
    const answer = await shop.call('GET', '/v2/checkout/orders/X', undefined, { authorization });
    t.is(answer.status, 401, authorization);
  }
});

test('an invalid create is refused with its issue and creates nothing', async (t) => {
  const orderNo = nextNo();
  const unit = (more: object) => ({
    ...orderRequest(orderNo),
    purchase_units: [{ amount: { currency_code: 'USD', value: '1.00' }, ...more }],
  });
  const cases: [number, string, unknown][] = [
    [422, 'INVALID_CURRENCY_CODE', orderRequest(orderNo, '1.00', 'XXX')],
    [422, 'DECIMAL_PRECISION', orderRequest(orderNo, '1.001')],
    [422, 'DECIMAL_PRECISION', orderRequest(orderNo, '100.5', 'JPY')],
    [422, 'DECIMAL_PRECISION', orderRequest(orderNo, '100.00', 'HUF')],
    [422, 'DECIMAL_PRECISION', orderRequest(orderNo, '100.00', 'TWD')],
    [422, 'CANNOT_BE_ZERO_OR_NEGATIVE', orderRequest(orderNo, '0.00')],
    [400, 'INVALID_PARAMETER_SYNTAX', orderRequest(orderNo, '1e3')],
    [400, 'INVALID_PARAMETER_SYNTAX', orderRequest(orderNo, '-1.00')],
    [400, 'MISSING_REQUIRED_PARAMETER', unit({ amount: undefined })],
    [400, 'INVALID_STRING_LENGTH', unit({ description: 'x'.repeat(128) })],
    [400, 'INVALID_STRING_LENGTH', unit({ description: 'é'.repeat(64) })],
    [400, 'INVALID_STRING_LENGTH', unit({ description: '茶'.repeat(43) })],
    [400, 'INVALID_STRING_LENGTH', unit({ description: '' })],
    [400, 'INVALID_STRING_LENGTH', unit({ custom_id: 'x'.repeat(128) })],
    [400, 'INVALID_PARAMETER_VALUE', { ...orderRequest(orderNo), intent: 'STEAL' }],
    [400, 'MISSING_REQUIRED_PARAMETER', {}],
    [400, 'MALFORMED_REQUEST_JSON', '{"intent":'],
  ];
  for (const [status, issue, body] of cases) {
    const answer = await shop.call('POST', '/v2/checkout/orders', body, { 'paypal-request-id': orderNo });
    t.is(answer.status, status, issue);
    t.is(issueOf(answer), issue);
  }
  const without = await shop.call('POST', '/v2/checkout/orders', orderRequest(orderNo));
  t.is(issueOf(without), 'PAYPAL_REQUEST_ID_REQUIRED');
  const plain = { 'content-type': 'text/plain', 'paypal-request-id': orderNo };
  t.is((await shop.call('POST', '/v2/checkout/orders', orderRequest(orderNo), plain)).status, 415);
  t.deepEqual((await shop.world.ledger(orderNo)).orders, []);
});

test('a create returns 201 with a payer-action link, and its repeat 200 with the same order', async (t) => {
  const orderNo = nextNo();
  const first = await create(orderNo);
  t.is(first.status, 201);
  t.like(first.body, { status: 'PAYER_ACTION_REQUIRED' });
  t.true((first.body['links'] as { rel: string }[]).some(({ rel }) => rel === 'payer-action'));
  t.regex(String(first.body['id']), /^[0-9A-Z]{17}$/);
  const again = await create(orderNo);
  t.is(again.status, 200);
  t.is(again.body['id'], first.body['id']);
  t.is((await shop.world.ledger(orderNo)).orders[0]?.created, 1);
});

test('an order without a payment source is CREATED with an approve link', async (t) => {
  const { payment_source: _, ...bare } = orderRequest(nextNo());
  const { status, body } = await shop.call('POST', '/v2/checkout/orders', bare);
  t.is(status, 201);
  t.is(body['status'], 'CREATED');
  t.true((body['links'] as { rel: string }[]).some(({ rel }) => rel === 'approve'));
});

test('without Prefer the response is minimal', async (t) => {
  const orderNo = nextNo();
  const headers = { 'paypal-request-id': orderNo, prefer: undefined };
  const { body } = await shop.call('POST', '/v2/checkout/orders', orderRequest(orderNo), headers);
  t.deepEqual(Object.keys(body).toSorted(), ['id', 'links', 'status']);
});

test("a capture needs the payer's approval and happens once", async (t) => {
  const orderNo = nextNo();
  const { body } = await create(orderNo);
  const id = String(body['id']);
  const capture = (requestId: string) =>
    shop.call('POST', `/v2/checkout/orders/${id}/capture`, {}, { 'paypal-request-id': requestId });
  t.is(issueOf(await capture('c0')), 'ORDER_NOT_APPROVED');
  await shop.world.post('/sim/approve', { orderNo });
  t.is((await shop.call('GET', `/v2/checkout/orders/${id}`)).body['status'], 'APPROVED');
  const first = await capture('c1');
  t.is(first.status, 201);
  t.is(first.body['status'], 'COMPLETED');
  t.is((await capture('c1')).status, 200);
  t.is(issueOf(await capture('c2')), 'ORDER_ALREADY_CAPTURED');
  t.like((await shop.world.ledger(orderNo)).orders[0], { paid: 1230, payments: 1, state: 'paid' });
});

test('an invoice id is paid only once', async (t) => {
  const orderNo = nextNo();
  await captured(orderNo);
  const again = await shop.call('POST', '/v2/checkout/orders', orderRequest(orderNo), {
    'paypal-request-id': `${orderNo}-other`,
  });
  t.is(again.status, 422);
  t.is(issueOf(again), 'DUPLICATE_INVOICE_ID');
});

test('refunds allow a part, a repeat and the rest, but no more than the capture', async (t) => {
  const orderNo = nextNo();
  const id = await captured(orderNo, '10.00');
  const refund = (value: string | undefined, no: string, currency_code = 'USD') =>
    shop.call(
      'POST',
      `/v2/payments/captures/${id}/refund`,
      { ...(value ? { amount: { currency_code, value } } : {}), invoice_id: no },
      { 'paypal-request-id': no },
    );
  const first = await refund('4.00', `${orderNo}R1`);
  t.is(first.status, 201);
  t.like(first.body, { status: 'COMPLETED', invoice_id: `${orderNo}R1`, amount: { value: '4.00' } });
  const again = await refund('4.00', `${orderNo}R1`);
  t.is(again.status, 200);
  t.is(again.body['id'], first.body['id']);
  t.is(issueOf(await refund('6.01', `${orderNo}R2`)), 'REFUND_AMOUNT_EXCEEDED');
  t.is(issueOf(await refund('1.00', `${orderNo}R2`, 'EUR')), 'CURRENCY_MISMATCH');
  t.is(issueOf(await refund('1.001', `${orderNo}R2`)), 'DECIMAL_PRECISION');
  t.is((await shop.call('GET', `/v2/payments/captures/${id}`)).body['status'], 'PARTIALLY_REFUNDED');
  t.is((await refund(undefined, `${orderNo}R3`)).status, 201);
  t.is((await shop.call('GET', `/v2/payments/captures/${id}`)).body['status'], 'REFUNDED');
  t.is(issueOf(await refund('0.01', `${orderNo}R4`)), 'CAPTURE_FULLY_REFUNDED');
  t.like((await shop.world.ledger(orderNo)).orders[0], { refunded: 1000, refunds: 2 });
  t.like((await shop.call('GET', `/v2/payments/refunds/${first.body['id']}`)).body, { status: 'COMPLETED' });
});

test('an unknown object or one of another account returns 404', async (t) => {
  const orderNo = nextNo();
  const captureId = await captured(orderNo);
  const { trades } = { trades: await shop.world.get<{ id: string }>(`/sim/trades/${orderNo}`) };
  await shop.world.post('/sim/accounts', { payWay: 'paypal', name: 'other' });
  const { paypal } = await shop.world.config('other');
  const answer = await fetch(`${shop.world.url}/paypal/v1/oauth2/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${paypal?.fields['clientId']}:${paypal?.fields['clientSecret']}`).toString('base64')}`,
    },
    body: 'grant_type=client_credentials',
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  const authorization = `Bearer ${access_token}`;
  for (const path of [
    `/v2/checkout/orders/${trades.id}`,
    `/v2/payments/captures/${captureId}`,
    '/v2/checkout/orders/NOPE',
  ]) {
    t.is((await shop.call('GET', path, undefined, { authorization })).status, 404, path);
  }
  t.is((await shop.call('GET', `/v2/checkout/orders/${captureId}`)).status, 404);
  t.is((await shop.call('GET', `/v2/payments/captures/${trades.id}`)).status, 404);
  t.is((await shop.call('GET', '/v2/payments/refunds/NOPE')).status, 404);
});

test('the payer page returns with token and PayerID', async (t) => {
  const orderNo = nextNo();
  const { body } = await create(orderNo);
  const link = (body['links'] as { rel: string; href: string }[]).find(({ rel }) => rel === 'payer-action')?.href ?? '';
  t.regex(await (await fetch(link)).text(), /Blue kettle/);
  const after = await fetch(link, { method: 'POST', body: new URLSearchParams({ choice: 'pay' }) });
  const page = (await after.text()).replaceAll('&#38;', '&');
  t.true(page.includes(`https://shop.example/back?x=1&token=${body['id']}&PayerID=`));
  t.is((await shop.call('GET', `/v2/checkout/orders/${body['id']}`)).body['status'], 'APPROVED');
});
