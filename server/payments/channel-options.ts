/** An item of the order as Alipay and WeChat Pay show it; `price` in minor units (fen) of one piece. */
export interface Goods {
  id: string;
  name: string;
  quantity: number;
  price: number;
}

/** What a merchant may ask of Alipay beyond the order itself (members of its own requests). */
export interface AlipayOptions {
  storeId?: string | undefined;
  operatorId?: string | undefined;
  terminalId?: string | undefined;
  /** The PID of the service provider who gets the commission. */
  sysServiceProviderId?: string | undefined;
  /** Comes back in the notices unchanged. */
  passbackParams?: string | undefined;
  /** Ways to pay that are offered alone, or that are not. */
  enablePayChannels?: readonly string[] | undefined;
  disablePayChannels?: readonly string[] | undefined;
  goods?: readonly Goods[] | undefined;
}

/** What a merchant may ask of WeChat Pay beyond the order itself. */
export interface WechatOptions {
  attach?: string | undefined;
  goodsTag?: string | undefined;
  /** Offers the payer an electronic invoice. */
  supportFapiao?: boolean | undefined;
  /** Refused when true: the money would stay frozen until it is shared or released, which nothing here does. */
  profitSharing?: boolean | undefined;
  storeId?: string | undefined;
  deviceId?: string | undefined;
  goods?: readonly Goods[] | undefined;
}

/** What a merchant may ask of PayPal beyond the order itself. */
export interface PaypalOptions {
  /** Shown instead of the business name. */
  brandName?: string | undefined;
  /** BCP 47, as PayPal takes it: `en-GB`. */
  locale?: string | undefined;
  landingPage?: 'LOGIN' | 'GUEST_CHECKOUT' | 'NO_PREFERENCE' | undefined;
  /** Ways to pay whose money comes later are refused. */
  immediatePayment?: boolean | undefined;
  /** What the payer's statement says behind PAYPAL. */
  softDescriptor?: string | undefined;
}

/** By channel: an order keeps only those of its own. */
export interface ChannelOptions {
  alipay?: AlipayOptions | undefined;
  wechat?: WechatOptions | undefined;
  paypal?: PaypalOptions | undefined;
}
