import Router from '@koa/router';
import type { Context } from 'koa';
import { STYLE_PATH, STYLESHEET } from '../pages/stylesheet.ts';
import { rawBodyOf } from './body.ts';
import { refuseCrossSite } from './callers.ts';
import type { Core } from './half.ts';
import { languageOf, showPage } from './page-language.ts';
import { decline } from './payer-deeds.ts';
import { payerPage } from './payer-page.ts';
import type { Trade } from './trade.ts';

const POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/** The page that a payer sees after scanning or following the pay address; opening it is the scan. */
export function payerRoutes(core: Core): Router {
  const router = new Router();
  router.get(STYLE_PATH, (ctx) => {
    ctx.type = 'text/css; charset=utf-8';
    ctx.body = STYLESHEET;
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
  else if (choice === 'decline') decline(core, trade);
}

function show(ctx: Context, trade: Trade | undefined): void {
  const language = languageOf(ctx);
  const html = payerPage(trade, language, ctx.path);
  showPage(ctx, { status: trade === undefined ? 404 : 200, language, html, policy: POLICY });
}

function tradeOf(core: Core, ctx: Context & { params?: Record<string, string> }): Trade | undefined {
  const { payWay, tradeId = '' } = ctx.params ?? {};
  const trade = core.trades.byId(tradeId);
  return trade?.payWay === payWay ? trade : undefined;
}
