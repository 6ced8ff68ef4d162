// Translates faults of the database or of the code into error responses, and describes errors for the log.
import type { ErrorCode } from '../error-codes/error-codes.ts';
import { AppError, BUSY, ChangeUnknown, ENDED, NO_ROOM, Unavailable, causes } from '../errors.ts';

const unreachable = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);
const unreachableText =
  /timeout exceeded when trying to connect|Connection terminated|Client (?:has encountered a connection error|was closed)|the database system is (?:starting up|shutting down)|Cannot use a pool after calling end|PGlite is closed/i;
const busyText = /Query read timeout|canceling statement due to (?:lock|statement) timeout/i;

/** Seconds until a retry when the disk is full, because an operator has to free disk space first. */
const FULL_RETRY_SECONDS = 30;

/** Whether the request had changed data before the fault. `never`: the request only reads. */
export type Changed = 'nothing' | 'something' | 'never';

/**
 * Translates a database fault (by the codes of PostgreSQL's appendix A) into an error that the client may retry. If the
 * request had changed data, it is a 504 that asks the client to check first. Any other error becomes `internal_error`
 * without details.
 */
export function translateFault(error: unknown, changed: Changed = 'nothing'): AppError {
  for (const cause of causes(error)) {
    if (cause instanceof AppError) return cause;
    const fault = faultOf(cause);
    if (!fault) continue;
    if (changed === 'something')
      return new ChangeUnknown('The database failed after a part of the request was done.', error);
    const [code, message, retryAfter] = fault;
    const detail = changed === 'never' ? `${message}.` : `${message}; nothing was changed.`;
    return new Unavailable(code, detail, { cause: error, ...(retryAfter && { retryAfter }) });
  }
  return new AppError('internal_error', 500, 'Internal server error.', { cause: error });
}

/** Whether the cause is a channel, a receiver, the database or a timeout, where a stack trace would not help. */
function isOutside(error: unknown): boolean {
  for (const cause of causes(error)) {
    if (cause instanceof AppError) return cause.status !== 500;
    // Only errors of calls to a channel or to a webhook receiver have `why`.
    if ('why' in cause || (cause as Partial<Error>).name === 'TimeoutError' || faultOf(cause)) return true;
  }
  return false;
}

function faultOf(cause: object): [code: ErrorCode, message: string, retryAfter?: number] | undefined {
  const { code = '', message = '' } = cause as { code?: string; message?: string };
  if (NO_ROOM.test(String(code))) return ['database_full', 'The disk of the database is full', FULL_RETRY_SECONDS];
  if (isBusy(String(code), message)) return ['database_busy', 'The database is busy'];
  if (isUnreachable(String(code), message)) return ['database_unavailable', 'The database cannot be reached'];
  return undefined;
}

function isBusy(code: string, message: string): boolean {
  return BUSY.test(code) || busyText.test(message);
}

function isUnreachable(code: string, message: string): boolean {
  return ENDED.test(code) || unreachable.has(code) || unreachableText.test(message);
}

export interface ErrorDescription {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ErrorDescription;
}

/** The loggable parts of an error: no SQL statement with its values, and no stack of faults of other systems. */
export function describeError(error: unknown): ErrorDescription {
  return describe(error, !isOutside(error), 0);
}

function describe(error: unknown, withStack: boolean, depth: number): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error' };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    code: code === undefined ? undefined : String(code),
    message: withoutStatement(error.message),
    stack: withStack ? placesOf(error) : undefined,
    cause: error.cause === undefined || depth > 3 ? undefined : describe(error.cause, withStack, depth + 1),
  };
}

function placesOf({ stack }: Error): string | undefined {
  return stack
    ?.split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n');
}

/** Removes the SQL statement with its values, which MikroORM puts before the reason. */
function withoutStatement(message: string): string {
  const statement = /^\s*(?:insert|update|delete|select|with|begin|commit|create|alter)\b[^]* - ([^]*)$/i.exec(message);
  return (statement?.[1] ?? message).slice(0, 500);
}
