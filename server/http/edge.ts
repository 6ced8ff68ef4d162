import type { DefaultContext, Middleware, ParameterizedContext } from 'koa';
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { WithKey } from '../payments/idempotency.ts';
import type { Authenticators, Caller } from './callers.ts';
import type { Contract } from './contract.ts';
import type { Metrics } from './metrics.ts';
import type { RateLimits } from './rate-limit.ts';
import type { HeaderPairs } from './security-headers.ts';
import type { Belongings } from './reach.ts';

/** Runs requests, and knows of each whether it wrote. */
export interface Requests {
  run<T>(request: () => Promise<T>): Promise<T>;
  /** Whether the request that asks has committed anything. */
  hasChanged(): boolean;
  /** How many seconds old what it was shown may be; undefined when it is as of now. */
  lag(): number | undefined;
}

/** What the page of a refusal is made from. */
export interface RefusedRequest {
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
