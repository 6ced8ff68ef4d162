import test from 'ava';
import { createPublicKey, verify } from 'node:crypto';
import { type Answer, request, startService, type Merchant } from '../support/service.ts';
import { addSkill, callSkill, offerSkill, paySkill } from '../support/skillpay.ts';

const decode = (text: string | null) => JSON.parse(Buffer.from(text ?? '', 'base64').toString());
const offerOf = (answer: Answer) => decode(answer.headers.get('payment-required'));

/** The extension `payment-identifier` as a wallet sends it. */
function proofOf(offer: Answer, id?: unknown, changes: object = {}): Record<string, string> {
  const { accepts } = offerOf(offer);
  const { outTradeNo } = offer.body.data;
  const extensions = id === undefined ? undefined : { 'payment-identifier': { info: { required: false, id } } };
  const payload = { x402Version: 2, accepted: accepts[0], payload: { outTradeNo }, extensions, ...changes };
  return { 'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64') };
}

const send = (shop: Merchant, headers: Record<string, string>) => callSkill(shop, undefined, undefined, headers);

test('offer-receipt: the terms and the receipt are signed by the key that the host publishes', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const offer = await callSkill(shop, { resource: 'weather', payWay: 'wechat' });
  const did = (await request(service.url, 'GET', '/.well-known/did.json')).body;
  const read = (jws: string) => {
    const [head = '', payload = '', signature = ''] = jws.split('.');
    const { alg, kid } = decode(head);
    t.is(alg, 'EdDSA');
    const method = did.verificationMethod.find(({ id }: { id: string }) => id === kid);
    const key = createPublicKey({ key: method.publicKeyJwk, format: 'jwk' });
    t.true(verify(null, Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url')));
    return decode(payload);
  };
  const { accepts, extensions, resource } = offerOf(offer);
  const [signed, ...more] = extensions['offer-receipt'].info.offers;
  t.deepEqual(more, []);
  t.like(signed, { format: 'jws', acceptIndex: 0 });
  const { scheme, network, asset, payTo, amount, extra } = accepts[0];
  const validUntil = Math.floor(Date.parse(extra.expiresAt) / 1000);
  t.deepEqual(read(signed.signature), {
    version: 1,
    resourceUrl: resource.url,
    scheme,
    network,
    asset,
    payTo,
    amount,
    validUntil,
  });
  const { outTradeNo } = offer.body.data;
  await paySkill(service, outTradeNo);
  const paid = await send(shop, proofOf(offer));
  t.is(paid.status, 200);
  const settled = decode(paid.headers.get('payment-response'));
  const { receipt } = settled.extensions['offer-receipt'].info;
  const { issuedAt, ...said } = read(receipt.signature);
  t.deepEqual(said, { version: 1, network, resourceUrl: resource.url, payer: shop.clientId, transaction: outTradeNo });
  t.true(Number.isInteger(issuedAt));
  const again = await send(shop, proofOf(offer));
  t.is(again.headers.get('payment-response'), paid.headers.get('payment-response'), 'byte for byte');
});

test('payment-identifier: a payload repeats under its key, and another payload under the same key is refused', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const other = await service.merchant();
  await addSkill(service);
  const offer = await callSkill(shop, { resource: 'weather' });
  t.like(offerOf(offer).extensions['payment-identifier'], { info: { required: false } });
  const id = 'pay_7d5d747be160e280504c099d984bcfe0';
  await paySkill(service, offer.body.data.outTradeNo);
  const first = await send(shop, proofOf(offer, id));
  t.is(first.status, 200, JSON.stringify(first.body));
  const again = await send(shop, proofOf(offer, id));
  t.is(again.status, 200);
  t.is(again.headers.get('payment-response'), first.headers.get('payment-response'));
  for (const changed of [proofOf(offer, id, { resource: { url: 'https://elsewhere.example' } })]) {
    const { status, body } = await send(shop, changed);
    t.deepEqual([status, body.code], [409, 'payment_id_used']);
  }
  const second = await callSkill(shop, { resource: 'weather' });
  t.is((await send(shop, proofOf(second, id))).body.code, 'payment_id_used');
  const theirs = await callSkill(other, { resource: 'weather' });
  await paySkill(service, theirs.body.data.outTradeNo);
  t.is((await send(other, proofOf(theirs, id))).status, 200, 'keys belong to one application');
  for (const wrong of ['short', 'x'.repeat(129), 'with space in the middle', 7, null, {}]) {
    const { status, body } = await send(shop, proofOf(offer, wrong));
    t.deepEqual([status, body.code], [400, 'proof_invalid'], String(wrong));
  }
  for (const extensions of ['text', [], { 'payment-identifier': 'text' }, { 'payment-identifier': { info: [] } }])
    t.is((await send(shop, proofOf(offer, undefined, { extensions }))).status, 400, JSON.stringify(extensions));
});

test('a skill with several channels offers each, and its payer may choose another than the first', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service, { payWays: ['wechat', 'alipay'] });
  const pinned = await callSkill(shop, { resource: 'weather', payWay: 'alipay' });
  t.deepEqual(networks(pinned), ['alipay:simulator']);
  const offer = await callSkill(shop, { resource: 'weather' });
  t.deepEqual(networks(offer), ['wechat:simulator', 'alipay:simulator']);
  const { outTradeNo } = offer.body.data;
  const [, alipay] = offerOf(offer).accepts;
  const page = await fetch(alipay.extra.payUrl);
  const html = await page.text();
  t.is(page.status, 200);
  const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(html) ?? [];
  t.is(action, `/pay/${outTradeNo}/choose/alipay?lang=en`);
  const chosen = await fetch(`${service.url}${action}`, { method: 'POST', redirect: 'manual' });
  t.is(chosen.status, 303);
  const next = (chosen.headers.get('location') ?? '').replace(/^\/pay\/|\?lang=en$/g, '');
  t.not(next, outTradeNo);
  const twice = await fetch(`${service.url}${action}`, { method: 'POST', redirect: 'manual' });
  t.is(twice.headers.get('location'), `/pay/${next}?lang=en`, 'the same one however often');
  t.is(
    (await fetch(`${service.url}/pay/${outTradeNo}`, { redirect: 'manual' })).headers.get('location'),
    `/pay/${next}?lang=en`,
  );
  const orders = await service.app.store.read((tx) => tx.orders.list({ orderNo: [outTradeNo, next] }));
  const seen = orders.map(({ payWay, state, closeReason }) => [payWay, state, closeReason]);
  t.deepEqual(seen.toSorted(), [
    ['alipay', 'pending', null],
    ['wechat', 'closed', 'payer'],
  ]);
  const proof = proofOf(offer, undefined, { accepted: alipay });
  const waiting = await send(shop, proof);
  t.deepEqual([waiting.status, waiting.body.code, waiting.body.data.outTradeNo], [402, 'payment_required', next]);
  await paySkill(service, next);
  const paid = await send(shop, proof);
  t.is(paid.status, 200, JSON.stringify(paid.body));
  t.like(decode(paid.headers.get('payment-response')), {
    success: true,
    transaction: next,
    network: 'alipay:simulator',
  });
  t.is((await callSkill(shop, undefined, outTradeNo)).body.data.alreadyFulfilled, true);
  const { body } = await shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
  t.like(body.data, { status: 'closed', successor: next });
});

test('an offer that is paid, closed by the shop, outdated in price or limited to one channel cannot switch its channel', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service, { payWays: ['wechat', 'alipay'] });
  const choose = async (orderNo: string, payWay = 'alipay') => {
    const answer = await fetch(`${service.url}/pay/${orderNo}/choose/${payWay}`, {
      method: 'POST',
      redirect: 'manual',
    });
    return [answer.status, answer.headers.get('location')];
  };
  const paid = await offerSkill(shop);
  await paySkill(service, paid);
  const closed = await offerSkill(shop);
  await shop.call('POST', `/api/v2/payment/close/${closed}`);
  const pinned = await offerSkill(shop, { resource: 'weather', payWay: 'wechat' });
  const dear = await offerSkill(shop);
  for (const orderNo of [paid, closed, pinned]) t.deepEqual(await choose(orderNo), [303, `/pay/${orderNo}?lang=en`]);
  await service.app.store.transaction((tx) => tx.products.update({ code: 'weather' }, { version: 2, priceMinor: 60n }));
  t.deepEqual(await choose(dear), [303, `/pay/${dear}?lang=en`]);
  for (const [orderNo, payWay] of [
    ['X20300101000000ABCDEFGHJK', 'alipay'],
    ['none', 'alipay'],
    [dear, 'cash'],
  ] as const)
    t.deepEqual(await choose(orderNo, payWay), [404, null]);
  t.is((await callSkill(shop, undefined, closed)).body.code, 'order_closed');
  t.is(await service.app.store.read((tx) => tx.orders.count({})), 4);
});

function networks(answer: Answer): string[] {
  return offerOf(answer).accepts.map(({ network }: { network: string }) => network);
}
