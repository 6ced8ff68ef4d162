import { PAY_WAYS, type PayWay } from '../../domain.ts';

/** How the operators of the channels are called in the name of the header. */
const BRANDS: Readonly<Record<PayWay, string>> = { wechat: 'Weixin', alipay: 'Alipay', paypal: 'PayPal' };

/** Name of the header with our payment code of an order of the channel; a configured brand takes the place of every operator's. */
export function brandHeader(brand: string | undefined, payWay: PayWay): string {
  return `${brand ?? BRANDS[payWay]}-Pay-Required`;
}

/** Every name that `brandHeader` may give. */
export function brandHeaders(brand: string | undefined): string[] {
  return [...new Set(PAY_WAYS.map((payWay) => brandHeader(brand, payWay)))];
}
