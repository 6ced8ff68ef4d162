import test from 'ava';
import type { Outcome, RefundOutcome } from '../../../../server/payments/channel.ts';
import * as s from './scripted.ts';

/** Responds to GET with `before` and to the capture with `answer`. */
const capturing = (before: object, answer: s.Script) =>
  s.scripted((request) => (request.method === 'GET' ? s.json(200, before) : answer(request)));

test('an approved order is read and then captured with its own request id', async (t) => {
  const { channel, sent, calls } = capturing(s.orderBody(), () => s.json(201, s.paidOrder()));
  t.like(await channel.capture?.(s.orderRef), { kind: 'paid', channelNo: s.CAPTURE_ID });
  t.deepEqual(calls(), ['query', 'capture']);
  const request = sent.at(-1);
  t.is(request?.url, `https://api-m.sandbox.paypal.com/v2/checkout/orders/${s.PAYPAL_ORDER}/capture`);
  t.like(request?.headers, { 'paypal-request-id': `${s.ORDER_NO}-c1`, prefer: 'return=representation' });
  t.is(request?.body, '{}');
});

test('only our approved order with our amount is captured', async (t) => {
  const others: [object, Partial<Outcome>][] = [
    [s.orderBody({ status: 'PAYER_ACTION_REQUIRED' }), { kind: 'pending' }],
    [s.orderBody({}, { custom_id: 'OTHERORDER' }), { kind: 'unknown', cause: 'mismatch' }],
    [s.orderBody({}, { payee: { merchant_id: 'OTHERMERCHANT' } }), { kind: 'unknown', cause: 'mismatch' }],
    [s.orderBody({}, { amount: { currency_code: 'USD', value: '0.01' } }), { kind: 'unknown', cause: 'mismatch' }],
    [s.paidOrder(), { kind: 'paid' }],
  ];
  for (const [before, expected] of others) {
    const { channel, calls } = capturing(before, () => s.json(201, s.paidOrder()));
    t.like(await channel.capture?.(s.orderRef), expected);
    t.deepEqual(calls(), ['query']);
  }
});

test('an order without a PayPal id is never captured', async (t) => {
  const { channel, sent } = s.scripted(() => s.json(201, s.paidOrder()));
  t.deepEqual(await channel.capture?.({ ...s.orderRef, channelOrderId: null }), { kind: 'absent' });
  t.is(sent.length, 0);
});

test('after ORDER_ALREADY_CAPTURED the order is read', async (t) => {
  let reads = 0;
  const { channel, calls } = s.scripted(({ method }) =>
    method === 'POST'
      ? s.refusal(422, 'ORDER_ALREADY_CAPTURED')
      : s.json(200, ++reads === 1 ? s.orderBody() : s.paidOrder()),
  );
  t.like(await channel.capture?.(s.orderRef), { kind: 'paid' });
  t.deepEqual(calls(), ['query', 'capture', 'query']);
});

test('an order reported as captured without a visible capture stays in progress', async (t) => {
  const { channel } = capturing(s.orderBody(), () => s.refusal(422, 'ORDER_ALREADY_CAPTURED'));
  t.like(await channel.capture?.(s.orderRef), { kind: 'unknown', cause: 'in_progress' });
});

test('a refused, pending or unfinished capture takes no money and has its own outcome', async (t) => {
  const capture = async (answer: s.Script) => capturing(s.orderBody(), answer).channel.capture?.(s.orderRef);
  t.like(await capture(() => s.refusal(422, 'ORDER_COMPLETION_IN_PROGRESS')), {
    kind: 'unknown',
    cause: 'in_progress',
  });
  const pending = s.paidOrder({ status: 'PENDING', status_details: { reason: 'PENDING_REVIEW' } });
  t.like(await capture(() => s.json(201, pending)), { kind: 'pending', capturePending: 'PENDING_REVIEW' });
});

test('a refund sends its number as request id and invoice id', async (t) => {
  const { channel, sent } = s.scripted(() => s.json(201, s.refundBody()));
  t.deepEqual(await channel.refund(s.refundOrder), {
    kind: 'succeeded',
    amount: { minor: 230n, currency: 'USD' },
    at: new Date('2026-03-01T09:00:01Z'),
    channelRefundNo: '1JU08902781691411',
  });
  const request = sent.at(-1);
  t.true(request?.url.endsWith(`/v2/payments/captures/${s.CAPTURE_ID}/refund`));
  t.is(request?.headers['paypal-request-id'], s.REFUND_NO);
  t.deepEqual(JSON.parse(request?.body ?? ''), {
    amount: { currency_code: 'USD', value: '2.30' },
    custom_id: s.ORDER_NO,
    invoice_id: s.REFUND_NO,
    note_to_payer: 'The kettle leaks',
  });
});

test('a refund response is checked for status, number and amount', async (t) => {
  const refund = async (body: object): Promise<RefundOutcome> =>
    s.scripted(() => s.json(201, body)).channel.refund(s.refundOrder);
  t.like(await refund(s.refundBody({ status: 'PENDING' })), {
    kind: 'pending',
    channelRefundNo: '1JU08902781691411',
  });
  t.like(await refund(s.refundBody({ status: 'SOMETHING_NEW' })), { kind: 'pending' });
  t.like(await refund(s.refundBody({ status: 'FAILED' })), { kind: 'failed', code: 'FAILED' });
  t.like(await refund(s.refundBody({ status: 'CANCELLED' })), { kind: 'failed', code: 'CANCELLED' });
  t.like(await refund(s.refundBody({ invoice_id: 'R2' })), { kind: 'unknown', cause: 'mismatch' });
  t.like(await refund(s.refundBody({ amount: { currency_code: 'USD', value: '2.31' } })), {
    kind: 'succeeded',
    amount: { minor: 231n, currency: 'USD' },
  });
  t.like(await refund(s.refundBody({ amount: { currency_code: 'XXX', value: '2.30' } })), {
    kind: 'unknown',
    cause: 'mismatch',
  });
});

test('a refund note is cut to 255 bytes', async (t) => {
  const { channel, sent } = s.scripted(() => s.json(201, s.refundBody()));
  await channel.refund({ ...s.refundOrder, reason: '茶'.repeat(200) });
  t.is(JSON.parse(sent.at(-1)?.body ?? '').note_to_payer, '茶'.repeat(85));
});

test('a refund without a capture is refused', async (t) => {
  const { channel } = s.scripted(() => s.json(201, s.refundBody()));
  t.like(await channel.refund({ ...s.refundOrder, channelTradeNo: null }), { kind: 'refused' });
});

test('a refund is queried by id, or found in the order by our number', async (t) => {
  const known = s.scripted(() => s.json(200, s.refundBody()));
  t.like(await known.channel.queryRefund({ ...s.refundRef, channelRefundNo: '1JU08902781691411' }), {
    kind: 'succeeded',
  });
  t.true(known.sent.at(-1)?.url.endsWith('/v2/payments/refunds/1JU08902781691411'));

  const others = [s.refundBody({ invoice_id: 'R20260301OTHER' }), s.refundBody({ invoice_id: undefined })];
  const lost = s.scripted(() =>
    s.json(200, s.paidOrder({ status: 'PARTIALLY_REFUNDED' }, [...others, s.refundBody()])),
  );
  t.like(await lost.channel.queryRefund(s.refundRef), { kind: 'succeeded', channelRefundNo: '1JU08902781691411' });

  const never = s.scripted(() => s.json(200, s.paidOrder({}, others)));
  t.deepEqual(await never.channel.queryRefund(s.refundRef), { kind: 'absent' });
});

test('an order that PayPal no longer has is read from its capture or from a repeated call', async (t) => {
  const query = (capture: object | undefined) =>
    s
      .scripted(({ url }) =>
        capture && url.includes('/captures/') ? s.json(200, capture) : s.refusal(404, 'RESOURCE_NOT_FOUND'),
      )
      .channel.queryRefund(s.refundRef);
  t.deepEqual(await query(s.captureBody()), { kind: 'absent' });
  for (const capture of [
    s.captureBody({ status: 'PARTIALLY_REFUNDED' }),
    s.captureBody({ status: 'REFUNDED' }),
    undefined,
  ])
    t.like(await query(capture), { kind: 'unknown', cause: 'rejected', repeat: true });
  const { channel } = s.scripted(() => s.refusal(404, 'RESOURCE_NOT_FOUND'));
  const lost = await channel.queryRefund({ ...s.refundRef, channelOrderId: null });
  t.like(lost, { kind: 'unknown', cause: 'mismatch' });
  t.false('repeat' in lost);
});

test('a probe reports the wrong field', async (t) => {
  const good = s.scripted(() => s.json(200, { id: s.FIELDS.webhookId, event_types: [{ name: '*' }] }));
  t.like(await good.channel.probe(), { ok: true, note: undefined });
  t.true(good.sent.at(-1)?.url.endsWith(`/v1/notifications/webhooks/${s.FIELDS.webhookId}`));
  const noWebhook = s.scripted(() => s.refusal(404, 'INVALID_RESOURCE_ID'));
  t.like(await noWebhook.channel.probe(), { ok: false, field: 'webhookId' });
  const send = async () => s.json(401, { error: 'invalid_client' });
  t.like(await s.scripted(() => s.json(200, {}), { send }).channel.probe(), { ok: false, field: 'clientSecret' });
});
