/** The products that precreate sells; the first one without a word (reference of alipay.trade.precreate). */
export const QR_PRODUCTS: readonly string[] = ['FACE_TO_FACE_PAYMENT', 'QR_CODE_OFFLINE'];

/** The product of a payer's code (alipay.trade.pay). */
export const TILL_PRODUCT = 'FACE_TO_FACE_PAYMENT';

/** The product code that each page scene must carry; `former` is what many clients still name (fzlee/alipay, yansongda/pay). */
export const PRODUCTS: Readonly<Record<string, { scene: string; code: string; former?: string }>> = {
  'alipay.trade.page.pay': { scene: 'page', code: 'FAST_INSTANT_TRADE_PAY' },
  'alipay.trade.wap.pay': { scene: 'wap', code: 'QUICK_WAP_WAY', former: 'QUICK_WAP_PAY' },
  'alipay.trade.app.pay': { scene: 'app', code: 'QUICK_MSECURITY_PAY' },
};

/** The product of mini programs (alipay.trade.create). */
export const MINI_PRODUCT = 'JSAPI_PAY';

/** Every product that a merchant may sign for. */
export const ALL_PRODUCTS: readonly string[] = [
  ...QR_PRODUCTS,
  MINI_PRODUCT,
  ...Object.values(PRODUCTS).map(({ code }) => code),
];
