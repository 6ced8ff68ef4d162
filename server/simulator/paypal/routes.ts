import type Router from '@koa/router';
import type { Context } from 'koa';
import type { Core } from '../half.ts';
import { write, type Answer } from '../exchange.ts';
import { rawBodyOf } from '../body.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { duplicateFirstKey } from '../spoil.ts';
import { openBooks } from './books.ts';
import { addCheckout } from './checkout-routes.ts';
import { addDisputes } from './dispute-routes.ts';
import { addNotifications } from './notification-routes.ts';
import { addReports } from './report-routes.ts';
import { PaypalRefusal, refuse, refuseToken, refuseWith } from './refusals.ts';
import { json, type AddRoute, type Request, type Route } from './route.ts';
import { accountOfBasic, accountOfBearer, issueToken, TOKEN_SECONDS } from './tokens.ts';

/** Adds everything of PayPal's REST API that the simulator knows, below `/paypal`. */
export function mountPaypal(router: Router, core: Core): void {
  const books = openBooks(core);
  const add: AddRoute = (method, path, route) => {
    router[method](`/paypal${path}`, (ctx) => answer(core, ctx, route));
  };
  router.post('/paypal/v1/oauth2/token', (ctx) => answerToken(core, ctx));
  addCheckout(add, core, books);
  addDisputes(add, core);
  addNotifications(router, add, core);
  addReports(add, core);
}

async function answer(core: Core, ctx: Context, route: Route): Promise<void> {
  const read = attempt(() => readRequest(core, ctx, route));
  if ('status' in read) return write(ctx, read);
  const { account } = read;
  await core.answer(ctx, {
    payWay: 'paypal',
    account: account.name,
    call: route.call,
    orderNo: route.orderNo?.(read),
    act: (fault, word) =>
      attempt(() => {
        // A capture that is refused leaves a trace on the order, so that call answers for itself.
        if (fault === 'refused' && route.call !== 'capture') throw refuseWith(word);
        return route.act(read, fault, word);
      }),
    seal: (made, fault) => (fault === 'duplicate-key' ? { ...made, body: duplicateFirstKey(made.body) } : made),
  });
}

async function answerToken(core: Core, ctx: Context): Promise<void> {
  const accounts = core.accounts.of('paypal');
  const account = attempt(() => {
    const found = accountOfBasic(accounts, ctx.get('authorization') || undefined);
    const form = new URLSearchParams(rawBodyOf(ctx).toString('utf8'));
    if (form.get('grant_type') !== 'client_credentials')
      throw refuseToken(400, 'unsupported_grant_type', 'Grant Type is NULL');
    return found;
  });
  if ('status' in account) return write(ctx, account);
  await core.answer(ctx, {
    payWay: 'paypal',
    account: account.name,
    call: 'token',
    act: () =>
      json(200, {
        scope:
          'https://uri.paypal.com/services/payments/payment https://uri.paypal.com/services/reporting/search/read https://uri.paypal.com/services/reporting/balances/read',
        access_token: issueToken(account, core.clock.now()),
        token_type: 'Bearer',
        app_id: 'APP-SIMULATOR',
        expires_in: TOKEN_SECONDS,
      }),
    seal: (made, fault) => (fault === 'duplicate-key' ? { ...made, body: duplicateFirstKey(made.body) } : made),
  });
}

function readRequest(
  core: Core,
  ctx: Context & { params?: Record<string, string> },
  { readBody = readJsonBody }: Route,
): Request {
  const header = (name: string) => ctx.get(name) || undefined;
  const account = accountOfBearer(core.accounts.of('paypal'), header('authorization'), core.clock.now());
  const requestId = header('paypal-request-id');
  if (requestId !== undefined && requestId.length > 108) {
    throw refuse(
      400,
      'INVALID_STRING_LENGTH',
      'The value of a field is either too short or too long.',
      'PayPal-Request-Id',
    );
  }
  const whole = /(?:^|,)\s*return=representation\s*(?:,|$)/i.test(ctx.get('prefer'));
  const body = ctx.method === 'POST' || ctx.method === 'PATCH' ? readBody(ctx) : undefined;
  return { account, params: ctx.params ?? {}, query: ctx.query, body, requestId, whole, header };
}

function readJsonBody(ctx: Context): unknown {
  if (!ctx.is('application/json')) throw refuse(415, 'UNSUPPORTED_MEDIA_TYPE', 'The request payload is not JSON.');
  const text = rawBodyOf(ctx).toString('utf8');
  try {
    return JSON.parse(text === '' ? '{}' : text) as unknown;
  } catch {
    throw refuse(400, 'MALFORMED_REQUEST_JSON', 'The request JSON is not well formed.');
  }
}

/** Turns a refusal into its answer. */
function attempt<T>(task: () => T): T | Answer {
  try {
    return task();
  } catch (error) {
    if (error instanceof PaypalRefusal) return json(error.status, error.body);
    if (error instanceof SimulatorRefusal) {
      const { status, body } = refuse(422, error.code.toUpperCase(), error.message);
      return json(status, body);
    }
    throw error;
  }
}
