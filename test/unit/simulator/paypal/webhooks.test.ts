import { createVerify, X509Certificate } from 'node:crypto';
import test from 'ava';
import { createPaypalChannel } from '../../../../server/channels/paypal/channel.ts';
import { createTransport } from '../../../../server/channels/transport.ts';
import { NotificationNotGenuine, type Channel } from '../../../../server/payments/channel.ts';
import type { Delivery } from '../../../../server/simulator/notification.ts';
import { forgeTwin } from '../../channels/paypal/forge-crc.ts';
import { newDir, startReceiver, until, type Receiver } from '../world.ts';
import { approve, openShop, paid, place, placeOrder, type Shop } from './shop.ts';

/** CRC-32 (IEEE 802.3) by its definition, independent of our own code. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

let shop: Shop;
let receiver: Receiver;
test.before(async () => {
  receiver = await startReceiver('ok');
  shop = await openShop({ notifyUrl: receiver.url });
});
test.after.always(async () => {
  await shop?.close();
  receiver?.close();
});

const order = (to: Receiver, orderNo: string) => ({ ...placeOrder(orderNo), notifyUrl: to.url });

async function approved(orderNo: string, at = shop, to = receiver): Promise<Delivery> {
  await place(at, order(to, orderNo));
  await at.world.post('/sim/approve', { orderNo });
  return until(async () => (await at.world.deliveries(orderNo)).find(({ status }) => status !== null));
}

const bytesOf = ({ bodyBase64 }: Delivery) => Buffer.from(bodyBase64, 'base64');

test.serial('a delivery verifies by the published algorithm, and our adapter reads its ids', async (t) => {
  const delivery = await approved('HOOK000001');
  const { headers } = delivery;
  const certificate = new X509Certificate(await (await fetch(headers['paypal-cert-url'] ?? '')).text());
  const text = [
    headers['paypal-transmission-id'],
    headers['paypal-transmission-time'],
    shop.fields['webhookId'],
    crc32(bytesOf(delivery)),
  ].join('|');
  const verifier = createVerify('RSA-SHA256').update(text);
  t.true(verifier.verify(certificate.publicKey, headers['paypal-transmission-sig'] ?? '', 'base64'));
  t.regex(certificate.subject, /CN=[\w.]+\.paypal\.com$/m);

  const notification = await shop.channel.readNotification(headers, bytesOf(delivery));
  t.like(notification, { event: 'CHECKOUT.ORDER.APPROVED', orderNo: 'HOOK000001', account: shop.fields['clientId'] });
  t.false('outcome' in notification);
});

// In capitals: developer.paypal.com, "Verify webhook signature".
test.serial("delivery headers have PayPal's exact spelling", async (t) => {
  const own = await startReceiver();
  t.teardown(() => own.close());
  await approved('HOOK00CASE', shop, own);
  const { names } = own.received[0]!;
  for (const name of ['AUTH-ALGO', 'CERT-URL', 'TRANSMISSION-ID', 'TRANSMISSION-SIG', 'TRANSMISSION-TIME'])
    t.true(names.includes(`PAYPAL-${name}`), `${name}: ${names}`);
});

test.serial("the channel's verification call accepts a delivery and refuses a changed one", async (t) => {
  const delivery = await approved('HOOK000002');
  const { headers } = delivery;
  const question = {
    auth_algo: headers['paypal-auth-algo'],
    cert_url: headers['paypal-cert-url'],
    transmission_id: headers['paypal-transmission-id'],
    transmission_sig: headers['paypal-transmission-sig'],
    transmission_time: headers['paypal-transmission-time'],
    webhook_id: shop.fields['webhookId'],
    webhook_event: JSON.parse(delivery.body) as Record<string, unknown>,
  };
  const ask = async (more: object) =>
    (await shop.call('POST', '/v1/notifications/verify-webhook-signature', { ...question, ...more })).body[
      'verification_status'
    ];
  t.is(await ask({}), 'SUCCESS');
  t.is(await ask({ transmission_id: 'other' }), 'FAILURE');
  t.is(await ask({ webhook_id: 'OTHER12345' }), 'FAILURE');
  t.is(await ask({ cert_url: 'https://evil.example/cert' }), 'FAILURE');
  t.is(await ask({ webhook_event: { ...question.webhook_event, id: 'WH-2' } }), 'FAILURE');
});

test.serial('a certificate served without its intermediate is verified through PayPal', async (t) => {
  const own = await openShop({ notifyUrl: receiver.url });
  t.teardown(() => own.close());
  await own.world.post('/sim/rotate', { payWay: 'paypal', account: 'shop', what: 'leaf-only' });
  const delivery = await approved('HOOKLEAF01', own);
  const notification = await own.channel.readNotification(delivery.headers, bytesOf(delivery));
  t.like(notification, { orderNo: 'HOOKLEAF01', amiss: 'chain_incomplete' });
});

test.serial("a dashboard test event is signed for no webhook, and PayPal's verification refuses it", async (t) => {
  await place(shop, order(receiver, 'HOOKTEST01'));
  const resource = { id: 'TEST00000001', custom_id: 'HOOKTEST01' };
  await shop.world.post('/sim/event', {
    orderNo: 'HOOKTEST01',
    type: 'PAYMENT.CAPTURE.COMPLETED',
    resource,
    isTest: true,
  });
  const delivery = await until(async () => (await shop.world.deliveries('HOOKTEST01')).find(({ status }) => status));
  t.like(await shop.channel.readNotification(delivery.headers, bytesOf(delivery)), { isTest: true, orderNo: null });
  const { headers } = delivery;
  const { body } = await shop.call('POST', '/v1/notifications/verify-webhook-signature', {
    auth_algo: headers['paypal-auth-algo'],
    cert_url: headers['paypal-cert-url'],
    transmission_id: headers['paypal-transmission-id'],
    transmission_sig: headers['paypal-transmission-sig'],
    transmission_time: headers['paypal-transmission-time'],
    webhook_id: shop.fields['webhookId'],
    webhook_event: JSON.parse(delivery.body) as Record<string, unknown>,
  });
  t.is(body['verification_status'], 'FAILURE');
});

test.serial('a forged twin of a delivery is a hint for the same order, which is then queried', async (t) => {
  const delivery = await approved('HOOK000003');
  const genuine = bytesOf(delivery);
  const event = JSON.parse(delivery.body) as Record<string, unknown>;
  const twin = forgeTwin(genuine, (pad) => JSON.stringify({ ...event, event_type: 'PAYMENT.CAPTURE.COMPLETED', pad }));
  const forged = await shop.channel.readNotification(delivery.headers, twin);
  t.false('outcome' in forged || 'refund' in forged);
  t.not(forged.notificationId, (await shop.channel.readNotification(delivery.headers, genuine)).notificationId);
  t.is((await shop.world.ledger('HOOK000003')).orders[0]?.paid, 0);
});

test.serial('an order is notified when approved, captured and refunded', async (t) => {
  const first = await approved('HOOK000004');
  const { id } = (JSON.parse(first.body) as { resource: { id: string } }).resource;
  const ref = {
    ...order(receiver, 'HOOK000004'),
    channelOrderId: id,
    channelTradeNo: null,
    captureNo: 'HOOK000004-c1',
  };
  const money = await shop.channel.capture?.(ref);
  const channelTradeNo = money?.kind === 'paid' ? money.channelNo : null;
  const refundAmount = { minor: 100n, currency: 'USD' };
  const refund = { refundNo: 'HOOKREFUND1', refundAmount, reason: '', notifyUrl: '', refundSentAt: new Date() };
  t.like(await shop.channel.refund({ ...ref, channelTradeNo, ...refund }), { kind: 'succeeded' });
  const deliveries = await until(async () => {
    const all = (await shop.world.deliveries('HOOK000004')).filter(({ url }) => url === receiver.url);
    return all.length === 3 && all;
  });
  const notifications = await Promise.all(
    deliveries.map((each) => shop.channel.readNotification(each.headers, bytesOf(each))),
  );
  t.like(
    notifications.find(({ event }) => event === 'CHECKOUT.ORDER.APPROVED'),
    { orderNo: 'HOOK000004', channelOrderId: id },
  );
  t.like(
    notifications.find(({ event }) => event === 'PAYMENT.CAPTURE.COMPLETED'),
    { orderNo: 'HOOK000004', channelOrderId: id },
  );
  t.like(
    notifications.find(({ event }) => event === 'PAYMENT.CAPTURE.REFUNDED'),
    { orderNo: 'HOOK000004', refundNo: 'HOOKREFUND1' },
  );
});

const captured = async (orderNo: string) => {
  const first = await approved(orderNo);
  const { id } = (JSON.parse(first.body) as { resource: { id: string } }).resource;
  const ref = { ...order(receiver, orderNo), channelOrderId: id, channelTradeNo: null, captureNo: `${orderNo}-c1` };
  const money = await shop.channel.capture?.(ref);
  return { ...ref, channelTradeNo: money?.kind === 'paid' ? money.channelNo : null };
};

const told = async (orderNo: string, event: string) => {
  const delivery = await until(async () => (await shop.world.deliveries(orderNo)).find((one) => one.event === event));
  return shop.channel.readNotification(delivery.headers, bytesOf(delivery));
};

test.serial('a refund made elsewhere is notified with its amount and without our number', async (t) => {
  const { orderNo } = await captured('HOOK000020');
  await shop.world.post('/sim/refund-elsewhere', { orderNo, amount: '2.00' });
  const notification = await told(orderNo, 'PAYMENT.CAPTURE.REFUNDED');
  t.like(notification, {
    orderNo,
    refundNo: null,
    refund: { kind: 'succeeded', amount: { minor: 200n, currency: 'USD' } },
  });
});

test.serial('a refund that fails after its success is notified as failed', async (t) => {
  const ref = await captured('HOOK000021');
  const refundAmount = { minor: 100n, currency: 'USD' };
  const refund = { refundNo: 'HOOKREFUND2', refundAmount, reason: '', notifyUrl: '', refundSentAt: new Date() };
  await shop.channel.refund({ ...ref, ...refund });
  await shop.world.post('/sim/refund-state', { orderNo: ref.orderNo, refundNo: 'HOOKREFUND2', state: 'failed' });
  const notification = await told(ref.orderNo, 'PAYMENT.REFUND.FAILED');
  t.like(notification, { orderNo: ref.orderNo, refundNo: 'HOOKREFUND2', refund: { kind: 'failed', code: 'FAILED' } });
});

test.serial('an unacknowledged delivery is sent 25 times in three days unchanged, and any 2xx ends it', async (t) => {
  const [deaf, polite] = [await startReceiver(), await startReceiver()];
  [deaf.answer.status, polite.answer.status] = [500, 204];
  const own = await openShop();
  t.teardown(async () => {
    await own.close();
    deaf.close();
    polite.close();
  });
  await approved('HOOK000005', own, deaf);
  await approved('HOOK000006', own, polite);
  await own.advance(3 * 86_400);
  const all = await own.world.deliveries('HOOK000005');
  await own.advance(10 * 86_400);
  t.is((await own.world.deliveries('HOOK000005')).length, 25);
  t.is((await own.world.deliveries('HOOK000006')).length, 1);
  t.is(all.length, 25);
  const same = (pick: (delivery: Delivery) => string | undefined) => new Set(all.map(pick)).size;
  t.is(
    same(({ bodyBase64 }) => bodyBase64),
    1,
  );
  t.is(
    same(({ headers }) => headers['paypal-transmission-id']),
    1,
  );
  t.is(
    same(({ headers }) => headers['paypal-transmission-time']),
    1,
  );
  const late = all.at(-1);
  if (late) t.like(await own.channel.readNotification(late.headers, bytesOf(late)), { orderNo: 'HOOK000005' });
});

const badly = async (orderNo: string, fault: string): Promise<Delivery> => {
  await shop.fault('notice', fault, { orderNo });
  return approved(orderNo);
};

for (const [fault, why] of [
  ['wrong-key', 'signature_invalid'],
  ['bad-notify-signature', 'signature_invalid'],
  ['signtest', 'signature_invalid'],
  ['tampered', 'signature_invalid'],
  ['unknown-serial', 'signature_invalid'],
  ['no-signature', 'unsigned'],
  ['duplicate-key', 'malformed'],
] as const) {
  test.serial(`a faulty delivery is not genuine: ${fault}`, async (t) => {
    const delivery = await badly(`BAD${fault.replaceAll('-', '_')}`, fault);
    const error = await t.throwsAsync(shop.channel.readNotification(delivery.headers, bytesOf(delivery)), {
      instanceOf: NotificationNotGenuine,
    });
    t.is((error as NotificationNotGenuine).why, why);
  });
}

test.serial('a delivery with a skewed time or a wrong amount is only a hint', async (t) => {
  for (const [orderNo, fault] of [
    ['HOOK000008', 'clock-skew'],
    ['HOOK000009', 'wrong-amount'],
  ] as const) {
    const delivery = await badly(orderNo, fault);
    const notification = await shop.channel.readNotification(delivery.headers, bytesOf(delivery));
    t.like(notification, { orderNo });
    t.false('outcome' in notification);
  }
});

test.serial('old and new deliveries verify after a certificate rotation', async (t) => {
  const before = await approved('HOOK000010');
  await shop.world.post('/sim/rotate', { payWay: 'paypal', account: 'shop', what: 'certificate' });
  const after = await approved('HOOK000011');
  t.not(before.headers['paypal-cert-url'], after.headers['paypal-cert-url']);
  for (const delivery of [before, after])
    await t.notThrowsAsync(shop.channel.readNotification(delivery.headers, bytesOf(delivery)));
});

test.serial('a delivery is rejected by the channel of another account', async (t) => {
  const delivery = await approved('HOOK000012');
  await shop.world.post('/sim/accounts', { payWay: 'paypal', name: 'other' });
  const { paypal } = await shop.world.config('other');
  const send = createTransport({ timeoutMs: 120_000 });
  const input = { mode: 'simulator', simulatorUrl: shop.world.url, send, now: () => new Date() } as const;
  const other: Channel = createPaypalChannel({ ...input, fields: paypal?.fields ?? {}, pems: paypal?.pems ?? {} });
  await t.throwsAsync(other.readNotification(delivery.headers, bytesOf(delivery)), {
    instanceOf: NotificationNotGenuine,
  });
});

test.serial('webhooks can be registered, listed and removed', async (t) => {
  const path = '/v1/notifications/webhooks';
  const request = { url: `${receiver.url}/second`, event_types: [{ name: 'CHECKOUT.ORDER.APPROVED' }] };
  const made = await shop.call('POST', path, request);
  t.is(made.status, 201);
  t.is((await shop.call('POST', path, request)).status, 400);
  t.is(((await shop.call('GET', path)).body['webhooks'] as unknown[]).length, 2);
  await approve(shop, 'HOOK000013');
  await until(async () => (await shop.world.deliveries('HOOK000013')).some(({ url }) => url === request.url));
  t.is((await shop.call('DELETE', `${path}/${String(made.body['id'])}`)).status, 204);
  t.is((await shop.call('GET', `${path}/${String(made.body['id'])}`)).status, 404);
});

test.serial('a restarted process keeps orders, pending captures and repeats', async (t) => {
  const dir = newDir();
  const first = await openShop({ dir });
  const done = await paid(first, 'AGAIN00001');
  const pending = await approve(first, 'AGAIN00002');
  await first.fault('capture', 'capture-pending', { orderNo: pending.orderNo });
  await first.channel.capture?.(pending);
  await first.close();

  const again = await openShop({ dir, clockOffset: 120_000 });
  t.teardown(() => again.close());
  t.like(await again.channel.query(done), { kind: 'paid', channelNo: done.channelTradeNo });
  t.like(await again.channel.query(pending), { kind: 'paid' });
  const repeat = await again.channel.place(placeOrder('AGAIN00001'));
  t.like(repeat, { kind: 'paid', channelNo: done.channelTradeNo });
  t.like((await again.world.ledger('AGAIN00001')).orders[0], { created: 1, payments: 1 });
});

// GET /v1/notifications/webhooks/{webhook_id}/event-types (paypal/paypal-rest-api-specifications, notifications_webhooks_v1.json).
test.serial("the events of a webhook are listed in PayPal's format", async (t) => {
  const names = ['PAYMENT.CAPTURE.COMPLETED', 'PAYMENT.CAPTURE.REFUNDED'];
  const hook = { url: 'https://shop.example/types', event_types: names.map((name) => ({ name })) };
  const { id } = (await shop.call('POST', '/v1/notifications/webhooks', hook)).body;
  const { status, body } = await shop.call('GET', `/v1/notifications/webhooks/${String(id)}/event-types`);
  t.is(status, 200);
  t.deepEqual(body, { event_types: names.map((name) => ({ name, status: 'ENABLED' })) });
  t.is((await shop.call('GET', '/v1/notifications/webhooks/0EH40505U7160970P/event-types')).status, 404);
  await shop.call('DELETE', `/v1/notifications/webhooks/${String(id)}`);
});
