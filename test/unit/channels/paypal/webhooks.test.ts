import test from 'ava';
import { paypalKind } from '../../../../server/channels/paypal/kind.ts';
import { NEEDED_EVENTS } from '../../../../server/channels/paypal/notification.ts';
import type { ChannelInput, Transport, WireAnswer, WireRequest } from '../../../../server/payments/channel.ts';
import * as s from './scripted.ts';

const NOTIFY = 'https://pay.example/notify/paypal/default';
const events = (...names: string[]) => names.map((name) => ({ name }));
const EVERY = events(...NEEDED_EVENTS, 'PAYMENT.REFUND.PENDING', 'PAYMENT.REFUND.FAILED');
const webhook = (id: string, url: string, event_types: object[]) => ({ id, url, event_types });

/** Registers the webhook at a PayPal with these webhooks; other calls go to `script`. */
async function register(
  listed: object[],
  script: (request: WireRequest) => WireAnswer,
  {
    input = {},
    known = [...EVERY, ...events('SOMETHING.ELSE')],
  }: { input?: Partial<ChannelInput>; known?: object[] } = {},
) {
  const sent: WireRequest[] = [];
  const send: Transport = async (request) => {
    sent.push(request);
    if (request.about.call === 'token') return s.token();
    if (request.method === 'GET' && request.url.endsWith('/webhooks-event-types'))
      return s.json(200, { event_types: known });
    if (request.method === 'GET') return s.json(200, { webhooks: listed });
    return script(request);
  };
  const { webhookId: _, ...fields } = s.FIELDS;
  const base = { mode: 'sandbox', fields, pems: {}, simulatorUrl: null, notifyUrl: NOTIFY, now: () => s.NOW } as const;
  const said = await paypalKind.registerNotifications?.({ ...base, send, ...input });
  return { said, changes: sent.filter(({ method, about }) => method !== 'GET' && about.call === 'webhooks') };
}

const nothing = (): WireAnswer => s.refusal(500, 'NOBODY_ASKED');

test('a webhook with our URL and every event is used unchanged', async (t) => {
  const others = [webhook('OTHER0001', 'https://pay.example/notify/paypal/other', EVERY)];
  for (const event_types of [EVERY, events('*'), [...EVERY, ...events('CUSTOMER.DISPUTE.CREATED')]]) {
    const { said, changes } = await register([...others, webhook('HERE00001', NOTIFY, event_types)], nothing);
    t.deepEqual(said, { ok: true, fields: { webhookId: 'HERE00001' } });
    t.deepEqual(changes, []);
  }
});

test('a webhook with missing events gets them in addition to its own', async (t) => {
  const own = events('CUSTOMER.DISPUTE.CREATED', 'PAYMENT.CAPTURE.COMPLETED');
  const { said, changes } = await register([webhook('HERE00001', NOTIFY, own)], () =>
    s.json(200, webhook('HERE00001', NOTIFY, EVERY)),
  );
  t.deepEqual(said, { ok: true, fields: { webhookId: 'HERE00001' } });
  t.is(changes.length, 1);
  t.like(changes[0], {
    method: 'PATCH',
    url: 'https://api-m.sandbox.paypal.com/v1/notifications/webhooks/HERE00001',
  });
  const [change] = JSON.parse(changes[0]?.body ?? '');
  t.like(change, { op: 'replace', path: '/event_types' });
  t.deepEqual(
    change.value.map(({ name }: { name: string }) => name).toSorted(),
    [...new Set([...own, ...EVERY].map(({ name }) => name))].toSorted(),
  );
});

test('without a webhook one is created with the events that PayPal offers', async (t) => {
  const { said, changes } = await register(
    [webhook('OTHER0001', `${NOTIFY}/x`, EVERY)],
    () => s.json(201, webhook('NEWONE001', NOTIFY, EVERY)),
    { known: events(...NEEDED_EVENTS) },
  );
  t.deepEqual(said, { ok: true, fields: { webhookId: 'NEWONE001' } });
  t.like(changes[0], { method: 'POST', url: 'https://api-m.sandbox.paypal.com/v1/notifications/webhooks' });
  t.deepEqual(JSON.parse(changes[0]?.body ?? ''), { url: NOTIFY, event_types: events(...NEEDED_EVENTS) });
});

test('an obstacle to the registration is reported', async (t) => {
  const full = await register([], () => s.refusal(400, 'WEBHOOK_NUMBER_LIMIT_EXCEEDED'));
  t.like(full.said, { ok: false, field: 'webhookId', code: 'WEBHOOK_NUMBER_LIMIT_EXCEEDED' });
  const plain = await register([], nothing, { input: { notifyUrl: 'http://127.0.0.1:8080/notify/paypal/default' } });
  t.like(plain.said, { ok: false, code: 'not_https' });
  const silent = await register([], () => s.json(502, {}));
  t.like(silent.said, { ok: false, field: null, code: 'http_status' });
  await t.throwsAsync(async () => register([], nothing, { input: { fields: {} } }), { message: /clientId/ });
});

test('the probe reports the webhook URL and the missing events', async (t) => {
  const probe = async (body: object, notifyUrl: string | undefined = NOTIFY) =>
    s.scripted(() => s.json(200, body), { notifyUrl }).channel.probe();
  t.like(await probe(webhook('HERE00001', NOTIFY, EVERY)), { ok: true, note: undefined });
  t.like(await probe(webhook('HERE00001', NOTIFY, events('*'))), { ok: true, note: undefined });
  const elsewhere = await probe(webhook('HERE00001', 'https://old.example/', EVERY));
  t.like(elsewhere, { ok: false, field: 'webhookId', code: 'webhook_url' });
  t.true(!elsewhere.ok && elsewhere.message.includes(NOTIFY) && elsewhere.message.includes('https://old.example/'));
  const few = await probe(webhook('HERE00001', NOTIFY, events(...NEEDED_EVENTS.slice(1))));
  t.like(few, { ok: false, field: 'webhookId', code: 'webhook_events' });
  t.true(!few.ok && few.message.includes(NEEDED_EVENTS[0]));
  t.like(await probe({ nonsense: true }), { ok: false, code: 'unparsable' });
});
