import { createHash } from 'node:crypto';
import test from 'ava';
import { billOf, isSigned, payBill, takeAgents } from '../support/agents.ts';
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

/** Disables notifications and lets queries fail, so that only the proof reports a payment. */
async function silent(service: Service): Promise<void> {
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'query', fault: '502', probability: 1 });
}

test('an Alipay agent pays by the published steps: any 402, the bill, the proof, 200 once, and Alipay receives the confirmation', async (t) => {
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
  t.like(validation, { out_trade_no: outTradeNo, validated: true, resource_id: 'weather' });
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

test('the bill stays the same for an order, exists only for Alipay orders, and is off without a service id', async (t) => {
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

test('all headers with a bill stay below 4 KB, even with the longest names', async (t) => {
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

/** A text that differs between both alphabets and needs padding. */
const MEMO = '>>>>???? ~~~~ 支付';
const SESSION = Buffer.from(JSON.stringify({ externalId: '2088102146225135', signature: '-' })).toString('base64');

/** `\u002b` for a plus sign, as encoders that escape for HTML write it, and `\/` for a slash. */
const escaped = (json: string) => json.replaceAll('+', '\\u002b').replaceAll('=', '\\u003d').replaceAll('/', '\\/');

/** The same proof as different encoders of JSON write it. */
const WRITINGS: Record<string, (proof: Proof) => string> = {
  compact: (proof) => JSON.stringify({ ...proof, memo: MEMO }),
  spaced: (proof) => JSON.stringify({ ...proof, memo: MEMO }, undefined, 2),
  'escaped and in another order': ({ protocol: { payment_proof, trade_no }, method }) =>
    escaped(JSON.stringify({ memo: MEMO, method, protocol: { trade_no, payment_proof } })),
};

interface Proof {
  protocol: { payment_proof: string; trade_no: string };
  method: { client_session?: string };
}

const readProof = (value: string) => JSON.parse(Buffer.from(value, 'base64url').toString()) as Proof;

/** A session of this many base64 characters. */
const sessionOf = (length: number) => Buffer.from('支付~?>'.repeat(length)).toString('base64').slice(0, length);

test('genuine proofs are accepted in either alphabet, with or without padding, in any JSON formatting', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  let forms = 0;
  for (const alphabet of ['base64', 'base64url'] as const)
    for (const isPadded of [true, false])
      for (const [how, write] of Object.entries(WRITINGS))
        for (const session of [SESSION, sessionOf(4096)]) {
          const form = `${alphabet}, ${isPadded ? 'padded' : 'unpadded'}, ${how}, ${session.length} characters`;
          const offer = await callSkill(shop, asked);
          const json = write(readProof(await payBill(service, offer, session)));
          // A blank is added if the length would need no padding.
          const bytes = Buffer.from(Buffer.byteLength(json) % 3 === 0 ? `${json} ` : json);
          const standard = bytes.toString('base64');
          t.regex(standard, /\+.*=$|\/.*=$/, form);
          const spelled = alphabet === 'base64' ? standard : standard.replaceAll('+', '-').replaceAll('/', '_');
          const { status, body } = await prove(shop, isPadded ? spelled : spelled.replaceAll('=', ''));
          t.is(status, 200, `${form}: ${JSON.stringify(body)}`);
          t.like(body.data, { content: { sky: 'blue' }, outTradeNo: offer.body.data.outTradeNo });
          forms += 1;
        }
  t.is(forms, 24);
});

test('a proof without a session is accepted in each form, and blanks around the header are ignored', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  const without = [{ method: {} }, {}, { method: null }, { method: { client_session: null } }];
  for (const rest of [...without, { method: { client_session: '' } }]) {
    const { protocol } = readProof(await payBill(service, await callSkill(shop, asked)));
    const proof = Buffer.from(JSON.stringify({ protocol, ...rest })).toString('base64url');
    t.is((await prove(shop, ` \t${proof}\t `)).status, 200, JSON.stringify(rest));
  }
});

test('a proof that is malformed, forged, for another application or for no order is refused and delivers nothing', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const other = await service.merchant();
  await takeAgents(service);
  await addSkill(service);
  const offer = await callSkill(shop, asked);
  const proof = await payBill(service, offer);
  const good = readProof(proof);
  const { protocol, method } = good;
  const text = (json: string) => Buffer.from(json).toString('base64url');
  const encode = (value: unknown) => text(JSON.stringify(value));
  const session = (value: unknown) => encode({ protocol, method: { client_session: value } });
  const paid = (value: unknown) => encode({ protocol: { ...protocol, payment_proof: value }, method });
  const json = JSON.stringify({ ...good, memo: MEMO });
  // One byte more than a multiple of three needs two padding characters, and the last character before them is A.
  const padded = Buffer.concat([Buffer.from(json), Buffer.alloc(3 - ((Buffer.byteLength(json) + 2) % 3), ' ')]);
  const bare = padded.toString('base64').slice(0, -2);
  t.regex(bare, /A$/);
  let deep: unknown = 1;
  for (let level = 0; level < 25; level += 1) deep = { deep };
  const wrong: Record<string, Record<string, string>> = {
    'is not base64': {
      'no base64': '%%%',
      'both alphabets in one': bare.replaceAll('+', '-'),
      'too little padding': `${bare}=`,
      'too much padding': `${bare}===`,
      'far too much padding': `${bare}======`,
      'padding that is not needed': `${Buffer.concat([padded, Buffer.from('  ')]).toString('base64')}==`,
      'padding in the middle': `${bare.slice(0, 8)}==${bare.slice(8)}`,
      'bits that no encoder sets': bare.replace(/A$/, 'B'),
      'one character more than a byte': `${bare}AAA`,
      'a blank inside': `${proof.slice(0, 8)} ${proof.slice(8)}`,
      quoted: `"${proof}"`,
      twice: `${proof}, ${proof}`,
      'plain JSON': JSON.stringify(good),
    },
    'is not base64-encoded JSON': {
      empty: '',
      truncated: proof.slice(0, 100),
      'encoded twice': text(proof),
      'not JSON': text('{'),
      'two objects': text(`${JSON.stringify(good)}{}`),
      'not UTF-8': Buffer.concat([Buffer.from('{"memo":"'), Buffer.from([0xff, 0x22, 0x7d])]).toString('base64'),
    },
    'is not a JSON object': { 'a list': encode([good]), text: encode('proof'), null: encode(null) },
    'has no protocol': { none: encode({ method }), 'a list': encode({ method, protocol: [protocol] }) },
    'has no protocol.payment_proof': {
      none: paid(undefined),
      empty: paid(''),
      'a number': paid(7),
      '2,049 characters': paid('x'.repeat(2049)),
      'with NUL': paid(`${protocol.payment_proof}\u0000`),
      'with a line break': paid(`${protocol.payment_proof}\n`),
      'with half a character': paid(`${protocol.payment_proof}\ud83d`),
    },
    'has no protocol.trade_no': {
      none: encode({ method, protocol: { payment_proof: protocol.payment_proof } }),
      'a number': encode({ method, protocol: { ...protocol, trade_no: 2026112422000000 } }),
      letters: encode({ method, protocol: { ...protocol, trade_no: `${protocol.trade_no.slice(0, -1)}x` } }),
      '65 digits': encode({ method, protocol: { ...protocol, trade_no: '1'.repeat(65) } }),
    },
    'has a malformed method': { text: encode({ method: 'x', protocol }), 'a list': encode({ method: [], protocol }) },
    'has a malformed method.client_session': {
      'a number': session(7),
      'an object': session({ externalId: '2088102146225135' }),
      '4,097 characters': session(sessionOf(4097)),
      'above 4 KB in fewer characters': session('支'.repeat(1366)),
      'with NUL': session(`${method.client_session}\u0000`),
      'with half a character': session('\udc00'),
    },
    'names a member twice': {
      protocol: text(`{"protocol":{},${JSON.stringify(good).slice(1)}`),
      'escaped once': text(JSON.stringify(good).replace('"payment_proof"', '"trade\\u005fno":"1","payment_proof"')),
      'of no interest': text(JSON.stringify(good).replace('{', '{"memo":[{"a":1,"a":1}],')),
    },
    'is nested too deeply': { '26 levels': encode({ ...good, deep }) },
    'was refused by Alipay (ACQ.PAYMENT_PROOF_INVALID)': {
      forged: paid('forged'),
      'of an unknown trade': encode({ method, protocol: { ...protocol, trade_no: '2026112422000000000000000000' } }),
      'in the session of another agent': session(SESSION),
    },
  };
  for (const [detail, values] of Object.entries(wrong))
    for (const [what, value] of Object.entries(values)) {
      const { status, body } = await prove(shop, value);
      const said = [status, body.code, body.errors?.[0]?.detail];
      t.deepEqual(said, [400, 'proof_invalid', detail], `${detail}: ${what}`);
    }
  const long = await prove(shop, encode({ ...good, more: 'x'.repeat(6000) }));
  t.deepEqual(
    [long.status, long.body.code, long.body.errors[0].code],
    [400, 'invalid_request', 'too_big'],
    'above 8 KB',
  );
  const large = await prove(shop, 'x'.repeat(20_000));
  t.deepEqual([large.status, large.body.code], [431, 'invalid_request']);
  const theirs = await prove(other, proof);
  t.deepEqual([theirs.status, theirs.body.code], [400, 'proof_invalid']);
  const second = await offerSkill(shop, asked);
  const mixed = await callSkill(shop, undefined, second, { 'payment-proof': proof });
  t.deepEqual([mixed.status, mixed.body.code], [400, 'proof_invalid'], 'the number of another order');
  t.is(await service.app.store.read((tx) => tx.skillOrders.count({ fulfilment: 'done' })), 0);
  t.is((await prove(shop, proof)).status, 200);
});

test('a silent Alipay loses no payment, and an inactive proof or a wrong amount delivers nothing', async (t) => {
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

test('a proof for a payment of another order delivers no content and creates an exception', async (t) => {
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

test('a payment without a proof is learned by a query', async (t) => {
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
  t.is((await rowOf(service, outTradeNo))?.agentTradeNo, null, 'without a proof nothing is confirmed');
});

test('a confirmation that Alipay never accepts is retried, becomes an exception, and is resolved by an operator', async (t) => {
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

test('an order already paid at the QR code is paid once, whatever the agent sends', async (t) => {
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

/** The requests and checks of Alipay's acceptance script (`local_402_sandbox_pay.py` of the repository alipay/ai). */
test("the requests of Alipay's acceptance script are answered as it requires", async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await takeAgents(service, 'api_mock_service_id');
  await addSkill(service);
  const buyer = '2088102146225135';
  const offer = await callSkill(shop, asked);
  t.is(offer.status, 402);
  const { protocol, method } = billOf(offer);
  for (const name of ['out_trade_no', 'amount', 'currency', 'resource_id', 'pay_before', 'seller_signature'])
    t.truthy(protocol[name], name);
  for (const name of ['seller_name', 'seller_id', 'seller_app_id', 'goods_name', 'seller_unique_id_key'])
    t.truthy(method[name], name);
  t.is(method['service_id'], 'api_mock_service_id');
  const camel = (facts: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(facts).map(([name, value]) => [
        name.replace(/_(.)/g, (_, one: string) => one.toUpperCase()),
        value,
      ]),
    );
  const cashier = {
    method: { ...camel(method), buyerUniqueIdKey: 'buyerExternalId' },
    protocol: { ...camel(protocol), buyerUniqueId: buyer },
    signature: { buyerExternalId: buyer, buyerSignature: '-', timestamp: String(Date.now()) },
  };
  const pay = async (body: object) => {
    const answer = await fetch(`${service.simulator.url}/openclawpay/agent/v1/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { payScheme?: string; protocol?: { tradeNo: string }; errorCode?: string };
  };
  const unsigned = { ...cashier, protocol: { ...cashier.protocol, sellerSignature: '' } };
  t.is((await pay(unsigned)).errorCode, 'PARAM_INVALID');
  t.is((await pay({ ...cashier, protocol: { ...cashier.protocol, amount: '0.01' } })).errorCode, 'PARAM_INVALID');
  const paid = await pay(cashier);
  t.truthy(paid.payScheme);
  const tradeNo = paid.protocol!.tradeNo;
  const proof = {
    protocol: { payment_proof: createHash('sha256').update(tradeNo).digest('hex'), trade_no: tradeNo },
    method: { client_session: SESSION },
  };
  const header = Buffer.from(JSON.stringify(proof)).toString('base64');
  for (const already of [false, true]) {
    const { status, body, headers } = await callSkill(shop, asked, undefined, { 'payment-proof': header });
    t.is(status, 200, JSON.stringify(body));
    const { data, ...beside } = body;
    const named = { resource_id: 'weather', trade_no: tradeNo, out_trade_no: protocol['out_trade_no'] };
    t.deepEqual(beside, { ...named, content: { sky: 'blue' }, already_fulfilled: already });
    t.like(data, { content: { sky: 'blue' }, alreadyFulfilled: already });
    const validation = JSON.parse(Buffer.from(headers.get('payment-validation') ?? '', 'base64url').toString());
    t.like(validation, { ...named, validated: true });
  }
  const other = await callSkill(shop, { resource: 'weather', payWay: 'wechat' });
  await paySkill(service, other.body.data.outTradeNo);
  const theirs = await callSkill(shop, undefined, other.body.data.outTradeNo);
  t.deepEqual(Object.keys(theirs.body), ['data'], 'answers of other channels have no extra member');
});
