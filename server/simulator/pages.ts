import Router from '@koa/router';
import type { Context } from 'koa';
import { rawBodyOf } from './body.ts';
import type { Core } from './half.ts';
import { payerPage, STYLE } from './payer-page.ts';
import { SimulatorRefusal } from './refusal.ts';
import type { Trade } from './trade.ts';

const CSP = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The page that a payer sees after scanning or following the pay address; opening it is the scan. */
export function payerRoutes(core: Core): Router {
  const router = new Router();
  router.get('/pay/style.css', (ctx) => {
    ctx.type = 'text/css; charset=utf-8';
    ctx.body = STYLE;
  });
  router.get('/pay/:payWay/:tradeId', (ctx) => {
    const trade = tradeOf(core, ctx);
    if (trade?.state === 'offered') core.trades.scan(trade);
    show(ctx, trade);
  });
  router.post('/pay/:payWay/:tradeId', (ctx) => {
    refuseCrossSite(ctx);
    const trade = tradeOf(core, ctx);
    if (trade?.state === 'offered' || trade?.state === 'open') decide(core, ctx, trade);
    show(ctx, trade);
  });
  return router;
}

function decide(core: Core, ctx: Context, trade: Trade): void {
  const choice = new URLSearchParams(rawBodyOf(ctx).toString('utf8')).get('choice');
  if (choice === 'pay') core.half(trade.payWay).pay(core, trade);
  else if (choice === 'decline') core.half(trade.payWay).decline(core, trade);
}

function show(ctx: Context, trade: Trade | undefined): void {
  ctx.set('content-security-policy', CSP);
  ctx.set('x-content-type-options', 'nosniff');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('cache-control', 'no-store');
  ctx.type = 'text/html; charset=utf-8';
  ctx.status = trade === undefined ? 404 : 200;
  ctx.body = payerPage(trade);
}

function tradeOf(core: Core, ctx: Context & { params?: Record<string, string> }): Trade | undefined {
  const { payWay, tradeId = '' } = ctx.params ?? {};
  const trade = core.trades.byId(tradeId);
  return trade?.payWay === payWay ? trade : undefined;
}

function refuseCrossSite(ctx: Context): void {
  const site = ctx.get('sec-fetch-site');
  if (site !== '' && site !== 'same-origin')
    throw new SimulatorRefusal(403, 'cross_site', 'Cross-site requests are refused.');
}
