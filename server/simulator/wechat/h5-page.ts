import type { Context } from 'koa';
import type { Core } from '../half.ts';
import type { Trade } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import { readMerchant } from './account.ts';

/** Where an h5_url leads, below the simulator; at WeChat it is wx.tenpay.com. */
export const H5_PATH = '/wechat/cgi-bin/mmpayweb-bin/checkmweb';

/** An h5_url can be opened for this long after the create that gave it ("H5下单", h5_url). */
const URL_LIFE_MS = 5 * 60_000;

/** A new address that opens WeChat for a trade; each create gives one of its own, and none outlives its five minutes. */
export function newH5Url(core: Core, trade: Trade): string {
  const issued = `${core.clock.now()}${randomDigits(6)}`;
  return `${core.url}${H5_PATH}?prepay_id=wx${trade.id}&package=${issued}`;
}

/**
 * What the payer's browser is shown there. As WeChat does ("H5支付", 常见问题), it refuses an address that is too old, one that
 * was opened from nowhere or from a domain that the merchant has not registered, and a redirect_url to such a domain. Who is
 * let in sees the simulator's own page of the trade. The status of WeChat's refusals is not documented.
 */
export function openH5(ctx: Context, core: Core): void {
  const trade = tradeOf(core, textOf(ctx, 'prepay_id'));
  const redirectUrl = textOf(ctx, 'redirect_url');
  const refusal = trade
    ? refuse(core, trade, { issued: textOf(ctx, 'package'), referer: ctx.get('referer'), redirectUrl })
    : '支付请求已失效，请重新发起支付';
  if (!trade || refusal !== undefined) return show(ctx, refusal ?? '');
  if (redirectUrl !== '' && trade.returnUrl !== redirectUrl) {
    trade.returnUrl = redirectUrl;
    core.trades.record(trade, 'updated');
  }
  ctx.redirect(core.payUrl(trade));
}

function tradeOf(core: Core, prepayId: string): Trade | undefined {
  const trade = core.trades.byId(prepayId.replace(/^wx/, ''));
  return trade?.payWay === 'wechat' && trade.scene === 'h5' ? trade : undefined;
}

function refuse(
  core: Core,
  trade: Trade,
  { issued, referer, redirectUrl }: { issued: string; referer: string; redirectUrl: string },
): string | undefined {
  const age = core.clock.now() - Number(issued.slice(0, -6));
  if (!(age >= 0 && age <= URL_LIFE_MS)) return '支付请求已失效，请重新发起支付';
  if (referer === '') return '商家参数格式有误，请联系商家解决';
  const account = core.accounts.get('wechat', trade.account);
  const domains = account ? readMerchant(account).h5Domains : [];
  const isRegistered = [referer, ...(redirectUrl === '' ? [] : [redirectUrl])].every((url) => isOf(url, domains));
  return isRegistered ? undefined : '商家存在未配置的参数，请联系商家解决';
}

/** A registered domain stands for its subdomains, too. */
function isOf(url: string, domains: readonly string[]): boolean {
  const host = URL.parse(url)?.hostname ?? '';
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

function show(ctx: Context, words: string): void {
  ctx.status = 403;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('content-security-policy', "default-src 'none'");
  ctx.set('cache-control', 'no-store');
  ctx.body = `<!DOCTYPE html><html lang="zh"><head><meta charset="utf-8"><title>${words}</title></head><body><p>${words}</p></body></html>\n`;
}

function textOf(ctx: Context, name: string): string {
  const value = ctx.query[name];
  return typeof value === 'string' ? value : '';
}
