import test from 'ava';
import { Aes, Formatter, Rsa } from 'wechatpay-axios-plugin';
import type { SimulatedChannelConfig } from '../../../server/simulator/channel-simulator.ts';
import { startReceiver, until, type World } from '../../unit/simulator/world.ts';
import { configOf, newNo, startWechat } from '../../unit/simulator/wechat/merchant.ts';
import { certsOf, clientOf, newDigits, type Encrypted } from './wechat-plugin.ts';

let world: World;
test.before(async () => {
  world = await startWechat();
});
test.after.always(() => world.close());

const TRADES = 'v3/pay/partner/transactions';
const REFUNDS = 'v3/refund/domestic/refunds';
const amount = { total: 1234, currency: 'CNY' };
const scene_info = { payer_client_ip: '192.0.2.7', h5_info: { type: 'Wap' } };

/** A partner's client, its ids and its create call. */
async function partnerOf(name: string, mode: string, notify_url: string) {
  const config: SimulatedChannelConfig = await configOf(world, name, { mode, partner: true, subApp: true });
  const client = clientOf(world, config);
  const { mchid = '', appId = '', subMchId = '', subAppId = '' } = config.fields;
  const mchids = { sp_mchid: mchid, sub_mchid: subMchId };
  const own = { sp_appid: appId, ...mchids };
  const names = { ...own, sub_appid: subAppId };
  const create = async (product: string, members: object, out_trade_no = newNo()) => {
    const order = { ...names, description: '一杯茶', notify_url, amount, out_trade_no, ...members };
    return { out_trade_no, ...(await client.request(`${TRADES}/${product}`, 'POST', order)) };
  };
  const query = (path: string) => client.request(`${TRADES}/${path}`, 'GET', undefined, { params: mchids });
  return { config, client, mchids, own, names, create, query };
}

for (const mode of ['certificate', 'public-key', 'both']) {
  test(`the package makes every call of a partner and verifies every response and notification (${mode})`, async (t) => {
    const receiver = await startReceiver('');
    t.teardown(() => receiver.close());
    const { config, client, mchids, own, names, create, query } = await partnerOf(`plugin-${mode}`, mode, receiver.url);
    t.is(typeof (await create('native', {})).data.code_url, 'string');
    t.is(typeof (await create('app', {})).data.prepay_id, 'string');
    t.is(typeof (await create('h5', { scene_info })).data.h5_url, 'string');
    const bySub = await create('jsapi', { payer: { sub_openid: 'ob' } });
    const bySp = await create('jsapi', { sub_appid: undefined, payer: { sp_openid: 'oa' } });

    for (const { out_trade_no } of [bySub, bySp]) await world.post('/sim/pay', { orderNo: out_trade_no });
    const asked = (await query(`out-trade-no/${bySub.out_trade_no}`)).data;
    t.like(asked, { ...names, trade_state: 'SUCCESS', payer: { sub_openid: 'ob' } });
    t.deepEqual((await query(`id/${String(asked.transaction_id)}`)).data, asked);
    const ofSp = (await query(`out-trade-no/${bySp.out_trade_no}`)).data;
    t.like(ofSp, { ...own, payer: { sp_openid: 'oa' } });
    t.false('sub_appid' in ofSp || 'mchid' in ofSp);

    const out_refund_no = newNo();
    const { sub_mchid } = mchids;
    const fault = { payWay: 'wechat', call: 'refund', fault: 'abnormal-refund', orderNo: bySub.out_trade_no };
    await world.post('/sim/faults', fault);
    const refund = { sub_mchid, out_trade_no: bySub.out_trade_no, out_refund_no, notify_url: receiver.url };
    const made = await client.request(REFUNDS, 'POST', { ...refund, amount: { ...amount, refund: 100 } });
    t.is(made.data.status, 'ABNORMAL');
    const found = await client.request(`${REFUNDS}/${out_refund_no}`, 'GET', undefined, { params: { sub_mchid } });
    const retry = { sub_mchid, out_refund_no, type: 'MERCHANT_BANK_CARD' };
    const path = `${REFUNDS}/${String(found.data.refund_id)}/apply-abnormal-refund`;
    t.is((await client.request(path, 'POST', retry)).data.status, 'PROCESSING');

    const closed = await create('native', {});
    const close = `${TRADES}/out-trade-no/${closed.out_trade_no}/close`;
    t.is((await client.request(close, 'POST', mchids)).status, 204);
    t.is((await query(`out-trade-no/${closed.out_trade_no}`)).data.trade_state, 'CLOSED');

    const code = { payer: { auth_code: `13${newDigits(16)}` }, scene_info: { device_ip: '192.0.2.9' } };
    const shown = await create('codepay', { ...code, notify_url: undefined });
    t.like(shown.data, { ...names, trade_state: 'USERPAYING' });
    const reverse = `${TRADES}/out-trade-no/${shown.out_trade_no}/reverse`;
    const reversed = await client.request(reverse, 'POST', names);
    t.deepEqual(reversed.data, { ...names, out_trade_no: shown.out_trade_no });

    await until(() => receiver.received.length >= 3);
    for (const { headers, body } of receiver.received) {
      const header = (name: string) => String(headers[`wechatpay-${name}`]);
      const text = Formatter.response(header('timestamp'), header('nonce'), body.toString());
      t.true(Rsa.verify(text, header('signature'), Rsa.from(certsOf(config)[header('serial')] ?? '', 'public')));
      const { event_type, resource } = JSON.parse(body.toString()) as { event_type: string; resource: Encrypted };
      const { ciphertext, nonce, associated_data } = resource;
      const told = Aes.AesGcm.decrypt(ciphertext, config.fields.apiV3Key ?? '', nonce, associated_data);
      const facts = JSON.parse(told) as Record<string, unknown>;
      t.like(facts, event_type.startsWith('REFUND') ? mchids : own);
      t.false('mchid' in facts || 'appid' in facts, event_type);
    }
  });
}
