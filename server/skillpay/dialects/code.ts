import { brandHeader, brandHeaders } from './brand.ts';
import type { Dialect, Proof } from './dialect.ts';

/** Our own dialect: a signed payment code under the operator's brand, and the number of the order as the proof. */
export function codeDialect(brand: string | undefined): Dialect {
  const dialect: Dialect = {
    name: 'code',
    exposes: [...brandHeaders(brand), 'X-Out-Trade-No', 'X-Dev-Mode'],
    ask: ({ order, skill }) => ({
      headers: { [brandHeader(brand, order.payWay)]: skill.paymentCode ?? '', 'X-Out-Trade-No': order.orderNo },
    }),
    read: ({ 'x-out-trade-no': outTradeNo }): Proof | undefined =>
      outTradeNo === undefined ? undefined : { dialect, header: 'X-Out-Trade-No', outTradeNo, check: () => {} },
    paid: ({ order }) => ({ headers: { 'X-Out-Trade-No': order.orderNo } }),
  };
  return dialect;
}
