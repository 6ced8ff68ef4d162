import { X509Certificate } from 'node:crypto';
import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { createTransport } from '../../../../server/channels/transport.ts';
import type { CertsDownloaded, ChannelInput } from '../../../../server/payments/channel.ts';
import { alipaySimulator } from '../../../../server/simulator/alipay/simulator.ts';
import { startWorld, type World } from '../../simulator/world.ts';

let world: World;
test.before(async () => {
  world = await startWorld({ timeFactor: 0.001, channelSimulators: [alipaySimulator] });
});
test.after.always(() => world.close());

type Config = Pick<ChannelInput, 'fields' | 'pems'>;

async function accountOf(name: string, signMode: string): Promise<Config> {
  return (await world.post<{ alipay: Config }>('/sim/accounts', { payWay: 'alipay', name, signMode })).alipay;
}

async function download({ fields, pems }: Config): Promise<CertsDownloaded> {
  const send = createTransport({ timeoutMs: 20_000 });
  const input = { mode: 'simulator', fields, pems, simulatorUrl: world.url, send, now: () => new Date() } as const;
  return alipayKind.downloadCerts!(input);
}

test("Alipay's next certificate is downloaded by the serial of a response, and a known one is not", async (t) => {
  const config = await accountOf('next', 'certificate');
  const before = await download(config);
  t.like(before, { ok: true, certs: [] });
  t.regex((before.ok && before.byHand) || '', /Download the first public certificate, the root certificates .*/);
  await world.post('/sim/rotate', { payWay: 'alipay', account: 'next', what: 'alipay-key' });
  const after = await download(config);
  t.like(after, { ok: true });
  const certs = after.ok ? after.certs : [];
  t.deepEqual(
    certs.map(({ kind }) => kind),
    ['alipay_public_cert'],
  );
  const [stored = ''] = config.pems['alipay_public_cert'] ?? [];
  t.not(new X509Certificate(certs[0]?.pem ?? '').serialNumber, new X509Certificate(stored).serialNumber);
});

test('a wrong configuration is reported with its field', async (t) => {
  const config = await accountOf('wrong', 'certificate');
  const fields = { ...config.fields, appId: '2021000000000000' };
  t.like(await download({ ...config, fields }), { ok: false, field: 'appId' });
});
