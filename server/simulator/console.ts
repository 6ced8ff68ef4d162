/** The page at `/` that controls the simulator, with its style and script. */
import Router from '@koa/router';
import type { Context } from 'koa';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PAY_WAYS } from '../domain.ts';
import { issueWords } from '../issue-words.ts';
import { digestOf, escapeHtml, htmlDocument, languageSwitch, merchantHtml } from '../pages/document.ts';
import { LANGUAGE_TAGS, type Language, inLanguage, moneyText } from '../pages/language.ts';
import { CALLS, FAULTS, type FaultRule, stageOf } from './faults.ts';
import type { Core } from './channel-simulator.ts';
import { decline, languageOf, payOnce, payerPath, showPage } from './payer.ts';
import { SimulatorRefusal, rawBodyOf, refuseCrossSite, refuseForeignHost } from './requests.ts';
import { type LedgerEntry, type Trade, majorOf } from './trade.ts';
import { SIMULATOR_WORDS, type SimulatorWords } from './words.ts';

/** The script updates the page every two seconds, except a part in which the user is pressing a button. */
const CONSOLE_SCRIPT = `'use strict';
(() => {
  let pressed;
  addEventListener('pointerdown', (event) => { pressed = event.target.closest('[data-live]'); });
  addEventListener('pointerup', () => { pressed = undefined; });

  async function renew() {
    if (document.hidden) return;
    const answer = await fetch('/' + location.search, { cache: 'no-store' });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]')) {
      const fresh = page.querySelector('[data-live="' + part.dataset.live + '"]');
      if (!fresh || part === pressed || fresh.innerHTML === part.innerHTML) continue;
      const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : undefined;
      part.replaceChildren(...document.adoptNode(fresh).childNodes);
      if (focused) [...part.querySelectorAll('a, button')].find((one) => keyOf(one) === focused)?.focus();
    }
  }

  const keyOf = (element) => element.href ?? [...new FormData(element.form, element)].join();

  setInterval(() => renew().catch(() => {}), 2000);
})();
`;

const CONSOLE_SCRIPT_PATH = '/console/console.js';

/** The URL of the script in the page. It contains a hash of the script, so that browsers load a changed script. */
const CONSOLE_SCRIPT_ADDRESS = `${CONSOLE_SCRIPT_PATH}?v=${digestOf(CONSOLE_SCRIPT)}`;

export const CONSOLE_STYLE = readFileSync(new URL('console.css', import.meta.url), 'utf8');

const CONSOLE_STYLE_PATH = '/console/console.css';

const CONSOLE_STYLE_ADDRESS = `${CONSOLE_STYLE_PATH}?v=${digestOf(CONSOLE_STYLE)}`;

interface ConsoleView {
  now: Date;
  /** The trades that can still be paid, newest first. */
  open: readonly Trade[];
  faults: readonly FaultRule[];
  /** Newest first. */
  entries: readonly LedgerEntry[];
  tradeOf: (entry: LedgerEntry) => Trade | undefined;
}

/** The lengths of time by which the control page can advance the clock (seconds). */
const STEPS = { minute: 60, quarter: 900, hour: 3600, day: 86_400 } as const;

interface Scene extends ConsoleView {
  language: Language;
  words: SimulatorWords;
}

interface ShownRefusal {
  code: string;
  message: string;
}

function consolePage(view: ConsoleView, language: Language, refusal?: ShownRefusal): string {
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

/** Wraps a part of the page that the script keeps up to date. */
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
  const details = [words.states[state as keyof typeof words.states], declined ? words.wasDeclined : ''].filter(Boolean);
  const buttons = `<input type="hidden" name="trade" value="${id}"><button class="small go" name="choice" value="pay">${words.pay}</button><button class="small" name="choice" value="decline">${words.decline}</button>`;
  return `<li><p><a href="${page}">${merchantHtml(subject)}</a> <b class="sum">${money(trade, trade.minor, language)}</b></p>
<p class="about">${channelName(payWay, words)} <span class="id">${escapeHtml(orderNo)}</span> <span>${details.join(words.comma)}</span></p>
${state === 'approved' ? '' : form('/console/trade', language, buttons)}</li>`;
}

function clock({ words, language, now }: Scene): string {
  const buttons = (Object.keys(STEPS) as (keyof typeof STEPS)[])
    .map((step) => `<button class="small" name="step" value="${step}">${words.advance[step]}</button>`)
    .join('');
  return `<div class="time">${live('clock', time(now, language))}</div>${form('/console/clock', language, buttons)}`;
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

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const MOST_ROWS = 50;

const TradeForm = z.object({ trade: z.string(), choice: z.enum(['pay', 'decline']) });
const ClockForm = z.object({ step: z.enum(Object.keys(STEPS) as [keyof typeof STEPS]) });
const RemoveForm = z.object({ id: z.string() });
const FaultForm = z.object({
  payWay: z.enum(PAY_WAYS),
  call: z.enum(CALLS),
  fault: z.enum(FAULTS),
  times: z.coerce.number().int().min(1).max(1_000_000),
  word: z
    .string()
    .regex(/^[A-Z_]{0,64}$/)
    .transform((word) => (word === '' ? null : word)),
});

/** The routes of the control page at `/`, for callers on this machine. */
export function consoleRoutes(core: Core): Router {
  const router = new Router();
  router.get('/', (ctx) => {
    refuseForeignHost(ctx);
    show(ctx, core);
  });
  router.get(CONSOLE_STYLE_PATH, (ctx) => serve(ctx, 'text/css', CONSOLE_STYLE));
  router.get(CONSOLE_SCRIPT_PATH, (ctx) => serve(ctx, 'text/javascript', CONSOLE_SCRIPT));
  formAction(router, core, '/console/trade', TradeForm, ({ trade: id, choice }) => {
    const trade = core.trades.byId(id);
    if (!trade)
      throw new SimulatorRefusal(
        404,
        'no_such_order',
        'The simulator has no order with the id that the form sent. Reload the page.',
      );
    if (choice === 'pay') payOnce(core, trade);
    else decline(core, trade);
  });
  formAction(router, core, '/console/faults', FaultForm, (rule) => void core.faults.set(rule));
  formAction(router, core, '/console/faults/remove', RemoveForm, ({ id }) =>
    core.faults.clear(id === '' ? undefined : id),
  );
  formAction(router, core, '/console/clock', ClockForm, async ({ step }) => {
    await core.clock.advance(STEPS[step] * 1000);
    core.ledger.writeClock(core.clock.now() - Date.now());
  });
  return router;
}

/** Performs the action of a form and redirects to the page, which shows the reason of a refusal. */
function formAction<T>(
  router: Router,
  core: Core,
  path: string,
  shape: z.ZodType<T>,
  act: (form: T) => void | Promise<void>,
) {
  router.post(path, async (ctx) => {
    refuseForeignHost(ctx);
    refuseCrossSite(ctx);
    const sent = shape.safeParse(Object.fromEntries(new URLSearchParams(rawBodyOf(ctx).toString('utf8'))), {
      error: issueWords,
    });
    if (!sent.success) return show(ctx, core, new SimulatorRefusal(400, 'invalid_form', z.prettifyError(sent.error)));
    try {
      await act(sent.data);
    } catch (error) {
      if (!(error instanceof SimulatorRefusal)) throw error;
      return show(ctx, core, error);
    }
    ctx.redirect(inLanguage('/', languageOf(ctx)));
    ctx.status = 303;
  });
}

function show(ctx: Context, core: Core, refusal?: SimulatorRefusal): void {
  const language = languageOf(ctx);
  const html = consolePage(viewOf(core), language, refusal);
  showPage(ctx, { status: refusal?.status ?? 200, language, html, policy: POLICY });
}

function viewOf({ ledger, trades, faults, clock }: Core): ConsoleView {
  const waiting = [...ledger.trades.values()].filter(({ state }) => state !== 'paid' && state !== 'closed');
  // `byId` closes a trade that has expired. The state is therefore checked after `byId` returns the trade.
  const open = waiting
    .slice(-MOST_ROWS)
    .flatMap(({ id }) => trades.byId(id) ?? [])
    .filter(({ state }) => state !== 'closed')
    .toReversed();
  return {
    now: new Date(clock.now()),
    open,
    faults: faults.list(),
    entries: ledger.entries.slice(-MOST_ROWS).toReversed(),
    tradeOf: ({ tradeId }) => ledger.trades.get(tradeId),
  };
}

function serve(ctx: Context, type: string, body: string): void {
  ctx.set('cache-control', 'public, max-age=31536000, immutable');
  ctx.set('x-content-type-options', 'nosniff');
  ctx.type = `${type}; charset=utf-8`;
  ctx.body = body;
}
