import test from 'ava';
import { randomBytes } from 'node:crypto';
import { type Span, startCollector } from '../support/collector.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, until } from '../support/service.ts';
import { startWorkers } from '../support/workers.ts';

/** A caller's own trace. */
function callersTrace(flags = '01') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

/** All that a span may tell. */
const ATTRIBUTES = new Set([
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'db.system.name',
  'error.type',
  'pay.request_id',
  'pay.client_id',
  'pay.pay_way',
  'pay.call',
  'pay.order_no',
  'pay.refund_no',
  'pay.event',
  'pay.object_no',
]);

test('one trace spans request, transaction, channel call, notification and webhook, whichever process they are in', async (t) => {
  const collector = await startCollector(t);
  const receiver = await startReceiver(t);
  const service = await startService(t);
  const shop = await service.merchant({ trusted: true });
  const workers = await startWorkers(t, service.databaseUrl, {
    PAY_SIMULATOR_URL: service.simulator.url,
    PAY_TELEMETRY_OTLP: collector.url,
    PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  });
  const subject = 'A present for Alice Miller';
  const pay = (amount: number, headers: Record<string, string>) => {
    const body = { subject, amount, payWay: 'wechat', notifyUrl: receiver.url, userId: 'alice-miller', extra: subject };
    return shop.callAt(workers.url, 'POST', '/api/v2/payment/pay', body, headers);
  };
  const told = (type: string, orderNo: string) =>
    until(`${type} of ${orderNo}`, async () =>
      receiver.received.find(({ body }) => {
        const { type: of, data } = JSON.parse(body);
        return of === type && data.object.orderNo === orderNo;
      }),
    );

  const order = callersTrace();
  const placed = await pay(10, order.headers);
  t.is(placed.status, 201);
  const { orderNo } = placed.body.data;
  await service.sim('/sim/pay', { orderNo });
  const paid = await told('order.paid', orderNo);
  t.is(String(paid.headers['traceparent']).split('-')[1], order.traceId);

  const silent = callersTrace('00');
  const { orderNo: untraced } = (await pay(11, silent.headers)).body.data;
  await service.sim('/sim/pay', { orderNo: untraced });
  const quiet = String((await told('order.paid', untraced)).headers['traceparent']);
  t.regex(
    quiet,
    new RegExp(`^00-${silent.traceId}-[0-9a-f]{16}-00$`),
    'whoever does not record is followed all the same',
  );

  const refund = callersTrace();
  const asked = await shop.callAt(
    workers.url,
    'POST',
    '/api/v2/payment/refund',
    { orderNo, refundAmount: 4 },
    refund.headers,
  );
  t.is(asked.status, 200);
  await service.sim('/sim/clock', { advanceSeconds: 120 });
  const refunded = await told('refund.succeeded', orderNo);
  t.is(
    String(refunded.headers['traceparent']).split('-')[1],
    refund.traceId,
    'a refund goes on in the trace of its own request',
  );

  workers.signal('SIGTERM');
  t.is((await workers.ended).code, 0);
  t.deepEqual(collector.paths, new Set(['/v1/traces']));

  const { spans } = collector;
  const ofOrder = spans.filter(({ traceId }) => traceId === order.traceId);
  const named = (name: string) => ofOrder.filter((span) => span.name === name);
  const [root] = named('POST /api/v2/payment/pay');
  t.is(root?.parentSpanId, order.spanId);
  t.like(root?.attributes, { 'http.response.status_code': 201, 'pay.order_no': orderNo, 'pay.pay_way': 'wechat' });
  const [call] = named('wechat place');
  t.like(call, { parentSpanId: root?.spanId, kind: 3 });
  t.true(
    named('transaction').filter(({ parentSpanId }) => parentSpanId === root?.spanId).length >= 2,
    'intend and settle',
  );
  const [notice] = named('notice');
  t.is(notice?.parentSpanId, root?.spanId);
  const [linked] = notice?.links ?? [];
  t.is(
    spans.find(({ traceId, kind }) => traceId === linked && kind === 2)?.name,
    'POST /notify/{payWay}/{project}',
    'the request that brought it is linked',
  );
  const [settled] = named('transaction').filter(({ parentSpanId }) => parentSpanId === notice?.spanId);
  const [webhook] = named('webhook');
  t.true(
    [notice?.spanId, settled?.spanId].includes(webhook?.parentSpanId),
    'the webhook tells what the notification brought',
  );
  t.is(String(paid.headers['traceparent']), `00-${order.traceId}-${webhook?.spanId}-01`);
  t.like(webhook?.attributes, { 'pay.event': 'order.paid', 'http.response.status_code': 200 });
  for (const span of ofOrder) t.true(leadsTo(span, order.spanId, ofOrder), `${span.name} hangs on the caller's span`);

  t.true(spans.some(({ name, traceId }) => name === 'webhook' && traceId === refund.traceId));
  t.deepEqual(
    spans.filter(({ traceId }) => traceId === silent.traceId),
    [],
  );
  t.deepEqual(
    spans.filter(({ name }) => name.includes('health')),
    [],
  );
  for (const { name, attributes } of spans)
    for (const [key, value] of Object.entries(attributes)) {
      t.true(ATTRIBUTES.has(key), `${name}: ${key}`);
      t.notRegex(String(value), /alice|miller|127\.0\.0\.1|Bearer|pays_|https?:/i, `${name}: ${key}`);
    }
  const instances = new Set(spans.map(({ instance }) => instance));
  t.log(`${spans.length} spans of ${instances.size} processes`);
});

function leadsTo({ parentSpanId }: Span, target: string, spans: readonly Span[]): boolean {
  if (parentSpanId === target) return true;
  const parent = spans.find(({ spanId }) => spanId === parentSpanId);
  return parent !== undefined && leadsTo(parent, target, spans);
}
