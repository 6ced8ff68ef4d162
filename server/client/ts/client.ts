import { type GeneralErrorCode, type Operations, OPERATIONS, type Problem } from './operations.ts';

/** The address of the payment service, and the credentials with which the merchant's application signs in. */
export interface ClientOptions {
  /** The base URL of the service, for example `https://pay.example.com`. It is https, or the service is on this machine. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** The scopes (permissions) of the token, separated by spaces; by default all scopes of the application. */
  scope?: string | undefined;
  /** How often a GET or a request with a key is repeated; 2 by default, 0 for never. See `createClient`. */
  retries?: number | undefined;
  /** Allows `http` to another machine. Anyone between the two can then read the secret. */
  allowHttp?: boolean | undefined;
  /** Replaces the global `fetch`, for example to set a time limit, use a proxy or write a log. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** The name of an operation in `/swagger/doc.json`. */
export type OperationName = keyof Operations;

type InputOf<Name extends OperationName> = Operations[Name]['input'];
type Arguments<Input> = object extends Input ? [input?: Input] : [input: Input];

/**
 * The client: one function for each operation of the API for merchants. A function takes the operation's input and
 * returns the response body. It throws `PaymentProblem` if the request fails.
 */
export type Client = {
  readonly [Name in OperationName]: (...args: Arguments<InputOf<Name>>) => Promise<Operations[Name]['answer']>;
};

/**
 * Thrown if a request is refused or fails. Use `code` to distinguish errors. `headers` contains `Retry-After` and, for
 * HTTP 402, the ways to pay.
 */
export class PaymentProblem<Code extends string = Operations[OperationName]['code']> extends Error {
  readonly operation: OperationName;
  readonly code: Code | GeneralErrorCode;
  readonly status: number;
  /** Whether the same request can succeed later. A payment or refund is repeated with its `Idempotency-Key` only. */
  readonly retryable: boolean;
  /** Names the request in the log of the service; undefined if a proxy answered. */
  readonly requestId: string | undefined;
  /** Error responses of `/oauth`, and responses that are not JSON, contain only some of these fields or none. */
  readonly problem: Partial<Problem> & Readonly<Record<string, unknown>>;
  readonly headers: Headers;

  constructor(operation: OperationName, status: number, problem: Readonly<Record<string, unknown>>, headers: Headers) {
    const { code, error, detail, error_description: description, retryable, requestId } = problem;
    super(String(detail ?? description ?? `The service answered ${status}.`));
    this.name = 'PaymentProblem';
    this.operation = operation;
    this.code = String(code ?? error ?? 'internal_error') as Code;
    this.status = status;
    this.retryable = retryable === true;
    this.requestId = typeof requestId === 'string' ? requestId : undefined;
    this.problem = problem as Partial<Problem> & Readonly<Record<string, unknown>>;
    this.headers = headers;
  }
}

/** Whether the operation `name` threw the error; TypeScript then knows the codes that `error.code` can have. */
export function isProblemOf<Name extends OperationName>(
  name: Name,
  error: unknown,
): error is PaymentProblem<Operations[Name]['code']> {
  return error instanceof PaymentProblem && error.operation === name;
}

interface Sent {
  body?: unknown;
  headers?: Readonly<Record<string, unknown>> | undefined;
  [parameter: string]: unknown;
}

/** A request as it is sent, but without a token. */
interface Ready {
  url: string;
  method: string;
  headers: Headers;
  body?: string;
}

/** A longer `Retry-After` is left to the caller, in seconds. */
const LONGEST_PAUSE = 60;

/**
 * Creates a client. The client requests a token and uses it until shortly before it expires. After HTTP 401 it repeats
 * the request once, with a new token. After a broken connection, and after HTTP 429, 503 or `idempotency_in_progress` with
 * `Retry-After`, it repeats only a request that moves no money twice: a GET, or one with an `Idempotency-Key`. For any
 * other error the caller decides whether to repeat. It follows no redirect: that is a `PaymentProblem`. A member,
 * parameter or header that the operation does not know is a `TypeError`, and nothing is sent. An address that is neither
 * https nor on this machine is a `TypeError`, unless `allowHttp` is set.
 */
export function createClient(options: ClientOptions): Client {
  const fetchOne = options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init));
  refuseClearText(options);
  const base = options.baseUrl.replace(/\/+$/, '');
  /** The errors of `fetch`: broken connections, unlike an error of this client. */
  const broken = new WeakSet<object>();
  let token: { text: Promise<string>; endsAt: number } | undefined;

  const call = async (name: OperationName, input: Sent = {}): Promise<unknown> => {
    refuseUnknown(name, input);
    const ready = readyOf(name, base, input);
    const retries = isRepeatable(ready) ? (options.retries ?? 2) : 0;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await callOnce(name, ready);
      } catch (error) {
        const pause = broken.has(Object(error)) ? attempt / 2 : pauseAfter(error);
        if (attempt > retries || pause === undefined) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause * 1000));
      }
    }
  };

  const callOnce = async (name: OperationName, ready: Ready): Promise<unknown> => {
    if (PLACES[name].isOpen) return answerOf(name, ...(await send(ready, undefined)));
    const used = validToken();
    const [answer, text] = await send(ready, await used.text);
    if (answer.status !== 401) return answerOf(name, answer, text);
    if (token === used) token = undefined;
    return answerOf(name, ...(await send(ready, await validToken().text)));
  };

  const validToken = () => {
    if (token && Date.now() < token.endsAt) return token;
    const fresh = { text: Promise.resolve(''), endsAt: Infinity };
    fresh.text = getToken(fresh);
    // If the token request fails, every call that waits for the token gets the error. The failed token is then removed,
    // so that the next call requests a new one.
    fresh.text.catch(() => {
      if (token === fresh) token = undefined;
    });
    token = fresh;
    return fresh;
  };

  const getToken = async (kept: { endsAt: number }): Promise<string> => {
    const body: Operations['getToken']['input']['body'] = {
      grant_type: 'client_credentials',
      client_id: options.clientId,
      client_secret: options.clientSecret,
      ...(options.scope === undefined ? {} : { scope: options.scope }),
    };
    const grant = (await call('getToken', { body })) as Operations['getToken']['answer'];
    kept.endsAt = Date.now() + grant.expires_in * 900;
    return grant.access_token;
  };

  const send = async ({ url, ...init }: Ready, bearer: string | undefined): Promise<[Response, string]> => {
    const headers = new Headers(init.headers);
    if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`);
    try {
      // A redirect would send the secret to another address, or a payment twice.
      const answer = await fetchOne(url, { ...init, headers, redirect: 'manual' });
      return [answer, await answer.text()];
    } catch (error) {
      // The caller aborted the request: not a broken connection.
      if ((error as Partial<Error> | undefined)?.name !== 'AbortError') broken.add(Object(error));
      throw error;
    }
  };

  const names = Object.keys(OPERATIONS) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, (input?: Sent) => call(name, input)])) as unknown as Client;
}

/** Where an operation is, and the names that it knows; `body` is absent if it takes any member. */
interface Place {
  method: string;
  path: string;
  query: readonly string[];
  headers?: readonly string[];
  body?: readonly string[];
  isOpen?: true;
}

const PLACES: Readonly<Record<OperationName, Place>> = OPERATIONS;

function refuseUnknown(name: OperationName, { body, headers = {}, ...parameters }: Sent): void {
  const { path, query, headers: ownHeaders = [], body: ownMembers } = PLACES[name];
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, one = '']) => one);
  const isMembers = typeof body === 'object' && body !== null && ownMembers !== undefined;
  const known = ownHeaders.map((one) => one.toLowerCase());
  const unknown = [
    ...Object.keys(parameters).filter((one) => !inPath.includes(one) && !query.includes(one)),
    ...Object.keys(headers).filter((one) => !known.includes(one.toLowerCase())),
    ...(isMembers ? Object.keys(body).filter((one) => !ownMembers.includes(one)) : []),
  ];
  if (unknown.length > 0) throw new TypeError(`${name} does not know ${unknown.join(', ')}; nothing was sent.`);
}

/** Refuses an address to which the secret would be sent for others to read. */
function refuseClearText({ baseUrl, allowHttp = false }: ClientOptions): void {
  const { protocol, hostname } = new URL(baseUrl);
  const isHere = /^(127(\.\d+){3}|\[::1\]|localhost)$/.test(hostname);
  if (protocol === 'https:' || (protocol === 'http:' && (isHere || allowHttp))) return;
  throw new TypeError('The secret would be sent in the clear: use https, or allow http for a network that you trust.');
}

/** Makes the request before the first attempt, so that a value that cannot be sent is an error before anything is sent. */
function readyOf(name: OperationName, base: string, input: Sent): Ready {
  const { method, path, query } = PLACES[name];
  const url = base + filled(path, input) + searchOf(query, input);
  const headers = new Headers({ accept: 'application/json' });
  for (const [header, value] of Object.entries(input.headers ?? {}))
    if (value != null) headers.set(header, String(value));
  if (input.body === undefined) return { url, method, headers };
  headers.set('content-type', 'application/json');
  return { url, method, headers, body: JSON.stringify(input.body) };
}

function isRepeatable({ method, headers }: Ready): boolean {
  return method === 'GET' || headers.has('idempotency-key');
}

/** The seconds before the request may be repeated; undefined if its repeat is left to the caller. */
function pauseAfter(error: unknown): number | undefined {
  if (!(error instanceof PaymentProblem)) return undefined;
  const canWait = error.status === 429 || error.status === 503 || error.code === 'idempotency_in_progress';
  const seconds = Number(error.headers.get('retry-after') ?? Number.NaN);
  return canWait && seconds <= LONGEST_PAUSE ? seconds : undefined;
}

function filled(path: string, input: Sent): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, String(input[name])));
}

/** Encodes a path parameter. An empty value, "." or ".." would change the path, so they are rejected. */
function segment(name: string, value: string): string {
  if (value === '' || value === '.' || value === '..')
    throw new TypeError(`The parameter ${name} must not be empty, "." or "..".`);
  return encodeURIComponent(value);
}

function searchOf(names: readonly string[], input: Sent): string {
  const search = new URLSearchParams();
  for (const name of names) if (input[name] != null) search.set(name, String(input[name]));
  return search.size === 0 ? '' : `?${search}`;
}

function answerOf(name: OperationName, answer: Response, text: string): unknown {
  const isJson = /[/+]json\b/.test(answer.headers.get('content-type') ?? '');
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : text === '' ? undefined : text;
  if (answer.ok) return body;
  const problem = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  throw new PaymentProblem(name, answer.status, problem, answer.headers);
}
