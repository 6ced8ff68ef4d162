import test from 'ava';
import { paypalKind } from '../../../../server/channels/paypal/kind.ts';
import { createTransport } from '../../../../server/channels/transport.ts';
import type { ChannelInput, ProbeResult } from '../../../../server/payments/channel.ts';
import { paypalSimulator } from '../../../../server/simulator/paypal/simulator.ts';
import { startWorld, type World } from '../../simulator/world.ts';

let world: World;
test.before(async () => {
  world = await startWorld({ timeFactor: 0.001, channelSimulators: [paypalSimulator] });
});
test.after.always(() => world.close());

type Config = Pick<ChannelInput, 'fields' | 'pems'>;

async function accountOf(name: string): Promise<Config> {
  const { paypal } = await world.post<{ paypal: Config }>('/sim/accounts', { payWay: 'paypal', name });
  return paypal;
}

function probe({ fields, pems }: Config, wish?: { products: ['redirect'] }): Promise<ProbeResult> {
  const send = createTransport({ timeoutMs: 20_000 });
  const input = { mode: 'simulator', fields, pems, simulatorUrl: world.url, send, now: () => new Date() } as const;
  return paypalKind.create(input).probe(wish);
}

const words = ({ checks }: ProbeResult) => checks?.map(({ name, status }) => `${name}: ${status}`);
const products = { products: ['redirect'] } as { products: ['redirect'] };

test('a valid client has a token, a webhook and an order that no payer receives', async (t) => {
  const result = await probe(await accountOf('good'), products);
  t.true(result.ok);
  t.deepEqual(words(result), [
    'Client ID and secret: ok',
    'Webhook ID: ok',
    'Webhook address: ok',
    'Webhook events: ok',
    'Checkout orders (redirect): ok',
  ]);
  t.regex(result.checks?.at(-1)?.message ?? '', /no call to cancel the order \w+ of the test: .* it expires/);
  t.is((await probe(await accountOf('plain'))).checks?.length, 4, 'no order without the wish');
});

test('a wrong secret is reported, and no other check is made', async (t) => {
  const { fields, pems } = await accountOf('secret');
  const result = await probe({ fields: { ...fields, clientSecret: 'x'.repeat(40) }, pems }, products);
  t.like(result, { ok: false, field: 'clientSecret', code: 'invalid_client' });
  t.deepEqual(
    result.checks?.map(({ status }) => status),
    ['failed', 'unproven', 'unproven', 'unproven', 'unproven'],
  );
});

test("a webhook of another account is reported with PayPal's support id, and orders are still tested", async (t) => {
  const { fields, pems } = await accountOf('hook');
  const result = await probe({ fields: { ...fields, webhookId: 'NOBODYS00001' }, pems }, products);
  t.like(result, { ok: false, field: 'webhookId' });
  t.deepEqual(
    result.checks?.map(({ status }) => status),
    ['ok', 'failed', 'unproven', 'unproven', 'ok'],
  );
  t.truthy(result.checks?.[1]?.supportId);
});

test("an account that may not accept orders is reported with PayPal's issue", async (t) => {
  const config = await accountOf('restricted');
  const fault = { payWay: 'paypal', account: 'restricted', call: 'create', fault: 'refused' };
  await world.post('/sim/faults', { ...fault, word: 'PAYEE_ACCOUNT_RESTRICTED' });
  const result = await probe(config, products);
  t.like(result, { ok: false, code: 'PAYEE_ACCOUNT_RESTRICTED' });
  t.truthy(result.checks?.at(-1)?.supportId);
});

test('a merchant id that is not the payee of the client is reported', async (t) => {
  const { fields, pems } = await accountOf('payee');
  const result = await probe({ fields: { ...fields, merchantId: 'ZZZZZZZZZZZZ9' }, pems }, products);
  t.like(result, { ok: false, field: 'merchantId', code: 'payee' });
});
