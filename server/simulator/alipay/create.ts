import { fixedOutcome } from '../fixed.ts';
import type { Core } from '../half.ts';
import type { Trade } from '../trade.ts';
import { readChinaTime } from './china-time.ts';
import { exists, newTradeNo, readText, readYuan, tradeNoOf } from './model.ts';
import { readOptions } from './options.ts';
import { MINI_PRODUCT, PRODUCTS, QR_PRODUCTS } from './products.ts';
import { refused, success, type Content } from './reply.ts';
import type { AlipayRequest } from './request.ts';

/** A code dies two hours after it was made, whatever `time_expire` says. */
const QR_MS = 2 * 3_600_000;

/** alipay.trade.precreate: `silent` when the caller shall never hear of it (0.06, the first time). */
export function precreate(core: Core, request: AlipayRequest): { content: Content; silent: boolean } {
  const product = request.content['product_code'] ?? QR_PRODUCTS[0];
  if (typeof product !== 'string' || !QR_PRODUCTS.includes(product))
    throw refused('INVALID_PARAMETER', 'product_code is not one of precreate.');
  requireProduct(request, product);
  const { trade, isNew } = createTrade(core, request, 'qr');
  return {
    content: success({ out_trade_no: trade.orderNo, qr_code: core.payUrl(trade) }),
    silent: isNew && trade.fixed === 'silent',
  };
}

/** alipay.trade.create for a mini program: the payer is known, so the trade exists at once and waits for the payer's word. */
export function createForMiniProgram(core: Core, request: AlipayRequest): { content: Content; silent: boolean } {
  const { content } = request;
  if (content['product_code'] !== MINI_PRODUCT) throw refused('INVALID_PARAMETER', 'product_code is not JSAPI_PAY.');
  requireProduct(request, MINI_PRODUCT);
  readText(content['op_app_id'], 'op_app_id', /^\d{16}$/);
  const buyer =
    content['buyer_id'] === undefined
      ? readText(content['buyer_open_id'], 'buyer_open_id', /^[\w-]{1,128}$/)
      : readText(content['buyer_id'], 'buyer_id', /^2088\d{12}$/);
  const { trade, isNew } = createTrade(core, request, 'jsapi', { scanned: true, buyer });
  if (trade.details['buyer'] !== buyer) throw refused('TRADE_BUYER_NOT_MATCH', 'The trade is of another payer.');
  return {
    content: success({ out_trade_no: trade.orderNo, trade_no: tradeNoOf(trade) }),
    silent: isNew && trade.fixed === 'silent',
  };
}

/** Opens a page, wap or app payment: what the payer's browser or app does with the signed request. */
export function openPage(core: Core, request: AlipayRequest): Trade {
  const product = PRODUCTS[request.method];
  const asked = request.content['product_code'];
  if (product === undefined || asked === undefined || ![product.code, product.former].includes(String(asked))) {
    throw refused('INVALID_PARAMETER', 'product_code does not belong to this method.');
  }
  requireProduct(request, product.code);
  return createTrade(core, request, product.scene).trade;
}

/** What a merchant has not signed for is refused before anything else about the trade is looked at (our inference). */
export function requireProduct({ account }: AlipayRequest, product: string): void {
  if (!account.products.includes(product))
    throw refused('ACCESS_FORBIDDEN', 'The merchant has not signed for this product.');
}

/** Makes the trade or, for the same number and facts while unpaid, finds it again. */
export function createTrade(
  core: Core,
  request: AlipayRequest,
  scene: string,
  details: Record<string, unknown> = {},
): { trade: Trade; isNew: boolean } {
  const draft = readDraft(core, request, scene);
  const known = core.trades.find(draft.orderNo, { payWay: 'alipay', account: request.account.name });
  // A code that nobody scanned leaves no trade behind, so its number is free again.
  if (known !== undefined && (known.state === 'offered' || exists(known)))
    return { trade: sameTrade(known, draft), isNew: false };
  if (fixedOutcome(draft.minor, 'CNY') === 'declined') throw refused('ACCESS_FORBIDDEN', 'Declined, as 0.02 asks for.');
  const expiresAt = readExpiry(request.content['time_expire'], core.clock.now(), scene);
  // Where the payer is known there is a trade at once; elsewhere the scan or the login makes it.
  const state = details['scanned'] === true ? 'open' : 'offered';
  const trade = core.trades.create({ ...draft, details: { ...draft.details, ...details }, expiresAt, state });
  core.startFixed(trade);
  return { trade, isNew: true };
}

function sameTrade(known: Trade, draft: { minor: number; subject: string }): Trade {
  if (known.state === 'paid') throw refused('TRADE_HAS_SUCCESS', 'The trade is paid.');
  if (known.state === 'closed') throw refused('TRADE_HAS_CLOSE', 'The trade is closed.');
  if (known.minor !== draft.minor || known.subject !== draft.subject)
    throw refused('CONTEXT_INCONSISTENT', 'The trade has other facts.');
  return known;
}

function readDraft(
  core: Core,
  { account, sellers, content, charset, notifyUrl, returnUrl }: AlipayRequest,
  scene: string,
) {
  const usual = sellers.includes(account.sellerId) ? account.sellerId : sellers[0];
  const sellerId = sellers.find((one) => one === (content['seller_id'] ?? usual));
  if (sellerId === undefined) throw refused('PARTNER_ERROR', 'seller_id is not of this app.');
  const passback = content['passback_params'];
  return {
    payWay: 'alipay' as const,
    account: account.name,
    orderNo: readText(content['out_trade_no'], 'out_trade_no', /^\w{1,64}$/),
    scene,
    subject: readText(content['subject'], 'subject', /^[^/=&]{1,256}$/),
    minor: readYuan(content['total_amount'], 'total_amount'),
    currency: 'CNY',
    notifyUrl,
    returnUrl,
    details: {
      tradeNo: newTradeNo(core),
      sellerId,
      charset,
      options: readOptions(content),
      ...(typeof passback === 'string' ? { passback } : {}),
    },
  };
}

function readExpiry(value: unknown, now: number, scene: string): number | null {
  const asked = value === undefined ? undefined : readChinaTime(String(value));
  if (value !== undefined && (asked === undefined || asked <= now))
    throw refused('INVALID_PARAMETER', 'time_expire is invalid.');
  if (scene !== 'qr') return asked ?? null;
  return Math.min(asked ?? Infinity, now + QR_MS);
}
