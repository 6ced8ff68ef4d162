/** What the shell is told; the table is `payctl help exit-codes`. */
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

/** The optional parts of a failure. */
interface FailureOptions {
  /** HTTP status, when a server answered. */
  status?: number;
  /** One next command, or one thing to do. */
  hint?: string;
  requestId?: string;
  /** Seconds that the server asked to wait before the next try. */
  retryAfter?: number;
  /** Problems with single fields. */
  fields?: readonly FieldProblem[];
  /** Extra members for the JSON error, e.g. `{ orderNo }`. */
  extra?: Record<string, unknown>;
  cause?: unknown;
}

/** One field that the server did not take. */
export interface FieldProblem {
  pointer: string;
  code: string;
  detail: string;
}

/** A failure that is told to the user, with the exit code for the shell. */
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

/** The command line cannot be carried out as it is (2). */
export class UsageError extends CliError {
  constructor(message: string, hint?: string, code = 'usage') {
    super(code, EXIT.usage, message, hint === undefined ? {} : { hint });
  }
}

/** A flag is missing that only a prompt could make up for, and nobody can be asked (2). */
export class FlagRequired extends UsageError {
  constructor(flag: string, code = 'input_needed') {
    super(`${flag} is required when not running interactively.`, undefined, code);
  }
}

/** The user said no, or pressed Ctrl-C (130). */
export class Cancelled extends CliError {
  constructor(message = 'Nothing was changed.') {
    super('cancelled', EXIT.cancelled, message);
  }
}

/** The code of a secret that was made, could not be written anywhere, and is shown only once. */
export const SECRET_LOST = 'secret_lost';

/** For what is asked again and again: no answer while the server cannot be reached; other failures are thrown. */
export function onlyUnreachable(error: unknown): undefined {
  if (error instanceof CliError && error.exitCode === EXIT.tryAgain) return undefined;
  throw error;
}

/** The exit code for an HTTP status: what a script should do next, not what went wrong. */
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

/** The cause at the bottom of a network error, in words: "fetch failed" never reaches the user. */
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

/** Whether a connection failed because no known authority signed the server's certificate. */
export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED.has(codeOf(innermost(error)));
}

/** The `code` of a system error, if it has one. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function innermost(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors.at(-1));
  if (error instanceof Error && error.cause !== undefined) return innermost(error.cause);
  return error;
}
