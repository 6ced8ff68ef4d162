// Error codes in two groups: errors that any request can get, and errors of authentication and authorization.

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
      'The body or one of its files is larger than allowed: JSON 100 KB, a file 64 KB (10 MB with an answer to a dispute), a channel notification 256 KB.',
    remedy: 'Send a smaller body.',
  },
  change_unknown: {
    title: 'Change unknown',
    meaning:
      'The database failed during the commit, or after a part of the request was stored. The service does not know whether the whole change was made.',
    remedy:
      'Check whether the change was made. A request with an Idempotency-Key, a merchantOrderNo or a merchantRefundNo can be repeated unchanged.',
  },
  changed_meanwhile: {
    title: 'Concurrent change',
    meaning: 'Another request changed the resource at the same time, so this request was not applied.',
    remedy: 'Read the resource again and repeat the change.',
    retryable: true,
  },
  code_taken: {
    title: 'Code already in use',
    meaning: 'Another object of this kind (project, product or coin) already has this code.',
    remedy: 'Choose another code, or update the existing object.',
  },
  database_busy: {
    title: 'Database busy',
    meaning: 'A required row is locked or the database took too long; nothing was changed.',
    remedy: 'Wait for the time in the header Retry-After, then repeat the same request.',
    retryable: true,
  },
  database_full: {
    title: 'Database full',
    meaning: 'The disk of the database is full; nothing was changed. Reading still works.',
    remedy:
      'Wait for the time in the header Retry-After, then repeat the same request. The operator of the service must free disk space.',
    retryable: true,
  },
  database_unavailable: {
    title: 'Database unavailable',
    meaning: 'The database cannot be reached; nothing was changed.',
    remedy: 'Wait for the time in the header Retry-After, then repeat the same request.',
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
    remedy: 'Wait for the time in the header Retry-After, then repeat the same request.',
    retryable: true,
  },
  in_use: {
    title: 'In use',
    meaning: 'Other resources refer to this resource, so it cannot be deleted.',
    remedy: 'Disable the resource, or delete the other resources first.',
  },
  internal_error: {
    title: 'Internal server error',
    meaning: 'An unexpected error occurred. The server log has the details under the `requestId` of the response.',
    remedy: 'Query the order or refund before you retry.',
  },
  invalid_request: {
    title: 'Invalid request',
    meaning: 'At least one value in the path, query, headers or body is invalid. `errors` lists the invalid values.',
    remedy: 'Correct the values listed in `errors`.',
  },
  media_type_unsupported: {
    title: 'Media type not supported',
    meaning: 'The Content-Type, charset or Content-Encoding of the body is not supported.',
    remedy: 'Send JSON as application/json in UTF-8, uncompressed.',
  },
  method_not_allowed: {
    title: 'Method not allowed',
    meaning: 'The path does not support this method. The header Allow lists the supported methods.',
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
    remedy: 'Wait for the time in the header Retry-After, then repeat the request.',
    retryable: true,
  },
  request_timeout: {
    title: 'Request too slow',
    meaning:
      'The request was not received within 15 seconds, or too many slow requests came from the same address at the same time.',
    remedy: 'Send the whole request at once.',
    retryable: true,
  },
  shutting_down: {
    title: 'Shutting down',
    meaning: 'This replica is about to stop, but it still responds to requests.',
    remedy: 'Send new requests to another replica.',
    retryable: true,
  },
} as const;

export const accessCodes = {
  beyond_projects: {
    title: 'Beyond the projects of the account',
    meaning:
      'The administrator may access only some projects, but the request concerns the whole service, or a channel account that other projects share.',
    remedy: 'Ask an administrator with access to all projects.',
  },
  csrf_failed: {
    title: 'CSRF check failed',
    meaning:
      'The request used a session cookie, but the header X-CSRF-Token was missing or wrong, the request came from another site, or the cookie was sent more than once.',
    remedy:
      'Send the value of the cookie csrf_token (with https: __Host-csrf_token) in the header X-CSRF-Token, or use a Bearer token.',
  },
  insufficient_scope: {
    title: 'Insufficient scope',
    meaning: 'The token lacks the scope of this operation.',
    remedy:
      'The header WWW-Authenticate names the missing scope. Ask an administrator to grant it to the application, then get a new token.',
  },
  invalid_client: {
    title: 'Invalid client credentials',
    meaning: 'The application does not exist, is disabled, or its secret is wrong.',
    remedy: 'Check client_id and client_secret.',
  },
  invalid_scope: {
    title: 'Scope not granted',
    meaning: 'The request names a scope that the application does not have.',
    remedy: 'Omit `scope`, or ask an administrator to grant the scope.',
  },
  ip_not_allowed: {
    title: 'IP address not allowed',
    meaning: 'The IP address of the request is not on the allow list.',
    remedy: 'Call from an allowed address, or have the allow list changed.',
  },
  last_admin: {
    title: 'Last administrator',
    meaning:
      'At least one enabled administrator must have access to all projects. The last one cannot be disabled, demoted, limited to some projects or deleted.',
    remedy: 'First create or enable another administrator with access to all projects.',
  },
  limit_exceeded: {
    title: 'Limit of the application exceeded',
    meaning:
      'An administrator has set limits for the orders and refunds of the application, and this request exceeds a limit. `limit` names it: `perOrder`, `perDay`, `perMonth`, `refundPerDay`, `ordersPerHour`, or `currency` if the currency is not allowed. `allowed` is the value of the limit, and `left` is what remains, both in major units of `currency` (for `ordersPerHour`: orders). `resetsAt` is the time when the count starts again.',
    remedy: 'Request at most `left`, wait until `resetsAt`, or ask an administrator to change the limit.',
  },
  login_busy: {
    title: 'Too many concurrent logins',
    meaning: 'This replica is processing too many logins at the same time.',
    remedy: 'Wait for the time in the header Retry-After, then repeat the same request.',
    retryable: true,
  },
  login_failed: {
    title: 'Login failed',
    meaning:
      'The username, the password or the second-factor code is wrong, the code was used before, or the account is disabled.',
    remedy:
      'Check the username, the password and the second-factor code. After too many attempts, wait for the time in the header Retry-After.',
  },
  not_bootstrapped: {
    title: 'No administrator yet',
    meaning: 'No login is possible before the first administrator is created.',
    remedy:
      'Create the first administrator with payctl bootstrap admin. With the embedded database, stop the server first and start it afterwards.',
  },
  password_confirmation_required: {
    title: 'Password confirmation required',
    meaning:
      'This operation requires that the password was entered in this session within the last five minutes, and also a code if the account has a second factor. It applies to changing administrators, second factors, channel configurations, certificates or trusted applications, to issuing a credential of an application or giving the application more rights, to adding more coins than Approval.CoinsAbove, to approving a refund, dispute or exception, and to refunding more than Approval.RefundAbove or accepting a dispute or payment above this amount.',
    remedy:
      'Send the password, and a code if the account has a second factor, to POST /api/v1/me/confirm, or log in again. Then repeat the request with the token or cookies of that response.',
  },
  password_weak: {
    title: 'Password too weak',
    meaning:
      'The password is shorter than 12 characters, longer than 1024 bytes, or a common password. Or it consists mainly of the username or of words such as payment and admin, or of a sequence or repetition such as abcd or aaaa. Digits or signs in place of letters do not make such a password acceptable.',
    remedy: 'Choose a stronger password.',
  },
  password_wrong: {
    title: 'Wrong password',
    meaning: 'The current password is wrong.',
    remedy: 'Send the current password.',
  },
  role_insufficient: {
    title: 'Role insufficient',
    meaning:
      'The role of the account does not allow the operation. A viewer may only read. An operator may also move money: orders, refunds, exceptions, disputes and bills. Everything else needs the role admin.',
    remedy: 'Ask an administrator who has the role that `detail` names.',
  },
  second_factor_enrolment_required: {
    title: 'Second factor required',
    meaning: 'Every administrator of this service must have a second factor, and the account has none yet.',
    remedy: 'Enrol a second factor with POST /api/v1/me/second-factor/start, or with payctl second-factor enable.',
  },
  second_factor_not_enabled: {
    title: 'No second factor',
    meaning: 'The account has no second factor.',
    remedy: 'No action is needed if the account should have no second factor. Otherwise enrol one first.',
  },
  second_factor_not_started: {
    title: 'No enrolment to confirm',
    meaning:
      'No enrolment of a second factor is in progress for the account, or it was started more than ten minutes ago.',
    remedy: 'Start the enrolment again.',
  },
  second_factor_own: {
    title: 'Own second factor',
    meaning:
      'An administrator can reset only the second factor of another account. To remove your own second factor, you need one of its codes.',
    remedy: 'Use POST /api/v1/me/second-factor/remove, or payctl second-factor remove.',
  },
  second_factor_required: {
    title: 'Code required',
    meaning: 'The account has a second factor, and the login was sent without a code.',
    remedy: 'Send the same request with `code`: six digits of the authenticator app, or a recovery code.',
  },
  second_factor_unreadable: {
    title: 'Second factor unreadable',
    meaning:
      'The second factor cannot be decrypted, because the master key of this replica differs from the key that encrypted it.',
    remedy:
      'Check Security.MasterKey. Until it is corrected, use a recovery code, or remove the second factor with payctl admin reset-second-factor --offline.',
  },
  unauthenticated: {
    title: 'Unauthenticated',
    meaning: 'The credential is missing, malformed, expired or revoked.',
    remedy: 'Get a new token and send it as Authorization: Bearer.',
  },
  unauthorized_client: {
    title: 'Application not allowed from this address',
    meaning:
      'The client credentials are correct, but the application may not be used from the IP address of the request.',
    remedy: 'Call from an allowed address, or ask an administrator to change the allowed addresses of the application.',
  },
  unsupported_grant_type: {
    title: 'Unsupported grant type',
    meaning: 'The token endpoint supports only the grant type client_credentials.',
    remedy: 'Send grant_type=client_credentials.',
  },
  username_taken: {
    title: 'Username already in use',
    meaning: 'Another administrator has this username.',
    remedy: 'Choose another username.',
  },
} as const;
