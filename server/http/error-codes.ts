/** What is published about one error code. */
export interface ErrorCode {
  /** Short name of the fault; the `title` of every problem document with this code. */
  title: string;
  meaning: string;
  remedy: string;
  retryable: boolean;
}

const code = (title: string, meaning: string, remedy: string, retryable = false): ErrorCode => ({
  title,
  meaning,
  remedy,
  retryable,
});

/** Every code that an answer may carry, one line each: title, meaning, what to do, whether the same request may be sent again. */
export const errorCodes: Record<string, ErrorCode> = {
  body_incomplete: code(
    'Request broke off',
    'The connection ended before the whole body was sent.',
    'Send the request again.',
    true,
  ),
  body_malformed: code(
    'Malformed body',
    'The body is not valid JSON, form or multipart data in UTF-8.',
    'Correct the body; `errors` is empty because nothing could be read.',
  ),
  body_too_deep: code('Body too deep', 'The JSON is nested deeper than 20 levels.', 'Send a flatter body.'),
  body_too_large: code(
    'Body too large',
    'The body or one of its files is larger than allowed (JSON 100 KB, files 64 KB).',
    'Send less.',
  ),
  csrf_failed: code(
    'Not from the console',
    'A cookie session was used without the matching X-CSRF-Token, or from another site.',
    'Send the value of the csrf_token cookie as X-CSRF-Token, or use a Bearer token.',
  ),
  database_busy: code(
    'Database busy',
    'The row that is needed is locked or the database took too long; nothing was changed.',
    'Wait for Retry-After and send the same request again.',
    true,
  ),
  database_unavailable: code(
    'Database unavailable',
    'The database cannot be reached; nothing was changed.',
    'Wait for Retry-After and send the same request again.',
    true,
  ),
  forbidden: code('Forbidden', 'The caller is known and may not do this.', 'Use a caller that may.'),
  insufficient_scope: code(
    'Insufficient scope',
    'The token lacks the scope of this operation.',
    'Ask an administrator for the scope named in WWW-Authenticate, then get a new token.',
  ),
  internal_error: code(
    'Internal error',
    'Something failed that should not; the log has the details under the requestId.',
    'Ask for the order or refund before you send the request again.',
  ),
  invalid_request: code(
    'Invalid request',
    'A member of the path, query, headers or body breaks its rule; `errors` says which.',
    'Correct what `errors` names.',
  ),
  ip_not_allowed: code(
    'Address not allowed',
    'The request comes from an address that is not on the list.',
    'Call from an allowed address or have the list changed.',
  ),
  media_type_unsupported: code(
    'Media type not supported',
    'The body has a Content-Type, charset or Content-Encoding that is not taken here.',
    'Send JSON as application/json in UTF-8, uncompressed.',
  ),
  method_not_allowed: code(
    'Method not allowed',
    'The path exists, but not for this method; `Allow` lists those that do.',
    'Use one of the methods in Allow.',
  ),
  not_found: code(
    'Not found',
    'There is no such thing, or it belongs to somebody else.',
    'Check the path and the identifier.',
  ),
  rate_limited: code('Too many requests', 'A limit is used up.', 'Wait for Retry-After.', true),
  role_insufficient: code(
    'Role insufficient',
    'A viewer may look but not change.',
    'Ask an administrator with the role admin.',
  ),
  shutting_down: code(
    'Shutting down',
    'This instance is about to stop.',
    'Send the request again; another instance answers.',
    true,
  ),
  unauthenticated: code(
    'Unauthenticated',
    'The credential is missing, malformed, expired or revoked.',
    'Get a new token and send it as Authorization: Bearer.',
  ),
};
