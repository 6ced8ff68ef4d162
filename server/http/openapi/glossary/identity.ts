import type { Glossary } from '../schemas.ts';

/** Descriptions of the fields of administrators, applications, tokens, limits, webhooks and the audit log. */
export const identityWords: Glossary = {
  Admin: { lastLoginAt: ['Time of the last login, RFC 3339 UTC; null = never.', null] },
  'Admin AdminChange AdminMe AdminSession NewAdmin': { role: ['`viewer`, `operator` or `admin`.', 'viewer'] },
  'Admin AdminChange AdminMe NewAdmin': {
    projects: ['Codes of the projects that the account can access; null = all.', null],
  },
  'Admin AdminChange ApiApp ApiAppWithSecret ChannelConfig Coin Product Project PublicChannel SecondFactor Toggle Webhook WebhookInput':
    { enabled: ['Whether it is enabled.', true] },
  'Admin AdminMe AdminSession LoginRequest NewAdmin query': { username: ['Name of the administrator.', 'alice'] },
  'Admin AdminMe AdminSessionEntry AuditLine BillDifference Certificate ChannelConfig.ofOtherAccounts CoinEntry CoinPosting ConsoleEvent Delivery DownloadedCertificates.certificates LiveExceptions.newest LiveReplica OrderException OrderExplanation.exceptions UsedCertificate path':
    { id: ['Unique ID.', '00000000-0000-4000-8000-000000000000'] },
  'Admin AdminSessionEntry ApiApp ApiAppWithSecret Approval Bill BillDifference Certificate Coin CoinEntry CoinPosting ConsoleEvent Delivery Event LiveExceptions.newest Order OrderEntry OrderException Product Project Refund RefundPlaced SkillCoinOrder SkillOrder SkillRefundPlaced User Webhook':
    { createdAt: ['When it was created, RFC 3339 UTC.', '2030-01-31T08:00:00.000Z'] },
  'Admin AgentPay ApiApp ApiAppWithSecret ChannelConfig Coin Dispute Product Project User Webhook': {
    updatedAt: ['When it was last changed, RFC 3339 UTC.', '2030-01-31T08:00:00.000Z'],
  },
  'AdminChange LoginRequest NewAdmin PasswordConfirmation SecondFactorRemoval': {
    password: ['Password of the account.', 'correct horse battery staple'],
  },
  'AdminMe AdminSession': { secondFactor: ['State of the second factor.'] },
  'AdminSession PasswordConfirmed': {
    expiresIn: ['Seconds until the token expires.', 28800],
    tokenType: ['Always `Bearer`.', 'Bearer'],
  },
  'AdminSession RevokeRequest': { token: ['The token.', 'eyJhbGciOi…'] },
  AdminSessionEntry: {
    current: ['Whether it is the session of this request.', true],
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
    allowedIps: ['IP addresses and ranges from which the application may call; empty = any.', ['192.0.2.0/24']],
    latePayment: ['Treatment of payments that arrive after the order ended.'],
    limits: ['Payment limits by currency, in major units; null = none.', null],
    rateLimit: ['Maximum number of requests per minute; null = the default, 0 = unlimited.', null],
    trusted: ['Whether the application may have the scopes `admin`, `config:*` and `cert:manage`.', false],
  },
  'ApiApp ApiAppWithSecret': {
    lastUsedAt: ['When it was last used, RFC 3339 UTC, to the minute; null = never.', null],
    secretHint: ['Prefix and last four characters of the secret.', 'pays_…a1b2'],
    secretCreatedAt: ['When the secret was created, RFC 3339 UTC.', '2030-01-31T08:00:00.000Z'],
  },
  'ApiApp ApiAppWithSecret AppMe RevokeRequest TokenRequest path': {
    client_id: ['Identifier of the application.', 'app_0a1b2c3d4e5f6g7h8i9j'],
  },
  'ApiApp ApiAppWithSecret Webhook': {
    previousSecretExpiresAt: [
      'When the previous secret expires, RFC 3339 UTC; null = no previous secret is valid.',
      null,
    ],
  },
  'ApiAppChange.latePayment NewApiApp.latePayment': {
    afterClose: ['Treatment of a payment that arrives after the order was closed: `accept` or `refund`.', 'refund'],
    afterExpiry: ['Treatment of a payment that arrives after the order expired: `accept` or `refund`.', 'refund'],
    afterFailed: ['Treatment of a payment that arrives after the order failed: `accept` or `refund`.', 'refund'],
  },
  'ApiAppWithSecret RevokeRequest TokenRequest': { client_secret: ['Secret of the application.', 'pays_…'] },
  AppLimitsChange: {
    ordersPerHour: ['Maximum number of orders per hour; null = unlimited.', 100],
    perDay: ['Maximum total of the orders of a day, in major units; null = unlimited.', 1000],
    perMonth: ['Maximum total of the orders of a month, in major units; null = unlimited.', null],
    perOrder: ['Maximum amount of one order, in major units; null = unlimited.', 50],
    refundPerDay: ['Maximum total of the refunds of a day, in major units; null = unlimited.', null],
  },
  'Approval ConsoleEvent CredentialChange Diagnosis.failingWebhooks Dispute LiveEvent LiveWebhook Order OrderEntry OrderException SkillFigures Webhook query':
    { clientId: ['`client_id` of the application.', 'app_0a1b2c3d4e5f6g7h8i9j'] },
  AuditLine: {
    actorKind: ['Kind of the actor: an administrator, an application or the service itself.', 'admin'],
    after: ['Values after the action; null = none.', null],
    before: ['Values before the action; null = none.', null],
    hash: [
      'Hash of the entry, computed over the entry and the hash of the previous entry.',
      'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
    ],
    previousHash: ['Hash of the previous entry.', 'a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447'],
    requestId: [
      'ID of the request, as in the header `X-Request-Id`; null = no request caused the entry.',
      '01JH0000000000000000000000',
    ],
  },
  'AuditLine CoinEntry CoinPosting query': { actor: ['Name of the actor.', 'alice'] },
  'AuditLine query': {
    action: ['Name of the action, `noun.verb`.', 'product.create'],
    target: ['Object of the action.', 'summer-sale'],
  },
  Delivery: {
    attempts: ['Number of attempts.', 1],
    lastStatus: ['HTTP status of the last attempt; null = no response.', 200],
    nextAttemptAt: ['Time of the next attempt, RFC 3339 UTC; null = none is planned.', null],
    tries: ['All attempts, the oldest first.'],
    state: ['State of the delivery.', 'delivered'],
  },
  'Delivery Diagnosis.failingWebhooks': { lastError: ['Error of the last failed attempt; null = none.', null] },
  'Delivery query': { eventId: ['ID of the event.', '0198c2f0-0000-7000-8000-000000000000'] },
  'Delivery.tries': {
    durationMs: ['Duration in milliseconds.', 35],
    error: ['Error of the attempt; null = none.', null],
    status: ['HTTP status of the response; null = no response.', 200],
  },
  Event: {
    id: ['ID of the event. It is the same in every delivery of the event.', '0198c2f0-0000-7000-8000-000000000000'],
  },
  LatePayment: {
    afterClose: ['Treatment of a payment that arrives after the order was closed: `accept` or `refund`.', 'refund'],
    afterExpiry: ['Treatment of a payment that arrives after the order expired: `accept` or `refund`.', 'refund'],
    afterFailed: ['Treatment of a payment that arrives after the order failed: `accept` or `refund`.', 'refund'],
  },
  Limit: {
    left: ['Remaining amount in major units; for `ordersPerHour`, the remaining number of orders.', 90],
    limit: ['Name of the limit.', 100],
    resetsAt: [
      'When the counter of the limit starts again at 0, RFC 3339 UTC; null for `perOrder`.',
      '2030-01-31T16:00:00.000Z',
    ],
  },
  LoggedOut: { loggedOut: ['Always true.', true] },
  OAuthError: {
    error: ['Code of RFC 6749 §5.2.', 'invalid_client'],
    error_description: ['Error text.', 'The client credentials are not valid.'],
  },
  PasswordChange: {
    currentPassword: ['The current password.', 'correct horse battery staple'],
    newPassword: ['The new password.', 'staple battery horse correct'],
  },
  PasswordChanged: {
    sessionsEnded: ['Always true: all sessions of the account have ended, including the current one.', 2],
  },
  PasswordConfirmed: {
    confirmedUntil: ['When the confirmation expires, RFC 3339 UTC.', '2030-01-31T08:05:00.000Z'],
  },
  RevokeRequest: {
    token_type_hint: ['Ignored: the service recognises the kind of the token without it.', 'access_token'],
  },
  SecondFactor: {
    enabledAt: ['When it was enabled, RFC 3339 UTC; null = it is not enabled.', null],
    recoveryCodesLeft: ['Number of unused recovery codes.', 10],
  },
  SecretRotation: { revokeTokens: ['Whether all tokens that were issued before the rotation are revoked.', false] },
  'SecretRotation WebhookSecretRotation': { graceSeconds: ['Seconds for which the previous secret stays valid.', 0] },
  TokenGrant: {
    access_token: ['The token, sent as `Authorization: Bearer`.', 'eyJhbGciOi…'],
    expires_in: ['Seconds until the token expires.', 3600],
    token_type: ['Always `Bearer`.', 'Bearer'],
  },
  'TokenGrant TokenRequest': { scope: ['Scopes, separated by blanks.', 'payment:write payment:read'] },
  TokenRequest: { grant_type: ['Must be `client_credentials`.', 'client_credentials'] },
  Webhook: {
    disabledReason: ['Reason why the service disabled the webhook; null = the service did not disable it.', null],
    secret: ['Signing secret; shown only once.', 'whsec_…'],
  },
  logout: { everywhere: ['Whether all sessions of the account end.', false] },
  path: { sessionId: ['ID of the session.', '00000000-0000-4000-8000-000000000000'] },
};
