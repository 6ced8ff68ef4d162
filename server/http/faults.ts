import { AppError, BUSY, causes, NO_ROOM, Unavailable } from '../errors.ts';

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
  /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|the database system is (?:starting up|shutting down)|Cannot use a pool after calling end|PGlite is closed/i;
const busyText = /Query read timeout|canceling statement due to (?:lock|statement) timeout/i;

/** Room is made by people. */
const FULL_RETRY_SECONDS = 30;

/**
 * Turns a fault from outside (database down or full, lock or statement timeout, deadlock) into a refusal that may be retried;
 * anything that is not known becomes a bare `internal_error`. Source of the classes: PostgreSQL appendix A.
 */
export function translateFault(error: unknown): AppError {
  for (const cause of causes(error)) {
    if (cause instanceof AppError) return cause;
    const { code = '', message = '' } = cause as { code?: string; message?: string };
    if (NO_ROOM.test(String(code))) {
      return new Unavailable('database_full', 'The disk of the database is full; nothing was changed.', {
        cause: error,
        retryAfter: FULL_RETRY_SECONDS,
      });
    }
    if (isBusy(String(code), message)) {
      return new Unavailable('database_busy', 'The database is busy; nothing was changed.', { cause: error });
    }
    if (isUnreachable(String(code), message)) {
      return new Unavailable('database_unavailable', 'The database cannot be reached; nothing was changed.', {
        cause: error,
      });
    }
  }
  return new AppError('internal_error', 500, 'Internal server error.', { cause: error });
}

function isBusy(code: string, message: string): boolean {
  return BUSY.test(code) || busyText.test(message);
}

function isUnreachable(code: string, message: string): boolean {
  return /^(?:08...|57P0[1-3])$/.test(code) || unreachable.has(code) || unreachableText.test(message);
}
