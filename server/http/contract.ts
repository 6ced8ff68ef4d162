// Contracts of routes, the callers of their requests, and the port that checks credentials.
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { AppTerms, AskedKey, KeptKey, KeyClaim } from '../payments/idempotency.ts';

/** Roles of administrators: a viewer reads, an operator also moves money, an admin does everything. */
export type Role = 'viewer' | 'operator' | 'admin';

/** Whether password and second factor were given in the session within the last minutes; `where-live` holds too where no channel can be live. */
export interface Confirmed {
  readonly always: boolean;
  readonly 'where-live': boolean;
}

/** An administrator whose session was checked for this request; `via` is the credential that was used. */
export interface AdminCaller {
  readonly kind: 'admin';
  readonly id: string;
  readonly username: string;
  readonly role: Role;
  /** Codes of the only projects in reach; null = all of them. */
  readonly projects: readonly string[] | null;
  /** `missing`: there is none although everybody must have one, so only enrolling is allowed. */
  readonly secondFactor: 'used' | 'none' | 'missing';
  readonly jti: string;
  readonly via: 'bearer' | 'cookie';
  readonly confirmed: Confirmed;
}

/** An API application whose token was checked for this request; `scopes` are the effective ones (token ∩ app now). */
export interface AppCaller {
  readonly kind: 'app';
  readonly clientId: string;
  readonly name: string;
  readonly project: string;
  readonly scopes: ReadonlySet<string>;
  readonly mode?: string;
  /** Requests a minute for this app; undefined means the configured `RateLimit.PerApp`, 0 means no limit. */
  readonly rateLimit?: number;
  /** Its payment terms, read with the token; absent = not read. */
  readonly terms?: AppTerms;
  /** The answer stored under the given Idempotency-Key, read with the token; absent = not read. */
  readonly kept?: KeptKey | null;
}

/** The caller of a request. */
export type Caller = AdminCaller | AppCaller;

/** The administrator credential as it was read from the request. */
export interface AdminCredential {
  readonly token: string;
  readonly via: 'bearer' | 'cookie';
  /** Whether the method of the request is safe (RFC 9110 §9.2.1). */
  readonly safe: boolean;
}

/** Port of identity: checks credentials; a refusal is thrown as `Unauthenticated` (401) or `Forbidden` (403). */
export interface Authenticators {
  admin(credential: AdminCredential, ip: string): Promise<AdminCaller>;
  /** With `asked` also what is kept under an Idempotency-Key of the application. */
  app(token: string, ip: string, asked?: AskedKey): Promise<AppCaller>;
  /** Whether the csrf value was made for the session `jti` (HMAC). */
  csrfMatches(csrfToken: string, jti: string): boolean | Promise<boolean>;
  /** Writes to the audit log that a session was refused an operation for want of a confirmation; a few times a session. */
  noteUnconfirmed(
    admin: Pick<AdminCaller, 'username' | 'jti'>,
    refused: { operation: string; ip: string; requestId: string },
  ): Promise<void>;
}

/** Things that belong to projects, and the member of path or body that names one. */
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

/** One of them. */
export type Thing = keyof typeof NAMED_BY;

/**
 * The object of an administrator's request; an administrator with project limits reaches only its own projects. A thing: the object named by
 * path or body. `query`, `body`: the project named there. `account`: the bills of a channel account, by project and channel
 * in query or body. `filter`: a list, which is narrowed. `service`: the service as a whole. `own`: the own account, or what belongs to no project.
 */
export type ProjectScope = Thing | 'query' | 'body' | 'account' | 'filter' | 'service' | 'own';

/** Port: to which projects something belongs. */
export interface Belongings {
  /** The projects of a thing, several of a bill whose account they share; none when it is not there. */
  projectsOf(thing: Thing, id: string): Promise<readonly string[]>;
  /** The projects that share the accounts of a project at a channel. */
  sharersOf(account: { project: string; payWay: string; account?: string | undefined }): Promise<readonly string[]>;
}

// Contracts: what an endpoint takes and gives, and the answer of a handler that is more than data.

/** An administrator of at least this role, who reaches what the request is about. */
export interface AdminAuth {
  readonly admin: Role;
  readonly projectScope: ProjectScope;
  /** The session must have been given password and second factor within the last minutes. */
  readonly confirmed?: keyof Confirmed;
  /** Also for whoever must have a second factor and has none yet. */
  readonly enrolling?: true;
}

/** Who may call: nobody checked, an administrator, a token with this scope, or any app token. */
export type Auth = 'none' | 'any-token' | AdminAuth | { readonly scope: string };

/**
 * Media types that a body may come in; `raw` takes anything, unparsed, up to 256 KB (channel notices), `stream` a file of any size that
 * is read as it comes.
 */
export type Accepts = 'json' | 'form' | 'multipart' | 'raw' | 'stream';

/** Media types of an answer, each with the shape of its JSON (of an event stream: of each message), or with any text or bytes. */
export type MediaTypes = Readonly<Record<string, z.ZodType | 'text' | 'bytes'>>;

/** The answer to a client that has what it asks for already; every answer that may be kept has a tag. */
export const UNCHANGED = { 304: {} } as const satisfies Contract['answers'];

/** How large files may be, and which member of the form may be several. */
export interface UploadLimits {
  readonly several?: string;
  readonly mostFiles: number;
  readonly mostBytes: number;
  readonly mostBytesInAll: number;
}

/** An event that is sent to merchants: when, and the shape of its object. */
export interface WebhookContract {
  readonly when: string;
  readonly object: z.ZodType;
}

/** What an endpoint takes and gives: the only source of its shapes, its auth and its place in the OpenAPI document. */
export interface Contract {
  readonly auth: Auth;
  /** A parameter that fails its schema is 404: no such thing. */
  readonly params?: z.ZodObject;
  /** Below `/api/` other parameters than these are 400. */
  readonly query?: z.ZodObject;
  /** Lower-case header names; other headers are not looked at. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The data (of `list`: one entry); members that it does not name never leave. */
  readonly returns?: z.ZodType;
  /** Default 200. */
  readonly status?: 200 | 201 | 202 | 204;
  /** Members that may stand beside `data`; a `Reply` brings them. */
  readonly beside?: z.ZodObject;
  /** The answer is `{ data: [..], page: { nextCursor, hasMore } }`. */
  readonly list?: true;
  /** The answer is the data itself, not `{ data }` (health, JWKS, OAuth). */
  readonly bare?: true;
  /** The handler answers with a `Reply` of its own kind. */
  readonly raw?: 'html' | 'stream';
  /** What the handler answers in a form of its own, by status; where it is silent the general forms hold. */
  readonly answers?: Readonly<Record<number, MediaTypes>>;
  /** A browser must send this from our own origin (login); the cookie session's methods check it anyway. */
  readonly sameSite?: true;
  /** An `Idempotency-Key` is honoured. */
  readonly idempotent?: true;
  /** Codes of refusals beyond the general ones, for the OpenAPI document. */
  readonly errors?: readonly ErrorCode[];
  /** Default `['json']`. */
  readonly accepts?: readonly Accepts[];
  /** Files of a multipart body; left out = a few small ones. */
  readonly uploads?: UploadLimits;
  /** Errors in the shape of RFC 6749 instead of problem details; implies `bare`. */
  readonly style?: 'oauth';
  /** The events that it lists and that are sent as webhooks, for the OpenAPI document. */
  readonly webhooks?: Readonly<Record<string, WebhookContract>>;
  /** Kept out of the OpenAPI document (pages and assets for people). */
  readonly hidden?: true;
}

/** Header of an answer whose operation looks at no `Idempotency-Key` though one was sent: a retry may do it twice. */
export const KEY_IGNORED = 'Idempotency-Key-Ignored';

/** Whether an operation that changes something takes no `Idempotency-Key`; what only reads needs none. */
export function ignoresKey(method: string, { idempotent, headers }: Contract): boolean {
  return method !== 'GET' && method !== 'HEAD' && !idempotent && !headers?.shape['idempotency-key'];
}

/** Facts of the request that are not input. */
export interface RequestFacts {
  readonly id: string;
  /** The client's address, found by the configured number of trusted proxies. */
  readonly ip: string;
  readonly method: string;
  /** The pattern, e.g. `/api/v2/payment/query/{orderNo}`. */
  readonly route: string;
  /** The query string as sent, without `?`. */
  readonly search: string;
  /** All request headers, lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes of the body; empty when there is none or it was multipart. */
  readonly rawBody: Buffer;
}

/** One page of a list. */
export interface Page<T> {
  data: readonly T[];
  page: { nextCursor: string | null; hasMore: boolean };
}

type Parsed<S, Missing> = S extends z.ZodType ? z.output<S> : Missing;
type CallerOf<A> = A extends 'none' ? undefined : A extends { admin: string } ? AdminCaller : AppCaller;
/** A list that is narrowed to what its caller reaches: one project that was asked for, those of the caller, or all. */
type Narrowed<C extends Contract> = C['auth'] extends { projectScope: 'filter' }
  ? Omit<Parsed<C['query'], Record<never, never>>, 'project'> & { project?: string | readonly string[] | undefined }
  : Parsed<C['query'], Record<never, never>>;
type Data<C extends Contract> = C['returns'] extends z.ZodType ? z.input<C['returns']> : unknown;

/** What the handler of a contract is given. */
export interface Input<C extends Contract> {
  params: Parsed<C['params'], Record<never, never>>;
  query: Narrowed<C>;
  headers: Parsed<C['headers'], Record<never, never>>;
  body: Parsed<C['body'], undefined>;
  caller: CallerOf<C['auth']>;
  /** Set when the contract is idempotent and a key was sent: handed to the operation that writes the intent. */
  claim: C extends { idempotent: true } ? KeyClaim | undefined : undefined;
  request: RequestFacts;
}

/** What the handler of a contract returns. */
type Output<C extends Contract> = C extends { raw: string }
  ? Reply<unknown>
  : C extends { list: true }
    ? Page<Data<C>> | Reply<Page<Data<C>>>
    : C extends { status: 204 }
      ? void | Reply<undefined>
      : Data<C> | Reply<Data<C>>;

/** The work behind an endpoint: typed input in, data out. */
export type Handler<C extends Contract> = (input: Input<C>) => Output<C> | Promise<Output<C>>;

/** A cookie to set; `value: null` removes it. */
export interface ReplyCookie {
  name: string;
  value: string | null;
  httpOnly?: boolean;
  secure?: boolean;
  /** Sent too when a link of another site leads here; by default it is not. */
  sameSite?: 'lax';
  /** Where the service is reached by https, set once more under a name that only this host can set. */
  hostToo?: boolean;
  maxAgeSeconds?: number;
}

/** A body in each content coding that it was made in. */
export type Encoded = Readonly<Partial<Record<(typeof CODINGS)[number], Buffer>>>;

/** Content codings, the one that makes the least of a file first. */
export const CODINGS = ['br', 'gzip'] as const;

/** What a handler may say besides its data. */
export interface ReplyParts<T> {
  status?: number;
  headers?: Record<string, string>;
  cookies?: ReplyCookie[];
  /** Sent as it is; set `content-type` among the headers. */
  body?: Buffer | string | Readable;
  /** The same body in content codings that a client may accept. */
  encoded?: Encoded;
  data?: T;
  /** Members beside `data`, as the contract names them. */
  beside?: Record<string, unknown> | undefined;
}

/** An answer that is more than its data: a status, headers, cookies, or a body that is not JSON. */
export class Reply<T = never> {
  readonly parts: ReplyParts<T>;

  constructor(parts: ReplyParts<T>) {
    this.parts = parts;
  }
}

/** The pattern of a route as the API document writes it: `/api/v1/orders/{orderNo}`. */
export function patternOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}
