import { htmlDocument, languageSwitch } from '../pages/document.ts';
import { escapeHtml, merchantHtml, webAddress } from '../pages/html.ts';
import { inLanguage, type Language } from '../pages/language.ts';
import { moneyText } from '../pages/money-text.ts';
import { majorOf, paymentOf, refundedMinor, type Trade } from './trade.ts';
import { SIMULATOR_WORDS, type SimulatorWords } from './words.ts';

/** Where a trade's payer pays, below the simulator. */
export function payerPath({ payWay, id }: Pick<Trade, 'payWay' | 'id'>): string {
  return `/pay/${payWay}/${id}`;
}

/** The whole page for a trade in its present state, or the page that says there is none. */
export function payerPage(trade: Trade | undefined, language: Language, address: string): string {
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
  const { tone, said, buttons } = stateOf(trade, words);
  return `<main class="card ${tone}">
<header class="bill"><p class="channel ${trade.payWay}">${words.simulated(words.channels[trade.payWay])}</p>
<p class="subject">${merchantHtml(trade.subject)}</p>
<p class="amount">${money(trade.minor)} <small>${escapeHtml(trade.currency)}</small></p></header>
${said === undefined ? '' : status(said)}
${buttons ? payerForm(trade, language, words) : back(trade, words)}
<dl><dt>${words.order}</dt><dd>${escapeHtml(trade.orderNo)}</dd>${
    refunded === 0 ? '' : `<dt>${words.refunded}</dt><dd>${money(refunded)}</dd>`
  }</dl>
<p class="note">${words.noMoney}</p>
</main>`;
}

interface Shown {
  tone: 'good' | 'bad' | 'quiet';
  said?: string;
  /** The payer can still pay. */
  buttons: boolean;
}

function stateOf(trade: Trade, words: SimulatorWords): Shown {
  if (trade.state === 'paid' && paymentOf(trade)) return { tone: 'good', said: words.paid, buttons: false };
  if (trade.state === 'paid') return { tone: 'quiet', said: words.reviewed, buttons: false };
  if (trade.state === 'approved') return { tone: 'good', said: words.approved, buttons: false };
  if (trade.state === 'closed') return { tone: 'bad', said: words.closed, buttons: false };
  return trade.declined ? { tone: 'bad', said: words.declined, buttons: true } : { tone: 'quiet', buttons: true };
}

function payerForm(trade: Trade, language: Language, words: SimulatorWords): string {
  return `<form class="pay" method="post" action="${inLanguage(payerPath(trade), language)}"><button class="button go" name="choice" value="pay">${words.pay}</button><button class="button" name="choice" value="decline">${words.decline}</button></form>`;
}

function status(title: string, text?: string): string {
  return `<div class="status" role="status"><h1>${title}</h1>${text === undefined ? '' : `<p>${text}</p>`}</div>`;
}

/** Only web addresses become links: the merchant wrote this one. */
function back({ state, returnUrl, cancelUrl }: Trade, words: SimulatorWords): string {
  const url = webAddress(state === 'closed' ? (cancelUrl ?? returnUrl) : returnUrl);
  return url ? `<a class="button" rel="noreferrer" href="${escapeHtml(url.href)}">${words.backToMerchant}</a>` : '';
}
