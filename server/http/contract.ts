// Types that the HTTP layer uses: the contracts of routes (input, output and authentication), the callers of requests,
// and the interface that verifies tokens and sessions.
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { AppTerms, RequestKey, KeptKey, KeyClaim } from '../payments/idempotency.ts';

/** Roles of administrators: a viewer reads, an operator also moves money, an admin does everything. */
export type Role = 'viewer' | 'operator' | 'admin';

/**
 * `always`: password and second factor were confirmed within the last five minutes. `where-live`: they were confirmed,
 * or the setting Debug is on. While Debug is on, live channels (real money) are refused.
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

/** `scopes` are the rights that the token names and that the application still has. */
export interface AppCaller {
  readonly kind: 'app';
  readonly clientId: string;
  readonly name: string;
  readonly project: string;
  readonly scopes: ReadonlySet<string>;
  readonly mode?: string;
  /** Requests per minute for this application. 0 = no limit; absent = the configured `RateLimit.PerApp`. */
  readonly rateLimit?: number;
  /** Rules for late payments, and limits for orders and refunds. Absent = not read together with the token. */
  readonly terms?: AppTerms;
  /** The response stored under the request's Idempotency-Key. null = there is none; absent = not looked up. */
  readonly kept?: KeptKey | null;
}

export type Caller = AdminCaller | AppCaller;

export interface AdminCredential {
  readonly token: string;
  readonly via: 'bearer' | 'cookie';
  /** Whether the method of the request is safe (RFC 9110 §9.2.1). */
  readonly safe: boolean;
}

export interface AppNeeds {
  /** If set, the response stored under this Idempotency-Key of the application is loaded too. */
  key?: RequestKey | undefined;
  /** Called when the signature of the token is verified, before the database is read. */
  verified?: (() => void) | undefined;
}

/** Implemented by the folder `identity`. Rejects with `Unauthenticated` (401) or `Forbidden` (403). */
export interface Authenticators {
  admin(credential: AdminCredential, ip: string): Promise<AdminCaller>;
  app(token: string, ip: string, needs?: AppNeeds): Promise<AppCaller>;
  /** Whether the CSRF token was made for the session with the id `jti`. */
  csrfMatches(csrfToken: string, jti: string): boolean | Promise<boolean>;
  /** Writes to the audit log that a session lacked a fresh confirmation; at most a few times per session. */
  noteUnconfirmed(
    admin: Pick<AdminCaller, 'username' | 'jti'>,
    refused: { operation: string; ip: string; requestId: string },
  ): Promise<void>;
}

/** For each kind of object, the path parameter or body field that contains its id. */
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

export type Thing = keyof typeof NAMED_BY;

/**
 * How the project limits of an administrator are checked. A `Thing`: by the projects of the object in the path or body.
 * `query`, `body`: by the project that the query or body contains. `account`: by all projects that share the channel
 * account. `filter`: a list contains only entries of the administrator's projects. `service`: only administrators of
 * all projects are allowed. `own`: no check, because the request concerns the caller's own account or an object without
 * a project.
 */
export type ProjectScope = Thing | 'query' | 'body' | 'account' | 'filter' | 'service' | 'own';

export interface Belongings {
  /** Returns the projects of an object: several for a bill of a shared account; none if the object does not exist. */
  projectsOf(thing: Thing, id: string): Promise<readonly string[]>;
  /** Returns the projects that use the same channel accounts as the given project. */
  sharersOf(account: { project: string; payWay: string; account?: string | undefined }): Promise<readonly string[]>;
}

export interface AdminAuth {
  readonly admin: Role;
  readonly projectScope: ProjectScope;
  /** The session must have confirmed password and second factor within five minutes, by this rule of `Confirmed`. */
  readonly confirmed?: keyof Confirmed;
  /** If true, also allowed for administrators who must still enrol a second factor. */
  readonly enrolling?: true;
}

/** `any-token` is any token of an application. */
export type Auth = 'none' | 'any-token' | AdminAuth | { readonly scope: string };

/** `raw`: any media type, unparsed, up to 256 KB (channel notifications); `stream`: a file of any size. */
export type Accepts = 'json' | 'form' | 'multipart' | 'raw' | 'stream';

/** For each media type, the schema of the JSON body or of each message of an event stream. */
export type MediaTypes = Readonly<Record<string, z.ZodType | 'text' | 'bytes'>>;

/** The response to a client that already has the current version, as its entity tag shows. */
export const UNCHANGED = { 304: {} } as const satisfies Contract['answers'];

/** Size limits of uploaded files; `several`: the form field that may occur several times. */
export interface UploadLimits {
  readonly several?: string;
  readonly mostFiles: number;
  readonly mostBytes: number;
  readonly mostBytesInAll: number;
}

/** `when` describes when the event is sent, and `object` is the schema of its object, for example of an order. */
export interface WebhookContract {
  readonly when: string;
  readonly object: z.ZodType;
}

/** The endpoint and the OpenAPI document both use this contract, so they cannot differ. */
export interface Contract {
  readonly auth: Auth;
  /** Schema of the path parameters; a parameter that does not match is a 404. */
  readonly params?: z.ZodObject;
  /** Schema of the query; below `/api/` an unknown parameter is a 400. */
  readonly query?: z.ZodObject;
  /** Schema of the headers that the handler reads, by lower-case names; other headers are ignored. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** With `list`, the schema of one entry. Fields that the schema does not name are removed from the response. */
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
  /** Responses that are not the usual JSON, for example a file or a redirect, by HTTP status. */
  readonly answers?: Readonly<Record<number, MediaTypes>>;
  /**
   * If true, a browser must send the request from a page of the service itself (login). Requests with a session cookie
   * are always checked in this way.
   */
  readonly sameSite?: true;
  /** If true, the endpoint supports `Idempotency-Key`. */
  readonly idempotent?: true;
  /** Error codes that only this endpoint returns, in addition to those of every endpoint. */
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

/** A response header: the operation ignores the `Idempotency-Key` of the request, so a retry may run it twice. */
export const KEY_IGNORED = 'Idempotency-Key-Ignored';

/** Whether the operation changes data but ignores an `Idempotency-Key`. Operations that only read need no key. */
export function ignoresKey(method: string, { idempotent, headers }: Contract): boolean {
  return method !== 'GET' && method !== 'HEAD' && !idempotent && !headers?.shape['idempotency-key'];
}

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

export interface Page<T> {
  data: readonly T[];
  page: { nextCursor: string | null; hasMore: boolean };
}

type Parsed<S, Missing> = S extends z.ZodType ? z.output<S> : Missing;
type CallerOf<A> = A extends 'none' ? undefined : A extends { admin: string } ? AdminCaller : AppCaller;
/** For the scope `filter`, `project` contains the projects that the caller may see; undefined = no restriction. */
type Narrowed<C extends Contract> = C['auth'] extends { projectScope: 'filter' }
  ? Omit<Parsed<C['query'], Record<never, never>>, 'project'> & { project?: string | readonly string[] | undefined }
  : Parsed<C['query'], Record<never, never>>;
type Data<C extends Contract> = C['returns'] extends z.ZodType ? z.input<C['returns']> : unknown;

export interface Input<C extends Contract> {
  params: Parsed<C['params'], Record<never, never>>;
  query: Narrowed<C>;
  headers: Parsed<C['headers'], Record<never, never>>;
  body: Parsed<C['body'], undefined>;
  caller: CallerOf<C['auth']>;
  /**
   * The reservation of the Idempotency-Key. The handler must store it in the transaction that begins the operation, so
   * that no second request runs it. undefined = no key was sent, or the endpoint supports none.
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

export type Handler<C extends Contract, Ahead = undefined> = (
  input: Input<C>,
  ahead?: Promise<Ahead>,
) => Output<C> | Promise<Output<C>>;

export type ReadAhead<C extends Contract, Ahead> = (params: Input<C>['params']) => Promise<Ahead>;

/** A cookie to set; `value: null` removes it. */
export interface ReplyCookie {
  name: string;
  value: string | null;
  httpOnly?: boolean;
  secure?: boolean;
  /** `lax`: also sent when the user follows a link from another site. Absent = only from the service's own pages. */
  sameSite?: 'lax';
  /** Over https also set with the prefix `__Host-`, with which no other host of the domain can set a cookie. */
  hostToo?: boolean;
  maxAgeSeconds?: number;
}

export type Encoded = Readonly<Partial<Record<(typeof CODINGS)[number], Buffer>>>;

/** Content codings, the one with the best compression first. */
export const CODINGS = ['br', 'gzip'] as const;

export interface ReplyParts<T> {
  status?: number;
  headers?: Record<string, string>;
  cookies?: ReplyCookie[];
  /** A body that is sent unchanged. `headers` must contain its `content-type`. */
  body?: Buffer | string | Readable;
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
