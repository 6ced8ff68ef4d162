import Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import { issueWords } from '../issue-words.ts';
import { inLanguage } from '../pages/language.ts';
import { rawBodyOf } from './body.ts';
import { refuseCrossSite, refuseForeignHost } from './callers.ts';
import { consolePage, type ConsoleView, STEPS } from './console-page.ts';
import { CONSOLE_SCRIPT, CONSOLE_SCRIPT_PATH } from './console-script.ts';
import { CONSOLE_STYLE, CONSOLE_STYLE_PATH } from './console-style.ts';
import { CALLS, FAULTS } from './faults.ts';
import type { Core } from './half.ts';
import { languageOf, showPage } from './page-language.ts';
import { decline, payOnce } from './payer-deeds.ts';
import { SimulatorRefusal } from './refusal.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** As many rows as a page shows of what waits and of the ledger. */
const MOST_ROWS = 50;

const TradeForm = z.object({ trade: z.string(), choice: z.enum(['pay', 'decline']) });
const ClockForm = z.object({ step: z.enum(Object.keys(STEPS) as [keyof typeof STEPS]) });
const RemoveForm = z.object({ id: z.string() });
const FaultForm = z.object({
  payWay: z.enum(['alipay', 'wechat', 'paypal']),
  call: z.enum(CALLS),
  fault: z.enum(FAULTS),
  times: z.coerce.number().int().min(1).max(1_000_000),
  word: z
    .string()
    .regex(/^[A-Z_]{0,64}$/)
    .transform((word) => (word === '' ? null : word)),
});

/** The page at `/` from which a person on this machine controls the simulator. */
export function consoleRoutes(core: Core): Router {
  const router = new Router();
  router.get('/', (ctx) => {
    refuseForeignHost(ctx);
    show(ctx, core);
  });
  router.get(CONSOLE_STYLE_PATH, (ctx) => serve(ctx, 'text/css', CONSOLE_STYLE));
  router.get(CONSOLE_SCRIPT_PATH, (ctx) => serve(ctx, 'text/javascript', CONSOLE_SCRIPT));
  deed(router, core, '/console/trade', TradeForm, ({ trade: id, choice }) => {
    const trade = core.trades.byId(id);
    if (!trade) throw new SimulatorRefusal(404, 'no_such_order', 'The simulator has no such order.');
    if (choice === 'pay') payOnce(core, trade);
    else decline(core, trade);
  });
  deed(router, core, '/console/faults', FaultForm, (rule) => void core.faults.set(rule));
  deed(router, core, '/console/faults/remove', RemoveForm, ({ id }) => core.faults.clear(id === '' ? undefined : id));
  deed(router, core, '/console/clock', ClockForm, async ({ step }) => {
    await core.clock.advance(STEPS[step] * 1000);
    core.ledger.writeClock(core.clock.now() - Date.now());
  });
  return router;
}

/** A form: what it asks for is done, and the browser goes back to the page; a refusal is said on the page. */
function deed<T>(
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
  // Whose time is over is found to be closed by looking.
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
