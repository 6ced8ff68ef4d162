// Contracts of routes, callers of requests, and the port that verifies credentials.
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { AppTerms, AskedKey, KeptKey, KeyClaim } from '../payments/idempotency.ts';

/** Roles of administrators: a viewer reads, an operator also moves money, an admin does everything. */
export type Role = 'viewer' | 'operator' | 'admin';

/** Whether the session confirmed password and second factor within the last minutes; `where-live` is also true where no channel can be live. */
export interface Confirmed {
  readonly always: boolean;
  readonly 'where-live': boolean;
}

/** An authenticated administrator; `via` is the kind of credential. */
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

/** An authenticated API application; `scopes` are the effective ones (those of the token that the app still has). */
export interface AppCaller {
  readonly kind: 'app';
  readonly clientId: string;
  readonly name: string;
  readonly project: string;
  readonly scopes: ReadonlySet<string>;
  readonly mode?: string;
  /** Requests a minute for this app; undefined means the configured `RateLimit.PerApp`, 0 means no limit. */
  readonly rateLimit?: number;
  /** Its payment terms, if they were read with the token. */
  readonly terms?: AppTerms;
  /** The response stored under the given Idempotency-Key, if it was read with the token. */
  readonly kept?: KeptKey | null;
}

/** The caller of a request. */
export type Caller = AdminCaller | AppCaller;

/** The administrator credential as read from the request. */
export interface AdminCredential {
  readonly token: string;
  readonly via: 'bearer' | 'cookie';
  /** Whether the method of the request is safe (RFC 9110 §9.2.1). */
  readonly safe: boolean;
}

/** Port of identity: verifies credentials; rejects with `Unauthenticated` (401) or `Forbidden` (403). */
export interface Authenticators {
  admin(credential: AdminCredential, ip: string): Promise<AdminCaller>;
  /** With `asked` also reads the response stored under an Idempotency-Key of the application. */
  app(token: string, ip: string, asked?: AskedKey): Promise<AppCaller>;
  /** Whether the csrf value was made for the session `jti` (HMAC). */
  csrfMatches(csrfToken: string, jti: string): boolean | Promise<boolean>;
  /** Writes to the audit log that a session was refused an operation for a missing confirmation; at most a few times per session. */
  noteUnconfirmed(
    admin: Pick<AdminCaller, 'username' | 'jti'>,
    refused: { operation: string; ip: string; requestId: string },
  ): Promise<void>;
}

/** Kinds of objects that belong to projects, and the member of path or body that names one. */
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

/** A kind of object that belongs to projects. */
export type Thing = keyof typeof NAMED_BY;

/**
 * The object of an administrator's request; an administrator with project limits reaches only its own projects. A `Thing`: the object named
 * by path or body. `query`, `body`: the project named there. `account`: the bills of a channel account, by project and channel in query or
 * body. `filter`: a list, which is narrowed to those projects. `service`: the service as a whole. `own`: the caller's own account, or an
 * object without a project.
 */
export type ProjectScope = Thing | 'query' | 'body' | 'account' | 'filter' | 'service' | 'own';

/** Port: the projects of an object. */
export interface Belongings {
  /** The projects of an object: several for a bill of a shared account; none if the object does not exist. */
  projectsOf(thing: Thing, id: string): Promise<readonly string[]>;
  /** The projects that share the accounts of a project at a channel. */
  sharersOf(account: { project: string; payWay: string; account?: string | undefined }): Promise<readonly string[]>;
}

/** Requires an administrator with at least this role and access to the object of the request. */
export interface AdminAuth {
  readonly admin: Role;
  readonly projectScope: ProjectScope;
  /** The session must have confirmed password and second factor within the last minutes. */
  readonly confirmed?: keyof Confirmed;
  /** Also allowed for administrators who must still enrol a second factor. */
  readonly enrolling?: true;
}

/** The required authentication: none, any app token, an administrator, or a token with this scope. */
export type Auth = 'none' | 'any-token' | AdminAuth | { readonly scope: string };

/**
 * Accepted kinds of request body; `raw`: any media type, unparsed, up to 256 KB (channel notifications); `stream`: a file of any size that
 * is processed while it arrives.
 */
export type Accepts = 'json' | 'form' | 'multipart' | 'raw' | 'stream';

/** Media types of a response, each with the schema of its JSON (event stream: of each message), or with text or bytes. */
export type MediaTypes = Readonly<Record<string, z.ZodType | 'text' | 'bytes'>>;

/** The response to a client that already has the current version; every cacheable response has an entity tag. */
export const UNCHANGED = { 304: {} } as const satisfies Contract['answers'];

/** Size limits of uploaded files, and the form member that may occur several times. */
export interface UploadLimits {
  readonly several?: string;
  readonly mostFiles: number;
  readonly mostBytes: number;
  readonly mostBytesInAll: number;
}

/** A webhook event: the condition under which it is sent, and the schema of its object. */
export interface WebhookContract {
  readonly when: string;
  readonly object: z.ZodType;
}

/** Input and output of an endpoint: the only source of its schemas, its authentication and its place in the OpenAPI document. */
export interface Contract {
  readonly auth: Auth;
  /** A parameter that fails its schema is a 404. */
  readonly params?: z.ZodObject;
  /** Below `/api/` a parameter that is not listed is a 400. */
  readonly query?: z.ZodObject;
  /** Lower-case header names; other headers are ignored. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The data (of `list`: one entry); members that it does not name are removed. */
  readonly returns?: z.ZodType;
  /** Default 200. */
  readonly status?: 200 | 201 | 202 | 204;
  /** Members beside `data`; a `Reply` provides them. */
  readonly beside?: z.ZodObject;
  /** The answer is `{ data: [..], page: { nextCursor, hasMore } }`. */
  readonly list?: true;
  /** The response is the data itself, not `{ data }` (health, JWKS, OAuth). */
  readonly bare?: true;
  /** The handler returns a `Reply` that is not JSON. */
  readonly raw?: 'html' | 'stream';
  /** The forms of the handler's own responses, by status; the general forms apply to other statuses. */
  readonly answers?: Readonly<Record<number, MediaTypes>>;
  /** A browser must send the request from the service's own origin (login); requests with a cookie session are always checked. */
  readonly sameSite?: true;
  /** An `Idempotency-Key` is honoured. */
  readonly idempotent?: true;
  /** Error codes beyond the general ones, for the OpenAPI document. */
  readonly errors?: readonly ErrorCode[];
  /** Default `['json']`. */
  readonly accepts?: readonly Accepts[];
  /** Limits of the files of a multipart body; absent = a few small files. */
  readonly uploads?: UploadLimits;
  /** Errors in the shape of RFC 6749 instead of problem details; implies `bare`. */
  readonly style?: 'oauth';
  /** The webhook events of this endpoint, for the OpenAPI document. */
  readonly webhooks?: Readonly<Record<string, WebhookContract>>;
  /** Excluded from the OpenAPI document (pages and assets). */
  readonly hidden?: true;
}

/** Response header of an operation that ignores the `Idempotency-Key` of the request: a retry may repeat the operation. */
export const KEY_IGNORED = 'Idempotency-Key-Ignored';

/** Whether an operation that changes data does not support `Idempotency-Key`; reads need none. */
export function ignoresKey(method: string, { idempotent, headers }: Contract): boolean {
  return method !== 'GET' && method !== 'HEAD' && !idempotent && !headers?.shape['idempotency-key'];
}

/** Facts of the request besides its input. */
export interface RequestFacts {
  readonly id: string;
  /** The client's address, determined with the configured number of trusted proxies. */
  readonly ip: string;
  readonly method: string;
  /** The pattern, e.g. `/api/v2/payment/query/{orderNo}`. */
  readonly route: string;
  /** The query string as sent, without `?`. */
  readonly search: string;
  /** All request headers, lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes of the body; empty without a body or for multipart. */
  readonly rawBody: Buffer;
}

/** One page of a list. */
export interface Page<T> {
  data: readonly T[];
  page: { nextCursor: string | null; hasMore: boolean };
}

type Parsed<S, Missing> = S extends z.ZodType ? z.output<S> : Missing;
type CallerOf<A> = A extends 'none' ? undefined : A extends { admin: string } ? AdminCaller : AppCaller;
/** A list query narrowed to the caller's projects: the requested project, the caller's projects, or all. */
type Narrowed<C extends Contract> = C['auth'] extends { projectScope: 'filter' }
  ? Omit<Parsed<C['query'], Record<never, never>>, 'project'> & { project?: string | readonly string[] | undefined }
  : Parsed<C['query'], Record<never, never>>;
type Data<C extends Contract> = C['returns'] extends z.ZodType ? z.input<C['returns']> : unknown;

/** The input of a contract's handler. */
export interface Input<C extends Contract> {
  params: Parsed<C['params'], Record<never, never>>;
  query: Narrowed<C>;
  headers: Parsed<C['headers'], Record<never, never>>;
  body: Parsed<C['body'], undefined>;
  caller: CallerOf<C['auth']>;
  /** Set if the contract is idempotent and a key was sent; the operation that writes the intent needs it. */
  claim: C extends { idempotent: true } ? KeyClaim | undefined : undefined;
  request: RequestFacts;
}

/** The return value of a contract's handler. */
type Output<C extends Contract> = C extends { raw: string }
  ? Reply<unknown>
  : C extends { list: true }
    ? Page<Data<C>> | Reply<Page<Data<C>>>
    : C extends { status: 204 }
      ? void | Reply<undefined>
      : Data<C> | Reply<Data<C>>;

/** The operation of an endpoint: typed input, returned data. */
export type Handler<C extends Contract> = (input: Input<C>) => Output<C> | Promise<Output<C>>;

/** A cookie to set; `value: null` removes it. */
export interface ReplyCookie {
  name: string;
  value: string | null;
  httpOnly?: boolean;
  secure?: boolean;
  /** Also sent with navigation from another site; by default it is not. */
  sameSite?: 'lax';
  /** Over https the cookie is also set under a name that only this host can set. */
  hostToo?: boolean;
  maxAgeSeconds?: number;
}

/** A body by content coding. */
export type Encoded = Readonly<Partial<Record<(typeof CODINGS)[number], Buffer>>>;

/** Content codings, the one with the best compression first. */
export const CODINGS = ['br', 'gzip'] as const;

/** Parts of a response besides its data. */
export interface ReplyParts<T> {
  status?: number;
  headers?: Record<string, string>;
  cookies?: ReplyCookie[];
  /** Sent unchanged; set `content-type` among the headers. */
  body?: Buffer | string | Readable;
  /** The same body, compressed with content codings that a client may accept. */
  encoded?: Encoded;
  data?: T;
  /** Members beside `data`, named in the contract. */
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
