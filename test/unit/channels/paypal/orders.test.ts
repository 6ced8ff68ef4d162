import test from 'ava';
import { paypalKind } from '../../../../server/channels/paypal/kind.ts';
import { TransportFailed, type Outcome } from '../../../../server/payments/channel.ts';
import { exponentOf } from '../../../../server/money.ts';
import * as s from './scripted.ts';

const created = (more: object = {}): object => s.orderBody({ status: 'PAYER_ACTION_REQUIRED', ...more });

test('a create has our number three times, the amount in major units and requests the whole order', async (t) => {
  const { channel, sent } = s.scripted(() => s.json(201, created()));
  t.deepEqual(await channel.place(s.placeOrder), {
    kind: 'pending',
    pay: { type: 'redirect', url: `https://www.sandbox.paypal.com/checkoutnow?token=${s.PAYPAL_ORDER}` },
    channelOrderId: s.PAYPAL_ORDER,
  });
  const request = sent[1];
  t.is(request?.url, 'https://api-m.sandbox.paypal.com/v2/checkout/orders');
  t.like(request?.headers, {
    'paypal-request-id': s.ORDER_NO,
    prefer: 'return=representation',
    authorization: 'Bearer A21-token',
  });
  t.deepEqual(JSON.parse(request?.body ?? ''), {
    intent: 'CAPTURE',
    purchase_units: [
      {
        reference_id: 'default',
        amount: { currency_code: 'USD', value: '12.30' },
        description: 'Blue kettle',
        custom_id: s.ORDER_NO,
        invoice_id: s.ORDER_NO,
      },
    ],
    payment_source: {
      paypal: {
        experience_context: {
          return_url: s.placeOrder.returnUrl,
          cancel_url: s.placeOrder.cancelUrl,
          user_action: 'PAY_NOW',
          shipping_preference: 'NO_SHIPPING',
        },
      },
    },
  });
});

test('only the known merchant options are passed on', async (t) => {
  const { channel, sent } = s.scripted(() => s.json(201, created()));
  const paypal = {
    brandName: `The Kettle\n${'茶'.repeat(60)}`,
    locale: 'en-GB',
    landingPage: 'LOGIN',
    immediatePayment: true,
    softDescriptor: 'KETTLES',
  } as const;
  await channel.place({ ...s.placeOrder, options: { paypal } });
  await channel.place({ ...s.placeOrder, options: { paypal: { immediatePayment: false } } });
  const [full, bare] = [sent[1], sent[2]].map((request) => JSON.parse(request?.body ?? ''));
  t.like(full.payment_source.paypal.experience_context, {
    brand_name: `The Kettle ${'茶'.repeat(38)}`,
    locale: 'en-GB',
    landing_page: 'LOGIN',
    payment_method_preference: 'IMMEDIATE_PAYMENT_REQUIRED',
  });
  t.is(full.purchase_units[0].soft_descriptor, 'KETTLES');
  t.deepEqual(Object.keys(bare.payment_source.paypal.experience_context), [
    'return_url',
    'cancel_url',
    'user_action',
    'shipping_preference',
  ]);
});

test('a pay-per-call order always requires immediate payment, whatever the merchant options', async (t) => {
  const { channel, sent } = s.scripted(() => s.json(201, created()));
  for (const options of [{}, { paypal: { immediatePayment: false } }])
    await channel.place({ ...s.placeOrder, options, isForCall: true });
  for (const request of sent.slice(1))
    t.is(
      JSON.parse(request.body ?? '').payment_source.paypal.experience_context.payment_method_preference,
      'IMMEDIATE_PAYMENT_REQUIRED',
    );
  t.is(sent.length, 3);
});

test('a payment has the amount that PayPal keeps, where readable', async (t) => {
  const read = async (seller_receivable_breakdown: object) => {
    const outcome = await s
      .scripted(() => s.json(200, s.paidOrder({ seller_receivable_breakdown })))
      .channel.query(s.orderRef);
    return outcome.kind === 'paid' ? outcome.settlement : t.fail();
  };
  const usd = (value: string) => ({ currency_code: 'USD', value });
  t.deepEqual(await read({ gross_amount: usd('12.30'), paypal_fee: usd('0.73'), net_amount: usd('11.57') }), {
    fee: { minor: 73n, currency: 'USD' },
    net: { minor: 1157n, currency: 'USD' },
  });
  const cny = { currency_code: 'CNY', value: '82.10' };
  t.deepEqual(await read({ paypal_fee_in_receivable_currency: cny, receivable_amount: cny }), {
    fee: { minor: 8210n, currency: 'CNY' },
    received: { minor: 8210n, currency: 'CNY' },
  });
  t.is(await read({ gross_amount: usd('12.30') }), undefined);
  t.is(await read({ paypal_fee: usd('nothing') }), undefined);
  t.is(await read({ paypal_fee: 7 }), undefined, 'nonsense about the fee is no reason to doubt the payment');
});

test('a held payment has its completion time, unless another change followed', async (t) => {
  const seller_receivable_breakdown = { paypal_fee: { currency_code: 'USD', value: '0.73' } };
  const completedAt = async (more: Record<string, unknown>) => {
    const { channel } = s.scripted(() => s.json(200, s.paidOrder({ seller_receivable_breakdown, ...more })));
    const outcome = await channel.query(s.orderRef);
    return outcome.kind === 'paid' ? outcome.settlement?.completedAt?.toISOString() : t.fail();
  };
  t.is(await completedAt({ update_time: '2026-03-04T10:00:00Z' }), '2026-03-04T10:00:00.000Z');
  for (const more of [
    {},
    { update_time: 'soon' },
    { update_time: '2026-03-01T08:05:00Z' },
    { update_time: '2026-03-04T10:00:00Z', status: 'PARTIALLY_REFUNDED' },
  ])
    t.is(await completedAt(more), undefined, JSON.stringify(more));
});

test('a pending capture states whether it waits for the merchant', async (t) => {
  const reasons: [string, boolean][] = [
    ['RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION', true],
    ['VERIFICATION_REQUIRED', true],
    ['INTERNATIONAL_WITHDRAWAL', true],
    ['UNILATERAL', true],
    ['ECHECK', false],
    ['PENDING_REVIEW', false],
    ['TRANSACTION_APPROVED_AWAITING_FUNDING', false],
    ['OTHER', false],
    ['SOMETHING_NEW', false],
  ];
  for (const [reason, waits] of reasons) {
    const body = s.paidOrder({ status: 'PENDING', status_details: { reason } });
    const outcome = await s.scripted(() => s.json(200, body)).channel.query(s.orderRef);
    t.like(outcome, { kind: 'pending', capturePending: reason });
    t.is('waitsFor' in outcome, waits, reason);
  }
});

test('a repeated order request is byte-identical', async (t) => {
  const { channel, sent } = s.scripted(() => s.json(200, created()));
  await channel.place(s.placeOrder);
  await channel.place({ ...s.placeOrder, sentAt: new Date(0) });
  t.is(sent[1]?.body, sent[2]?.body);
});

test('CREATED with an approve link is accepted', async (t) => {
  const href = 'https://www.sandbox.paypal.com/approve/1';
  const { channel } = s.scripted(() => s.json(201, created({ status: 'CREATED', links: [{ rel: 'approve', href }] })));
  t.like(await channel.place(s.placeOrder), { kind: 'pending', pay: { type: 'redirect', url: href } });
});

test('a link outside PayPal is not passed to a payer', async (t) => {
  for (const href of [
    'https://paypal.com.evil.example/',
    'http://www.paypal.com/',
    'javascript:alert(1)',
    'nonsense',
  ]) {
    const { channel } = s.scripted(() => s.json(201, created({ links: [{ rel: 'approve', href }] })));
    t.like(await channel.place(s.placeOrder), { kind: 'unknown', cause: 'unparsable' });
  }
});

test('every currency is written with the decimals that PayPal accepts', async (t) => {
  for (const currency of paypalKind.currencies) {
    const exponent = exponentOf(currency);
    t.is(exponent, ['HUF', 'JPY', 'TWD'].includes(currency) ? 0 : 2, currency);
    const value = exponent === 0 ? '12345' : '123.45';
    const amount = { minor: 12345n, currency };
    const body = s.orderBody(
      { status: 'COMPLETED' },
      {
        amount: { currency_code: currency, value },
        payments: { captures: [s.captureBody({ amount: { currency_code: currency, value } })] },
      },
    );
    const { channel, sent } = s.scripted(() => s.json(200, body));
    t.like(await channel.place({ ...s.placeOrder, amount }), { kind: 'paid', amount });
    t.true(sent[1]?.body?.includes(`"amount":{"currency_code":"${currency}","value":"${value}"}`), currency);
  }
});

test('subjects are cut to 127 bytes of UTF-8 between characters, without control characters', async (t) => {
  for (const [subject, sent] of [
    [`a\u0000\nb${'😀'.repeat(100)}`, `a b${'😀'.repeat(31)}`],
    ['茶'.repeat(127), '茶'.repeat(42)],
    ['é'.repeat(127), 'é'.repeat(63)],
    ['x'.repeat(128), 'x'.repeat(127)],
    ['\n', undefined],
  ]) {
    const shop = s.scripted(() => s.json(201, created()));
    await shop.channel.place({ ...s.placeOrder, subject: subject! });
    t.is(JSON.parse(shop.sent[1]?.body ?? '').purchase_units[0].description, sent);
  }
});

test('a refused create is final only for codes that cannot hide an order', async (t) => {
  const refused = async (issue: string): Promise<Outcome> =>
    s.scripted(() => s.refusal(422, issue)).channel.place(s.placeOrder);
  t.like(await refused('INVALID_CURRENCY_CODE'), { kind: 'declined', code: 'INVALID_CURRENCY_CODE', definite: true });
  t.like(await refused('DECIMAL_PRECISION'), { kind: 'declined', definite: true });
  t.like(await refused('DUPLICATE_INVOICE_ID'), { kind: 'declined', definite: false, doubt: 'trade_may_exist' });
  t.like(await refused('SOMETHING_NEW'), { kind: 'declined', definite: false, doubt: 'unlisted' });
  const denied = await s.scripted(() => s.refusal(403, 'PAYEE_NOT_CONSENTED')).channel.place(s.placeOrder);
  t.like(denied, { kind: 'unknown', cause: 'misconfigured', refusal: { code: 'PAYEE_NOT_CONSENTED' } });
  t.like(await refused('PREVIOUS_REQUEST_IN_PROGRESS'), { kind: 'unknown', cause: 'in_progress' });
});

test('a response about another order, payee, number or amount is a mismatch', async (t) => {
  const strangers = [
    s.orderBody({ id: 'OTHERORDER0000001' }),
    s.orderBody({}, { custom_id: 'P2' }),
    s.orderBody({}, { invoice_id: 'P20260301080000OTHERORDER' }),
    s.orderBody({}, { payee: { merchant_id: 'OTHERMERCHANT' } }),
    s.orderBody({}, { payee: undefined }),
    s.orderBody({}, { amount: { currency_code: 'USD', value: '12.31' } }),
    s.orderBody({}, { amount: { currency_code: 'EUR', value: '12.30' } }),
  ];
  for (const body of strangers) {
    const { channel } = s.scripted(() => s.json(200, body));
    t.like(await channel.query(s.orderRef), { kind: 'unknown', cause: 'mismatch' });
  }
});

test('without a merchant id the payee is not checked', async (t) => {
  const { merchantId: _, ...fields } = s.FIELDS;
  const { channel } = s.scripted(() => s.json(200, s.orderBody({}, { payee: { merchant_id: 'X' } })), { fields });
  t.like(await channel.query(s.orderRef), { kind: 'approved' });
});

test('the paid amount comes from the capture, not from the order', async (t) => {
  const query = async (body: object): Promise<Outcome> => s.scripted(() => s.json(200, body)).channel.query(s.orderRef);
  t.deepEqual(await query(s.paidOrder()), {
    kind: 'paid',
    channelNo: s.CAPTURE_ID,
    amount: { minor: 1230n, currency: 'USD' },
    at: new Date('2026-03-01T08:05:00Z'),
    payer: 'QYR5Z8XDVJNXQ',
    channelOrderId: s.PAYPAL_ORDER,
    refundsHint: undefined,
  });
  t.like(await query(s.paidOrder({ status: 'PARTIALLY_REFUNDED' })), { kind: 'paid', refundsHint: true });
  t.like(await query(s.paidOrder({ status: 'REFUNDED' })), { kind: 'paid', refundsHint: true });
  t.like(await query(s.paidOrder({ status: 'PENDING', status_details: { reason: 'ECHECK' } })), {
    kind: 'pending',
    capturePending: 'ECHECK',
  });
  t.like(await query(s.paidOrder({ status: 'SOMETHING_NEW' })), { kind: 'pending', capturePending: 'SOMETHING_NEW' });
  t.like(await query(s.orderBody({ status: 'COMPLETED' })), { kind: 'pending' });
  t.deepEqual(await query(s.paidOrder({ status: 'DECLINED' })), { kind: 'closed' });
  t.deepEqual(await query(s.orderBody({ status: 'VOIDED' })), { kind: 'closed' });
  t.like(await query(s.orderBody({ status: 'SOMETHING_NEW' })), { kind: 'pending' });
});

test('members missing in a unit may come from its capture and must match', async (t) => {
  const query = async (unit: object, capture: object): Promise<Outcome> => {
    const captures = [s.captureBody({ payee: { merchant_id: s.MERCHANT }, ...capture })];
    const bare = { amount: undefined, custom_id: undefined, invoice_id: undefined, payee: undefined };
    const body = s.orderBody({ status: 'COMPLETED' }, { ...bare, payments: { captures }, ...unit });
    return s.scripted(() => s.json(201, body)).channel.query(s.orderRef);
  };
  t.like(await query({}, {}), { kind: 'paid', amount: { minor: 1230n, currency: 'USD' } });
  t.like(await query({}, { custom_id: 'OTHERORDER' }), { kind: 'unknown', cause: 'mismatch' });
  t.like(await query({}, { custom_id: undefined }), { kind: 'unknown', cause: 'mismatch' });
  t.like(await query({}, { invoice_id: 'OTHERORDER' }), { kind: 'unknown', cause: 'mismatch' });
  t.like(await query({ custom_id: 'OTHERORDER' }, {}), { kind: 'unknown', cause: 'mismatch' });
  t.like(await query({}, { payee: { merchant_id: 'OTHERMERCHANT' } }), { kind: 'unknown', cause: 'mismatch' });
  t.like(await query({}, { payee: undefined }), { kind: 'unknown', cause: 'mismatch' });
  t.like(await query({}, { status: 'DECLINED' }), { kind: 'unknown', cause: 'mismatch' });
});

test('a capture with another amount is reported with that amount', async (t) => {
  const { channel } = s.scripted(() => s.json(200, s.paidOrder({ amount: { currency_code: 'USD', value: '1.00' } })));
  t.like(await channel.query(s.orderRef), { kind: 'paid', amount: { minor: 100n, currency: 'USD' } });
});

test('a declined capture does not hide a later successful one', async (t) => {
  const captures = [s.captureBody({ id: 'DECLINED1', status: 'DECLINED' }), s.captureBody()];
  const { channel } = s.scripted(() => s.json(200, s.orderBody({ status: 'COMPLETED' }, { payments: { captures } })));
  t.like(await channel.query(s.orderRef), { kind: 'paid', channelNo: s.CAPTURE_ID });
});

test('an order unknown to PayPal is absent, and an order without an id is not queried', async (t) => {
  const { channel, sent } = s.scripted(() => s.refusal(404, 'INVALID_RESOURCE_ID'));
  t.deepEqual(await channel.query(s.orderRef), { kind: 'absent' });
  sent.length = 0;
  t.deepEqual(await channel.query({ ...s.orderRef, channelOrderId: null }), { kind: 'absent' });
  t.is(sent.length, 0);
});

test('a paid order that PayPal no longer has is read from its capture', async (t) => {
  const { channel, sent } = s.scripted(({ url }) =>
    url.includes('/captures/') ? s.json(200, s.captureBody()) : s.refusal(404, 'RESOURCE_NOT_FOUND'),
  );
  t.like(await channel.query({ ...s.orderRef, channelTradeNo: s.CAPTURE_ID }), {
    kind: 'paid',
    channelNo: s.CAPTURE_ID,
  });
  t.true(sent.at(-1)?.url.endsWith(`/v2/payments/captures/${s.CAPTURE_ID}`));
});

test('every unclear response has its own cause', async (t) => {
  const raw = (status: number, text: string) => ({ status, headers: {}, body: Buffer.from(text) });
  const cases: [string, s.Script][] = [
    ['timeout', () => Promise.reject(new TransportFailed('timeout', 'No answer.'))],
    ['network', () => Promise.reject(new TransportFailed('network', 'Refused.'))],
    ['too_large', () => Promise.reject(new TransportFailed('too_large', 'Endless.'))],
    ['redirected', () => raw(302, '')],
    ['busy', () => raw(429, '')],
    ['http_status', () => raw(500, '')],
    ['http_status', () => raw(502, '<html>')],
    ['http_status', () => raw(204, '')],
    ['http_status', () => raw(400, '<html>')],
    ['unparsable', () => raw(200, '<html>')],
    ['unparsable', () => raw(200, JSON.stringify(s.orderBody()).slice(0, 80))],
    ['unparsable', () => raw(200, '{"id":"1"}')],
    ['unparsable', () => ({ ...raw(200, ''), body: Buffer.from([0x22, 0xff, 0x22]) })],
    ['duplicate_key', () => raw(200, JSON.stringify(s.orderBody()).replace('{', '{"status":"COMPLETED",'))],
    [
      'duplicate_key',
      () => raw(200, JSON.stringify(s.orderBody()).replace('{', String.raw`{"stat\u0075s":"COMPLETED",`)),
    ],
    ['misconfigured', () => s.refusal(403, 'PERMISSION_DENIED')],
    ['rejected', () => s.refusal(400, 'INVALID_REQUEST')],
  ];
  for (const [cause, script] of cases) {
    t.like(await s.scripted(script).channel.query(s.orderRef), { kind: 'unknown', cause }, cause);
  }
});

test('a close sends nothing to PayPal: it is closed if nothing was captured, else the actual state', async (t) => {
  const close = async (body: object) => s.scripted(() => s.json(200, body)).channel.close(s.orderRef);
  t.deepEqual(await close(created()), { kind: 'closed' });
  t.deepEqual(await close(s.orderBody()), { kind: 'closed' });
  t.deepEqual(await close(s.orderBody({ status: 'VOIDED' })), { kind: 'closed' });
  t.deepEqual(await close(s.paidOrder()), { kind: 'paid' });
  t.like(await close(s.paidOrder({ status: 'PENDING', status_details: { reason: 'ECHECK' } })), {
    kind: 'refused',
    reason: 'ECHECK',
  });
  t.like(await close(s.orderBody({ status: 'COMPLETED' })), { kind: 'refused' });
  t.like(await close(s.orderBody({ status: 'SOMETHING_NEW' })), { kind: 'refused' });
  t.like(await close(s.orderBody({}, { custom_id: 'OTHER1' })), { kind: 'unknown', cause: 'mismatch' });
  const silent = s.scripted(() => Promise.reject(new TransportFailed('timeout', 'No answer.')));
  t.like(await silent.channel.close(s.orderRef), { kind: 'unknown', cause: 'timeout' });
  t.deepEqual(await silent.channel.close({ ...s.orderRef, channelOrderId: null }), { kind: 'closed' });
});
