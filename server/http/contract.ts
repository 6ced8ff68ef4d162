// Contracts: what an endpoint takes and gives, and the answer of a handler that is more than data.
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import type { KeyClaim } from '../payments/idempotency.ts';
import type { AdminCaller, AppCaller, Confirmed, Reach, Role } from './callers.ts';

/** An administrator of at least this role, who reaches what the request is about. */
export interface AdminAuth {
  readonly admin: Role;
  readonly reach: Reach;
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
type Narrowed<C extends Contract> = C['auth'] extends { reach: 'filter' }
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
