import test from 'ava';
import type { ProbeResult } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import type { World } from '../../simulator/world.ts';
import { channelOf, configOf, startWechat } from '../../simulator/wechat/merchant.ts';

let world: World;
const own: Record<string, SimulatedChannelConfig> = {};
let other: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  for (const mode of ['certificate', 'public-key']) own[mode] = await configOf(world, mode, { mode });
  other = await configOf(world, 'other', { mode: 'public-key' });
});
test.after.always(() => world.close());

type Change = (config: SimulatedChannelConfig) => Partial<SimulatedChannelConfig>;

async function probe(mode: string, change: Change): Promise<ProbeResult> {
  const config = own[mode]!;
  const { fields, pems } = change(config);
  return channelOf(world, {
    fields: { ...config.fields, ...fields },
    pems: { ...config.pems, ...pems },
  }).probe();
}

const pemOf = (kind: string) => ({ [kind]: other.pems[kind] ?? [] });
const serialInstead = { wechat_merchant_cert: [] };

for (const [what, mode, field, change] of [
  ['another merchant number', 'certificate', 'mchid', () => ({ fields: { mchid: '1900000999' } })],
  [
    'the key and certificate of another merchant',
    'certificate',
    'wechat_merchant_cert',
    () => ({ pems: { ...pemOf('wechat_merchant_key'), ...pemOf('wechat_merchant_cert') } }),
  ],
  [
    'a wrong serial',
    'certificate',
    'merchantSerial',
    () => ({ fields: { merchantSerial: 'ABCD' }, pems: serialInstead }),
  ],
  ['a wrong APIv3 key', 'certificate', 'apiV3Key', () => ({ fields: { apiV3Key: 'x'.repeat(32) } })],
  [
    'a wrong APIv3 key and no certificate',
    'certificate',
    'apiV3Key',
    () => ({ fields: { apiV3Key: 'x'.repeat(32) }, pems: { wechat_platform_cert: [] } }),
  ],
  [
    'the public key of another merchant',
    'public-key',
    'wechat_public_key',
    () => ({ pems: pemOf('wechat_public_key') }),
  ],
  ['another public key id', 'public-key', 'publicKeyId', () => ({ fields: { publicKeyId: 'PUB_KEY_ID_0X' } })],
] as [string, string, string, Change][]) {
  test(`${what}: the probe reports ${field}`, async (t) => {
    const result = await probe(mode, change);
    t.is(result.ok ? 'ok' : result.field, field, JSON.stringify(result));
  });
}

test('a wrong merchant key is reported even if only its serial is known', async (t) => {
  const { X509Certificate } = await import('node:crypto');
  const certificate = new X509Certificate(own.certificate?.pems.wechat_merchant_cert?.[0] ?? '');
  const result = await probe('certificate', () => ({
    fields: { merchantSerial: certificate.serialNumber },
    pems: { ...serialInstead, ...pemOf('wechat_merchant_key') },
  }));
  t.like(result, { ok: false, field: 'wechat_merchant_key', code: 'SIGN_ERROR' });
});

test('a valid configuration passes in either mode, even before certificates were fetched', async (t) => {
  t.like(await probe('certificate', () => ({ pems: { wechat_platform_cert: [] } })), { ok: true, note: undefined });
  t.like(await probe('public-key', () => ({})), { ok: true, note: undefined });
});

test('an unreachable channel reports no field', async (t) => {
  const gone = { ...world, url: 'http://127.0.0.1:9' };
  t.like(await channelOf(gone, own.certificate!).probe(), { ok: false, field: null, code: 'network' });
});
