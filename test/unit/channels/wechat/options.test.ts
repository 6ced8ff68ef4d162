import test from 'ava';
import type { PlaceOrder } from '../../../../server/payments/channel.ts';
import { channelWith, placeOrder, platformInput, refundOrder, unsigned } from './fake.ts';

/** Returns the request body of an order; undefined if nothing is sent. */
async function bodyOf(order: Partial<PlaceOrder>): Promise<Record<string, unknown> | undefined> {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.place(placeOrder(order));
  return sent[0] && JSON.parse(sent[0].body ?? '');
}

const goods = [{ id: 'tea-1', name: 'Tea', quantity: 2, price: 617 }];
const wechat = { attach: 'A1', goodsTag: 'SPRING', supportFapiao: true, goods };

test('only the known merchant options are passed on', async (t) => {
  const plain = await bodyOf({});
  t.deepEqual(await bodyOf({ options: { wechat } }), {
    ...plain,
    attach: 'A1',
    goods_tag: 'SPRING',
    support_fapiao: true,
    detail: { goods_detail: [{ merchant_goods_id: 'tea-1', goods_name: 'Tea', quantity: 2, unit_price: 617 }] },
  });
  t.deepEqual(await bodyOf({ options: { alipay: { storeId: 'S1' } } }), plain);
});

test('a shop and a device are sent in the members of each product', async (t) => {
  const options = { wechat: { storeId: 'S1', deviceId: 'D1' } };
  const clientIp = '192.0.2.7';
  const place = { payer_client_ip: clientIp, device_id: 'D1', store_info: { id: 'S1' } };
  t.deepEqual((await bodyOf({ options, clientIp }))?.scene_info, place);
  t.deepEqual((await bodyOf({ options, clientIp, scene: 'h5' }))?.scene_info, { ...place, h5_info: { type: 'Wap' } });
  t.deepEqual((await bodyOf({ options, clientIp, scene: 'code', payCode: '130061098828009406' }))?.scene_info, {
    device_ip: clientIp,
    device_id: 'D1',
    store_info: { out_id: 'S1' },
  });
  t.is(await bodyOf({ options }), undefined, 'WeChat Pay wants the address beside them');
});

test('refunds are paid from the configured account', async (t) => {
  const { fields } = platformInput();
  for (const [refundFunds, expected] of [
    [undefined, undefined],
    ['AVAILABLE', 'AVAILABLE'],
  ] as const) {
    const { channel, sent } = channelWith(() => unsigned(500), {
      fields: { ...fields, ...(refundFunds && { refundFunds }) },
    });
    await channel.refund(refundOrder());
    t.is(JSON.parse(sent[0]?.body ?? '').funds_account, expected);
  }
});

test("a mini program order is a jsapi order with the mini program's app", async (t) => {
  const { fields } = platformInput();
  const { channel, sent } = channelWith(() => unsigned(500), {
    fields: { ...fields, appIdMini: 'wx00000000000000c1' },
  });
  const [appId] = channel.appIds?.('mini') ?? [];
  await channel.place(placeOrder({ scene: 'mini', openId: 'o1', ...(appId && { appId }) }));
  t.regex(sent[0]!.url, /\/v3\/pay\/transactions\/jsapi$/);
  t.like(JSON.parse(sent[0]!.body!), { appid: 'wx00000000000000c1', payer: { openid: 'o1' } });
  t.like(await channel.place(placeOrder({ scene: 'mini' })), {
    kind: 'declined',
    code: 'OPENID_MISSING',
    definite: true,
  });
});
