import type { SkillOrderRow } from '../db/entities/skillpay.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';

export interface Content {
  text: string;
  contentType: string;
}

/** The handler returned no content. `transient` = a retry may succeed. */
export class HandlerFailed extends Error {
  readonly code: string;
  readonly transient: boolean;
  constructor(code: string, message: string, { transient, cause }: { transient: boolean; cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'HandlerFailed';
    this.code = code;
    this.transient = transient;
  }
}

/** Maximum size of content (bytes). Content is stored, and repeated calls get it again. */
const MAX_CONTENT = 64 * 1024;

type HandledCall = Pick<SkillOrderRow, 'orderNo' | 'resource' | 'input' | 'handler'>;

/** Failures of an HTTP request that a retry cannot fix. */
const TERMINAL: ReadonlySet<string> = new Set(['url_invalid', 'scheme_refused', 'address_refused', 'too_large']);

/** Runs the handler that was stored when the order was created. Throws HandlerFailed. */
export async function runHandler(send: SendOutgoing, call: HandledCall): Promise<Content> {
  const { handler } = call;
  return checkedSize(handler.handler === 'static' ? staticContent(handler) : await callUpstream(send, call, handler));
}

function checkedSize(content: Content): Content {
  if (Buffer.byteLength(content.text) > MAX_CONTENT)
    throw terminal('content_too_large', 'The content is larger than 64 KB.');
  return content;
}

/** Returns the content of a product with fixed content; undefined for HTTP handlers and content that is too large. */
export function readyContent(handler: SkillOrderRow['handler']): Content | undefined {
  const content = handler.handler === 'static' ? staticContent(handler) : undefined;
  return content && Buffer.byteLength(content.text) <= MAX_CONTENT ? content : undefined;
}

/** Converts any error of a handler to HandlerFailed. */
export function asFailure(error: unknown): HandlerFailed {
  if (error instanceof HandlerFailed) return error;
  return new HandlerFailed('handler_broke', 'The handler failed.', { transient: true, cause: error });
}

type Static = Extract<SkillOrderRow['handler'], { handler: 'static' }>;
type Http = Extract<SkillOrderRow['handler'], { handler: 'http' }>;

function staticContent({ content, contentType }: Static): Content {
  if (typeof content === 'string') return { text: content, contentType: contentType ?? 'text/plain; charset=utf-8' };
  return { text: JSON.stringify(content ?? null), contentType: contentType ?? 'application/json' };
}

/** The order number is sent as `Idempotency-Key`, so that the receiver can recognise a retry. */
async function callUpstream(
  send: SendOutgoing,
  { orderNo, resource, input }: HandledCall,
  { url, timeoutMs }: Http,
): Promise<Content> {
  const answer = await send({
    url,
    timeoutMs,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/*;q=0.9, */*;q=0.1',
      'idempotency-key': orderNo,
      'x-out-trade-no': orderNo,
      'x-resource': resource,
    },
    body: JSON.stringify(input ?? {}),
  }).catch((error: unknown) => {
    throw sendFailed(error);
  });
  if (answer.status < 200 || answer.status > 299) throw refusedBy(answer.status);
  const contentType = (answer.headers['content-type'] ?? 'text/plain').slice(0, 128);
  return { text: textOf(answer.body), contentType };
}

function sendFailed(error: unknown): HandlerFailed {
  const why = error instanceof Error && 'why' in error ? String(error.why) : 'failed';
  const transient = !TERMINAL.has(why);
  return new HandlerFailed(`upstream_${why}`, `The upstream service could not be called: ${why}.`, {
    transient,
    cause: error,
  });
}

/** Redirects are not followed. A retry may succeed after overload, a timeout or a server error. */
function refusedBy(status: number): HandlerFailed {
  const transient = status >= 500 || status === 408 || status === 425 || status === 429;
  const code = status >= 300 && status < 400 ? 'upstream_redirected' : 'upstream_refused';
  return new HandlerFailed(code, `The upstream service returned HTTP ${status}.`, { transient });
}

function textOf(body: Buffer): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    if (!text.includes('\0')) return text;
  } catch {
    // Falls through to the error below.
  }
  throw terminal('content_not_text', 'The upstream service returned content that is not UTF-8 text.');
}

function terminal(code: string, message: string): HandlerFailed {
  return new HandlerFailed(code, message, { transient: false });
}
