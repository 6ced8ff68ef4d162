import { Buffer } from 'node:buffer';
import test, { type ExecutionContext } from 'ava';
import {
  NotificationNotGenuine,
  NotificationUndecided,
  TransportFailed,
  type ChannelInput,
  type Notification,
  type Transport,
  type WireAnswer,
  type WireRequest,
} from '../../../../server/payments/channel.ts';
import { captureBody, FIELDS, json, ORDER_NO, refusal, token } from './scripted.ts';
import { CERT_URL, PEMS, SIMULATOR_URL, signedHeaders, withCertificate } from './signer.ts';

const captured = Buffer.from(
  JSON.stringify({ id: 'WH-1', event_type: 'PAYMENT.CAPTURE.COMPLETED', resource: captureBody() }),
);

async function refusedBecause(t: ExecutionContext, reading: Promise<Notification>, why: NotificationNotGenuine['why']) {
  const error = await t.throwsAsync(reading, { instanceOf: NotificationNotGenuine });
  t.is(error?.why, why);
}

/** A channel whose certificate lacks the intermediate, with PayPal's response to the verification. */
function unchained(says: WireAnswer | 'silence', input: Partial<ChannelInput> = {}) {
  const sent: WireRequest[] = [];
  const send: Transport = async (request) => {
    sent.push(request);
    const { call } = request.about;
    if (call === 'token') return token();
    if (call === 'certificate') return { status: 200, headers: {}, body: Buffer.from(PEMS.withoutMiddle) };
    if (says === 'silence') throw new TransportFailed('timeout', 'No answer.');
    return says;
  };
  const { channel } = withCertificate('', { send, ...input });
  return { channel, asked: () => sent.filter(({ about }) => about.call === 'verify-webhook') };
}

const vouches = (verification_status: string) => json(200, { verification_status });

test('a message with only an incomplete chain is verified by PayPal with the received bytes', async (t) => {
  const odd = Buffer.from(captured.toString().replace('{"id"', '{ "amount_text" : "1.0\\u20ac" , "id"'));
  const { channel, asked } = unchained(vouches('SUCCESS'));
  t.like(await channel.readNotification(signedHeaders(odd), odd), { orderNo: ORDER_NO, amiss: 'chain_incomplete' });
  const [request] = asked();
  t.is(request?.url, `${SIMULATOR_URL}/paypal/v1/notifications/verify-webhook-signature`);
  t.true(request?.body?.endsWith(`,"webhook_event":${odd.toString()}}`));
  const headers = signedHeaders(odd);
  const { webhook_event: _, ...rest } = JSON.parse(request?.body ?? '{}') as Record<string, unknown>;
  t.deepEqual(rest, {
    auth_algo: 'SHA256withRSA',
    cert_url: CERT_URL,
    transmission_id: headers['paypal-transmission-id'],
    transmission_sig: headers['paypal-transmission-sig'],
    transmission_time: headers['paypal-transmission-time'],
    webhook_id: FIELDS.webhookId,
  });
});

test('a message that PayPal does not verify is not genuine, and no response leaves it undecided', async (t) => {
  const read = (says: Parameters<typeof unchained>[0]) =>
    unchained(says).channel.readNotification(signedHeaders(captured), captured);
  await refusedBecause(t, read(vouches('FAILURE')), 'chain_incomplete');
  for (const says of ['silence', refusal(400, 'VALIDATION_ERROR'), json(200, {}), vouches('PERHAPS')] as const)
    await t.throwsAsync(read(says), { instanceOf: NotificationUndecided });
});

test('a message not signed by the certificate is not sent to PayPal for verification', async (t) => {
  const { channel, asked } = unchained(vouches('SUCCESS'));
  const headers = signedHeaders(captured, { 'paypal-transmission-id': 'other' });
  await refusedBecause(t, channel.readNotification(headers, captured), 'signature_invalid');
  t.deepEqual(asked(), []);
});

test('a test event of the dashboard is genuine and names no order', async (t) => {
  const headers = signedHeaders(captured, {}, 'WEBHOOK_ID');
  const { notificationId: _, ...notification } = await withCertificate().channel.readNotification(headers, captured);
  t.deepEqual(notification, {
    account: FIELDS.clientId,
    event: 'PAYMENT.CAPTURE.COMPLETED',
    orderNo: null,
    refundNo: null,
    isShared: true,
    isTest: true,
  });
});

test('the simulator CA is not trusted in other modes', async (t) => {
  const url = 'https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1';
  const { channel, asked } = unchained(vouches('FAILURE'), { mode: 'sandbox' });
  const headers = signedHeaders(captured, { 'paypal-cert-url': url });
  await refusedBecause(t, channel.readNotification(headers, captured), 'chain_incomplete');
  t.is(asked().length, 1, 'only PayPal can vouch for it');
});
