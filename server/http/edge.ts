// The HTTP layer: the interfaces that it needs, the state of a request, rate limits and security headers.
import type { Context, DefaultContext, Middleware, ParameterizedContext } from 'koa';
import helmet from 'koa-helmet';
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { WithKey } from '../payments/idempotency.ts';
import type { Authenticators, Belongings, Caller, Contract } from './contract.ts';
import type { Metrics } from './metrics.ts';

export interface Requests {
  run<T>(request: () => Promise<T>): Promise<T>;
  /** Whether the current request has committed a change. */
  hasChanged(): boolean;
  /** The maximum age in seconds of the data that the request read; undefined if it read current data. */
  lag(): number | undefined;
}

interface RefusedRequest {
  code: ErrorCode;
  status: number;
  requestId: string;
  /** Path and query of a GET request, for reloading; undefined for other methods: reloading would repeat a change. */
  address: string | undefined;
  headers: IncomingHttpHeaders;
}

/** Builds the error page for a browser; other clients get a problem document. */
export type RefusalPage = (refused: RefusedRequest) => { headers: Record<string, string>; body: string };

export interface Edge {
  readonly authenticators: Authenticators;
  readonly belongings: Belongings;
  readonly withKey: WithKey;
  readonly rateLimits: RateLimits;
  readonly requests: Requests;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  /** Headers that mark every response of a staging service. */
  readonly marks: HeaderPairs;
  readonly refusalPage: RefusalPage | undefined;
  /** Scheme, host and port under which the service is reached. */
  readonly publicOrigin: string;
  /** Whether cookies are set with `Secure`, that is, whether the public URL is https. */
  readonly secure: boolean;
  readonly trustedProxies: number;
  /** Address ranges that may use `/api/v1`; empty = all addresses. */
  readonly adminNetworks: readonly string[];
  readonly perAppLimit: number;
  readonly badCredentialsPerMinute: number;
}

export interface RequestState {
  id: string;
  /** The client's own request id; only for the log. */
  clientRequestId?: string;
  ip: string;
  /** Pattern of the route; `(none)` until a route matches. */
  route: string;
  contract?: Contract;
  caller?: Caller;
  /** The unverified client id of a token request, for the log. */
  triedClient?: string;
  /** Whether a token or cookie was sent, so that the response must not be cached. */
  credential: boolean;
}

export type EdgeContext = ParameterizedContext<
  RequestState,
  DefaultContext & { edge: Edge; params: Record<string, string> }
>;

export type EdgeMiddleware = Middleware<RequestState, DefaultContext & { edge: Edge; params: Record<string, string> }>;

interface Quota {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the time window of the limit ends. Then the count starts again. */
  readonly resetSeconds: number;
}

/** Counts the uses of a key in a time window of fixed length. With a database, all replicas share the count. */
export interface RateLimits {
  consume(key: string, limit: number, windowSeconds: number): Promise<Quota>;
}

/** Sends the state of the limit to the caller (`RateLimit`, `RateLimit-Policy`: IETF httpapi draft). */
export function setRateLimitHeaders(ctx: Pick<Context, 'set'>, quota: Quota, windowSeconds: number): void {
  ctx.set('RateLimit-Policy', `"default";q=${quota.limit};w=${windowSeconds}`);
  ctx.set('RateLimit', `"default";r=${quota.remaining};t=${quota.resetSeconds}`);
}

/** Creates rate limits that are counted only in this process. Tests and a server without a database use them. */
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

export type HeaderPairs = readonly (readonly [string, string])[];

/** Sets the security headers. The default policy allows no scripts; pages that need scripts set their own policy. */
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
    // These headers are not sent, because they hardly help current browsers. Without them, the headers of a 402
    // response stay below 4 KB.
    xssFilter: false,
    ieNoOpen: false,
    dnsPrefetchControl: false,
    permittedCrossDomainPolicies: false,
  }) as EdgeMiddleware;
}
