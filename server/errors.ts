import type { ErrorCode } from './error-codes/error-codes.ts';

/** One problem with one field of the input; `pointer` is a JSON pointer such as `/amount`. */
export interface FieldError {
  pointer: string;
  code: string;
  detail: string;
}

/** The reason that a channel gave for a refusal, reduced to the fields that a caller may see. */
export interface ChannelRefusal {
  payWay: string;
  code: string;
  message: string;
  /** The request number with which the channel's support finds the request. */
  supportId?: string | undefined;
}

interface AppErrorOptions {
  hint?: string;
  retryable?: boolean;
  /** Seconds after which the caller should repeat the request (the header `Retry-After`). */
  retryAfter?: number;
  errors?: FieldError[];
  channel?: ChannelRefusal;
  /** Extra fields of the error response (problem document), e.g. `{ orderNo }`. */
  extra?: Record<string, unknown>;
  /** A problem type (URI) that another specification defines. Absent = the documentation page of the error code. */
  type?: string;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** SQLSTATE of a full disk. */
export const NO_ROOM = /^53100$/;

/**
 * SQLSTATEs of failures that a retry may fix: lock_not_available, query_canceled, serialization, deadlock, insufficient
 * resources, out of memory, too many connections, configuration_limit_exceeded.
 */
export const BUSY = /^(?:55P03|57014|40001|40P01|53000|53200|53300|53400)$/;

/** PostgreSQL has ended the connection, or refuses it while it starts or stops. 25P03 and 57P05: it was idle. */
export const ENDED = /^(?:08...|57P0[1-3]|57P05|25P03)$/;

abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  readonly status: number;
  readonly options: AppErrorOptions;

  constructor(code: Code, status: number, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = status;
    this.options = options;
  }
}

/** An error that is returned to the caller. It has an HTTP status and a code on which clients can rely. */
export class AppError extends CodedError<ErrorCode> {}

/** The database failed after a part of the request was written (504), so the caller must check before a retry. */
export class ChangeUnknown extends AppError {
  constructor(message: string, cause: unknown) {
    super('change_unknown', 504, message, {
      hint: 'Check whether the change was made before you repeat the request. A request with an Idempotency-Key, a merchantOrderNo or a merchantRefundNo can be repeated unchanged.',
      cause,
    });
  }
}

/** The connection broke at COMMIT, so the service does not know whether the change was made. */
export class CommitUnknown extends ChangeUnknown {
  constructor(cause: unknown) {
    super('The connection to the database was lost while the change was committed.', cause);
  }
}

/** Codes of errors that stop the start or an offline command of payctl; no HTTP response has them. */
export type LocalCode =
  | 'address_in_use'
  | 'address_unusable'
  | 'already_bootstrapped'
  | 'already_exists'
  | 'backup_not_embedded'
  | 'copy_is_live'
  | 'copy_unreadable'
  | 'database_denied'
  | 'database_in_use'
  | 'database_missing'
  | 'database_refused'
  | 'database_unavailable'
  | 'debug_beside_live'
  | 'engine_unsupported'
  | 'file_unusable'
  | 'folder_unusable'
  | 'keys_of_other_modes'
  | 'master_key_wrong'
  | 'not_kept'
  | 'schema_outdated'
  | 'schema_unreleased'
  | 'seals_left'
  | 'simulator_in_use'
  | 'staging_beside_live'
  | 'table_busy';

/** An error that stops the start of the service or an offline command. payctl derives its exit code from `status`. */
export class LocalError extends CodedError<LocalCode> {}

/** The input is malformed or breaks a rule of its schema (400). */
export class InvalidRequest extends AppError {
  constructor(message: string, errors: FieldError[] = [], code: ErrorCode = 'invalid_request') {
    super(code, 400, message, { errors });
  }
}

/** A missing, malformed, expired or revoked credential (401); the HTTP layer adds `WWW-Authenticate`. */
export class Unauthenticated extends AppError {
  constructor(
    message = 'A valid credential is required.',
    code: ErrorCode = 'unauthenticated',
    options: AppErrorOptions = {},
  ) {
    super(code, 401, message, options);
  }
}

/** The caller is authenticated but not permitted to do this (403). */
export class Forbidden extends AppError {
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(code, 403, message, options);
  }
}

/** Too many requests of a kind (429); `retryAfter` is in seconds. */
export class TooManyRequests extends AppError {
  constructor(message: string, retryAfter: number, code: ErrorCode = 'rate_limited', options: AppErrorOptions = {}) {
    super(code, 429, message, { retryable: true, retryAfter, ...options });
  }
}

/**
 * The object does not exist or belongs to another caller (404). Both get the same response, so that a caller cannot
 * find out which objects exist.
 */
export class NotFound extends AppError {
  constructor(what = 'resource', options: AppErrorOptions = {}) {
    super('not_found', 404, `The ${what} was not found.`, options);
  }
}

/** The state of the object forbids the operation (409). */
export class Conflict extends AppError {
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(code, 409, message, options);
  }
}

/** The request is valid, but a rule of the service forbids it (422). */
export class NotAllowed extends AppError {
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(code, 422, message, options);
  }
}

/** The service cannot process the request now, and the caller may retry it (503 with Retry-After). */
export class Unavailable extends AppError {
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(code, 503, message, { retryable: true, retryAfter: 1, ...options });
  }
}

/** Yields an error and its causes, at most five. The outermost error comes first. */
export function* causes(error: unknown): Generator<object> {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    yield current;
    if (current instanceof AggregateError)
      for (const inner of current.errors) if (typeof inner === 'object' && inner) yield inner;
    current = (current as { cause?: unknown }).cause;
  }
}
