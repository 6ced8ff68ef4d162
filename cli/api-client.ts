import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { Cancelled, CliError, EXIT, type FieldProblem, exitCodeFor } from './errors.ts';
import { type StreamedBody, type Trace, type WireRequest, openExchange, readText } from './http.ts';
import { adviceFor } from './hints.ts';
import { isOpenToReaders, notEncrypted } from './settings.ts';
import type { Row } from './values.ts';

/** Values of a query string. The client omits an undefined value. */
export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export interface Call {
  method: string;
  path: string;
  query?: Query;
  body?: unknown;
  /** A body that is not sent as JSON, e.g. a file. Used instead of `body`. */
  raw?: { type: string; content: string | Uint8Array | StreamedBody };
  headers?: Record<string, string>;
  /** Value of the Idempotency-Key header. The client sends the same key with every retry. */
  idempotencyKey?: string;
  /** Error statuses that are returned instead of thrown, e.g. 402 of pay-per-call. */
  accept?: readonly number[];
  /** Read timeout in milliseconds, for calls that the service answers slowly. */
  silenceMs?: number;
  signal?: AbortSignal;
  /** Whether the client sends the request without a token, e.g. for the login or the health check. */
  anonymous?: boolean;
}

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  /** The parsed JSON; undefined if the response is not JSON. */
  body: unknown;
  text: string;
}

/** One page of a list in the API. `nextCursor` selects the next page; null on the last page. */
interface Page {
  rows: Row[];
  nextCursor: string | null;
  /** Replication lag in seconds, if a read replica answered; absent otherwise. */
  lagSeconds?: number;
}

export interface ApiClient {
  call(call: Call): Promise<Answer>;
  /** Returns the `data` property of the response. */
  data(call: Call): Promise<Row>;
  get(path: string, query?: Query): Promise<Row>;
  page(path: string, query?: Query): Promise<Page>;
  pages(path: string, query?: Query): AsyncIterable<Page>;
  stream(call: Call): Promise<IncomingMessage>;
}

/** `authorize` returns the header that authenticates a request: a bearer token or a session cookie. */
export interface ClientSetup {
  server(): Promise<string>;
  authorize(): Promise<Record<string, string>>;
  /** Returns the `payctl login` command. After a 401 response the error message advises this command. */
  loginCommand(): Promise<string>;
  /**
   * Confirms a change with the operator's password. The caller repeats the request and then runs the returned function,
   * which ends the session if it was opened only for this change. Throws if there is neither a password file nor a
   * terminal.
   */
  confirm?(refusal: CliError): Promise<() => Promise<void>>;
  /**
   * Looks for another token after a 401, or after a 403 for a missing scope. Returns false if there is none; otherwise
   * the request is repeated, because a refused request changed nothing.
   */
  renew?(refused: RefusedToken): Promise<boolean>;
  /** Whether tokens and passwords may be sent over plain HTTP. Called only for a server on another machine. */
  allowsHttp(origin: string): Promise<boolean>;
  /** PEM of the additional certificate authorities for this server; undefined if there are none. */
  authorities(origin: string): Promise<string | undefined>;
  trace: Trace;
  timeoutMs: number;
  signal: AbortSignal;
  userAgent: string;
  /** The application that sends the requests, for hints; absent or undefined for an administrator. */
  clientId?(): Promise<string | undefined>;
  /** The language in which the service answers; absent for English. */
  language?: string;
}

/** The status of a refusal, and the header of the refused request; undefined if no request was sent with a token. */
export interface RefusedToken {
  status: number;
  authorization: string | undefined;
}

type Authorize = ClientSetup['authorize'];

const TRIES = 3;
const LONGEST_PAUSE_MS = 5000;
/** Read timeout of a stream in milliseconds. Event streams send heartbeats at shorter intervals. */
const STREAM_SILENCE_MS = 60_000;

/** Creates a client for the API of a server. The client asks for the server's address only when it sends a request. */
export function createApiClient(setup: ClientSetup): ApiClient {
  const open = async (
    call: Call,
    authorize: Authorize,
    timeoutMs: number,
  ): Promise<{ answer: IncomingMessage; wire: WireRequest }> => {
    const wire = await toWire(call, { ...setup, authorize }, timeoutMs);
    await setup.trace.request(wire.method, wire.url, wire.headers, wire.body);
    return { answer: await openExchange(wire), wire };
  };

  const once = async (call: Call, authorize: Authorize): Promise<Answer> => {
    const begun = performance.now();
    const { answer, wire } = await open(call, authorize, call.silenceMs ?? setup.timeoutMs);
    const text = await readText(answer, wire);
    const headers = flatHeaders(answer);
    await setup.trace.answer(answer.statusCode ?? 0, headers, text, performance.now() - begun);
    return { status: answer.statusCode ?? 0, headers, text, body: parse(text) };
  };

  const sender = async (call: Call): Promise<Sender> => ({
    call,
    login: await setup.loginCommand(),
    clientId: await setup.clientId?.(),
  });
  const checked = async (call: Call, authorize: Authorize): Promise<Answer> => {
    const answer = await once(call, authorize);
    if (isGood(answer.status, call)) return answer;
    throw readProblem(answer, await sender(call));
  };

  const tried = (request: Call, authorize: Authorize): Promise<Answer> =>
    withRetry(request, () => checked(request, authorize), setup.signal);
  const renewing = async <T>(request: Call, send: (authorize: Authorize) => Promise<T>): Promise<T> => {
    let sent: Record<string, string> = {};
    const authorize: Authorize = async () => {
      sent = {};
      return (sent = await setup.authorize());
    };
    try {
      return await send(authorize);
    } catch (error) {
      if (!(error instanceof CliError) || request.anonymous) throw error;
      const { status = 0 } = error.options;
      const isRefused = status === 401 || error.code === 'insufficient_scope';
      if (!isRefused || !(await setup.renew?.({ status, authorization: sent['authorization'] }))) throw error;
      return send(authorize);
    }
  };
  const call = async (request: Call): Promise<Answer> => {
    const send = () => renewing(request, (authorize) => tried(request, authorize));
    try {
      return await send();
    } catch (error) {
      const { confirm } = setup;
      if (!confirm || !(error instanceof CliError) || error.code !== 'password_confirmation_required') throw error;
      const after = await confirm(error);
      return await send().finally(after);
    }
  };

  const data = async (request: Call): Promise<Row> => {
    const { body } = await call(request);
    return member(body, 'data') ?? asRow(body) ?? {};
  };

  const page = async (path: string, query?: Query): Promise<Page> => {
    const { body, headers } = await call({ method: 'GET', path, ...(query ? { query } : {}) });
    const lag = headers['replica-lag'];
    return { ...readPage(body), ...(lag !== undefined && { lagSeconds: Number(lag) }) };
  };

  return {
    call,
    data,
    get: (path, query) => data({ method: 'GET', path, ...(query ? { query } : {}) }),
    page,
    async *pages(path, query) {
      let cursor: string | undefined;
      do {
        const next = await page(path, { ...query, ...(cursor === undefined ? {} : { cursor }) });
        yield next;
        cursor = next.nextCursor ?? undefined;
      } while (cursor !== undefined);
    },
    stream: (request) => renewing(request, (authorize) => stream(request, authorize)),
  };

  async function stream(request: Call, authorize: Authorize): Promise<IncomingMessage> {
    const { answer, wire } = await open(request, authorize, request.silenceMs ?? STREAM_SILENCE_MS);
    await setup.trace.answer(answer.statusCode ?? 0, flatHeaders(answer), undefined, 0);
    if (isGood(answer.statusCode ?? 0, request)) return answer;
    const refused = {
      status: answer.statusCode ?? 0,
      headers: flatHeaders(answer),
      text: await readText(answer, wire),
    };
    throw readProblem(refused, await sender(request));
  }
}

async function toWire(call: Call, setup: ClientSetup, timeoutMs: number): Promise<WireRequest> {
  const url = new URL((await setup.server()) + call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  const body = call.raw ? call.raw.content : call.body === undefined ? undefined : JSON.stringify(call.body);
  const headers: Record<string, string> = {
    accept: 'application/json',
    'user-agent': setup.userAgent,
    ...(setup.language === undefined ? {} : { 'accept-language': setup.language }),
    ...(body === undefined
      ? {}
      : { 'content-type': call.raw?.type ?? 'application/json', 'content-length': String(lengthOf(body)) }),
    ...(call.idempotencyKey ? { 'idempotency-key': call.idempotencyKey } : {}),
    ...call.headers,
    ...(call.anonymous ? {} : await setup.authorize()),
  };
  const { origin } = url;
  if (isOpenToReaders(origin) && holdsCredential(headers, call.body) && !(await setup.allowsHttp(origin)))
    throw notEncrypted(origin);
  return {
    method: call.method,
    url,
    headers,
    ca: await setup.authorities(origin),
    timeoutMs,
    signal: call.signal ? AbortSignal.any([setup.signal, call.signal]) : setup.signal,
    ...(body === undefined ? {} : { body }),
  };
}

/** Whether the request contains a token or cookie (in a header), or a password or token (in the body). */
function holdsCredential(headers: Record<string, string>, body: unknown): boolean {
  const { password, token } = asRow(body) ?? {};
  return 'authorization' in headers || 'cookie' in headers || password !== undefined || token !== undefined;
}

function lengthOf(body: string | Uint8Array | StreamedBody): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}

async function withRetry(call: Call, attempt: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  const repeatable = call.method === 'GET' || call.idempotencyKey !== undefined;
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const pause = repeatable && tries < TRIES ? pauseAfter(error, tries) : undefined;
      if (pause === undefined) throw withAdvice(error, call);
      await wait(pause, undefined, { signal }).catch(() => {
        throw new Cancelled();
      });
    }
  }
}

function pauseAfter(error: unknown, tries: number): number | undefined {
  if (!(error instanceof CliError)) return undefined;
  if (error.exitCode !== EXIT.tryAgain && error.code !== 'idempotency_in_progress') return undefined;
  const asked = error.options.retryAfter;
  const pause = asked === undefined ? 250 * 2 ** (tries - 1) : asked * 1000;
  return pause <= LONGEST_PAUSE_MS ? pause : undefined;
}

/** After e.g. a timeout it is unknown whether the service made the change. The hint says how to retry safely. */
function withAdvice(error: unknown, call: Call): unknown {
  if (!(error instanceof CliError) || call.method === 'GET' || call.anonymous) return error;
  if (error.exitCode !== EXIT.tryAgain && error.exitCode !== EXIT.cancelled) return error;
  if (!call.idempotencyKey && error.options.status !== undefined) return error;
  const hint = call.idempotencyKey
    ? `retry with --idempotency-key ${call.idempotencyKey}, so that it runs only once`
    : 'check whether the change was made before you retry';
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

function isGood(status: number, call: Call): boolean {
  return (status >= 200 && status < 300) || call.accept?.includes(status) === true;
}

function flatHeaders(answer: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readPage(body: unknown): Page {
  const data = typeof body === 'object' && body !== null ? (body as Row)['data'] : undefined;
  const rows = Array.isArray(data) ? (data as Row[]) : [];
  const cursor = member(body, 'page')?.['nextCursor'];
  return { rows, nextCursor: typeof cursor === 'string' ? cursor : null };
}

function member(body: unknown, name: string): Row | undefined {
  return asRow(asRow(body)?.[name]);
}

function asRow(value: unknown): Row | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : undefined;
}

interface RefusedAnswer {
  status: number;
  headers: Record<string, string | undefined>;
  text: string;
}

/** The refused call, and facts about its sender for the hint. */
interface Sender {
  call: Call;
  login: string;
  clientId: string | undefined;
}

function readProblem(answer: RefusedAnswer, where: Sender): CliError {
  const body = unwrap(parseObject(answer.text));
  if (answer.status >= 300 && answer.status < 400) return redirected(answer);
  const message =
    firstText(body['detail'], body['error_description'], body['title']) ?? `The server returned HTTP ${answer.status}.`;
  const code = firstText(body['code'], body['error']) ?? `http_${answer.status}`;
  const retryAfter = seconds(answer.headers['retry-after']);
  return new CliError(code, exitCodeFor(answer.status), channelWords(message, body['channel']), {
    status: answer.status,
    hint: hintFor(
      answer.status,
      firstText(body['hint'], scopeHint(code, answer, where), adviceFor(code, body, where.call), strangerHint(code)),
      retryAfter,
      where.login,
    ),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    requestId: firstText(body['requestId'], answer.headers['x-request-id']),
    fields: readFields(body['errors']),
    extra: extras(body),
  });
}

/** Names the missing scope (RFC 6750 §3). Only an administrator can grant it. */
function scopeHint(code: string, { headers }: RefusedAnswer, { clientId }: Sender): string | undefined {
  const [, scope] = /scope="([\w:]+)"/.exec(headers['www-authenticate'] ?? '') ?? [];
  if (code !== 'insufficient_scope' || scope === undefined) return undefined;
  return `payctl app update ${clientId ?? 'CLIENT_ID'} --add-scope ${scope}\nAn administrator of the service runs it: an application cannot add scopes to itself.`;
}

/** The service names a code in each answer 404. */
function strangerHint(code: string): string | undefined {
  if (code !== 'http_404') return undefined;
  return 'this address does not answer like the service: it may be the port of the simulator, or of another program; check --server';
}

/** The simulator puts the error document into the property `error`; the service sends it as the whole body. */
function unwrap(body: Row): Row {
  const { error } = body;
  return typeof error === 'object' && error !== null ? { ...(error as Row), detail: (error as Row)['message'] } : body;
}

function redirected(answer: RefusedAnswer): CliError {
  const place = answer.headers['location'] ?? 'another address';
  return new CliError(
    'redirected',
    EXIT.failed,
    `The server redirects to ${place}. payctl does not follow redirects, to protect the token.`,
    {
      status: answer.status,
      hint: 'if the new address is correct, give it with --server',
    },
  );
}

function channelWords(message: string, channel: unknown): string {
  if (typeof channel !== 'object' || channel === null) return message;
  const { payWay, code, message: said } = channel as Row;
  // The detail of a refusal often contains the channel's message already.
  const words = [payWay, code, said].filter(
    (word): word is string => typeof word === 'string' && word !== '' && !(word === said && message.includes(word)),
  );
  return words.length > 0 ? `${message} (${words.join(' ')})` : message;
}

function hintFor(
  status: number,
  hint: string | undefined,
  retryAfter: number | undefined,
  login: string,
): string | undefined {
  if (hint) return hint;
  if (status === 401) return login;
  if (status === 404) return undefined;
  return retryAfter !== undefined ? `retry in ${retryAfter} s` : undefined;
}

function seconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d+$/.test(header) ? Number(header) : undefined;
}

function readFields(errors: unknown): FieldProblem[] {
  if (!Array.isArray(errors)) return [];
  return errors
    .filter((item): item is Row => typeof item === 'object' && item !== null)
    .map((item) => ({
      pointer: String(item['pointer'] ?? ''),
      code: String(item['code'] ?? ''),
      detail: String(item['detail'] ?? ''),
    }));
}

const STANDARD = new Set([
  'type',
  'title',
  'status',
  'detail',
  'code',
  'requestId',
  'errors',
  'hint',
  'error',
  'error_description',
  'error_uri',
  'instance',
  'message',
  'exitCode',
]);

function extras(body: Row): Row {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !STANDARD.has(key)));
}

function firstText(...candidates: unknown[]): string | undefined {
  return candidates.find((candidate): candidate is string => typeof candidate === 'string' && candidate !== '');
}

function parseObject(text: string): Row {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};
  } catch {
    return {};
  }
}
