/** The channels, by their wire name. */
export const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;
export type PayWay = (typeof PAY_WAYS)[number];
