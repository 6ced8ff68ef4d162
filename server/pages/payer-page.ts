// Builds the payer page of an order, its script and its QR code.
import { CHANNELS } from '../domain.ts';
import type { PayWay } from '../payments/channel.ts';
import type { PayerOrder } from '../payments/orders/payer.ts';
import {
  digestOf,
  escapeHtml,
  htmlDocument,
  languageSwitch,
  merchantHtml,
  plainSight,
  webAddress,
} from './document.ts';
import { type Language, inLanguage, moneyText } from './language.ts';
import { PAYER_WORDS_EN, PAYER_WORDS_ZH, type PayerWords, type StateWords } from './payer-words.ts';

/** `returned`: back from the channel. `cancelled`: back from the channel after a cancellation there. */
export type Place = 'pay' | 'returned' | 'cancelled';

/** The channels that the page offers to the payer in addition to the channel of the order (`others`). */
export interface Choice {
  others: readonly PayWay[];
  /** The channel in the opened link. It is highlighted on the page. */
  wanted?: PayWay | undefined;
}

export interface Shown {
  language: Language;
  /** The URL of the page without the language parameter, for the language links. */
  address: string;
}

const WORDS: Readonly<Record<Language, PayerWords>> = { en: PAYER_WORDS_EN, zh: PAYER_WORDS_ZH };

/** The seconds until a paid page redirects the payer to the shop. */
const CONTINUE_SECONDS = 5;
/** The seconds until the page reloads if the browser runs no scripts. */
const RELOAD_SECONDS = 5;

/**
 * The way to pay that a page offers. `whole`: the code, link or instruction of the channel. `button` and `link` lead to
 * that page; a plain link is for a payer who may have paid already. `none`: the order must not or cannot be paid now.
 */
type WayToPay = 'whole' | 'button' | 'link' | 'none';

interface Scene extends Shown {
  order: PayerOrder;
  words: PayerWords;
  /** The display name of the channel. */
  channel: string;
}

/** Builds the complete payer page of an order. */
export async function payerPage(
  order: PayerOrder,
  place: Place,
  shown: Shown,
  choice: Choice = { others: [] },
): Promise<string> {
  const words = WORDS[shown.language];
  const scene: Scene = { ...shown, order, words, channel: words.channels[order.payWay] };
  const shop = shopAddress(order);
  const leaves = order.state === 'paid' && shop !== undefined;
  const state = leaves ? words.paidAndLeaving : stateWords(scene, place);
  const way = wayToPay(order, place);
  const isBusy = state.tone === 'busy';
  const reload = leaves ? `${CONTINUE_SECONDS}; url=${escapeHtml(shop)}` : isBusy ? String(RELOAD_SECONDS) : undefined;
  const data = [
    `data-state="${order.state}"`,
    isBusy ? `data-poll="/pay/${order.orderNo}/state"` : '',
    isBusy && way !== 'whole' ? 'data-quick="1"' : '',
    isBusy && place === 'returned' ? `data-ask="${escapeHtml(inLanguage(shown.address, shown.language))}"` : '',
    leaves ? `data-continue="${CONTINUE_SECONDS}"` : '',
  ];
  return carded({
    ...shown,
    title: `${filledIn(state.title, scene)} – ${money(scene, order.amount)}`,
    reload,
    main: `<main class="card ${state.tone}" ${data.filter(Boolean).join(' ')}>
${bill(scene)}
<div class="status" role="status"><h1>${filledIn(state.title, scene)}</h1><p>${filledIn(state.text, scene)}</p></div>
${await howToPay(scene, way, choice)}
${facts(scene, way)}
${shop === undefined ? '' : `<a class="button" id="shop" rel="noreferrer" href="${escapeHtml(shop)}">${words.backToShop}</a>`}
${order.mode === 'live' ? '' : `<p class="note">${words[order.mode]}</p>`}
</main>`,
  });
}

/** Builds the page for an unknown order number. It is always the same, so it does not reveal which orders exist. */
export function unknownOrderPage(shown: Shown): string {
  const { title, text } = WORDS[shown.language].unknown;
  return carded({
    ...shown,
    title,
    main: `<main class="card quiet">
<div class="status" role="status"><h1>${title}</h1><p>${text}</p></div>
</main>`,
  });
}

function carded(page: Shown & { title: string; main: string; reload?: string | undefined }): string {
  const { language, address, title, main, reload } = page;
  const refresh = reload === undefined ? '' : `<noscript><meta http-equiv="refresh" content="${reload}"></noscript>`;
  return htmlDocument({
    language,
    title,
    look: 'carded',
    head: `<script src="${PAYER_SCRIPT_ADDRESS}" defer></script>${refresh}`,
    body: `${main}${languageSwitch(language, address)}`,
  });
}

function stateWords({ order: { state }, words }: Scene, place: Place): StateWords {
  if (place === 'returned' && (state === 'waiting' || state === 'preparing')) return words.returned;
  if (place === 'cancelled' && state === 'waiting') return words.cancelled;
  return words.states[state];
}

function wayToPay({ state }: PayerOrder, place: Place): WayToPay {
  if (state !== 'waiting' && state !== 'declined') return 'none';
  if (place === 'pay') return 'whole';
  return place === 'returned' && state === 'waiting' ? 'link' : 'button';
}

function filledIn(text: string, { words, channel }: Scene): string {
  return words.about(text, channel);
}

function money({ order: { currency }, language }: Scene, amount: string): string {
  return moneyText(amount, currency, language);
}

/** The currency code is shown too, because yen and yuan have the same sign ¥. */
function bill(scene: Scene): string {
  const { merchant, payWay, subject, amount, currency } = scene.order;
  return `<header class="bill">${merchant === null ? '' : merchantLine(merchant)}
<p class="subject">${merchantHtml(subject)}</p>
<p class="amount">${escapeHtml(money(scene, amount))} <small>${escapeHtml(currency)}</small></p>
<p class="channel ${payWay}">${scene.channel}</p></header>`;
}

function merchantLine(name: string): string {
  const [letter] = new Intl.Segmenter().segment(plainSight(name));
  return `<p class="merchant"><span class="logo" aria-hidden="true">${escapeHtml(letter?.segment.toUpperCase() ?? '')}</span>${merchantHtml(name)}</p>`;
}

async function howToPay(scene: Scene, way: WayToPay, { others, wanted }: Choice): Promise<string> {
  const { order, words, channel, language } = scene;
  if (way === 'none') return '';
  const here = inLanguage(`/pay/${order.orderNo}`, language);
  if (way === 'link') return `<p class="unpaid">${words.unpaid} <a href="${here}">${words.payNow}</a></p>`;
  if (way === 'button') return `<a class="button go" href="${here}">${words.payNow}</a>`;
  if (wanted !== undefined)
    return `<section class="pay">${wayButton(scene, wanted, true)}<p><a href="${here}">${words.payWithInstead(channel)}</a></p></section>`;
  const buttons = others.map((payWay) => wayButton(scene, payWay, false));
  return `<section class="pay">${await credential(scene)}${buttons.join('')}</section>`;
}

/** This is a form and not a link, because it changes data: it closes this order and creates another order. */
function wayButton({ order: { orderNo }, words, language }: Scene, payWay: PayWay, isWanted: boolean): string {
  const name = words.channels[payWay];
  const action = inLanguage(`/pay/${orderNo}/choose/${payWay}`, language);
  const [look, text] = isWanted ? ['button go', words.payWith(name)] : ['button', words.payWithInstead(name)];
  return `<form method="post" action="${action}"><button class="${look}">${text}</button></form>`;
}

async function credential(scene: Scene): Promise<string> {
  const { order, words, channel } = scene;
  const { payment, payWay, orderNo, isBrief } = order;
  const app = words.apps[payWay];
  if (payment?.qrCode !== undefined) return code(scene, payment.qrCode);
  const url = webAddress(payment?.url);
  const href = isBrief ? inLanguage(`/pay/${orderNo}/open`, scene.language) : escapeHtml(url?.href ?? '');
  // Some channels need the `Referer` header. They get only the origin of the page and not its path, because the page's
  // referrer policy allows no more.
  const rel = CHANNELS[payWay].needsReferrer ? '' : ' rel="noreferrer"';
  if (url) return `<a class="button go"${rel} href="${href}">${words.payWith(channel)}</a>`;
  return `<p>${payment?.type === 'code' ? words.confirmOnPhone(app) : words.finishInApp}</p>`;
}

/** If the code is a URL, a link is added, because it can open the app on a phone. Other codes must be scanned. */
async function code({ order: { payWay }, words, channel }: Scene, qrCode: string): Promise<string> {
  const [app, address] = [words.apps[payWay], webAddress(qrCode)];
  return `${await qrImage(qrCode, words.codeOf(channel))}
<p>${address ? words.scanOrOpen(app) : words.scan(app)}</p>
${
  address
    ? `<a class="button" rel="noreferrer" href="${escapeHtml(address.href)}">${words.openApp(app)}</a>`
    : `<p class="on-phone">${words.onThisPhone}</p>`
}`;
}

function facts(scene: Scene, way: WayToPay): string {
  const { order, words } = scene;
  const rows = [`<dt>${words.order}</dt><dd>${escapeHtml(order.orderNo)}</dd>`];
  if (order.state === 'partially_refunded' || order.state === 'refunded')
    rows.push(`<dt>${words.refunded}</dt><dd>${escapeHtml(money(scene, order.refunded))}</dd>`);
  if (way === 'whole' || way === 'button') rows.push(`<dt>${words.timeLeft}</dt><dd>${timeLeft(scene)}</dd>`);
  return `<dl>${rows.join('')}</dl>`;
}

/** The script counts down seconds and not to a clock time, so a wrong clock of the payer does not matter. */
function timeLeft({ order: { expiresAt, secondsLeft }, words }: Scene): string {
  const left = secondsLeft < 60 ? words.lessThanMinute : inWords(secondsLeft, words);
  return `<time id="left" datetime="${expiresAt.toISOString()}" data-seconds="${secondsLeft}">${left}</time>`;
}

function inWords(seconds: number, words: PayerWords): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return hours >= 48 ? words.days(Math.floor(hours / 24)) : words.duration(hours, minutes % 60);
}

function shopAddress({ returnUrl, orderNo, status }: PayerOrder): string | undefined {
  const url = webAddress(returnUrl);
  url?.searchParams.set('orderNo', orderNo);
  url?.searchParams.set('status', status);
  return url?.href;
}

/**
 * Counts down the remaining time and follows the state of the order. The page also works without scripts. Payers come
 * back from the channel, or from its app, a moment before the result does. So the script polls every second for ten
 * seconds (`data-quick`, or the page becomes visible again), and then has the channel queried once more (`data-ask`).
 */
export const PAYER_SCRIPT = `'use strict';
(() => {
  const main = () => document.querySelector('main');
  let started = performance.now();
  let failures = 0;
  let quickUntil;
  let timer;

  function showTimeLeft() {
    const left = document.getElementById('left');
    if (!left) return;
    const seconds = Math.max(0, Math.floor(Number(left.dataset.seconds) - (performance.now() - started) / 1000));
    const two = (number) => String(number).padStart(2, '0');
    const hours = Math.floor(seconds / 3600);
    if (hours >= 48) return;
    const rest = two(Math.floor(seconds / 60) % 60) + ':' + two(seconds % 60);
    left.textContent = hours > 0 ? hours + ':' + rest : rest;
  }

  async function look() {
    clearTimeout(timer);
    const { poll, state, ask } = main().dataset;
    if (!poll || document.hidden) return;
    try {
      const answer = await fetch(poll, { cache: 'no-store' });
      if (!answer.ok) throw new Error(String(answer.status));
      failures = 0;
      const isOver = performance.now() >= quickUntil;
      if (isOver) quickUntil = undefined;
      if ((await answer.json()).data.state !== state) await renew(ask ?? location.href);
      else if (isOver && ask) await renew(ask);
    } catch {
      failures += 1;
    }
    plan();
  }

  async function renew(address) {
    const answer = await fetch(address, { cache: 'no-store' });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.querySelector('main');
    const { state, poll } = main().dataset;
    if (fresh.dataset.state === state && fresh.dataset.poll === poll) return;
    document.title = page.title;
    main().replaceWith(document.adoptNode(fresh));
    started = performance.now();
    goOn();
  }

  function plan() {
    clearTimeout(timer);
    if (!main().dataset.poll) return;
    const patience = quickUntil !== undefined ? 1000 : performance.now() > 300000 ? 5000 : 2000;
    timer = setTimeout(look, Math.min(30000, patience * 2 ** Math.min(failures, 4)));
  }

  function hurry() {
    quickUntil = performance.now() + 10000;
    return look();
  }

  function goOn() {
    showTimeLeft();
    const seconds = Number(main().dataset.continue);
    const shop = document.getElementById('shop');
    if (seconds > 0 && shop) setTimeout(() => location.assign(shop.href), seconds * 1000);
  }

  document.addEventListener('visibilitychange', () => { if (!document.hidden) hurry(); });
  addEventListener('pageshow', (event) => { if (event.persisted) hurry(); });
  setInterval(showTimeLeft, 1000);
  goOn();
  if (main().dataset.quick) hurry();
  else plan();
})();
`;

export const PAYER_SCRIPT_PATH = '/pay/assets/payer.js';

const PAYER_SCRIPT_ADDRESS = `${PAYER_SCRIPT_PATH}?v=${digestOf(PAYER_SCRIPT)}`;

/** Draws a PNG image, so that phones can save and scan it. It is dark on light, also in a dark colour scheme. */
async function qrImage(text: string, label: string): Promise<string> {
  const { default: qrcode } = await import('qrcode');
  const source = await qrcode.toDataURL(text, { errorCorrectionLevel: 'M', margin: 4, scale: 6 });
  return `<img class="qr" alt="${escapeHtml(label)}" src="${source}">`;
}
