import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { isCertificateUrl } from '../../../../server/channels/paypal/signature.ts';
import { SIMULATOR_CA, WEBHOOK_INTERMEDIATE } from '../../../../server/channels/paypal/settings.ts';
import {
  NotificationNotGenuine,
  NotificationUndecided,
  TransportFailed,
  type Notification,
  type Transport,
  type WireAnswer,
} from '../../../../server/payments/channel.ts';
import { forgeTwin } from './forge-crc.ts';
import {
  CAPTURE_ID,
  captureBody,
  FIELDS,
  json,
  MERCHANT,
  ORDER_NO,
  orderBody,
  PAYPAL_ORDER,
  REFUND_NO,
  refundBody,
  refusal,
  token,
} from './scripted.ts';
import { CERT_URL, PEMS, SIMULATOR_URL, signedHeaders, withCertificate } from './signer.ts';

const event = (type: string, resource: object, more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ id: 'WH-1', event_type: type, resource_version: '2.0', resource, ...more }));

const captured = event('PAYMENT.CAPTURE.COMPLETED', {
  ...captureBody(),
  supplementary_data: { related_ids: { order_id: PAYPAL_ORDER } },
});

async function refusedBecause(
  t: ExecutionContext,
  reading: Promise<Notification>,
  why: NotificationNotGenuine['why'],
  note = '',
) {
  const error = await t.throwsAsync(reading, { instanceOf: NotificationNotGenuine }, note);
  t.is(error?.why, why, note);
}

test('a webhook signed by the published algorithm gives only ids', async (t) => {
  const { channel, fetched } = withCertificate();
  const { notificationId, ...notification } = await channel.readNotification(signedHeaders(captured), captured);
  t.deepEqual(notification, {
    account: FIELDS.clientId,
    event: 'PAYMENT.CAPTURE.COMPLETED',
    orderNo: ORDER_NO,
    refundNo: null,
    channelOrderId: PAYPAL_ORDER,
    isShared: true,
  });
  t.regex(notificationId, /^[\w-]{36}\.[0-9a-f]{24}$/);
  t.deepEqual(fetched(), [CERT_URL]);
});

test('each event names its order and refund', async (t) => {
  const read = async (body: Buffer) => withCertificate().channel.readNotification(signedHeaders(body), body);
  const at = '2026-03-01T08:04:00.123Z';
  t.like(await read(event('CHECKOUT.ORDER.APPROVED', orderBody(), { create_time: at })), {
    orderNo: ORDER_NO,
    channelOrderId: PAYPAL_ORDER,
    approvedAt: new Date(at),
  });
  t.like(
    await read(
      event('CHECKOUT.PAYMENT-APPROVAL.REVERSED', {
        order_id: PAYPAL_ORDER,
        purchase_units: [{ custom_id: ORDER_NO }],
      }),
    ),
    {
      orderNo: ORDER_NO,
      channelOrderId: PAYPAL_ORDER,
    },
  );
  for (const type of ['PAYMENT.CAPTURE.REFUNDED', 'PAYMENT.CAPTURE.REVERSED']) {
    const links = [{ rel: 'up', href: `https://api-m.paypal.com/v2/payments/captures/${CAPTURE_ID}` }];
    const refund = { ...refundBody(), custom_id: ORDER_NO, links };
    t.like(await read(event(type, refund)), { orderNo: ORDER_NO, refundNo: REFUND_NO });
  }
  t.like(await read(event('SOMETHING.NEW', {})), { event: 'SOMETHING.NEW', orderNo: null, refundNo: null });
  t.like(await read(event('PAYMENT.CAPTURE.DENIED', { custom_id: '../../etc', invoice_id: { a: 1 } })), {
    orderNo: null,
  });
});

test('a forged body with the same CRC32 is at most a hint, under its own notification id', async (t) => {
  const { channel } = withCertificate();
  const headers = signedHeaders(captured);
  const twin = forgeTwin(captured, (pad) => {
    const richer = { ...captureBody({ amount: { currency_code: 'USD', value: '99999.00' } }) };
    return event('PAYMENT.CAPTURE.COMPLETED', richer, { pad }).toString();
  });
  t.is(crc32(twin), crc32(captured));
  t.notDeepEqual(twin, captured);

  const forged = await channel.readNotification(headers, twin);
  t.false('outcome' in forged);
  t.false('refund' in forged);
  const genuine = await channel.readNotification(headers, captured);
  t.not(forged.notificationId, genuine.notificationId);
});

const UP = `https://api-m.sandbox.paypal.com/v2/payments/captures/${CAPTURE_ID}`;
const refundAtPaypal = (more: object = {}) => ({ ...refundBody(), links: [{ rel: 'up', href: UP }], ...more });

/** Reads a refund webhook while PayPal returns these for the refund and its capture. */
async function readRefundNotification(told: object, refund: object | null, capture: object | null = {}) {
  const certificate = { status: 200, headers: {}, body: Buffer.from(PEMS.good) };
  const answers = (call: string, body: object | null) => (body ? json(200, body) : refusal(404, `NO_${call}`));
  const send: Transport = async ({ about, url }) => {
    if (about.call === 'token') return token();
    if (about.call === 'certificate') return certificate;
    if (url.includes('/refunds/')) return answers('REFUND', refund);
    return answers('CAPTURE', capture && { ...captureBody({ payee: { merchant_id: MERCHANT } }), ...capture });
  };
  const body = event('PAYMENT.CAPTURE.REFUNDED', told);
  return withCertificate('', { send }).channel.readNotification(signedHeaders(body), body);
}

test("a refund is reported from PayPal's response, never from the message", async (t) => {
  const lie = refundAtPaypal({
    amount: { currency_code: 'USD', value: '999.00' },
    invoice_id: 'ROTHER00001',
    custom_id: 'OTHER00001',
  });
  const truth = { kind: 'succeeded', amount: { minor: 230n, currency: 'USD' }, channelRefundNo: '1JU08902781691411' };
  t.like(await readRefundNotification(lie, refundAtPaypal()), {
    orderNo: ORDER_NO,
    refundNo: REFUND_NO,
    refund: truth,
  });
  t.like(await readRefundNotification(lie, refundAtPaypal({ status: 'FAILED' })), {
    refundNo: REFUND_NO,
    refund: { kind: 'failed' },
  });
  t.like(await readRefundNotification(lie, refundAtPaypal({ status: 'NEW' })), { refund: { kind: 'pending' } });
});

test('a refund made elsewhere has no number of ours', async (t) => {
  for (const invoice_id of [undefined, ORDER_NO]) {
    const notification = await readRefundNotification(refundAtPaypal(), refundAtPaypal({ invoice_id }));
    t.like(notification, { orderNo: ORDER_NO, refundNo: null, refund: { kind: 'succeeded' } });
  }
});

test('a refund that PayPal does not confirm for this payee stays a hint', async (t) => {
  const told = { ...refundBody(), custom_id: ORDER_NO };
  const unsure: [object | null, object | null][] = [
    [null, {}],
    [refundAtPaypal({ links: [] }), {}],
    [refundAtPaypal({ links: [{ rel: 'up', href: 'https://evil.example/' }] }), {}],
    [refundAtPaypal({ id: 'ANOTHER1' }), {}],
    [refundAtPaypal({ amount: { currency_code: 'XXX', value: '1.00' } }), {}],
    [refundAtPaypal(), null],
    [refundAtPaypal(), { custom_id: undefined }],
    [refundAtPaypal(), { payee: { merchant_id: 'OTHERMERCHANT' } }],
    [refundAtPaypal(), { payee: undefined }],
  ];
  for (const [refund, capture] of unsure) {
    const notification = await readRefundNotification(told, refund, capture);
    t.false('refund' in notification);
    t.like(notification, { orderNo: ORDER_NO, refundNo: REFUND_NO });
  }
});

test('a reversal whose refund PayPal does not return is flagged and names its capture', async (t) => {
  const told = { id: '9CHARGEBACK00001', status: 'COMPLETED', links: [{ rel: 'up', href: UP }] };
  const reading = (event: string, answer: () => WireAnswer | Promise<WireAnswer>, resource: object = told) => {
    const certificate = { status: 200, headers: {}, body: Buffer.from(PEMS.good) };
    const send: Transport = async ({ about }) =>
      about.call === 'token' ? token() : about.call === 'certificate' ? certificate : answer();
    const body = Buffer.from(JSON.stringify({ id: 'WH-1', event_type: event, resource }));
    return withCertificate('', { send }).channel.readNotification(signedHeaders(body), body);
  };
  const notThere = () => refusal(404, 'INVALID_RESOURCE_ID');
  const named = { orderNo: null, refundId: '9CHARGEBACK00001', paymentNo: CAPTURE_ID };
  t.like(await reading('PAYMENT.CAPTURE.REVERSED', notThere), { ...named, reversed: true });
  t.like(await reading('PAYMENT.CAPTURE.REVERSED', () => json(200, { id: 'NOTAREFUND' })), {
    ...named,
    reversed: true,
  });
  const bare = { links: told.links };
  t.like(await reading('PAYMENT.CAPTURE.REVERSED', notThere, bare), { refundId: CAPTURE_ID, reversed: true });
  const refunded = await reading('PAYMENT.CAPTURE.REFUNDED', notThere);
  t.like(refunded, named);
  t.false('reversed' in refunded, 'a refund that is not shown yet may only be late');
  const silent = () => Promise.reject(new TransportFailed('timeout', 'No answer.'));
  await t.throwsAsync(reading('PAYMENT.CAPTURE.REVERSED', silent), { instanceOf: NotificationUndecided });
  t.like(await reading('PAYMENT.CAPTURE.REVERSED', silent, { ...told, custom_id: ORDER_NO }), {
    orderNo: ORDER_NO,
    refundId: '9CHARGEBACK00001',
  });
});

test('a genuine delivery repeated two days later is accepted under its first id', async (t) => {
  const clock = { at: Date.now() };
  const { channel, fetched } = withCertificate(PEMS.good, { now: () => new Date(clock.at) });
  const headers = signedHeaders(captured);
  const first = await channel.readNotification(headers, captured);
  clock.at += 2 * 86_400_000;
  t.deepEqual(await channel.readNotification(headers, captured), first);
  t.is(fetched().length, 2, 'a certificate is kept for a day');
});

test('a changed body, header or webhook id is not genuine', async (t) => {
  const { channel } = withCertificate();
  const read = (more: Record<string, string | undefined>, body = captured) =>
    channel.readNotification(signedHeaders(captured, more), body);
  await refusedBecause(t, read({}, Buffer.concat([captured, Buffer.from(' ')])), 'signature_invalid');
  await refusedBecause(t, read({ 'paypal-transmission-id': 'other' }), 'signature_invalid');
  await refusedBecause(t, read({ 'paypal-transmission-time': '2026-03-01T08:05:02Z' }), 'signature_invalid');
  await refusedBecause(t, read({ 'paypal-transmission-sig': 'AAAA' }), 'signature_invalid');
  await refusedBecause(t, read({ 'paypal-transmission-sig': 'not base64!' }), 'malformed');
  await refusedBecause(t, read({ 'paypal-auth-algo': 'SHA1withRSA' }), 'malformed');
  for (const name of Object.keys(signedHeaders(captured)))
    await refusedBecause(t, read({ [name]: undefined }), 'unsigned', name);
  const other = withCertificate(PEMS.good, { fields: { ...FIELDS, webhookId: '2JE4291016473214C' } }).channel;
  await refusedBecause(t, other.readNotification(signedHeaders(captured), captured), 'signature_invalid');
});

test('a signed message that is not an event is malformed', async (t) => {
  const { channel } = withCertificate();
  for (const text of [
    '',
    'null',
    '[]',
    '{"event_type":"A.B"}',
    '{"event_type":"A.B","event_type":"C.D","resource":{}}',
  ]) {
    const body = Buffer.from(text);
    await refusedBecause(t, channel.readNotification(signedHeaders(body), body), 'malformed', text);
  }
});

test('a certificate is fetched only from the listed hosts of its mode', (t) => {
  const path = '/v1/notifications/certs/CERT-360caa42-fca2a594';
  const live = ['https://api.paypal.com', 'https://api-m.paypal.com'];
  const sandbox = ['https://api.sandbox.paypal.com', 'https://api-m.sandbox.paypal.com'];
  for (const host of live) t.true(isCertificateUrl(host + path, 'live', live[0] ?? ''));
  for (const host of sandbox) t.true(isCertificateUrl(host + path, 'sandbox', sandbox[0] ?? ''));
  for (const host of sandbox) t.false(isCertificateUrl(host + path, 'live', live[0] ?? ''));
  const refused = [
    `http://api.paypal.com${path}`,
    `https://api.paypal.com:443${path}`,
    `https://api.paypal.com.evil.example${path}`,
    `https://api.paypal.com@evil.example${path}`,
    `https://evil.example/https://api.paypal.com${path}`,
    `https://www.paypal.com${path}`,
    `https://API.paypal.com${path}`,
    `https://api.paypal.com${path}/../../../../x`,
    `https://api.paypal.com/v1/notifications/certs/..%2fx`,
    `https://api.paypal.com/v1/notifications/certs/`,
    `https://api.paypal.com${path}?u=https://evil.example`,
    `https://api.paypal.com${path}#x`,
    `https://api.paypal.com//v1/notifications/certs/CERT-1`,
    `${SIMULATOR_URL}/paypal${path}`,
    `file:///v1/notifications/certs/CERT-1`,
  ];
  for (const url of refused) t.false(isCertificateUrl(url, 'live', live[0] ?? ''), url);
  t.true(isCertificateUrl(`${SIMULATOR_URL}/paypal${path}`, 'simulator', `${SIMULATOR_URL}/paypal`));
  t.false(isCertificateUrl(`${SIMULATOR_URL}@evil.example/paypal${path}`, 'simulator', `${SIMULATOR_URL}/paypal`));
  t.false(isCertificateUrl(`https://api.paypal.com${path}`, 'simulator', `${SIMULATOR_URL}/paypal`));
});

test('a certificate URL outside the list is refused without a request', async (t) => {
  const { channel, fetched } = withCertificate();
  const headers = signedHeaders(captured, { 'paypal-cert-url': 'https://evil.example/v1/notifications/certs/CERT-1' });
  await refusedBecause(t, channel.readNotification(headers, captured), 'serial_unknown');
  t.deepEqual(fetched(), []);
});

test('a chain with an intermediate is accepted', async (t) => {
  const { channel } = withCertificate(PEMS.chained);
  t.like(await channel.readNotification(signedHeaders(captured), captured), { orderNo: ORDER_NO });
});

test('a missing intermediate may come from the configuration, but it is not a root', async (t) => {
  const read = (pems: Record<string, string[]>) =>
    withCertificate(PEMS.withoutMiddle, { pems }).channel.readNotification(signedHeaders(captured), captured);
  const both = { [SIMULATOR_CA]: [PEMS.root], [WEBHOOK_INTERMEDIATE]: [PEMS.middle] };
  t.like(await read(both), { orderNo: ORDER_NO });
  await t.throwsAsync(read({ [WEBHOOK_INTERMEDIATE]: [PEMS.middle] }), { instanceOf: NotificationUndecided });
});

const BAD = [
  ['otherRoot', /does not lead to a trusted root/],
  ['selfSigned', /does not lead to a trusted root/],
  ['byLeaf', /does not lead to a trusted root/],
  ['otherName', /not issued to/],
  ['bareName', /not issued to/],
  ['expired', /has expired or is not valid yet/],
  ['elliptic', /not an RSA key/],
  ['empty', /no certificate/],
] as const;

for (const [name, message] of BAD) {
  test(`a certificate is refused: ${name}`, async (t) => {
    const { channel, fetched } = withCertificate(PEMS[name]);
    const read = () => channel.readNotification(signedHeaders(captured), captured);
    await t.throwsAsync(read(), { instanceOf: NotificationNotGenuine, message });
    await refusedBecause(t, read(), 'signature_invalid');
    t.is(fetched().length, 1, 'it is not asked for again at once');
  });
}

test('redirects, errors and large files are not certificates, each with its own cause', async (t) => {
  const answers = [
    ['redirected', { status: 302, headers: { location: CERT_URL }, body: Buffer.from(PEMS.good) }],
    ['http_status', { status: 503, headers: {}, body: Buffer.from(PEMS.good) }],
    ['signature_invalid', { status: 404, headers: {}, body: Buffer.from(PEMS.good) }],
    ['too_large', { status: 200, headers: {}, body: Buffer.from(PEMS.good + ' '.repeat(65_536)) }],
  ] as const;
  for (const [why, answer] of answers) {
    const { channel } = withCertificate(answer);
    await refusedBecause(t, channel.readNotification(signedHeaders(captured), captured), why);
  }
  const send = () => Promise.reject(new TransportFailed('timeout', 'No answer.'));
  await refusedBecause(
    t,
    withCertificate('', { send }).channel.readNotification(signedHeaders(captured), captured),
    'timeout',
  );
});

test('50 concurrent webhooks fetch the certificate once', async (t) => {
  const { channel, fetched } = withCertificate();
  const headers = signedHeaders(captured);
  await Promise.all(Array.from({ length: 50 }, () => channel.readNotification(headers, captured)));
  t.is(fetched().length, 1);
});

test('the fetches for invented certificate names are limited', async (t) => {
  const { channel, fetched } = withCertificate({ status: 404, headers: {}, body: Buffer.alloc(0) });
  const reads = Array.from({ length: 20 }, (_, i) =>
    channel.readNotification(signedHeaders(captured, { 'paypal-cert-url': `${CERT_URL}-${i}` }), captured),
  );
  const settled = await Promise.allSettled(reads);
  t.true(settled.every(({ status }) => status === 'rejected'));
  t.is(fetched().length, 4);
});

test('a notification is acknowledged with 200, a refused one gets 400 and an unstored one 503', (t) => {
  const { channel } = withCertificate();
  t.is(channel.ackNotification('accepted').status, 200);
  t.is(channel.ackNotification('refused').status, 400);
  t.is(channel.ackNotification('again').status, 503);
});
