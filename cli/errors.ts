/** The exit codes. `payctl help exit-codes` describes each. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notLoggedIn: 4,
  forbidden: 5,
  conflict: 6,
  tryAgain: 7,
  cancelled: 130,
} as const;

interface FailureOptions {
  status?: number;
  hint?: string;
  requestId?: string;
  /** Seconds from the header Retry-After. */
  retryAfter?: number;
  fields?: readonly FieldProblem[];
  /** Additional properties of the JSON error, e.g. `{ orderNo }`. */
  extra?: Record<string, unknown>;
  cause?: unknown;
}

export interface FieldProblem {
  pointer: string;
  code: string;
  detail: string;
}

/** An error with an exit code and a message for the operator. */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: number;
  readonly options: FailureOptions;

  constructor(code: string, exitCode: number, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.exitCode = exitCode;
    this.options = options;
  }
}

/** An invalid command line (exit code 2). */
export class UsageError extends CliError {
  constructor(message: string, hint?: string, code = 'usage') {
    super(code, EXIT.usage, message, hint === undefined ? {} : { hint });
  }
}

/** A required flag is missing, and without a terminal payctl cannot prompt for the value (exit code 2). */
export class FlagRequired extends UsageError {
  readonly flag: string;

  constructor(flag: string, code = 'input_needed') {
    super(`${flag} is required when not running interactively.`, undefined, code);
    this.flag = flag;
  }
}

/** The operator declined a prompt or pressed Ctrl-C (exit code 130). */
export class Cancelled extends CliError {
  constructor(message = 'Nothing was changed.') {
    super('cancelled', EXIT.cancelled, message);
  }
}

/** Error code: the service created a secret, but payctl could not write the secret to the file or stdout. */
export const SECRET_LOST = 'secret_lost';

/** Returns undefined for an error after which polling may go on (no response, 408, 429 or 5xx); rethrows others. */
export function ignoreUnreachable(error: unknown): undefined {
  if (error instanceof CliError && error.exitCode === EXIT.tryAgain) return undefined;
  throw error;
}

/** The exit code for an HTTP status. Statuses to which a script should react in the same way have the same code. */
export function exitCodeFor(status: number): number {
  if (status === 404) return EXIT.notFound;
  if (status === 401) return EXIT.notLoggedIn;
  if (status === 403) return EXIT.forbidden;
  if (status === 409) return EXIT.conflict;
  if (status === 408 || status === 429 || status >= 500) return EXIT.tryAgain;
  return EXIT.failed;
}

const UNREACHABLE: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'DNS lookup failed',
  ETIMEDOUT: 'timed out',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'the network is unreachable',
  EPIPE: 'the connection was closed',
  CERT_HAS_EXPIRED: 'the server certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the server certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain is self-signed',
  UNABLE_TO_GET_ISSUER_CERT: 'the authority of the server certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the authority of the server certificate is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the server certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the server certificate does not match the host name',
};

/** Describes the innermost cause of a network error. Node.js reports only "fetch failed". */
export function networkCause(error: unknown): string {
  const inner = innermost(error);
  const code = codeOf(inner);
  if (code && UNREACHABLE[code]) return UNREACHABLE[code];
  return inner instanceof Error ? inner.message || (code ?? 'unknown error') : String(inner);
}

const UNTRUSTED: ReadonlySet<string | undefined> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** Whether TLS failed because the issuer of the server's certificate is not trusted. */
export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED.has(codeOf(innermost(error)));
}

/** The `code` of a system error; undefined if there is none. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function innermost(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors.at(-1));
  if (error instanceof Error && error.cause !== undefined) return innermost(error.cause);
  return error;
}
