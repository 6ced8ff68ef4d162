// The edge of HTTP: its ports, the state of a request, rate limits and security headers.
import type { Context, DefaultContext, Middleware, ParameterizedContext } from 'koa';
import helmet from 'koa-helmet';
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { WithKey } from '../payments/idempotency.ts';
import type { Authenticators, Belongings, Caller, Contract } from './contract.ts';
import type { Metrics } from './metrics.ts';

/** Runs requests, and knows of each whether it wrote. */
export interface Requests {
  run<T>(request: () => Promise<T>): Promise<T>;
  /** Whether the request that asks has committed anything. */
  hasChanged(): boolean;
  /** How many seconds old what it was shown may be; undefined when it is as of now. */
  lag(): number | undefined;
}

/** What the page of a refusal is made from. */
interface RefusedRequest {
  code: ErrorCode;
  status: number;
  requestId: string;
  /** The address with its query; undefined where loading it again would do something. */
  address: string | undefined;
  headers: IncomingHttpHeaders;
}

/** Makes the page of a refusal for a person in a browser; everybody else gets a problem document. */
export type RefusalPage = (refused: RefusedRequest) => { headers: Record<string, string>; body: string };

/** What the edge needs of the world; made once, reached by endpoints as `ctx.edge`. */
export interface Edge {
  readonly authenticators: Authenticators;
  readonly belongings: Belongings;
  readonly withKey: WithKey;
  readonly rateLimits: RateLimits;
  readonly requests: Requests;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  /** Headers by which every answer says that this is not production. */
  readonly marks: HeaderPairs;
  readonly refusalPage: RefusalPage | undefined;
  /** Scheme, host and port under which the service is reached. */
  readonly publicOrigin: string;
  /** Cookies carry `Secure`. */
  readonly secure: boolean;
  readonly trustedProxies: number;
  /** Addresses that may use `/api/v1`; undefined = all. */
  readonly adminNetworks: readonly string[];
  readonly perAppLimit: number;
  readonly badCredentialsPerMinute: number;
}

/** What one request has been found to be. */
export interface RequestState {
  id: string;
  /** What the client itself calls its request; for the log, and never an id of ours. */
  clientRequestId?: string;
  ip: string;
  /** Pattern of the route, `(none)` until one matched. */
  route: string;
  contract?: Contract;
  caller?: Caller;
  /** Which client a request for a token says that it is. */
  triedClient?: string;
  /** A credential was sent, so nothing of the answer may be cached. */
  credential: boolean;
}

/** Koa's context as the edge knows it. */
export type EdgeContext = ParameterizedContext<
  RequestState,
  DefaultContext & { edge: Edge; params: Record<string, string> }
>;

/** A step of the edge. */
export type EdgeMiddleware = Middleware<RequestState, DefaultContext & { edge: Edge; params: Record<string, string> }>;

/** What is left of a limit after one more use. */
interface Quota {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window is over. */
  readonly resetSeconds: number;
}

/** Port: counts a use of `key` within a fixed window; the database-backed one counts for all replicas. */
export interface RateLimits {
  consume(key: string, limit: number, windowSeconds: number): Promise<Quota>;
}

/** Tells the caller what is left (`RateLimit`, `RateLimit-Policy`: IETF httpapi draft). */
export function setRateLimitHeaders(ctx: Pick<Context, 'set'>, quota: Quota, windowSeconds: number): void {
  ctx.set('RateLimit-Policy', `"default";q=${quota.limit};w=${windowSeconds}`);
  ctx.set('RateLimit', `"default";r=${quota.remaining};t=${quota.resetSeconds}`);
}

/** Counts in this process only; for tests and for a server without a database. */
export function createMemoryRateLimits(now: () => number = Date.now): RateLimits {
  const windows = new Map<string, { uses: number; endsAt: number }>();
  return {
    async consume(key, limit, windowSeconds) {
      const time = now();
      let window = windows.get(key);
      if (!window || window.endsAt <= time) {
        window = { uses: 0, endsAt: time + windowSeconds * 1000 };
        windows.set(key, window);
      }
      window.uses += 1;
      const resetSeconds = Math.max(1, Math.ceil((window.endsAt - time) / 1000));
      return { allowed: window.uses <= limit, limit, remaining: Math.max(0, limit - window.uses), resetSeconds };
    },
  };
}

/** Headers that every answer carries, as pairs. */
export type HeaderPairs = readonly (readonly [string, string])[];

/** The step that gives every answer its security headers. Pages with scripts of their own (explorer, payer) set a wider policy. */
export function securityHeaders(isHttps: boolean): EdgeMiddleware {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
      },
    },
    strictTransportSecurity: isHttps && { maxAge: 31_536_000 },
    frameguard: { action: 'deny' },
    // For browsers and plug-ins of long ago; a 402 has to keep its headers below 4 KB.
    xssFilter: false,
    ieNoOpen: false,
    dnsPrefetchControl: false,
    permittedCrossDomainPolicies: false,
  }) as EdgeMiddleware;
}
