import type { RequestListener } from 'node:http';
import test from 'ava';
import { randomUUID } from 'node:crypto';
import { assertLedgersMatch, runUntilQuiet } from '../../support/merchant-ledger.ts';
import { serve } from '../../support/free-port.ts';
import { startService, until, type Merchant, type Service } from '../../support/service.ts';
import { addSkill, callSkill, paidSkill, withNewToken } from '../../support/skillpay.ts';

const open = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

async function paidCall(service: Service, shop: Merchant, url: string, timeoutMs?: number): Promise<string> {
  await addSkill(service, { resource: { handler: 'http', url, ...(timeoutMs ? { timeoutMs } : {}) } });
  return paidSkill(service, shop, { resource: 'weather', input: { city: 'Paris' } });
}

const exceptionsOf = (service: Service, orderNo: string) =>
  service.app.store.read((tx) => tx.exceptions.list({ orderNo, kind: 'fulfilment_failed' }));

/** Repeats the call until the money is refunded. */
async function untilRefunded(service: Service, shop: Merchant, outTradeNo: string) {
  return until('refunded', async () => {
    await service.app.sweep.once();
    service.clock.advance(30);
    const answer = await callSkill(shop, undefined, outTradeNo);
    return answer.status === 200 && answer;
  });
}

test('the upstream does the work once; its answer is replayed', async (t) => {
  let calls = 0;
  const seen: string[] = [];
  const url = await serve(t, (request, response) => {
    calls += 1;
    seen.push(String(request.headers['idempotency-key']), String(request.headers.authorization));
    response.setHeader('content-type', 'application/json');
    request.pipe(response);
  });
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const outTradeNo = await paidCall(service, shop, url);
  t.deepEqual((await callSkill(shop, undefined, outTradeNo)).body.data.content, { city: 'Paris' });
  t.true((await callSkill(shop, undefined, outTradeNo)).body.data.alreadyFulfilled);
  t.is(calls, 1);
  t.deepEqual(seen, [outTradeNo, 'undefined']);
});

test('a temporary fault leaves the order paid, and the next attempt is free', async (t) => {
  let calls = 0;
  const url = await serve(t, (_request, response) => {
    calls += 1;
    response.statusCode = calls === 1 ? 503 : 200;
    response.end(calls === 1 ? 'busy' : 'done');
  });
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const outTradeNo = await paidCall(service, shop, url);
  // On a slow machine the pause between the attempts would elapse.
  service.clock.stop();
  const first = await callSkill(shop, undefined, outTradeNo);
  t.is(first.status, 503);
  t.is(first.body.code, 'fulfilment_unavailable');
  t.truthy(first.headers.get('retry-after'));
  t.is((await callSkill(shop, undefined, outTradeNo)).status, 503);
  t.is(calls, 1, 'a pause between the tries');
  service.clock.advance(3);
  const second = await callSkill(shop, undefined, outTradeNo);
  t.is(second.status, 200);
  t.is(second.body.data.content, 'done');
  t.is(await service.app.store.read((tx) => tx.refunds.count({})), 0);
});

test('the service retries automatically after a pause', async (t) => {
  let calls = 0;
  const url = await serve(t, (request, response) => {
    calls += 1;
    if (calls === 1) request.socket.destroy();
    else response.end('done');
  });
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const outTradeNo = await paidCall(service, shop, url);
  t.is((await callSkill(shop, undefined, outTradeNo)).status, 503);
  service.clock.advance(3);
  await service.app.sweep.once();
  t.is(calls, 2);
  t.true((await callSkill(shop, undefined, outTradeNo)).body.data.alreadyFulfilled);
});

test('five failed attempts refund the money', async (t) => {
  let calls = 0;
  const url = await serve(t, (_request, response) => {
    calls += 1;
    response.statusCode = 500;
    response.end();
  });
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const outTradeNo = await paidCall(service, shop, url);
  await callSkill(shop, undefined, outTradeNo);
  for (let round = 0; round < 4; round++) {
    service.clock.advance(601);
    await service.app.sweep.once();
  }
  t.is(calls, 5);
  const answer = await untilRefunded(service, shop, outTradeNo);
  t.is(answer.body.data.status, 'refunded');
  t.is(calls, 5);
  await assertLedgersMatch(t, service);
});

test('a call that cannot succeed is refunded immediately, with a fixed number, and reported', async (t) => {
  const faults: Record<string, [RequestListener, string]> = {
    refused: [(_request, response) => void response.writeHead(404).end('no'), 'upstream_refused'],
    redirected: [
      (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1/' }).end(),
      'upstream_redirected',
    ],
    large: [(_request, response) => void response.end('x'.repeat(70_000)), 'upstream_too_large'],
    binary: [(_request, response) => void response.end(Buffer.from([0xff, 0xfe, 0])), 'content_not_text'],
  };
  for (const [what, [listener, code]] of Object.entries(faults)) {
    const service = await startService(t, { env: open });
    const shop = await service.merchant();
    const outTradeNo = await paidCall(service, shop, await serve(t, listener));
    const first = await callSkill(shop, undefined, outTradeNo);
    t.true(first.status === 200 || first.body.code === 'fulfilment_failed_refund_pending', what);
    const answer = await untilRefunded(service, shop, outTradeNo);
    t.like(answer.body.data, { outTradeNo, status: 'refunded' }, what);
    t.is(answer.body.data.content, undefined);
    const [refund] = await service.app.store.read((tx) => tx.refunds.list({ orderNo: outTradeNo }));
    t.like(refund, { refundNo: `R${outTradeNo}F`, origin: 'skillpay', amount: 50n, state: 'succeeded' });
    const row = await service.app.store.read((tx) => tx.skillOrders.find({ orderNo: outTradeNo }));
    t.like(row, { fulfilment: 'failed', failureCode: code, content: null });
    t.deepEqual(
      (await exceptionsOf(service, outTradeNo)).map(({ state }) => state),
      ['resolved'],
    );
    await assertLedgersMatch(t, service);
  }
});

test('internal addresses are never called, and their payers are refunded', async (t) => {
  let calls = 0;
  const url = await serve(t, (_request, response) => {
    calls += 1;
    response.end('secret');
  });
  const { port } = new URL(url);
  const service = await startService(t);
  const shop = await service.merchant();
  const hosts = ['127.0.0.1', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', '169.254.169.254', '10.0.0.1'];
  for (const [index, host] of hosts.entries()) {
    const code = `inward-${index}`;
    await addSkill(service, { code, resource: { handler: 'http', url: `http://${host}:${port}/` } });
    const outTradeNo = await paidSkill(service, shop, { resource: code });
    const answer = await callSkill(shop, undefined, outTradeNo);
    t.is(answer.body.data?.content, undefined, host);
    const row = await service.app.store.read((tx) => tx.skillOrders.find({ orderNo: outTradeNo }));
    t.like(row, { fulfilment: 'failed', failureCode: 'upstream_address_refused', content: null }, host);
  }
  t.is(calls, 0);
});

test('a pending refund is reported to the caller and shown to the operator', async (t) => {
  const url = await serve(t, (_request, response) => void response.writeHead(410).end());
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const outTradeNo = await paidCall(service, shop, url);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'timeout', delayMs: 100 });
  for (let round = 0; round < 2; round++) {
    const answer = await callSkill(shop, undefined, outTradeNo);
    t.is(answer.status, 500);
    t.is(answer.body.code, 'fulfilment_failed_refund_pending');
    t.is(answer.body.refundNo, `R${outTradeNo}F`);
  }
  t.deepEqual(
    (await exceptionsOf(service, outTradeNo)).map(({ state }) => state),
    ['open'],
  );
  await service.sim('/sim/reset-faults', {});
  await untilRefunded(service, shop, outTradeNo);
  t.deepEqual(
    (await exceptionsOf(service, outTradeNo)).map(({ state }) => state),
    ['resolved'],
  );
  await assertLedgersMatch(t, service);
});

test('a caller that disconnects does not stop the work', async (t) => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const url = await serve(t, async (_request, response) => {
    begun.resolve();
    await finish.promise;
    response.end('done');
  });
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const outTradeNo = await paidCall(service, shop, url);
  const gone = new AbortController();
  const call = fetch(`${service.url}/api/v2/skillpay/resource`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.token}`, 'x-out-trade-no': outTradeNo },
    signal: gone.signal,
  });
  await begun.promise;
  const refund = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo });
  t.is(refund.status, 409);
  t.is(refund.body.code, 'fulfilment_in_progress');
  gone.abort();
  await t.throwsAsync(call);
  finish.resolve();
  await until('done', async () => {
    const { body } = await shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
    return body.data.fulfilment === 'done';
  });
  t.is((await callSkill(shop, undefined, outTradeNo)).body.data.content, 'done');
});

test('failed work waits while refunds are blocked, and is refunded when they are unblocked', async (t) => {
  const url = await serve(t, (_request, response) => void response.writeHead(404).end());
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const outTradeNo = await paidCall(service, shop, url);
  const at = service.clock.now();
  await service.app.store.transaction((tx) =>
    tx.exceptions.insert({
      orderNo: outTradeNo,
      blocksRefunds: true,
      state: 'open',
      id: randomUUID(),
      kind: 'refund_unexplained',
      dedupe: 'once',
      clientId: shop.clientId,
      project: 'default',
      createdAt: at,
    }),
  );
  t.is((await callSkill(shop, undefined, outTradeNo)).body.code, 'fulfilment_failed_refund_pending');
  service.clock.advance(3601);
  await service.app.sweep.once();
  t.is(await service.app.store.read((tx) => tx.refunds.count({})), 0);
  await service.app.store.transaction((tx) =>
    tx.exceptions.update({ orderNo: outTradeNo, kind: 'refund_unexplained' }, { state: 'resolved' }),
  );
  service.clock.advance(3601);
  await service.app.sweep.once();
  const [refund] = await service.app.store.read((tx) => tx.refunds.list({ orderNo: outTradeNo }));
  t.like(refund, { refundNo: `R${outTradeNo}F`, origin: 'skillpay', amount: 50n });
});

test('a refund that the channel refuses is reported to the caller and to the operator', async (t) => {
  const url = await serve(t, (_request, response) => void response.writeHead(404).end());
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  // The simulator refuses every refund of 0.05.
  await addSkill(service, { resource: { handler: 'http', url }, priceMinor: 5n });
  const outTradeNo = await paidSkill(service, shop, { resource: 'weather', payWay: 'wechat' });
  t.is((await callSkill(shop, undefined, outTradeNo)).body.code, 'fulfilment_failed_refund_pending');
  await runUntilQuiet(service, 3600, 120);
  const { status, body, headers } = await callSkill(await withNewToken(service, shop), undefined, outTradeNo);
  t.deepEqual([status, body.code, headers.get('retry-after')], [500, 'fulfilment_failed_refund_failed', null]);
  const listed = await service.app.store.read((tx) => tx.exceptions.list({ orderNo: outTradeNo, state: 'open' }));
  t.deepEqual(listed.map(({ kind }) => kind).toSorted(), ['fulfilment_failed', 'refund_abnormal']);
});
