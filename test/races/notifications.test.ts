import test, { type ExecutionContext } from 'ava';
import { randomInt } from 'node:crypto';
import type { PayWay } from '../../server/payments/channel.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import type { Facts, Message } from './forge.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { isTold, PARTNER, placeIn, racedOf, type RacedScene } from './scenes.ts';
import { startService, type Service } from '../support/service.ts';
import { messageOf, payUnheard, post, stage, type Stage, untold, untoldIn } from './unreceived-notifications.ts';
import { withOrder, wrongMessages, type Scene } from './wrong-notifications.ts';
import { forgeTwin } from '../unit/channels/paypal/forge-crc.ts';

const SIGNED: Record<PayWay, readonly string[]> = {
  alipay: [],
  wechat: ['wechatpay-timestamp', 'wechatpay-nonce', 'wechatpay-signature', 'wechatpay-serial'],
  paypal: [
    'paypal-transmission-id',
    'paypal-transmission-time',
    'paypal-transmission-sig',
    'paypal-cert-url',
    'paypal-auth-algo',
  ],
};

/** Mutates one part of a genuine message so that its meaning changes. */
function mutate(genuine: Message, payWay: PayWay, index: number): { note: string; message: Message } {
  const kinds = [flipByte, cut, double, ...(payWay === 'alipay' ? [changeField, dropField] : [flipHeader, dropHeader])];
  for (;;) {
    const { note, message } = kinds[index % kinds.length]!(genuine, payWay);
    if (saysTheSame(genuine, message, payWay)) continue;
    return { note, message };
  }
}

/** `%2F` for `%2f` or the spare bits at the end of a base64 text change the bytes, not the message. */
function saysTheSame(genuine: Message, { headers, body }: Message, payWay: PayWay): boolean {
  if (payWay !== 'alipay')
    return (
      body.equals(genuine.body) &&
      JSON.stringify(plainHeaders(headers)) === JSON.stringify(plainHeaders(genuine.headers))
    );
  const [one, other] = [genuine.body, body].map((bytes) => {
    const pairs = [...new URLSearchParams(bytes.toString('latin1'))].map(([name, value]) =>
      name === 'sign' ? [name, Buffer.from(value, 'base64').toString('hex')] : [name, value],
    );
    return JSON.stringify(pairs.toSorted());
  });
  return one === other;
}

function plainHeaders(headers: Record<string, string>): [string, string][] {
  return Object.entries(headers)
    .map(([name, value]): [string, string] => [
      name,
      /-sig(nature)?$/.test(name) ? Buffer.from(value, 'base64').toString('hex') : value,
    ])
    .toSorted();
}

type Mutation = (genuine: Message, payWay: PayWay) => { note: string; message: Message };

const flipByte: Mutation = ({ headers, body }) => {
  const bytes = Buffer.from(body);
  const at = randomInt(bytes.length);
  const bit = 1 << randomInt(8);
  bytes.writeUInt8(bytes.readUInt8(at) ^ bit, at);
  return { note: `bit ${bit} of byte ${at}`, message: { headers, body: bytes } };
};
const cut: Mutation = ({ headers, body }) => {
  const at = randomInt(body.length);
  return { note: `cut at ${at}`, message: { headers, body: body.subarray(0, at) } };
};
const double: Mutation = ({ headers, body }) => ({
  note: 'twice',
  message: { headers, body: Buffer.concat([body, Buffer.from('&'), body]) },
});
const changeField: Mutation = ({ headers, body }) => {
  const pairs = [...new URLSearchParams(body.toString())];
  const [name] = pairs[randomInt(pairs.length)]!;
  const changed = pairs.map(([one, value]): [string, string] => [one, one === name ? `${value}1` : value]);
  return { note: `${name} is other`, message: { headers, body: Buffer.from(new URLSearchParams(changed).toString()) } };
};
const dropField: Mutation = ({ headers, body }) => {
  const pairs = [...new URLSearchParams(body.toString())];
  const [dropped] = pairs.splice(randomInt(pairs.length), 1);
  return { note: `no ${dropped?.[0]}`, message: { headers, body: Buffer.from(new URLSearchParams(pairs).toString()) } };
};
const flipHeader: Mutation = ({ headers, body }, payWay) => {
  const name = SIGNED[payWay][randomInt(SIGNED[payWay].length)]!;
  const value = headers[name] ?? '';
  const at = randomInt(value.length);
  const letter = value[at] === 'A' ? 'B' : 'A';
  return {
    note: `${name} at ${at}`,
    message: { headers: { ...headers, [name]: value.slice(0, at) + letter + value.slice(at + 1) }, body },
  };
};
const dropHeader: Mutation = ({ headers, body }, payWay) => {
  const name = SIGNED[payWay][randomInt(SIGNED[payWay].length)]!;
  const { [name]: _, ...rest } = headers;
  return { note: `no ${name}`, message: { headers: rest, body } };
};

const accepted = ({ status }: { status: number }) => status === 200;

/** All money rows, without counters and stored messages. */
async function money({ app }: Service): Promise<unknown> {
  return app.store.read(async (tx) => [
    await tx.sql`select order_no, state, paid::text, refunded::text, refunding::text, overrun::text from orders order by 1`,
    await tx.sql`select refund_no, state, amount::text from refunds order by 1`,
    await tx.sql`select object_no, type from events where type <> 'order.exception' order by sequence`,
  ]);
}

for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
  test(`G6 ${payWay}: only a genuine notification of the order's own account changes it, once, in every scene`, async (t) => {
    const scenes = racedOf(payWay, ['alipay code', 'wechat jsapi as a partner', 'paypal buttons']).filter(isTold);
    const on = await stage(t, scenes);
    for (const scene of scenes) {
      await copies(t, on, scene);
      if (payWay === 'paypal') await twins(t, on, scene);
    }
    // From here on forged messages mark orders as paid, so the ledger has no such payments.
    for (const scene of scenes) {
      await wrongOnes(t, on, scene);
      await tooEarly(t, on, scene);
    }
    // Runs last: it replaces the keys of the account for every scene.
    await oldKeys(t, on, payWay);
  });
}

/** The account of a scene's messages at the simulator, and the project of the same name. */
const accountOf = ({ isPartner }: RacedScene) => (isPartner ? PARTNER : 'default');

/** Mutated copies change nothing, then fifty concurrent genuine copies make one change. */
async function copies(t: ExecutionContext, on: Stage, scene: RacedScene): Promise<void> {
  const { service } = on;
  const { payWay, title, isDefault } = scene;
  const project = accountOf(scene);
  const delivery = await untoldIn(on, scene);
  const genuine = messageOf(delivery);
  const before = await money(service);
  // The signature is checked before any content is read, so the other scenes need only a few mutations of each kind.
  const mutated = isDefault ? count(1000, 75) : count(100, 25);
  await inParallel(mutated, 8, async (index) => {
    const { note, message } = mutate(genuine, payWay, index);
    const answer = await post(service, project, payWay, message);
    t.false(accepted(answer), `${title}: ${note}: ${answer.status} ${answer.text}`);
    t.false(answer.text.includes('internal_error'), `${title}: ${note}`);
  });
  t.deepEqual(await money(service), before, `${title}: mutated copies`);
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(service, project, payWay, genuine)));
  t.true(answers.some(accepted), title);
  const refused = answers.filter((answer) => !accepted(answer));
  for (const { status, text } of refused) t.true([400, 500, 503].includes(status), `${title}: ${status} ${text}`);
  t.true(accepted(await post(service, project, payWay, genuine)), `${title}: the last copy is a duplicate`);
  t.is(await stateOf(service, delivery.orderNo), 'paid', title);
  const transitions = await service.app.store.read((tx) =>
    tx.transitions.list({ orderNo: delivery.orderNo, toState: 'paid' }),
  );
  t.is(transitions.length, 1, title);
  await assertLedgersMatch(t, service);
  const again = `${refused.length} were to come again`;
  t.log(`${title}: ${mutated} mutated copies: none; 50 genuine ones at once: one move (${again})`);
}

/** A forged twin of a captured PayPal delivery (same id and CRC32) changes nothing; the genuine one counts, also two days later. */
async function twins(t: ExecutionContext, on: Stage, scene: RacedScene): Promise<void> {
  const { service, forger } = on;
  const captured = await untoldIn(on, scene, 10);
  const victim = await placeIn(on, scene, { amount: 900 });
  const row = await service.app.store.read((tx) => tx.orders.find({ orderNo: victim }));
  const before = await money(service);
  const { headers, body } = messageOf(captured);
  const lie = withOrder('paypal', forger.factsOf(captured), victim, row?.channelOrderId ?? '');
  for (const event of ['CHECKOUT.ORDER.APPROVED', 'PAYMENT.CAPTURE.COMPLETED', 'CHECKOUT.ORDER.COMPLETED']) {
    const claims = { ...lie, event_type: event, resource: { ...(lie['resource'] as Facts), status: 'COMPLETED' } };
    const twin = forgeTwin(body, (pad) => JSON.stringify({ ...claims, note: pad }).replaceAll('"10.00"', '"900.00"'));
    t.true(accepted(await post(service, 'default', 'paypal', { headers, body: twin })), 'its checksum is right');
    t.deepEqual(await money(service), before, event);
  }
  t.true(
    accepted(await post(service, 'default', 'paypal', { headers, body })),
    'the twin did not block the genuine message',
  );
  t.is(await stateOf(service, captured.orderNo), 'paid');
  const late = await untoldIn(on, scene, 20);
  const resent = await forger.sign('paypal', 'default', forger.factsOf(late), {
    certUrl: late.headers['paypal-cert-url'] ?? '',
    at: new Date(Date.now() - 2 * 86_400_000),
  });
  t.true(accepted(await post(service, 'default', 'paypal', resent)));
  t.is(await stateOf(service, late.orderNo), 'paid');
  await assertLedgersMatch(t, service);
  t.log(`${scene.title}: 3 forged twins: none; the genuine one, and one that is two days old: paid`);
}

/** Validly signed but wrong messages change nothing. */
async function wrongOnes(t: ExecutionContext, on: Stage, scene: RacedScene): Promise<void> {
  const { service, forger } = on;
  const { payWay, title } = scene;
  const shop = on.shopOf(scene);
  const own = accountOf(scene);
  const donor = await untoldIn(on, scene);
  t.true(accepted(await post(service, own, payWay, messageOf(donor))), title);
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo: donor.orderNo, refundAmount: 4 });
  t.is(refund.status, 200, `${title}: ${JSON.stringify(refund.body)}`);
  const victim = await placeIn(on, scene);
  const foreign = await placeOrder(on.neighbour, { payWay, amount: 10 });
  const elsewhere = await placeOrder(shop, { payWay: payWay === 'alipay' ? 'wechat' : 'alipay', amount: 10 });
  const row = await service.app.store.read((tx) => tx.orders.find({ orderNo: victim }));
  const template = withOrder(payWay, forger.factsOf(donor), victim, row?.channelOrderId ?? '');
  const certUrl = donor.headers['paypal-cert-url'] ?? '';
  const material: Scene = {
    forger,
    url: service.url,
    template,
    donor,
    victim,
    foreign,
    elsewhere,
    refundNo: refund.body.data.refundNo,
    otherCertUrl: await otherCertUrl(on, payWay),
  };
  const before = await money(service);
  const wrong = wrongMessages(payWay, material);
  for (const { name, account = own, project = own, facts, envelope } of wrong) {
    const encrypted = await forger.sign(payWay, account, facts ?? template, { certUrl, ...envelope });
    const { status, text } = await post(service, project, payWay, encrypted);
    t.false(text.includes('internal_error'), `${title}: ${name}: ${status} ${text}`);
    t.deepEqual(await money(service), before, `${title}: ${name}`);
  }
  t.true(wrong.length >= 20, `${wrong.length} classes`);
  // The same signer without an error is accepted, so each refusal above had its own reason.
  if (payWay === 'paypal') await payUnheard(on, scene, victim);
  const right = await forger.sign(payWay, own, template, { certUrl });
  t.true(accepted(await post(service, own, payWay, right)), title);
  t.is(await stateOf(service, victim), 'paid', title);
  t.log(`${title}: ${wrong.length} classes of validly signed wrong messages: none moved anything`);
}

/** A notification before our own commit must be sent again, and settles then. */
async function tooEarly(t: ExecutionContext, on: Stage, scene: RacedScene): Promise<void> {
  const { service, forger } = on;
  const { payWay, title } = scene;
  const own = accountOf(scene);
  const donor = await untoldIn(on, scene);
  const row = await service.app.store.read((tx) => tx.orders.find({ orderNo: donor.orderNo }));
  const orderNo = `${donor.orderNo.slice(0, -4)}SAFE`;
  const facts = withOrder(payWay, forger.factsOf(donor), orderNo, 'NOT-YET');
  const message = await forger.sign(payWay, own, facts, { certUrl: donor.headers['paypal-cert-url'] ?? '' });
  await service.app.store.transaction(async (tx) => {
    await tx.orders.insert({ ...row!, orderNo, channelOrderId: null, channelTradeNo: null, merchantOrderNo: null });
    t.false(accepted(await post(service, own, payWay, message)), `${title}: before the commit`);
  });
  t.true(accepted(await post(service, own, payWay, message)), `${title}: after the commit`);
  if (payWay !== 'paypal') t.is(await stateOf(service, orderNo), 'paid', title);
}

/** The simulator's keys without Debug, and replaced keys, change nothing. */
async function oldKeys(t: ExecutionContext, on: Stage, payWay: PayWay): Promise<void> {
  const { service, shop, forger } = on;
  const known = await untold(on, shop, payWay);
  const before = await money(service);
  const plain = await startService(t, {
    url: service.databaseUrl,
    simulator: service.simulator,
    env: { PAY_DEBUG: 'false' },
  });
  t.is((await post(plain, 'default', payWay, messageOf(known))).status, 404);
  t.deepEqual(await money(service), before, 'simulator keys without Debug');
  // That start distrusted the simulator's keys; Debug loads them again.
  await service.app.prepare();
  const secrets = forger.secretsOf(payWay, 'default');
  await REPLACE[payWay](on);
  const victim = payWay === 'paypal' ? known : await untold(on, shop, payWay);
  const unmoved = await money(service);
  const old = await forger.sign(payWay, 'default', forger.factsOf(victim), {
    secrets,
    certUrl: victim.headers['paypal-cert-url'] ?? '',
  });
  t.false(accepted(await post(service, 'default', payWay, old)), 'signed for an old version');
  t.deepEqual(await money(service), unmoved, 'keys of an old version');
  if (payWay === 'paypal') return;
  t.true(
    accepted(await post(service, 'default', payWay, messageOf(victim))),
    'a message signed by the new keys counts',
  );
  t.is(await stateOf(service, victim.orderNo), 'paid');
}

/** Replaces the verification key of notifications. */
const REPLACE: Record<PayWay, (on: Stage) => Promise<unknown>> = {
  /** A replaced public key verifies until it is deleted, which requires that no order in flight began with it. */
  async alipay({ service, shop, admin }) {
    const open = await service.app.store.read((tx) => tx.orders.list({ state: 'pending', clientId: shop.clientId }));
    for (const { orderNo } of open) await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
    const certs = await admin.call('POST', '/api/v1/certs/list', { payWay: 'alipay', kind: 'alipay_public_key' });
    await service.sim('/sim/rotate', { payWay: 'alipay', what: 'alipay-key' });
    await service.app.prepare();
    for (const { id } of certs.body.data as { id: string }[]) {
      const { status, body } = await admin.call('POST', `/api/v1/certs/${id}/delete`);
      if (status !== 200 && status !== 204) throw new Error(JSON.stringify(body));
    }
  },
  async wechat({ service }) {
    await service.sim('/sim/rotate', { payWay: 'wechat', what: 'api-v3-key' });
    await service.app.prepare();
  },
  async paypal({ admin }) {
    const { status, body } = await admin.call('POST', '/api/v1/payment/config/paypal', {
      webhookId: '0AB12345CD678901E',
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
  },
};

async function otherCertUrl(on: Stage, payWay: PayWay): Promise<string> {
  if (payWay !== 'paypal') return '';
  return (await untold(on, on.neighbour, 'paypal')).headers['paypal-cert-url'] ?? '';
}
