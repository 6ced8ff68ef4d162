import { X509Certificate } from 'node:crypto';
import test from 'ava';
import { Aes, Decorator, Formatter, Rsa } from 'wechatpay-axios-plugin';
import type { HalfConfig } from '../../../../server/simulator/half.ts';
import { startReceiver, until, type World } from '../world.ts';
import { configOf, newNo, startWechat } from './merchant.ts';

let world: World;
test.before(async () => {
  world = await startWechat();
});
test.after.always(() => world.close());

interface Answer {
  status: number;
  data: Record<string, unknown>;
}
interface Client {
  request(path: string, method: string, data?: object, config?: object): Promise<Answer>;
}

/** The package as it is; only the base address is ours, and `Wechatpay-Serial` has to be added by its caller. */
function clientOf({ fields, pems }: HalfConfig, certs = certsOf({ fields, pems })): Client {
  const merchant = new X509Certificate(pems.wechat_merchant_cert?.[0] ?? '');
  const headers: Record<string, string> = {};
  if (fields.publicKeyId) headers['Wechatpay-Serial'] = fields.publicKeyId;
  const options = {
    baseURL: `${world.url}/wechat/`,
    mchid: fields.mchid ?? '',
    serial: merchant.serialNumber,
    privateKey: pems.wechat_merchant_key?.[0] ?? '',
    certs,
    headers,
    proxy: false as const,
  };
  return new Decorator(options) as unknown as Client;
}

function certsOf({ fields, pems }: HalfConfig): Record<string, string> {
  const certificates = (pems.wechat_platform_cert ?? []).map((pem) => [new X509Certificate(pem).serialNumber, pem]);
  const keys = (pems.wechat_public_key ?? []).map((pem) => [fields.publicKeyId, pem]);
  return Object.fromEntries([...certificates, ...keys]) as Record<string, string>;
}

for (const mode of ['certificate', 'public-key', 'both']) {
  test(`wechatpay-axios-plugin works and verifies every answer and notice (${mode})`, async (t) => {
    const config = await configOf(world, `plugin-${mode}`, { mode });
    const client = clientOf(config);
    const receiver = await startReceiver('');
    t.teardown(() => receiver.close());
    const { mchid = '', appId, apiV3Key = '' } = config.fields;
    const [orderNo, refundNo, closedNo] = [newNo(), newNo(), newNo()];
    const order = {
      appid: appId,
      mchid,
      description: '一杯茶',
      notify_url: receiver.url,
      amount: { total: 1234, currency: 'CNY' },
    };
    const trade = (no: string) => `v3/pay/transactions/out-trade-no/${no}`;

    const created = await client.request('v3/pay/transactions/native', 'POST', { ...order, out_trade_no: orderNo });
    t.is(typeof created.data.code_url, 'string');
    await world.post('/sim/pay', { payWay: 'wechat', orderNo });
    const paid = await client.request(trade(orderNo), 'GET', undefined, { params: { mchid } });
    t.is(paid.data.trade_state, 'SUCCESS');

    const refund = { refund: 100, total: 1234, currency: 'CNY' };
    const body = { out_trade_no: orderNo, out_refund_no: refundNo, notify_url: receiver.url, amount: refund };
    t.is((await client.request('v3/refund/domestic/refunds', 'POST', body)).data.status, 'PROCESSING');

    await client.request('v3/pay/transactions/native', 'POST', { ...order, out_trade_no: closedNo });
    t.is((await client.request(`${trade(closedNo)}/close`, 'POST', { mchid })).status, 204);

    await until(() => receiver.received.length >= 2);
    const events = receiver.received.map(({ headers, body: raw }) => {
      const header = (name: string) => String(headers[`wechatpay-${name}`]);
      const text = Formatter.response(header('timestamp'), header('nonce'), raw.toString());
      t.true(Rsa.verify(text, header('signature'), Rsa.from(certsOf(config)[header('serial')] ?? '', 'public')));
      const { event_type: event, resource } = JSON.parse(raw.toString()) as { event_type: string; resource: Sealed };
      const told = Aes.AesGcm.decrypt(resource.ciphertext, apiV3Key, resource.nonce, resource.associated_data);
      t.is((JSON.parse(told) as { mchid: string }).mchid, mchid);
      return event;
    });
    t.deepEqual(new Set(events), new Set(['TRANSACTION.SUCCESS', 'REFUND.SUCCESS']));
  });
}

interface Sealed {
  ciphertext: string;
  nonce: string;
  associated_data: string;
}

test('the package opens the platform certificates, and they are the ones that sign', async (t) => {
  const config = await configOf(world, 'plugin-certificates', { mode: 'certificate' });
  const { data } = await clientOf(config).request('v3/certificates', 'GET');
  const [item] = data.data as { serial_no: string; encrypt_certificate: Sealed }[];
  const { ciphertext, nonce, associated_data: aad } = item!.encrypt_certificate;
  const pem = Aes.AesGcm.decrypt(ciphertext, config.fields.apiV3Key ?? '', nonce, aad);
  t.deepEqual(certsOf(config), { [item!.serial_no]: pem });
});

test('the package refuses what the simulator signs with a key that is nobody’s', async (t) => {
  const config = await configOf(world, 'plugin-wrong', { mode: 'certificate' });
  for (const fault of ['wrong-key', 'no-signature', 'clock-skew', 'unknown-serial', 'signtest', 'tampered']) {
    await world.post('/sim/faults', { payWay: 'wechat', call: 'certificates', fault, account: 'plugin-wrong' });
    await t.throwsAsync(clientOf(config).request('v3/certificates', 'GET'), undefined, fault);
  }
  t.is((await clientOf(config).request('v3/certificates', 'GET')).status, 200);
});

test('the package hears the refusal of a wrong key', async (t) => {
  const own = await configOf(world);
  const other = await configOf(world, 'plugin-other');
  const mixed = { ...own, pems: { ...own.pems, wechat_merchant_key: other.pems.wechat_merchant_key ?? [] } };
  const error = await t.throwsAsync<Error & { response: Answer }>(clientOf(mixed).request('v3/certificates', 'GET'));
  t.is(error.response.status, 401);
  t.is(error.response.data.code, 'SIGN_ERROR');
});
