import { hash } from 'node:crypto';
import test from 'ava';
import { Aes, Formatter, Multipart, Rsa } from 'wechatpay-axios-plugin';
import { startReceiver, until, type World } from '../../unit/simulator/world.ts';
import { configOf, newNo, startWechat } from '../../unit/simulator/wechat/merchant.ts';
import { certsOf, clientOf as clientAt, newDigits, type Answer, type Encrypted } from './wechat-plugin.ts';

let world: World;
test.before(async () => {
  world = await startWechat();
});
test.after.always(() => world.close());

const clientOf = (config: Parameters<typeof clientAt>[1]) => clientAt(world, config);

for (const mode of ['certificate', 'public-key', 'both']) {
  test(`wechatpay-axios-plugin works and verifies every response and notification (${mode})`, async (t) => {
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
      const { event_type: event, resource } = JSON.parse(raw.toString()) as { event_type: string; resource: Encrypted };
      const told = Aes.AesGcm.decrypt(resource.ciphertext, apiV3Key, resource.nonce, resource.associated_data);
      t.is((JSON.parse(told) as { mchid: string }).mchid, mchid);
      return event;
    });
    t.deepEqual(new Set(events), new Set(['TRANSACTION.SUCCESS', 'REFUND.SUCCESS']));
  });
}

test('wechatpay-axios-plugin uploads an image for a complaint reply, and only meta is signed', async (t) => {
  const config = await configOf(world, 'plugin-images');
  const client = clientOf(config);
  const image = Buffer.from('89504e470d0a1a0a00', 'hex');
  const form = new Multipart();
  form.append('meta', JSON.stringify({ filename: 'photo.png', sha256: hash('sha256', image) }), 'meta.json');
  form.append('file', image, 'photo.png');
  const { status, data } = await client.request('v3/merchant-service/images/upload', 'POST', form, {
    headers: form.getHeaders(),
  });
  t.is(status, 200, JSON.stringify(data));
  t.is(typeof data['media_id'], 'string');
});

test('wechatpay-axios-plugin creates, reads, updates and deletes the complaint notification URL', async (t) => {
  const client = clientOf(await configOf(world, 'plugin-complaints'));
  const path = 'v3/merchant-service/complaint-notifications';
  const [first, second] = ['https://pay.example/notify', 'https://pay.example/other'];
  t.is((await client.request(path, 'POST', { url: first })).data['url'], first);
  t.is((await client.request(path, 'PUT', { url: second })).data['url'], second);
  t.is((await client.request(path, 'GET')).data['url'], second);
  t.is((await client.request(path, 'DELETE')).status, 204);
});

for (const mode of ['certificate', 'public-key']) {
  test(`wechatpay-axios-plugin places in every product, queries by every number and ends in every way (${mode})`, async (t) => {
    const config = await configOf(world, `plugin-products-${mode}`, { mode });
    const client = clientOf(config);
    const { mchid = '', appId: appid } = config.fields;
    const amount = { total: 1234, currency: 'CNY' };
    const order = { appid, mchid, description: '一杯茶', notify_url: 'http://127.0.0.1:9/notify', amount };
    const trades = 'v3/pay/transactions';
    const create = async (product: string, members: object, out_trade_no = newNo()) => {
      const answer = await client.request(`${trades}/${product}`, 'POST', { ...order, ...members, out_trade_no });
      return { out_trade_no, ...answer };
    };
    const expire = `${new Date(Date.now() + 8 * 3_600_000 + 3_600_000).toISOString().slice(0, 19)}+08:00`;
    const extras = {
      time_expire: expire,
      attach: 'A1',
      support_fapiao: true,
      settle_info: { profit_sharing: false },
      detail: { goods_detail: [{ merchant_goods_id: 'tea-1', quantity: 1, unit_price: 1234 }] },
    };
    const scene = { payer_client_ip: '192.0.2.7', device_id: 'D1', store_info: { id: 'S1' } };
    const jsapi = await create('jsapi', { ...extras, payer: { openid: 'o1' } });
    t.is(typeof jsapi.data.prepay_id, 'string');
    t.is(typeof (await create('app', { ...extras, scene_info: scene })).data.prepay_id, 'string');
    const h5 = { ...extras, scene_info: { ...scene, h5_info: { type: 'Wap' } } };
    const first = await create('h5', h5);
    const again = await create('h5', h5, first.out_trade_no);
    t.not(again.data.h5_url, first.data.h5_url);

    await world.post('/sim/pay', { payWay: 'wechat', orderNo: jsapi.out_trade_no });
    const byOurs = await client.request(`${trades}/out-trade-no/${jsapi.out_trade_no}`, 'GET', undefined, {
      params: { mchid },
    });
    const byTheirs = await client.request(`${trades}/id/${String(byOurs.data.transaction_id)}`, 'GET', undefined, {
      params: { mchid },
    });
    t.deepEqual(byTheirs.data, byOurs.data);
    t.is(byOurs.data.attach, 'A1');
    const out_refund_no = newNo();
    await world.post('/sim/faults', {
      payWay: 'wechat',
      call: 'refund',
      fault: 'abnormal-refund',
      orderNo: jsapi.out_trade_no,
    });
    const refund = { refund: 100, total: 1234, currency: 'CNY' };
    const { transaction_id } = byOurs.data;
    const asked = { transaction_id, out_refund_no, reason: '茶凉了', amount: refund, funds_account: 'AVAILABLE' };
    t.is((await client.request('v3/refund/domestic/refunds', 'POST', asked)).data.status, 'ABNORMAL');
    const stuck = (await client.request(`v3/refund/domestic/refunds/${out_refund_no}`, 'GET')).data;
    const path = `v3/refund/domestic/refunds/${String(stuck.refund_id)}/apply-abnormal-refund`;
    const retried = await client.request(path, 'POST', { out_refund_no, type: 'MERCHANT_BANK_CARD' });
    t.is(retried.data.status, 'PROCESSING');

    const { notify_url: _none, ...atTheTill } = order;
    const codeNo = newNo();
    const code = {
      payer: { auth_code: `13${newDigits(16)}` },
      scene_info: { device_ip: '192.0.2.9', store_info: { out_id: 'S1' } },
    };
    const shown = await client.request(`${trades}/codepay`, 'POST', { ...atTheTill, ...code, out_trade_no: codeNo });
    t.is(shown.status, 202);
    t.is(shown.data.trade_state, 'USERPAYING');
    const reversed = await client.request(`${trades}/out-trade-no/${codeNo}/reverse`, 'POST', { appid, mchid });
    t.deepEqual(reversed.data, { appid, mchid, out_trade_no: codeNo });
  });
}

test('the package decrypts the platform certificates, and they verify the signatures', async (t) => {
  const config = await configOf(world, 'plugin-certificates', { mode: 'certificate' });
  const { data } = await clientOf(config).request('v3/certificates', 'GET');
  const [item] = data.data as { serial_no: string; encrypt_certificate: Encrypted }[];
  const { ciphertext, nonce, associated_data: aad } = item!.encrypt_certificate;
  const pem = Aes.AesGcm.decrypt(ciphertext, config.fields.apiV3Key ?? '', nonce, aad);
  t.deepEqual(certsOf(config), { [item!.serial_no]: pem });
});

test('the package refuses responses signed with a wrong key', async (t) => {
  const config = await configOf(world, 'plugin-wrong', { mode: 'certificate' });
  for (const fault of ['wrong-key', 'no-signature', 'clock-skew', 'unknown-serial', 'signtest', 'tampered']) {
    await world.post('/sim/faults', { payWay: 'wechat', call: 'certificates', fault, account: 'plugin-wrong' });
    await t.throwsAsync(clientOf(config).request('v3/certificates', 'GET'), undefined, fault);
  }
  t.is((await clientOf(config).request('v3/certificates', 'GET')).status, 200);
});

test('the package receives the refusal of a wrong key', async (t) => {
  const own = await configOf(world);
  const other = await configOf(world, 'plugin-other');
  const mixed = { ...own, pems: { ...own.pems, wechat_merchant_key: other.pems.wechat_merchant_key ?? [] } };
  const error = await t.throwsAsync<Error & { response: Answer }>(clientOf(mixed).request('v3/certificates', 'GET'));
  t.is(error.response.status, 401);
  t.is(error.response.data.code, 'SIGN_ERROR');
});
