import type { PlaceOrder } from '../../payments/channel.ts';

type WechatOptions = NonNullable<PlaceOrder['options']['wechat']>;
type Goods = NonNullable<WechatOptions['goods']>[number];

/**
 * The merchant's options beyond the order, as members of a create ("Native下单", "付款码支付"); prices in fen. Without `settle_info` nothing is
 * frozen for profit sharing (`profit_sharing` is false by default).
 */
export function optionsOf({ options }: PlaceOrder): Record<string, unknown> {
  const { attach, goodsTag, supportFapiao, goods }: WechatOptions = options.wechat ?? {};
  return {
    attach,
    goods_tag: goodsTag,
    support_fapiao: supportFapiao,
    detail: goods && { goods_detail: goods.map(goodsDetail) },
  };
}

/** Where the payer is: every member needs the IP address beside it, the payer's or at a till the till's own. */
export function sceneInfo({ scene, clientIp, options }: PlaceOrder): Record<string, unknown> | undefined {
  const { storeId, deviceId }: WechatOptions = options.wechat ?? {};
  // A till names its shop by the merchant's own code (out_id), the others do so with `id`.
  if (scene === 'code')
    return {
      device_ip: clientIp,
      device_id: deviceId,
      store_info: storeId === undefined ? undefined : { out_id: storeId },
    };
  const place = { device_id: deviceId, store_info: storeId === undefined ? undefined : { id: storeId } };
  if (scene === 'h5') return { payer_client_ip: clientIp, h5_info: { type: 'Wap' }, ...place };
  return needsAddress(options.wechat) ? { payer_client_ip: clientIp, ...place } : undefined;
}

/** Whether the IP address of the payer must be known for what was asked. */
export function needsAddress(options: WechatOptions | undefined): boolean {
  return options?.storeId !== undefined || options?.deviceId !== undefined;
}

function goodsDetail({ id, name, quantity, price }: Goods): Record<string, unknown> {
  return { merchant_goods_id: id, goods_name: name, quantity, unit_price: price };
}
