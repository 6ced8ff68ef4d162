// Types that the HTTP layer uses: the contracts of routes (input, output and authentication), the callers of requests,
// and the interface that verifies tokens and sessions.
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { AppTerms, RequestKey, KeptKey, KeyClaim } from '../payments/idempotency.ts';

/** Roles of administrators: a viewer reads, an operator also moves money, an admin does everything. */
export type Role = 'viewer' | 'operator' | 'admin';

/**
 * Whether the session may run operations that need a fresh confirmation. `always`: the password and the second factor
 * were confirmed within the last five minutes. `where-live`: the same, or the setting Debug is on. While Debug is on,
 * live channels (real money) are refused.
 */
export interface Confirmed {
  readonly always: boolean;
  readonly 'where-live': boolean;
}

/** An authenticated administrator; `via`: whether the token came in a header or in a cookie. */
export interface AdminCaller {
  readonly kind: 'admin';
  readonly id: string;
  readonly username: string;
  readonly role: Role;
  /** Codes of the projects that the administrator may access; null = all. */
  readonly projects: readonly string[] | null;
  /** `missing`: a second factor is required and not enrolled yet, so only enrolment is allowed. */
  readonly secondFactor: 'used' | 'none' | 'missing';
  readonly jti: string;
  readonly via: 'bearer' | 'cookie';
  readonly confirmed: Confirmed;
}

/**
 * An authenticated API application. `scopes` are the rights that its token names and that the application still has.
 */
export interface AppCaller {
  readonly kind: 'app';
  readonly clientId: string;
  readonly name: string;
  readonly project: string;
  readonly scopes: ReadonlySet<string>;
  readonly mode?: string;
  /** Requests per minute for this application. 0 = no limit; absent = the configured `RateLimit.PerApp`. */
  readonly rateLimit?: number;
  /**
   * The rules of the application for late payments, and its limits for orders and refunds. Absent = they were not read
   * together with the token.
   */
  readonly terms?: AppTerms;
  /**
   * The response stored under the request's Idempotency-Key, if the query that loaded the token also loaded it. null =
   * there is none; absent = not looked up.
   */
  readonly kept?: KeptKey | null;
}

export type Caller = AdminCaller | AppCaller;

/** The administrator's token as read from the request. */
export interface AdminCredential {
  readonly token: string;
  readonly via: 'bearer' | 'cookie';
  /** Whether the method of the request is safe (RFC 9110 §9.2.1). */
  readonly safe: boolean;
}

/**
 * Verifies tokens and sessions; the folder `identity` implements it. Rejects with `Unauthenticated` (401) or
 * `Forbidden` (403).
 */
export interface Authenticators {
  admin(credential: AdminCredential, ip: string): Promise<AdminCaller>;
  /** If `key` is set, also loads the response stored under that Idempotency-Key of the application. */
  app(token: string, ip: string, key?: RequestKey): Promise<AppCaller>;
  /**
   * Whether the CSRF token was made for the session with the id `jti`. The token contains an HMAC of the session id.
   */
  csrfMatches(csrfToken: string, jti: string): boolean | Promise<boolean>;
  /**
   * Writes to the audit log that a session was refused an operation because it had not confirmed password and second
   * factor; at most a few times per session.
   */
  noteUnconfirmed(
    admin: Pick<AdminCaller, 'username' | 'jti'>,
    refused: { operation: string; ip: string; requestId: string },
  ): Promise<void>;
}

/**
 * The kinds of objects that belong to projects. The value is the path parameter or body field that contains the id of
 * the object.
 */
export const NAMED_BY = {
  project: 'code',
  app: 'client_id',
  order: 'orderNo',
  refund: 'refundNo',
  approval: 'refundNo',
  dispute: 'disputeNo',
  exception: 'id',
  event: 'id',
  bill: 'billNo',
  cert: 'id',
} as const;

/** One of the kinds of objects in `NAMED_BY`. */
export type Thing = keyof typeof NAMED_BY;

/**
 * How the project limits of an administrator are checked. A `Thing`: by the projects of the object in the path or body.
 * `query`, `body`: by the project that the query or body contains. `account`: by all projects that share the channel
 * account. `filter`: a list contains only entries of the administrator's projects. `service`: only administrators of
 * all projects are allowed. `own`: no check, because the request concerns the caller's own account or an object without
 * a project.
 */
export type ProjectScope = Thing | 'query' | 'body' | 'account' | 'filter' | 'service' | 'own';

/** Looks up the projects of an object; other folders implement it. */
export interface Belongings {
  /** Returns the projects of an object: several for a bill of a shared account; none if the object does not exist. */
  projectsOf(thing: Thing, id: string): Promise<readonly string[]>;
  /** Returns the projects that use the same channel accounts as the given project. */
  sharersOf(account: { project: string; payWay: string; account?: string | undefined }): Promise<readonly string[]>;
}

/** Requires an administrator with at least this role and access to the object of the request. */
export interface AdminAuth {
  readonly admin: Role;
  readonly projectScope: ProjectScope;
  /**
   * If set, the session must have confirmed password and second factor within the last five minutes. The value chooses
   * one of the two rules of `Confirmed`.
   */
  readonly confirmed?: keyof Confirmed;
  /** If true, also allowed for administrators who must still enrol a second factor. */
  readonly enrolling?: true;
}

/**
 * The required authentication: none, any token of an application, an administrator, or a token of an application with
 * this scope.
 */
export type Auth = 'none' | 'any-token' | AdminAuth | { readonly scope: string };

/**
 * Accepted kinds of request body; `raw`: any media type, unparsed, up to 256 KB (channel notifications); `stream`: a file of any size that
 * is processed while it arrives.
 */
export type Accepts = 'json' | 'form' | 'multipart' | 'raw' | 'stream';

/**
 * The media types of a response. The value is the schema of the JSON body, or `text` or `bytes`. For an event stream,
 * it is the schema of each message.
 */
export type MediaTypes = Readonly<Record<string, z.ZodType | 'text' | 'bytes'>>;

/**
 * The 304 response to a client that already has the current version. Every cacheable response has an entity tag, which
 * the client sends back to ask for a newer version.
 */
export const UNCHANGED = { 304: {} } as const satisfies Contract['answers'];

/** Size limits of uploaded files; `several`: the form field that may occur several times. */
export interface UploadLimits {
  readonly several?: string;
  readonly mostFiles: number;
  readonly mostBytes: number;
  readonly mostBytesInAll: number;
}

/**
 * A webhook event. `when` describes when the event is sent, and `object` is the schema of the event's object, for
 * example of an order.
 */
export interface WebhookContract {
  readonly when: string;
  readonly object: z.ZodType;
}

/**
 * The input, output and authentication of an endpoint. The endpoint and the OpenAPI document both use this contract, so
 * they cannot differ.
 */
export interface Contract {
  readonly auth: Auth;
  /** Schema of the path parameters; a parameter that does not match is a 404. */
  readonly params?: z.ZodObject;
  /** Schema of the query; below `/api/` an unknown parameter is a 400. */
  readonly query?: z.ZodObject;
  /** Schema of the read headers, by lower-case names; other headers are ignored. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * Schema of the response data. If `list` is set, it is the schema of one entry of the list. Fields that the schema
   * does not name are removed from the response.
   */
  readonly returns?: z.ZodType;
  /** Default 200. */
  readonly status?: 200 | 201 | 202 | 204;
  /** Schema of fields that are sent next to `data`; the handler returns them in a `Reply`. */
  readonly beside?: z.ZodObject;
  /** If true, the response is `{ data: [..], page: { nextCursor, hasMore } }`. */
  readonly list?: true;
  /** If true, the response is the data itself, not `{ data }` (health, JWKS, OAuth). */
  readonly bare?: true;
  /** Set if the handler returns a `Reply` that is not JSON. */
  readonly raw?: 'html' | 'stream';
  /**
   * Responses that are not the usual JSON response, for example a file or a redirect. The key is the HTTP status. The
   * value contains the media types of the response and the schemas of its content.
   */
  readonly answers?: Readonly<Record<number, MediaTypes>>;
  /**
   * If true, a browser must send the request from a page of the service itself (login). Requests with a session cookie
   * are checked in this way even without the flag.
   */
  readonly sameSite?: true;
  /** If true, the endpoint supports `Idempotency-Key`. */
  readonly idempotent?: true;
  /**
   * Error codes that only this endpoint returns, in addition to the error codes that every endpoint can return. They
   * are listed in the OpenAPI document.
   */
  readonly errors?: readonly ErrorCode[];
  /** Default `['json']`. */
  readonly accepts?: readonly Accepts[];
  /** Limits of the files of a multipart body; absent = a few small files. */
  readonly uploads?: UploadLimits;
  /** `oauth`: errors in the shape of RFC 6749 instead of problem documents. It implies `bare`. */
  readonly style?: 'oauth';
  /** Webhook events that the OpenAPI document describes. Only one endpoint, the list of events, declares them. */
  readonly webhooks?: Readonly<Record<string, WebhookContract>>;
  /** If true, the endpoint is left out of the OpenAPI document (pages and assets). */
  readonly hidden?: true;
}

/**
 * Response header of an operation that ignores the `Idempotency-Key` of the request, to warn that a retry may repeat
 * the operation.
 */
export const KEY_IGNORED = 'Idempotency-Key-Ignored';

/** Whether the operation changes data but ignores an `Idempotency-Key`. Operations that only read need no key. */
export function ignoresKey(method: string, { idempotent, headers }: Contract): boolean {
  return method !== 'GET' && method !== 'HEAD' && !idempotent && !headers?.shape['idempotency-key'];
}

/**
 * Data of the HTTP request that a handler may need in addition to the parsed input, for example the client's address.
 */
export interface RequestFacts {
  readonly id: string;
  /** The client's address, determined with the configured number of trusted proxies. */
  readonly ip: string;
  readonly method: string;
  /** The pattern of the route, e.g. `/api/v2/payment/query/{orderNo}`. */
  readonly route: string;
  /** The query string as sent, without `?`. */
  readonly search: string;
  /** All request headers, lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes of the body; empty without a body or for multipart. */
  readonly rawBody: Buffer;
}

/** One page of a list. The client sends `nextCursor` to get the next page. */
export interface Page<T> {
  data: readonly T[];
  page: { nextCursor: string | null; hasMore: boolean };
}

type Parsed<S, Missing> = S extends z.ZodType ? z.output<S> : Missing;
type CallerOf<A> = A extends 'none' ? undefined : A extends { admin: string } ? AdminCaller : AppCaller;
/**
 * The parsed query of a request. For the project scope `filter`, the field `project` contains the projects that the
 * caller may see: the requested project or all projects of the caller. undefined = no restriction.
 */
type Narrowed<C extends Contract> = C['auth'] extends { projectScope: 'filter' }
  ? Omit<Parsed<C['query'], Record<never, never>>, 'project'> & { project?: string | readonly string[] | undefined }
  : Parsed<C['query'], Record<never, never>>;
type Data<C extends Contract> = C['returns'] extends z.ZodType ? z.input<C['returns']> : unknown;

/** The checked input that an endpoint passes to its handler. */
export interface Input<C extends Contract> {
  params: Parsed<C['params'], Record<never, never>>;
  query: Narrowed<C>;
  headers: Parsed<C['headers'], Record<never, never>>;
  body: Parsed<C['body'], undefined>;
  caller: CallerOf<C['auth']>;
  /**
   * The reservation of the request's Idempotency-Key. The handler must store it in the transaction that begins the
   * operation, so that no second request with this key runs the operation. undefined = the request has no key, or the
   * endpoint does not support keys.
   */
  claim: C extends { idempotent: true } ? KeyClaim | undefined : undefined;
  request: RequestFacts;
}

type Output<C extends Contract> = C extends { raw: string }
  ? Reply<unknown>
  : C extends { list: true }
    ? Page<Data<C>> | Reply<Page<Data<C>>>
    : C extends { status: 204 }
      ? void | Reply<undefined>
      : Data<C> | Reply<Data<C>>;

/**
 * The function that runs the operation of an endpoint. It receives the checked input and returns the data of the
 * response.
 */
export type Handler<C extends Contract> = (input: Input<C>) => Output<C> | Promise<Output<C>>;

/** A cookie to set; `value: null` removes it. */
export interface ReplyCookie {
  name: string;
  value: string | null;
  httpOnly?: boolean;
  secure?: boolean;
  /**
   * `lax`: the browser also sends the cookie when the user follows a link from another site. Absent = the browser sends
   * the cookie only for requests from the service's own pages.
   */
  sameSite?: 'lax';
  /**
   * If true, the cookie is also set with the prefix `__Host-` over https. No other host of the domain can set a cookie
   * with this prefix.
   */
  hostToo?: boolean;
  maxAgeSeconds?: number;
}

/** The compressed versions of a response body. The key is the content coding (`br` or `gzip`). */
export type Encoded = Readonly<Partial<Record<(typeof CODINGS)[number], Buffer>>>;

/** Content codings, the one with the best compression first. */
export const CODINGS = ['br', 'gzip'] as const;

/** The parts of a response that a handler can set. */
export interface ReplyParts<T> {
  status?: number;
  headers?: Record<string, string>;
  cookies?: ReplyCookie[];
  /** A body that is sent unchanged. `headers` must contain its `content-type`. */
  body?: Buffer | string | Readable;
  /** The same body, compressed with content codings that a client may accept. */
  encoded?: Encoded;
  data?: T;
  /** Fields that are sent next to `data`. The contract must contain their schema as `beside`. */
  beside?: Record<string, unknown> | undefined;
}

/** A response with more than data: a status, headers, cookies, or a body that is not JSON. */
export class Reply<T = never> {
  readonly parts: ReplyParts<T>;

  constructor(parts: ReplyParts<T>) {
    this.parts = parts;
  }
}

/** A route's pattern in the notation of OpenAPI: `/api/v1/orders/{orderNo}`. */
export function patternOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}
