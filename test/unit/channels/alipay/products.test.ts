import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { createTransport } from '../../../../server/channels/transport.ts';
import type { ChannelInput, ProbeCheck, ProbeResult, Scene } from '../../../../server/payments/channel.ts';
import { alipaySimulator } from '../../../../server/simulator/alipay/simulator.ts';
import { startWorld, type World } from '../../simulator/world.ts';

const EVERY = Object.keys(alipayKind.scenes) as Scene[];

let world: World;
test.before(async () => {
  world = await startWorld({ timeFactor: 0.001, channelSimulators: [alipaySimulator] });
});
test.after.always(() => world.close());

type Config = Pick<ChannelInput, 'fields' | 'pems'>;

async function accountOf(name: string, options: object = {}): Promise<Config> {
  const { alipay } = await world.post<{ alipay: Config }>('/sim/accounts', { payWay: 'alipay', name, ...options });
  return alipay;
}

function probe(
  { fields, pems }: Config,
  products?: readonly Scene[],
  send = createTransport({ timeoutMs: 20_000 }),
): Promise<ProbeResult> {
  const input = { mode: 'simulator', fields, pems, simulatorUrl: world.url, send, now: () => new Date() } as const;
  return alipayKind.create(input).probe(products && { products });
}

const words = ({ checks }: ProbeResult) => checks?.map(({ name, status }) => `${name}: ${status}`);
const named = ({ checks }: ProbeResult, part: string): ProbeCheck | undefined =>
  checks?.find(({ name }) => name.includes(part));

for (const [signMode, keys] of [
  ['key', ["Alipay's public key: ok"]],
  ['certificate', ['App certificate: ok', "Alipay's root certificates: ok", "Alipay's public certificate: ok"]],
] as const) {
  test(`a valid merchant in ${signMode} mode: every provable item is proven, and the others state the reason`, async (t) => {
    const result = await probe(await accountOf(`good-${signMode}`, { signMode }), EVERY);
    t.true(result.ok);
    t.deepEqual(words(result), [
      'App ID: ok',
      'App private key: ok',
      ...keys,
      'Seller ID: ok',
      'QR codes, FACE_TO_FACE_PAYMENT (qr): ok',
      'Web pages, FAST_INSTANT_TRADE_PAY (page): unproven',
      'Mobile pages, QUICK_WAP_WAY (wap): unproven',
      'Apps, QUICK_MSECURITY_PAY (app): unproven',
      'Pages in Alipay, JSAPI_PAY (jsapi): unproven',
      'Mini programs, JSAPI_PAY (mini): unproven',
      "Payer's code, FACE_TO_FACE_PAYMENT (code): ok",
    ]);
    const { entries } = await world.get<{ entries: { kind: string }[] }>(`/sim/ledger?account=good-${signMode}`);
    t.false(entries.some(({ kind }) => kind === 'paid'));
  });
}

for (const [scene, missing, field] of [
  ['qr', 'FACE_TO_FACE_PAYMENT', 'qrProductCode'],
  ['code', 'FACE_TO_FACE_PAYMENT', null],
  ['jsapi', 'JSAPI_PAY', null],
  ['mini', 'JSAPI_PAY', null],
] as const) {
  test(`a merchant without ${missing}: the scene ${scene} fails with Alipay's code and support id`, async (t) => {
    const products = ['FACE_TO_FACE_PAYMENT', 'QR_CODE_OFFLINE', 'JSAPI_PAY'].filter((one) => one !== missing);
    const result = await probe(await accountOf(`without-${scene}`, { products }), [scene]);
    t.like(result, { ok: false, code: 'ACQ.ACCESS_FORBIDDEN', field });
    const check = named(result, `(${scene})`);
    t.like(check, { about: 'product', status: 'failed' });
    t.regex(check?.message ?? '', /has no contract for this product/);
    t.truthy(check?.supportId);
  });
}

/** Returns the result and the called Alipay methods, without the credentials query. */
async function counted(config: Config, products?: readonly Scene[]) {
  const send = createTransport({ timeoutMs: 20_000 });
  const methods: string[] = [];
  const result = await probe(config, products, (request) => {
    methods.push(new URLSearchParams(request.body ?? '').get('method') ?? request.url);
    return send(request);
  });
  return { result, calls: methods.filter((method) => method !== 'alipay.trade.query').toSorted() };
}

const [MAKE, CANCEL] = ['alipay.trade.precreate', 'alipay.trade.cancel'];

test('one unused QR code proves both seller and product, with or without requested products', async (t) => {
  const account = await accountOf('counted');
  t.truthy(account.fields['sellerId']);
  for (const products of [undefined, ['qr'], ['qr', 'code']] as const) {
    const { result, calls } = await counted(account, products);
    t.like(named(result, 'Seller ID'), { status: 'ok' });
    t.like(named(result, 'QR codes'), { status: 'ok' });
    t.deepEqual(calls, [CANCEL, MAKE], String(products));
  }
});

test('a refused code is requested once, and both rows have its support id', async (t) => {
  const { fields, pems } = await accountOf('refused', { products: ['JSAPI_PAY'] });
  const { result, calls } = await counted({ fields, pems });
  t.deepEqual(calls, [MAKE, MAKE], 'one of each product that QR codes can be sold as');
  const [seller, code] = [named(result, 'Seller ID'), named(result, 'QR codes')];
  t.like(seller, { status: 'unproven', code: 'ACQ.ACCESS_FORBIDDEN' });
  t.like(code, { status: 'lacking', code: 'ACQ.ACCESS_FORBIDDEN' });
  t.truthy(seller?.supportId);
  t.truthy(code?.supportId);
});

test('a seller that the app may not collect for is reported, even without requested products', async (t) => {
  const { fields, pems } = await accountOf('seller');
  const result = await probe({ fields: { ...fields, sellerId: '2088999999999999' }, pems });
  t.like(result, { ok: false, field: 'sellerId', code: 'ACQ.PARTNER_ERROR' });
  t.like(named(result, 'App ID'), { status: 'ok' });
});

test('a wrong key is the only failure, and no product is tested with it', async (t) => {
  const { fields, pems } = await accountOf('wrong');
  const other = await accountOf('other');
  const result = await probe({ fields, pems: { ...pems, alipay_app_key: other.pems['alipay_app_key']! } }, [
    'qr',
    'page',
  ]);
  t.like(result, { ok: false, field: 'alipay_app_key' });
  t.deepEqual(words(result), [
    'App ID: unproven',
    'App private key: failed',
    "Alipay's public key: unproven",
    'QR codes, FACE_TO_FACE_PAYMENT (qr): unproven',
    'Web pages, FAST_INSTANT_TRADE_PAY (page): unproven',
  ]);
});
