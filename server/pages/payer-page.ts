import type { PayWay } from '../payments/channel.ts';
import type { PayerOrder } from '../payments/payer.ts';
import { escapeHtml, webAddress } from './html.ts';
import {
  APP_NAMES,
  CANCELLED_WORDS,
  CHANNEL_NAMES,
  PAID_WORDS,
  RETURNED_WORDS,
  STATE_WORDS,
  type StateWords,
} from './payer-words.ts';
import { qrSvg } from './qr-svg.ts';

/** Where the payer stands: on the payment page, back from the channel, or back without having paid. */
export type Place = 'pay' | 'returned' | 'cancelled';

/** Addresses of the page's own style and script. */
export interface PageAssets {
  style: string;
  script: string;
}

/** Other channels that the payer may take. */
export interface Choice {
  others: readonly PayWay[];
  /** The one that the link asks for. */
  wanted?: PayWay | undefined;
}

/** The browser leaves a paid page for the shop after this many seconds. */
const CONTINUE_SECONDS = 5;
/** A page without scripts loads itself again after this many seconds. */
const RELOAD_SECONDS = 5;

/** The payer's page of an order, whole; pure but for the drawing of the QR code. */
export async function payerPage(
  order: PayerOrder,
  place: Place,
  assets: PageAssets,
  choice: Choice = { others: [] },
): Promise<string> {
  const shop = shopAddress(order);
  const goesOn = order.state === 'paid' && shop !== undefined;
  const words = goesOn ? PAID_WORDS : wordsOf(order, place);
  const reload = goesOn
    ? `${CONTINUE_SECONDS}; url=${escapeHtml(shop)}`
    : words.tone === 'busy'
      ? String(RELOAD_SECONDS)
      : undefined;
  const data = [
    `data-state="${order.state}"`,
    words.tone === 'busy' ? `data-poll="/pay/${order.orderNo}/state"` : '',
    goesOn ? `data-continue="${CONTINUE_SECONDS}"` : '',
  ];
  return frame({
    title: `${fill(words.title, order)} – ${order.amount} ${order.currency}`,
    assets,
    reload,
    main: `<main class="${words.tone}" ${data.filter(Boolean).join(' ')}>
${summary(order)}
${statusBlock(words, order)}
${await howToPay(order, place, choice)}
${facts(order)}
${shop === undefined ? '' : `<a class="button" id="shop" rel="noreferrer" href="${escapeHtml(shop)}">Back to the shop</a>`}
${order.mode === 'live' ? '' : `<p class="test">${order.mode === 'simulator' ? 'Simulator' : 'Sandbox'}: no real money moves here.</p>`}
</main>`,
  });
}

/** The page for a number that leads nowhere; says nothing about what might exist. */
export function unknownOrderPage(assets: PageAssets): string {
  return frame({
    title: 'Payment not found',
    assets,
    main: `<main class="quiet">
<div class="status" role="status"><h1>Payment not found</h1><p>This link does not lead to a payment. It may be incomplete; please open the link from the shop again.</p></div>
</main>`,
  });
}

function wordsOf({ state }: PayerOrder, place: Place): StateWords {
  const isOpen = state === 'waiting' || state === 'preparing';
  if (isOpen && place === 'returned') return RETURNED_WORDS;
  if (isOpen && place === 'cancelled') return CANCELLED_WORDS;
  return STATE_WORDS[state];
}

function summary({ payWay, subject, amount, currency }: PayerOrder): string {
  return `<header><p class="channel ${payWay}">${CHANNEL_NAMES[payWay]}</p>
<p class="subject">${escapeHtml(subject)}</p>
<p class="amount">${amount} <small>${escapeHtml(currency)}</small></p></header>`;
}

function statusBlock(words: StateWords, order: PayerOrder): string {
  return `<div class="status" role="status"><h1>${fill(words.title, order)}</h1><p>${fill(words.text, order)}</p></div>`;
}

async function howToPay(order: PayerOrder, place: Place, { others, wanted }: Choice): Promise<string> {
  if (order.state !== 'waiting' && order.state !== 'declined') return '';
  if (place !== 'pay') return `<a class="button go" href="/pay/${order.orderNo}">Pay now</a>`;
  if (wanted !== undefined)
    return `<section class="pay">${wayButton(order, wanted, 'go')}<p><a href="/pay/${order.orderNo}">Pay with ${CHANNEL_NAMES[order.payWay]} instead</a></p></section>`;
  return `<section class="pay">${await credential(order)}${others.map((payWay) => wayButton(order, payWay, '')).join('')}</section>`;
}

/** Ends this order and goes on with another, so it is a form and not a link. */
function wayButton({ orderNo }: PayerOrder, payWay: PayWay, look: string): string {
  const words = look === '' ? `Pay with ${CHANNEL_NAMES[payWay]} instead` : `Pay with ${CHANNEL_NAMES[payWay]}`;
  return `<form method="post" action="/pay/${orderNo}/choose/${payWay}"><button class="button ${look}">${words}</button></form>`;
}

async function credential({ payment, payWay, orderNo, isBrief }: PayerOrder): Promise<string> {
  const [name, appName] = [CHANNEL_NAMES[payWay], APP_NAMES[payWay]];
  if (payment?.qrCode !== undefined) {
    const app = webAddress(payment.qrCode);
    return `${await qrSvg(payment.qrCode, `QR code to pay with ${name}`)}
<p>Scan this code with the ${appName} app${app ? ', or open it on this device' : ''}.</p>
${app ? `<a class="button" rel="noreferrer" href="${escapeHtml(app.href)}">Open ${appName}</a>` : ''}`;
  }
  const url = webAddress(payment?.url);
  const href = isBrief ? `/pay/${orderNo}/open` : escapeHtml(url?.href ?? '');
  // WeChat Pay lets nobody in who comes from nowhere; the page's own policy keeps all but its origin to itself.
  const rel = payWay === 'wechat' ? '' : ' rel="noreferrer"';
  if (url) return `<a class="button go"${rel} href="${href}">Pay with ${name}</a>`;
  if (payment?.type === 'code') return `<p>Please confirm the payment in the ${appName} app on your phone.</p>`;
  return `<p>Please complete the payment in the app where you started it.</p>`;
}

function facts(order: PayerOrder): string {
  const rows = [`<dt>Order</dt><dd>${escapeHtml(order.orderNo)}</dd>`];
  if (order.state === 'partially_refunded' || order.state === 'refunded')
    rows.push(`<dt>Refunded</dt><dd>${order.refunded} ${escapeHtml(order.currency)}</dd>`);
  if (order.state === 'waiting' || order.state === 'declined')
    rows.push(`<dt>Time left</dt><dd>${timeLeft(order)}</dd>`);
  return `<dl>${rows.join('')}</dl>`;
}

/** Counted down by the script from the number of seconds, so that a wrong clock of the payer does not matter. */
function timeLeft({ expiresAt, secondsLeft }: PayerOrder): string {
  const at = expiresAt.toISOString();
  const words = secondsLeft < 60 ? 'less than a minute' : inWords(secondsLeft);
  return `<time id="left" datetime="${at}" data-seconds="${secondsLeft}">${words}</time>`;
}

function inWords(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** The shop's own address with the order's number and status; what it carried of its own stays. */
function shopAddress({ returnUrl, orderNo, status }: PayerOrder): string | undefined {
  const url = webAddress(returnUrl);
  url?.searchParams.set('orderNo', orderNo);
  url?.searchParams.set('status', status);
  return url?.href;
}

function fill(text: string, { payWay }: PayerOrder): string {
  return text.replaceAll('{channel}', CHANNEL_NAMES[payWay]);
}

function frame(page: { title: string; main: string; assets: PageAssets; reload?: string | undefined }): string {
  const { title, main, assets, reload } = page;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${assets.style}"><script src="${assets.script}" defer></script>
${reload === undefined ? '' : `<noscript><meta http-equiv="refresh" content="${reload}"></noscript>`}</head>
<body>${main}</body>
</html>
`;
}
