import test, { type ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { startReceiver } from '../support/receiver.ts';
import { startService, until } from '../support/service.ts';
import { startWorkers } from '../support/workers.ts';
import { listenOnFreePort } from '../support/free-port.ts';

/** A span as a collector receives it. */
interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  kind: number;
  attributes: Readonly<Record<string, string | number>>;
  /** Traces that it is linked to. */
  links: readonly string[];
  isError: boolean;
  /** The process that created it. */
  instance: string;
}

/** An OpenTelemetry collector that receives traces by OTLP over HTTP, as JSON. */
interface Collector {
  url: string;
  spans: Span[];
  /** The paths of the received requests. */
  paths: Set<string>;
}

interface KeyValue {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number };
}

interface Payload {
  resourceSpans: {
    resource: { attributes: KeyValue[] };
    scopeSpans: {
      spans: {
        name: string;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        kind: number;
        attributes: KeyValue[];
        links: { traceId: string }[];
        status: { code: number };
      }[];
    }[];
  }[];
}

/** Starts a collector on a free port. */
async function startCollector(t: Pick<ExecutionContext, 'teardown'>): Promise<Collector> {
  const collector: Collector = { url: '', spans: [], paths: new Set() };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      collector.paths.add(request.url ?? '');
      collector.spans.push(...spansOf(JSON.parse(Buffer.concat(parts).toString()) as Payload));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  collector.url = `http://127.0.0.1:${port}`;
  return collector;
}

function spansOf({ resourceSpans }: Payload): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, links, status, parentSpanId, ...span }) => ({
        ...span,
        parentSpanId: parentSpanId || undefined,
        attributes: valuesOf(attributes),
        links: links.map(({ traceId }) => traceId),
        isError: status.code === 2,
        instance: String(valuesOf(resource.attributes)['service.instance.id']),
      })),
    ),
  );
}

function valuesOf(attributes: readonly KeyValue[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  );
}

/** A caller's own trace. */
function callersTrace(flags = '01') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

/** The only attributes allowed in a span. */
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

test('one trace spans request, transaction, channel call, notification and webhook across processes', async (t) => {
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
  t.regex(quiet, new RegExp(`^00-${silent.traceId}-[0-9a-f]{16}-00$`), 'an unsampled trace is propagated, too');

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
    'a refund continues the trace of its own request',
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
  const [notification] = named('notice');
  t.is(notification?.parentSpanId, root?.spanId);
  const [linked] = notification?.links ?? [];
  t.is(
    spans.find(({ traceId, kind }) => traceId === linked && kind === 2)?.name,
    'POST /notify/{payWay}/{project}',
    'the request that brought it is linked',
  );
  const [settled] = named('transaction').filter(({ parentSpanId }) => parentSpanId === notification?.spanId);
  const [webhook] = named('webhook');
  t.true(
    [notification?.spanId, settled?.spanId].includes(webhook?.parentSpanId),
    'the webhook reports the event of the notification',
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
