import { htmlDocument, languageSwitch } from '../pages/document.ts';
import { escapeHtml, merchantHtml } from '../pages/html.ts';
import { inLanguage, type Language, LANGUAGE_TAGS } from '../pages/language.ts';
import { moneyText } from '../pages/money-text.ts';
import { CONSOLE_SCRIPT_ADDRESS } from './console-script.ts';
import { CONSOLE_STYLE_ADDRESS } from './console-style.ts';
import { CALLS, type FaultRule, FAULTS, stageOf } from './faults.ts';
import { payerPath } from './payer-page.ts';
import { majorOf, type LedgerEntry, type Trade } from './trade.ts';
import { SIMULATOR_WORDS, type SimulatorWords } from './words.ts';

/** What the page shows. */
export interface ConsoleView {
  now: Date;
  /** Those that can still be paid, the newest first. */
  open: readonly Trade[];
  faults: readonly FaultRule[];
  /** The newest first. */
  entries: readonly LedgerEntry[];
  /** The trade of an entry. */
  tradeOf: (entry: LedgerEntry) => Trade | undefined;
}

/** How far the clock can be put forward, in seconds. */
export const STEPS = { minute: 60, quarter: 900, hour: 3600, day: 86_400 } as const;

interface Scene extends ConsoleView {
  language: Language;
  words: SimulatorWords;
}

/** Why the last deed was not done. */
export interface ShownRefusal {
  code: string;
  message: string;
}

/** The page that controls the simulator; `refusal` is of the last deed. */
export function consolePage(view: ConsoleView, language: Language, refusal?: ShownRefusal): string {
  const words = SIMULATOR_WORDS[language];
  const scene: Scene = { ...view, language, words };
  return htmlDocument({
    language,
    title: words.title,
    look: 'console',
    head: `<link rel="stylesheet" href="${CONSOLE_STYLE_ADDRESS}"><script src="${CONSOLE_SCRIPT_ADDRESS}" defer></script><noscript><meta http-equiv="refresh" content="10"></noscript>`,
    body: `<header class="head"><h1>${words.title}</h1><p>${words.subtitle}</p>${languageSwitch(language, '/')}</header>
<main>
${refusal === undefined ? '' : `<p class="refusal" role="alert"><b>${words.refused}</b> ${escapeHtml(words.refusals[refusal.code] ?? refusal.message)}</p>`}
<section aria-labelledby="open"><h2 id="open">${words.open}</h2>${live('trades', openTrades(scene))}</section>
<div class="side"><section aria-labelledby="clock"><h2 id="clock">${words.clock}</h2>${clock(scene)}</section>
<section aria-labelledby="faults"><h2 id="faults">${words.faults}</h2><p class="help">${words.faultsHelp}</p>${faultForm(scene)}${live('planted', planted(scene))}</section></div>
<section aria-labelledby="ledger"><h2 id="ledger">${words.ledger}</h2>${live('entries', ledger(scene))}</section>
</main>`,
  });
}

/** A part that the script renews. */
function live(name: string, html: string): string {
  return `<div data-live="${name}">${html}</div>`;
}

function openTrades(scene: Scene): string {
  const { words, open } = scene;
  if (open.length === 0) return `<p class="none">${words.noneOpen}</p>`;
  return `<ul class="trades">${open.map((trade) => tradeItem(trade, scene)).join('\n')}</ul>`;
}

function tradeItem(trade: Trade, { words, language }: Scene): string {
  const { id, payWay, subject, orderNo, state, declined } = trade;
  const page = inLanguage(payerPath(trade), language);
  const said = [words.states[state as keyof typeof words.states], declined ? words.wasDeclined : ''].filter(Boolean);
  const buttons = `<input type="hidden" name="trade" value="${id}"><button class="small go" name="choice" value="pay">${words.pay}</button><button class="small" name="choice" value="decline">${words.decline}</button>`;
  return `<li><p><a href="${page}">${merchantHtml(subject)}</a> <b class="sum">${money(trade, trade.minor, language)}</b></p>
<p class="about">${channelName(payWay, words)} <span class="id">${escapeHtml(orderNo)}</span> <span>${said.join(words.comma)}</span></p>
${state === 'approved' ? '' : form('/console/trade', language, buttons)}</li>`;
}

function clock({ words, language, now }: Scene): string {
  const buttons = (Object.keys(STEPS) as (keyof typeof STEPS)[])
    .map((step) => `<button class="small" name="step" value="${step}">${words.advance[step]}</button>`)
    .join('');
  return `<p class="time">${live('clock', time(now, language))}</p>${form('/console/clock', language, buttons)}`;
}

function faultForm({ words, language }: Scene): string {
  const channels = Object.entries(words.channels).map(([value, name]) => option(value, name));
  const calls = CALLS.map((call) => option(call, call === '*' ? words.anyCall : call)).toReversed();
  const groups = Object.entries(words.stages).map(
    ([stage, label]) =>
      `<optgroup label="${label}">${FAULTS.filter((fault) => stageOf(fault) === stage)
        .map((fault) => option(fault, fault))
        .join('')}</optgroup>`,
  );
  const fields = [
    field('payWay', words.channel, (id) => `<select ${id}>${channels.join('')}</select>`),
    field('call', words.call, (id) => `<select ${id}>${calls.join('')}</select>`),
    field('fault', words.fault, (id) => `<select ${id}>${groups.join('')}</select>`),
    field('times', words.times, (id) => `<input ${id} type="number" min="1" max="1000000" value="1">`),
    field('word', words.word, (id) => `<input ${id} pattern="[A-Z_]{1,64}" maxlength="64">`),
  ];
  return form(
    '/console/faults',
    language,
    `${fields.join('')}<button class="small go">${words.plant}</button>`,
    'plant',
  );
}

function planted(scene: Scene): string {
  const { words, language, faults } = scene;
  if (faults.length === 0) return `<p class="none">${words.nonePlanted}</p>`;
  const remove = (id: string, text: string) =>
    form('/console/faults/remove', language, `<button class="small" name="id" value="${id}">${text}</button>`);
  const items = faults.map(
    ({ id, payWay, call, fault, hits, times }) =>
      `<li><p><code>${fault}</code></p><p class="about">${channelName(payWay, words)} <span>${call === '*' ? words.anyCall : call}</span> <span>${words.struck(hits, times)}</span></p>${remove(id, words.remove)}</li>`,
  );
  return `<ul class="trades">${items.join('\n')}</ul>${remove('', words.removeAll)}`;
}

function ledger({ words, language, entries, tradeOf }: Scene): string {
  if (entries.length === 0) return `<p class="none">${words.emptyLedger}</p>`;
  const rows = entries.map((entry) => {
    const { at, type, payWay, orderNo, minor, number } = entry;
    const trade = tradeOf(entry);
    const subject = trade
      ? `<a href="${inLanguage(payerPath(trade), language)}">${escapeHtml(orderNo)}</a>`
      : escapeHtml(orderNo);
    const amount = minor === 0 ? '' : money(entry, minor, language);
    return `<tr><td class="at">${time(new Date(at), language)}</td><td>${channelName(payWay, words)}</td><td>${words.entries[type]}</td><td class="sum">${amount}</td><td class="id">${subject}</td><td class="id">${escapeHtml(number)}</td></tr>`;
  });
  return table([words.when, words.channel, words.what, words.amount, words.order, words.number], rows.join('\n'));
}

function table(heads: readonly string[], rows: string): string {
  const cells = heads.map((head) => `<th scope="col">${head}</th>`).join('');
  return `<div class="wide" tabindex="0"><table><thead><tr>${cells}</tr></thead><tbody>\n${rows}\n</tbody></table></div>`;
}

function form(action: string, language: Language, inside: string, look = ''): string {
  return `<form method="post" action="${inLanguage(action, language)}"${look === '' ? '' : ` class="${look}"`}>${inside}</form>`;
}

function field(name: string, label: string, input: (named: string) => string): string {
  return `<div><label for="fault-${name}">${label}</label>${input(`id="fault-${name}" name="${name}"`)}</div>`;
}

function option(value: string, text: string): string {
  return `<option value="${value}">${text}</option>`;
}

function channelName(payWay: Trade['payWay'], words: SimulatorWords): string {
  return `<span class="channel ${payWay}">${words.channels[payWay]}</span>`;
}

function money(of: Pick<Trade, 'currency' | 'payWay'>, minor: number, language: Language): string {
  return `${escapeHtml(moneyText(majorOf(of, minor), of.currency, language))} ${escapeHtml(of.currency)}`;
}

function time(at: Date, language: Language): string {
  const words = at.toLocaleString(LANGUAGE_TAGS[language], { dateStyle: 'medium', timeStyle: 'medium' });
  return `<time datetime="${at.toISOString()}">${words}</time>`;
}
