import type { Glossary } from '../schemas.ts';

/**
 * Descriptions of the fields of administrators, applications, tokens, limits, webhooks and the audit log, by schema or
 * operation.
 */
export const identityWords: Glossary = {
  Admin: { lastLoginAt: ['When the account was last logged in, RFC 3339 UTC; null = never.', null] },
  'Admin AdminChange AdminMe AdminSession NewAdmin': { role: ['`viewer`, `operator` or `admin`.', 'viewer'] },
  'Admin AdminChange AdminMe NewAdmin': {
    projects: ['Codes of the only projects that the account reaches; null = all.', null],
  },
  'Admin AdminChange ApiApp ApiAppWithSecret ChannelConfig Coin Product Project PublicChannel SecondFactor Toggle Webhook WebhookInput':
    { enabled: ['Whether it is in use.', true] },
  'Admin AdminMe AdminSession LoginRequest NewAdmin query': { username: ['Name of the administrator.', 'alice'] },
  'Admin AdminMe AdminSessionEntry AuditLine BillDifference Certificate ChannelConfig.ofOtherAccounts CoinEntry CoinPosting ConsoleEvent Delivery DownloadedCertificates.certificates LiveExceptions.newest LiveReplica OrderException OrderExplanation.exceptions UsedCertificate path':
    { id: ['ID.', '00000000-0000-4000-8000-000000000000'] },
  'Admin AdminSessionEntry ApiApp ApiAppWithSecret Approval Bill BillDifference Certificate Coin CoinEntry CoinPosting ConsoleEvent Delivery Event LiveExceptions.newest Order OrderEntry OrderException Product Project Refund RefundPlaced SkillCoinOrder SkillOrder SkillRefundPlaced User Webhook':
    { createdAt: ['When it was created, RFC 3339 UTC.', '2030-01-31T08:00:00.000Z'] },
  'Admin AgentPay ApiApp ApiAppWithSecret ChannelConfig Coin Dispute Product Project User Webhook': {
    updatedAt: ['When it was last changed, RFC 3339 UTC.', '2030-01-31T08:00:00.000Z'],
  },
  'AdminChange LoginRequest NewAdmin PasswordConfirmation SecondFactorRemoval': {
    password: ['Password of the account.', 'correct horse battery staple'],
  },
  'AdminMe AdminSession': { secondFactor: ['How the session or account stands to the second factor.'] },
  'AdminSession PasswordConfirmed': {
    expiresIn: ['Seconds until the token expires.', 28800],
    tokenType: ['Always `Bearer`.', 'Bearer'],
  },
  'AdminSession RevokeRequest': { token: ['The token.', 'eyJhbGciOi…'] },
  AdminSessionEntry: {
    current: ['Whether it is the session of this very request.', true],
    userAgent: ['Browser or program of the session; null = not known.', null],
    lastUsedAt: ['When it was last used, RFC 3339 UTC, to the minute.', '2030-01-31T08:00:00.000Z'],
  },
  'AdminSessionEntry AuditLine': { ip: ['IP address of the caller; null = not known.', '192.0.2.10'] },
  'AgentPayChange.skills': {
    id: ['ID of the skill at SkillHub.'],
    version: ['Version of the skill at SkillHub.'],
  },
  'ApiApp ApiAppChange ApiAppWithSecret AppMe NewApiApp': {
    scopes: ['Scopes of the application.', ['payment:write', 'payment:read']],
  },
  'ApiApp ApiAppChange ApiAppWithSecret NewApiApp': {
    allowedIps: ['Addresses and ranges that the application may call from; empty = any.', ['192.0.2.0/24']],
    latePayment: ['What is done with money that arrives after an order ended.'],
    limits: ['Limits by currency, in major units; null = none.', null],
    rateLimit: ['Requests in a minute; null = the default, 0 = any number.', null],
    trusted: ['Whether the application may have the scopes `admin`, `config:*` and `cert:manage`.', false],
  },
  'ApiApp ApiAppWithSecret': {
    lastUsedAt: ['When it was last used, RFC 3339 UTC, to the minute; null = never.', null],
    secretHint: ['Prefix and last four characters of the secret.', 'pays_…a1b2'],
    secretCreatedAt: ['When the secret was made, RFC 3339 UTC.', '2030-01-31T08:00:00.000Z'],
  },
  'ApiApp ApiAppWithSecret AppMe RevokeRequest TokenRequest path': {
    client_id: ['Identifier of the application.', 'app_0a1b2c3d4e5f6g7h8i9j'],
  },
  'ApiApp ApiAppWithSecret Webhook': {
    previousSecretExpiresAt: ['Until when the former secret works, RFC 3339 UTC; null = it does not.', null],
  },
  'ApiAppChange.latePayment NewApiApp.latePayment': {
    afterClose: ['After the order was closed: `accept` or `refund`.', 'refund'],
    afterExpiry: ['After the order expired: `accept` or `refund`.', 'refund'],
    afterFailed: ['After the order failed: `accept` or `refund`.', 'refund'],
  },
  'ApiAppWithSecret RevokeRequest TokenRequest': { client_secret: ['Secret of the application.', 'pays_…'] },
  AppLimitsChange: {
    ordersPerHour: ['Most orders in an hour; null = any number.', 100],
    perDay: ['Most that may be placed in a day, in major units; null = any amount.', 1000],
    perMonth: ['Most that may be placed in a month, in major units; null = any amount.', null],
    perOrder: ['Most that one order may have, in major units; null = any amount.', 50],
    refundPerDay: ['Most that may be refunded in a day, in major units; null = any amount.', null],
  },
  'Approval ConsoleEvent CredentialChange Diagnosis.failingWebhooks Dispute LiveEvent LiveWebhook Order OrderEntry OrderException SkillFigures Webhook query':
    { clientId: ['`client_id` of the application.', 'app_0a1b2c3d4e5f6g7h8i9j'] },
  AuditLine: {
    actorKind: ['What did it: an administrator, an application or the service.', 'admin'],
    after: ['What it was after; null = nothing.', null],
    before: ['What it was before; null = nothing.', null],
    hash: [
      'Hash of the entry, chained to the one before.',
      'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
    ],
    previousHash: ['Hash of the entry before.', 'a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447'],
    requestId: [
      'ID of the request, as in the header `X-Request-Id`; null = it was no request.',
      '01JH0000000000000000000000',
    ],
  },
  'AuditLine CoinEntry CoinPosting query': { actor: ['Who did it.', 'alice'] },
  'AuditLine query': {
    action: ['What was done, `noun.verb`.', 'product.create'],
    target: ['What it was done to.', 'summer-sale'],
  },
  Delivery: {
    attempts: ['How often the delivery was tried.', 1],
    lastStatus: ['HTTP status of the last try; null = no answer.', 200],
    nextAttemptAt: ['When it is tried next, RFC 3339 UTC; null = it is not.', null],
    tries: ['Every try, the oldest first.'],
    state: ['Where the delivery stands.', 'delivered'],
  },
  'Delivery Diagnosis.failingWebhooks': { lastError: ['What went wrong last; null = nothing.', null] },
  'Delivery query': { eventId: ['ID of the event.', '0198c2f0-0000-7000-8000-000000000000'] },
  'Delivery.tries': {
    durationMs: ['How long it took, in milliseconds.', 35],
    error: ['What went wrong; null = nothing.', null],
    status: ['HTTP status of the answer; null = no answer.', 200],
  },
  Event: { id: ['ID of the event; the same in every delivery.', '0198c2f0-0000-7000-8000-000000000000'] },
  LatePayment: {
    afterClose: [
      'What is done with money that comes after the order was closed: `accept` it or `refund` it.',
      'refund',
    ],
    afterExpiry: ['What is done with money that comes after the order expired: `accept` it or `refund` it.', 'refund'],
    afterFailed: ['What is done with money that comes after the order failed: `accept` it or `refund` it.', 'refund'],
  },
  Limit: {
    left: ['What is left of the limit.', 90],
    limit: ['The limit.', 100],
    resetsAt: ['When the limit begins anew, RFC 3339 UTC.', '2030-01-31T16:00:00.000Z'],
  },
  LoggedOut: { loggedOut: ['Always true.', true] },
  OAuthError: {
    error: ['Code of RFC 6749 §5.2.', 'invalid_client'],
    error_description: ['The error in words.', 'The client credentials are not valid.'],
  },
  PasswordChange: {
    currentPassword: ['The password that counts now.', 'correct horse battery staple'],
    newPassword: ['The password that counts from now on.', 'staple battery horse correct'],
  },
  PasswordChanged: { sessionsEnded: ['How many other sessions ended.', 2] },
  PasswordConfirmed: {
    confirmedUntil: ['Until when the confirmation counts, RFC 3339 UTC.', '2030-01-31T08:05:00.000Z'],
  },
  RevokeRequest: { token_type_hint: ['Ignored: the kind of a token is known from itself.', 'access_token'] },
  SecondFactor: {
    enabledAt: ['Since when it is in use, RFC 3339 UTC; null = it is not.', null],
    recoveryCodesLeft: ['How many recovery codes are unused.', 10],
  },
  SecretRotation: { revokeTokens: ['Whether tokens that were issued before are revoked.', false] },
  'SecretRotation WebhookSecretRotation': { graceSeconds: ['Seconds for which the former secret still works.', 0] },
  TokenGrant: {
    access_token: ['The token, sent as `Authorization: Bearer`.', 'eyJhbGciOi…'],
    expires_in: ['Seconds until the token expires.', 3600],
    token_type: ['Always `Bearer`.', 'Bearer'],
  },
  'TokenGrant TokenRequest': { scope: ['Scopes, separated by blanks.', 'payment:write payment:read'] },
  TokenRequest: { grant_type: ['Must be `client_credentials`.', 'client_credentials'] },
  Webhook: {
    disabledReason: ['Why the service switched it off; null = it did not.', null],
    secret: ['Signing secret; shown only once.', 'whsec_…'],
  },
  logout: { everywhere: ['Whether all sessions of the account end.', false] },
  path: { sessionId: ['ID of the session.', '00000000-0000-4000-8000-000000000000'] },
};
