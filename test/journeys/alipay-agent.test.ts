import test from 'ava';
import { billOf, isSigned, payBill, takeAgents } from '../support/alipay-agent.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';
import { addSkill, callSkill, offerSkill, paySkill } from '../support/skillpay.ts';

const asked = { resource: 'weather', payWay: 'alipay' };
const prove = (shop: Merchant, proof: string) => callSkill(shop, undefined, undefined, { 'payment-proof': proof });
const rowOf = (service: Service, orderNo: string) => service.app.store.read((tx) => tx.skillOrders.find({ orderNo }));

async function tradeOf(service: Service, orderNo: string): Promise<Record<string, unknown>> {
  const { orders } = (await service.sim(`/sim/ledger?orderNo=${orderNo}`)) as unknown as {
    orders: Record<string, unknown>[];
  };
  return orders[0] ?? {};
}

/** Nothing but the proof tells the service of payments. */
async function silent(service: Service): Promise<void> {
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'query', fault: '502', probability: 1 });
}

test('an agent of Alipay pays by the published steps: any 402, the bill, the proof, 200 once, and Alipay is told', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  const offer = await callSkill(shop, asked);
  t.is(offer.status, 402);
  const { outTradeNo, expiresAt } = offer.body.data;
  const { protocol, method } = billOf(offer);
  const { alipay } = (await service.sim('/sim/config?account=default')) as unknown as {
    alipay: { pems: Record<string, string[]> };
  };
  t.true(isSigned({ protocol, method }, alipay.pems['alipay_app_key']![0]!));
  t.false(isSigned({ protocol: { ...protocol, amount: '0.51' }, method }, alipay.pems['alipay_app_key']![0]!));
  t.like(protocol, {
    out_trade_no: outTradeNo,
    amount: '0.50',
    currency: 'CNY',
    resource_id: 'weather',
    pay_before: expiresAt.replace(/\.\d{3}Z$/, 'Z'),
    seller_sign_type: 'RSA2',
    seller_unique_id: method['seller_id']!,
  });
  t.like(method, {
    seller_name: 'Tea house',
    goods_name: 'Weather report',
    service_id: 'API_7F3A',
    seller_unique_id_key: 'seller_id',
  });
  await silent(service);
  const proof = await payBill(service, offer);
  const paid = await prove(shop, proof);
  t.is(paid.status, 200, JSON.stringify(paid.body));
  t.like(paid.body.data, { content: { sky: 'blue' }, outTradeNo, alreadyFulfilled: false });
  const validation = JSON.parse(Buffer.from(paid.headers.get('payment-validation') ?? '', 'base64url').toString());
  t.like(validation, { result: 'success', out_trade_no: outTradeNo, resource_id: 'weather' });
  t.true((await prove(shop, proof)).body.data.alreadyFulfilled, 'a repeat is free');
  await until('the confirmation', async () => {
    await service.app.sweep.once();
    return (await rowOf(service, outTradeNo))?.confirmAt === null;
  });
  await service.app.sweep.once();
  t.like(await tradeOf(service, outTradeNo), { paid: 50 });
  const order = await service.app.store.read((tx) => tx.orders.find({ orderNo: outTradeNo }));
  t.is(order?.channelTradeNo, validation.trade_no);
  await service.sim('/sim/reset-faults', {});
  const refund = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo });
  t.true(refund.status < 300, JSON.stringify(refund.body));
});

test('the bill is the same for the life of the order, only of orders by Alipay, and off without a service id', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const none = await callSkill(shop, asked);
  t.is(none.headers.get('payment-needed'), null);
  t.is((await prove(shop, Buffer.from('{}').toString('base64'))).body.code, 'proof_invalid');
  await takeAgents(service);
  const offer = await callSkill(shop, asked);
  const bill = offer.headers.get('payment-needed');
  t.truthy(bill);
  for (let round = 0; round < 2; round += 1)
    t.is((await callSkill(shop, undefined, offer.body.data.outTradeNo)).headers.get('payment-needed'), bill);
  t.is((await callSkill(shop, { resource: 'weather', payWay: 'wechat' })).headers.get('payment-needed'), null);
  const size = [...offer.headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  t.true(size < 4096, `${size} bytes`);
});

test('all headers with a bill stay below 4 KB, with the longest names, too', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  const code = 'r'.repeat(64);
  await addSkill(service, { code, name: '天气'.repeat(60) });
  const { headers } = await callSkill(shop, { resource: code, payWay: 'alipay' });
  t.truthy(headers.get('payment-needed'));
  const size = [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  t.true(size < 4096, `${size} bytes`);
});

test('a proof that is malformed, forged, of another application or of nothing is refused, and gives nothing', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const other = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  const offer = await callSkill(shop, asked);
  const proof = await payBill(service, offer);
  const good = JSON.parse(Buffer.from(proof, 'base64').toString());
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');
  let deep: unknown = 1;
  for (let level = 0; level < 25; level += 1) deep = { deep };
  const { protocol, method } = good;
  const wrong: Record<string, string> = {
    empty: '',
    'not base64': '%%%',
    base64url: Buffer.from('{"a":"???>>>"}').toString('base64url'),
    'not JSON': Buffer.from('{').toString('base64'),
    'a list': encode([good]),
    'no protocol': encode({ method }),
    'no proof': encode({ method, protocol: { ...protocol, payment_proof: '' } }),
    'a proof that is a number': encode({ method, protocol: { ...protocol, payment_proof: 7 } }),
    'a forged proof': encode({ method, protocol: { ...protocol, payment_proof: 'forged' } }),
    'no trade': encode({ method, protocol: { payment_proof: protocol.payment_proof } }),
    'another trade': encode({ method, protocol: { ...protocol, trade_no: `${protocol.trade_no.slice(0, -1)}x` } }),
    'an unknown trade': encode({ method, protocol: { ...protocol, trade_no: '2026112422000000000000000000' } }),
    'a method that is text': encode({ method: 'x', protocol }),
    'a session that is a number': encode({ method: { client_session: 7 }, protocol }),
    'too deep': encode({ ...good, deep }),
    'five KB': encode({ ...good, more: 'x'.repeat(5000) }),
  };
  for (const [what, value] of Object.entries(wrong)) {
    const { status, body } = await prove(shop, value);
    t.deepEqual([status, body.code], [400, 'proof_invalid'], `${what}: ${JSON.stringify(body)}`);
  }
  const theirs = await prove(other, proof);
  t.deepEqual([theirs.status, theirs.body.code], [400, 'proof_invalid']);
  const second = await offerSkill(shop, asked);
  const mixed = await callSkill(shop, undefined, second, { 'payment-proof': proof });
  t.deepEqual([mixed.status, mixed.body.code], [400, 'proof_invalid'], 'the number of another order');
  t.is(await service.app.store.read((tx) => tx.skillOrders.count({ fulfilment: 'done' })), 0);
  t.is((await prove(shop, proof)).status, 200);
});

test('a silent Alipay loses nothing; an inactive proof and a wrong amount give nothing', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  await silent(service);
  for (const fault of ['502', 'html', '500-after-commit'] as const) {
    const offer = await callSkill(shop, asked);
    const proof = await payBill(service, offer);
    await service.sim('/sim/faults', { payWay: 'alipay', call: 'agent-verify', fault, times: 1 });
    const unsaid = await prove(shop, proof);
    t.deepEqual([unsaid.status, unsaid.body.code, unsaid.body.retryable], [503, 'proof_unverified', true], fault);
    t.is((await prove(shop, proof)).status, 200, fault);
  }
  const offer = await callSkill(shop, asked);
  const proof = await payBill(service, offer);
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'agent-verify', fault: 'query-lag', times: 1 });
  t.is((await prove(shop, proof)).body.code, 'proof_invalid');
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'agent-verify', fault: 'wrong-amount', times: 1 });
  t.not((await prove(shop, proof)).status, 200);
  const [listed] = await service.app.store.read((tx) => tx.exceptions.list({ kind: 'amount_mismatch' }));
  t.is(listed?.orderNo, offer.body.data.outTradeNo);
});

test('the proof of a payment that another order has gives no content, and the claim is listed', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  await silent(service);
  const [offer, other] = [await callSkill(shop, asked), await callSkill(shop, asked)];
  const [orderNo, owner] = [offer.body.data.outTradeNo, other.body.data.outTradeNo];
  t.is((await prove(shop, await payBill(service, other))).status, 200);
  const proof = await payBill(service, offer);
  const { trade_no: channelTradeNo } = JSON.parse(Buffer.from(proof, 'base64').toString()).protocol;
  await service.app.store.autocommit((tx) => tx.orders.update({ orderNo: owner }, { channelTradeNo }));
  for (let round = 0; round < 2; round += 1) {
    const answer = await prove(shop, proof);
    t.deepEqual([answer.status, answer.body.code], [400, 'proof_invalid'], JSON.stringify(answer.body));
  }
  const listed = await service.app.store.read((tx) => tx.exceptions.list({ orderNo }));
  t.deepEqual(
    listed.map(({ kind, dedupe, detail }) => [kind, dedupe, detail?.['owner']]),
    [['payment_of_another_order', channelTradeNo, owner]],
  );
  const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  t.like(order, { state: 'pending', paid: 0n, channelTradeNo: null });
  t.is((await rowOf(service, orderNo))?.agentTradeNo, null);
});

test('a payment whose proof never comes is learned as ever', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  const offer = await callSkill(shop, asked);
  await payBill(service, offer);
  const { outTradeNo } = offer.body.data;
  const answer = await until('the content', async () => {
    const one = await callSkill(shop, undefined, outTradeNo);
    return one.status === 200 && one;
  });
  t.deepEqual(answer.body.data.content, { sky: 'blue' });
  t.is((await rowOf(service, outTradeNo))?.agentTradeNo, null, 'nobody proved anything, so nothing is confirmed');
});

test('a confirmation that Alipay never takes is tried again, then listed, and ended by a person', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const admin = await takeAgents(service);
  await addSkill(service);
  const offer = await callSkill(shop, asked);
  const { outTradeNo } = offer.body.data;
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'agent-confirm', fault: '502', probability: 1 });
  t.is((await prove(shop, await payBill(service, offer))).status, 200, 'the content does not wait for it');
  const listed = await until('the exception', async () => {
    service.clock.advance(13 * 3600);
    await service.app.sweep.once();
    const [one] = await service.app.store.read((tx) =>
      tx.exceptions.list({ kind: 'delivery_unconfirmed', state: 'open' }),
    );
    return one;
  });
  t.is(listed.orderNo, outTradeNo);
  t.like(await rowOf(service, outTradeNo), { confirmAt: null, confirmTries: 8, fulfilment: 'done' });
  await service.sim('/sim/reset-faults', {});
  const resolve = `/api/v1/exceptions/${listed.id}/resolve`;
  const again = await admin.logIn();
  const ended = await again.call('POST', resolve, { action: 'retry', reason: 'Alipay is back.' });
  t.is(ended.status, 200, JSON.stringify(ended.body));
  await service.app.sweep.once();
  t.is((await rowOf(service, outTradeNo))?.confirmAt, null);
  t.is(await service.app.store.read((tx) => tx.exceptions.count({ kind: 'delivery_unconfirmed', state: 'open' })), 0);
});

test('an order that was paid at the QR code before is paid once, whatever the agent does', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  const offer = await callSkill(shop, asked);
  const { outTradeNo } = offer.body.data;
  await paySkill(service, outTradeNo);
  const proof = await payBill(service, offer);
  const { protocol, method } = JSON.parse(Buffer.from(proof, 'base64').toString());
  const forged = Buffer.from(JSON.stringify({ method, protocol: { ...protocol, payment_proof: 'forged' } }));
  t.is((await prove(shop, forged.toString('base64'))).status, 400, 'also of a trade that is known');
  t.is((await rowOf(service, outTradeNo))?.agentTradeNo, null);
  t.is((await prove(shop, proof)).status, 200);
  t.is((await rowOf(service, outTradeNo))?.agentTradeNo, protocol.trade_no);
  t.is((await callSkill(shop, undefined, outTradeNo)).body.data.alreadyFulfilled, true);
  t.like(await tradeOf(service, outTradeNo), { paid: 50 });
});
