/** Refusals of any request: its bytes, its caller's limits, its Idempotency-Key, and faults of the service itself. */
export const requestCodes = {
  body_incomplete: {
    title: 'Incomplete body',
    meaning: 'The connection ended before the whole body was received.',
    remedy: 'Send the request again.',
    retryable: true,
  },
  body_malformed: {
    title: 'Malformed body',
    meaning: 'The body is not valid JSON, form or multipart data in UTF-8.',
    remedy: 'Correct the body.',
  },
  body_too_deep: {
    title: 'Body too deep',
    meaning: 'The JSON is nested deeper than 20 levels.',
    remedy: 'Send a flatter body.',
  },
  body_too_large: {
    title: 'Body too large',
    meaning:
      'The body or one of its files is larger than allowed: JSON 100 KB, a file 64 KB (10 MB with an answer to a dispute), a channel notice 256 KB.',
    remedy: 'Send less.',
  },
  change_unknown: {
    title: 'Change unknown',
    meaning:
      'The database failed at a commit, or after a part of the request was done; whether all of the change was made is not known.',
    remedy:
      'Look whether it was made. A request with an Idempotency-Key or a merchant number can be repeated as it was.',
  },
  changed_meanwhile: {
    title: 'Concurrent change',
    meaning: 'The resource was changed concurrently; this request was not applied.',
    remedy: 'Read it again and repeat the change.',
    retryable: true,
  },
  code_taken: {
    title: 'Code already in use',
    meaning: 'A resource of this kind with this code already exists.',
    remedy: 'Choose another code, or update the existing resource.',
  },
  database_busy: {
    title: 'Database busy',
    meaning: 'A required row is locked or the database took too long; nothing was changed.',
    remedy: 'Retry the same request after Retry-After.',
    retryable: true,
  },
  database_full: {
    title: 'Database full',
    meaning: 'The disk of the database is full; nothing was changed. Reading still works.',
    remedy: 'Retry the same request after Retry-After; whoever runs the service must make room.',
    retryable: true,
  },
  database_unavailable: {
    title: 'Database unavailable',
    meaning: 'The database cannot be reached; nothing was changed.',
    remedy: 'Retry the same request after Retry-After.',
    retryable: true,
  },
  idempotency_conflict: {
    title: 'Idempotency key reused',
    meaning: 'The Idempotency-Key was already used with another request body.',
    remedy: 'Use a new key for a new request.',
  },
  idempotency_in_progress: {
    title: 'Request in progress',
    meaning: 'A request with this Idempotency-Key is still being processed.',
    remedy: 'Retry the same request after Retry-After.',
    retryable: true,
  },
  in_use: {
    title: 'In use',
    meaning: 'Other resources refer to it, so it cannot be deleted.',
    remedy: 'Disable it, or delete those resources first.',
  },
  internal_error: {
    title: 'Internal server error',
    meaning: 'An unexpected error occurred; the server log has the details under the requestId.',
    remedy: 'Query the order or refund before you retry.',
  },
  invalid_request: {
    title: 'Invalid request',
    meaning: 'A value in the path, query, headers or body is invalid; `errors` lists them.',
    remedy: 'Correct the values listed in `errors`.',
  },
  media_type_unsupported: {
    title: 'Media type not supported',
    meaning: 'The Content-Type, charset or Content-Encoding of the body is not supported.',
    remedy: 'Send JSON as application/json in UTF-8, uncompressed.',
  },
  method_not_allowed: {
    title: 'Method not allowed',
    meaning: 'The path does not support this method; `Allow` lists the supported ones.',
    remedy: 'Use one of the methods in Allow.',
  },
  not_found: {
    title: 'Not found',
    meaning: 'The resource does not exist, or it belongs to another owner.',
    remedy: 'Check the path and the identifier.',
  },
  rate_limited: {
    title: 'Too many requests',
    meaning: 'A rate limit was exceeded.',
    remedy: 'Retry after Retry-After.',
    retryable: true,
  },
  request_timeout: {
    title: 'Request too slow',
    meaning: 'The request was not received within 15 seconds, or too many requests of one address were slow at once.',
    remedy: 'Send the whole request at once.',
    retryable: true,
  },
  shutting_down: {
    title: 'Shutting down',
    meaning: 'This replica is about to stop; it still answers requests.',
    remedy: 'Send new requests to another replica.',
    retryable: true,
  },
} as const;
