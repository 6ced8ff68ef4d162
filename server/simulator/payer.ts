/** The actions of a payer, and the payer's page. */
import Router from '@koa/router';
import type { Context } from 'koa';
import {
  STYLESHEET,
  STYLE_PATH,
  escapeHtml,
  htmlDocument,
  languageSwitch,
  merchantHtml,
  webAddress,
} from '../pages/document.ts';
import { LANGUAGE_TAGS, type Language, chooseLanguage, inLanguage, moneyText } from '../pages/language.ts';
import type { Core } from './channel-simulator.ts';
import { SimulatorRefusal, queryText, rawBodyOf, refuseCrossSite } from './requests.ts';
import { type Trade, majorOf, paymentOf, refundedMinor } from './trade.ts';
import { SIMULATOR_WORDS, type SimulatorWords } from './words.ts';

/** Chooses the language of a page from the request. */
export function languageOf(ctx: Context): Language {
  return chooseLanguage({ requested: queryText(ctx, 'lang'), accepted: ctx.get('accept-language') });
}

/** Sends a page with a strict Content-Security-Policy. */
export function showPage(
  ctx: Context,
  page: { status: number; language: Language; html: string; policy: string },
): void {
  ctx.set('content-security-policy', page.policy);
  ctx.set('x-content-type-options', 'nosniff');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('cache-control', 'no-store');
  ctx.set('content-language', LANGUAGE_TAGS[page.language]);
  ctx.vary('Accept-Language');
  ctx.type = 'text/html; charset=utf-8';
  ctx.status = page.status;
  ctx.body = page.html;
}

/** Pays an order. A repeated call for a paid order changes nothing, so callers can retry. */
export function payOnce(core: Core, trade: Trade): void {
  if (trade.state !== 'paid' && trade.state !== 'approved') core.channelSimulator(trade.payWay).pay(core, trade);
}

/**
 * Creates a second open trade with the order number of `trade`, as if the merchant had created the order twice at the
 * channel. At PayPal the second trade is a new order with the same invoice_id or custom_id, because PayPal assigns its
 * own order ids. Throws SimulatorRefusal if the channel allows only one trade for each order number.
 */
export function anotherOf(core: Core, trade: Trade): Trade {
  const { payWay, account, orderNo, scene, subject, minor, currency, notifyUrl, returnUrl, cancelUrl } = trade;
  const names = { payWay, account, orderNo, scene, subject, minor, currency, notifyUrl, returnUrl, cancelUrl };
  const channelSimulator = core.channelSimulator(payWay);
  const details = channelSimulator.detailsOfAnother?.(core, trade);
  const own = channelSimulator.twinOf?.(core, trade) ?? (details && { details });
  if (!own)
    throw new SimulatorRefusal(400, 'one_trade_only', 'This channel allows only one trade for each order number.');
  return core.trades.create({ ...names, ...own, state: 'open' });
}

/** Pays a trade that `anotherOf` created. Captures the payment if the channel requires a capture. */
export function payAgain(core: Core, trade: Trade): void {
  const channelSimulator = core.channelSimulator(trade.payWay);
  channelSimulator.pay(core, trade);
  channelSimulator.take?.(core, trade);
}

/** Declines a trade as the payer would. */
export function decline(core: Core, trade: Trade): void {
  core.channelSimulator(trade.payWay).decline(core, trade);
}

/** The path of a trade's payer page. */
export function payerPath({ payWay, id }: Pick<Trade, 'payWay' | 'id'>): string {
  return `/pay/${payWay}/${id}`;
}

function payerPage(trade: Trade | undefined, language: Language, address: string): string {
  const words = SIMULATOR_WORDS[language];
  const main =
    trade === undefined
      ? `<main class="card quiet">${status(words.missing.title, words.missing.text)}</main>`
      : tradeCard(trade, language, words);
  return htmlDocument({
    language,
    title: `${trade === undefined ? words.missing.title : words.payment} – ${words.title}`,
    look: 'carded',
    body: `${main}${languageSwitch(language, address)}`,
  });
}

function tradeCard(trade: Trade, language: Language, words: SimulatorWords): string {
  const money = (minor: number) => escapeHtml(moneyText(majorOf(trade, minor), trade.currency, language));
  const refunded = refundedMinor(trade);
  const { tone, message, buttons } = stateOf(trade, words);
  return `<main class="card ${tone}">
<header class="bill"><p class="channel ${trade.payWay}">${words.simulated(words.channels[trade.payWay])}</p>
<p class="subject">${merchantHtml(trade.subject)}</p>
<p class="amount">${money(trade.minor)} <small>${escapeHtml(trade.currency)}</small></p></header>
${message === undefined ? '' : status(message)}
${buttons ? payerForm(trade, language, words) : back(trade, words)}
<dl><dt>${words.order}</dt><dd>${escapeHtml(trade.orderNo)}</dd>${
    refunded === 0 ? '' : `<dt>${words.refunded}</dt><dd>${money(refunded)}</dd>`
  }</dl>
<p class="note">${words.noMoney}</p>
</main>`;
}

interface Shown {
  tone: 'good' | 'bad' | 'quiet';
  message?: string;
  buttons: boolean;
}

function stateOf(trade: Trade, words: SimulatorWords): Shown {
  if (trade.state === 'paid' && paymentOf(trade)) return { tone: 'good', message: words.paid, buttons: false };
  if (trade.state === 'paid') return { tone: 'quiet', message: words.reviewed, buttons: false };
  if (trade.state === 'approved') return { tone: 'good', message: words.approved, buttons: false };
  if (trade.state === 'closed') return { tone: 'bad', message: words.closed, buttons: false };
  return trade.declined ? { tone: 'bad', message: words.declined, buttons: true } : { tone: 'quiet', buttons: true };
}

function payerForm(trade: Trade, language: Language, words: SimulatorWords): string {
  return `<form class="pay" method="post" action="${inLanguage(payerPath(trade), language)}"><button class="button go" name="choice" value="pay">${words.pay}</button><button class="button" name="choice" value="decline">${words.decline}</button></form>`;
}

function status(title: string, text?: string): string {
  return `<div class="status" role="status"><h1>${title}</h1>${text === undefined ? '' : `<p>${text}</p>`}</div>`;
}

/** Returns the link back to the merchant. The merchant chose the URL, so only web addresses become links. */
function back({ state, returnUrl, cancelUrl }: Trade, words: SimulatorWords): string {
  const url = webAddress(state === 'closed' ? (cancelUrl ?? returnUrl) : returnUrl);
  return url ? `<a class="button" rel="noreferrer" href="${escapeHtml(url.href)}">${words.backToMerchant}</a>` : '';
}

const POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/**
 * The routes of the payer page, which a payer opens with a QR code or a link. Opening it counts as scanning the code.
 */
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
  if (choice === 'pay') core.channelSimulator(trade.payWay).pay(core, trade);
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
