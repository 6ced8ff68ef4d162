/** One problem with one member of the input; `pointer` is a JSON pointer such as `/amount`. */
export interface FieldError {
  pointer: string;
  code: string;
  detail: string;
}

/** What a channel said when it refused, as far as a caller may see it. */
export interface ChannelRefusal {
  payWay: string;
  code: string;
  message: string;
}

/** The optional parts of a refusal. */
export interface AppErrorOptions {
  hint?: string;
  retryable?: boolean;
  /** Seconds until a retry makes sense; becomes `Retry-After`. */
  retryAfter?: number;
  errors?: FieldError[];
  channel?: ChannelRefusal;
  /** Extra members of the problem document, e.g. `{ orderNo }`. */
  extra?: Record<string, unknown>;
  /** Extra response headers. */
  headers?: Record<string, string>;
  cause?: unknown;
}

/** A refusal with a stable code (snake_case) and an HTTP status; everything a caller may be told is in it. */
export class AppError extends Error {
  readonly code: string;
  readonly status: number;
  readonly options: AppErrorOptions;

  constructor(code: string, status: number, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = status;
    this.options = options;
  }
}

/** The input is malformed or breaks a rule of its schema (400). */
export class InvalidRequest extends AppError {
  constructor(message: string, errors: FieldError[] = [], code = 'invalid_request') {
    super(code, 400, message, { errors });
  }
}

/** The credential is missing, malformed, expired or revoked (401); the edge adds `WWW-Authenticate`. */
export class Unauthenticated extends AppError {
  constructor(message = 'A valid credential is required.', code = 'unauthenticated', options: AppErrorOptions = {}) {
    super(code, 401, message, options);
  }
}

/** The caller is known and may not do this (403). */
export class Forbidden extends AppError {
  constructor(code = 'forbidden', message = 'This is not allowed.', options: AppErrorOptions = {}) {
    super(code, 403, message, options);
  }
}

/** Too many requests of a kind (429); `retryAfter` is in seconds. */
export class TooManyRequests extends AppError {
  constructor(message: string, retryAfter: number, code = 'rate_limited', options: AppErrorOptions = {}) {
    super(code, 429, message, { retryable: true, retryAfter, ...options });
  }
}

/** There is no such thing, or it is not the caller's: the answer is the same (404). */
export class NotFound extends AppError {
  constructor(what = 'resource') {
    super('not_found', 404, `There is no such ${what}.`);
  }
}

/** The thing is in a state that forbids this (409). */
export class Conflict extends AppError {
  constructor(code: string, message: string, options: AppErrorOptions = {}) {
    super(code, 409, message, options);
  }
}

/** Understood, but a rule of the service forbids it (422). */
export class NotAllowed extends AppError {
  constructor(code: string, message: string, options: AppErrorOptions = {}) {
    super(code, 422, message, options);
  }
}

/** The service cannot answer now; nothing was decided (503 with Retry-After). */
export class Unavailable extends AppError {
  constructor(code: string, message: string, options: AppErrorOptions = {}) {
    super(code, 503, message, { retryable: true, retryAfter: 1, ...options });
  }
}
