import type { ExecutionContext } from 'ava';
import { Unauthenticated } from '../../server/errors.ts';
import type { AppCaller, Authenticators } from '../../server/http/contract.ts';
import { createWithKey } from '../../server/payments/idempotency.ts';
import { paymentOperations } from '../../server/payments/operations.ts';
import { coinLedgerRoutes, coinRoutes, ownCoinRoutes } from '../../server/routes/coins.ts';
import { consoleUserRoutes, ownUserRoutes, userRoutes } from '../../server/routes/users.ts';
import { productRoutes } from '../../server/routes/products.ts';
import { projectRoutes, statsRoutes } from '../../server/routes/projects.ts';
import { type CatalogWorld, catalogWorld } from './catalog-world.ts';
import { checkAnswersOf, requireDeclared } from './documented.ts';
import { fakeAuthenticators, startEdge } from './edge.ts';

/** An answer as these tests use it. */
export interface Answer {
  status: number;
  headers: Headers;
  body: {
    data?: unknown;
    code?: string;
    page?: { nextCursor: string | null; hasMore: boolean };
    errors?: { pointer: string }[];
  };
}

/** Sends JSON with a token. */
export type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

/** The catalog over HTTP: `admin` and `viewer` at the console, `shop` and `stranger` (of another project) as merchants. */
interface CatalogApp extends CatalogWorld {
  as(token: string): Call;
  admin: Call;
  viewer: Call;
  shop: Call;
  stranger: Call;
}

const everything = ['user:read', 'user:write', 'coin:read', 'coin:write'];

/** Starts it on its own database; the project `other` exists too. */
export async function catalogApp(t: Pick<ExecutionContext, 'teardown'>): Promise<CatalogApp> {
  const world = await catalogWorld(t);
  const { catalog, store, ports } = world;
  await catalog.projects.create({ kind: 'admin', name: 'tester' }, { code: 'other', name: 'Other', remark: null });
  const callers = new Map<string, AppCaller>([
    ['shop', app('shop', 'default', everything)],
    ['stranger', app('stranger', 'other', everything)],
    ['payer-only', app('payer-only', 'default', ['payment:write'])],
  ]);
  const authenticators: Authenticators = {
    ...fakeAuthenticators,
    async app(token) {
      const caller = callers.get(token);
      if (!caller) throw new Unauthenticated();
      return caller;
    },
  };
  const payments = paymentOperations(ports);
  const { url } = await startEdge(t, {
    authenticators,
    withKey: createWithKey({ store, now: ports.now }),
    groups: [
      projectRoutes(catalog),
      userRoutes(catalog),
      consoleUserRoutes({ ...catalog, payments }),
      productRoutes(catalog),
      coinRoutes(catalog),
      coinLedgerRoutes(catalog),
      statsRoutes(catalog),
      ownUserRoutes(catalog),
      ownCoinRoutes(catalog),
    ],
  });
  checkAnswersOf(url);
  const as = (token: string): Call => caller(url, token);
  return { ...world, as, admin: as('root-jwt'), viewer: as('viewer-jwt'), shop: as('shop'), stranger: as('stranger') };
}

function app(clientId: string, project: string, scopes: string[]): AppCaller {
  return { kind: 'app', clientId, name: clientId, project, scopes: new Set(scopes) };
}

function caller(url: string, token: string): Call {
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const read = text === '' ? {} : JSON.parse(text);
    await requireDeclared(method, path, read);
    return { status: answer.status, headers: answer.headers, body: read };
  };
}

/** Sends every bad body and returns those that were not refused with 400. */
export async function accepted(
  call: Call,
  method: string,
  path: string,
  bodies: readonly unknown[],
): Promise<string[]> {
  const found: string[] = [];
  for (const body of bodies) {
    const { status, body: problem } = await call(method, path, body);
    if (status !== 400) found.push(`${JSON.stringify(body).slice(0, 100)}: ${status} ${problem.code ?? ''}`);
  }
  return found;
}

/** A body with one member replaced by each of the values. */
export function spoiled(good: object, bad: Record<string, readonly unknown[]>): unknown[] {
  const wholes = [undefined, null, [], 'x', 1].filter((whole) => whole !== undefined);
  return [
    ...wholes,
    ...Object.entries(bad).flatMap(([member, values]) => values.map((value) => ({ ...good, [member]: value }))),
  ];
}

/** Values that are never a text of at least one character. */
export const notText = [1, true, null, [], {}, { $ne: 'x' }, ['x'], '', 'a\u0000b', '\ud800'];
