import type { Context } from 'koa';
import type { Account } from '../accounts.ts';
import type { Answer } from '../exchange.ts';
import type { Call, FaultName } from '../faults.ts';

/** One authenticated call as the routes see it. */
export interface Request {
  account: Account;
  params: Readonly<Record<string, string>>;
  /** The parsed JSON body; undefined for a GET and a DELETE. */
  body: unknown;
  query: Readonly<Record<string, unknown>>;
  requestId: string | undefined;
  /** Whether the caller asked for the whole resource (`Prefer: return=representation`). */
  whole: boolean;
  header(name: string): string | undefined;
}

/** What a route does: `orderNo` is for the faults that are set on one order. */
export interface Route {
  call: Call;
  orderNo?(request: Request): string | undefined;
  /** Left out = the body of a POST is JSON. */
  readBody?(ctx: Context): unknown;
  act(request: Request, fault: FaultName | undefined, word: string | undefined): Answer;
}

/** Adds a route behind the token check. */
export type AddRoute = (method: 'get' | 'post' | 'patch' | 'delete', path: string, route: Route) => void;

/** A JSON answer. */
export function json(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
}
