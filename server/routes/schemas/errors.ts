import type { ErrorCode } from '../../error-codes/error-codes.ts';

/**
 * The error codes of each operation beyond those that any operation may return (authentication, limits, malformed
 * input, missing objects, a key in use, database failures). All routes of one operation use the same list, so that a
 * client handles one set of codes.
 */
type Errors = readonly ErrorCode[];

const channelUse: Errors = ['channel_not_configured', 'configuration_broken'];
const channelCall: Errors = [
  'channel_refused',
  'channel_refusal_inconclusive',
  'channel_outcome_unknown',
  'channel_answer_unusable',
];
const purchase: Errors = ['not_on_sale', 'price_mismatch', 'out_of_stock'];
const paidWork: Errors = ['fulfilment_in_progress', 'refund_after_fulfilment', 'partial_refund_before_delivery'];
const giveBack: Errors = [
  'order_not_paid',
  'refund_exceeds_refundable',
  'refunds_blocked',
  'refund_not_retryable',
  'coins_spent',
  ...paidWork,
];

/** The error codes for placing a payment, by an application or the console. */
export const PAY_ERRORS: Errors = [
  'limit_exceeded',
  'amount_invalid',
  'channel_disabled',
  ...channelUse,
  ...channelCall,
  'merchant_number_used',
  'project_disabled',
  'user_blocked',
  ...purchase,
  'user_limit_reached',
  'profit_sharing_unsupported',
];

/**
 * The error codes for closing an order. `order_already_paid`: the payer paid before the close.
 * `channel_outcome_unknown` (504): the close was requested, but its result could not be stored.
 */
export const CLOSE_ERRORS: Errors = ['order_already_paid', 'channel_outcome_unknown'];

/**
 * The error codes for capturing an approved payment. `channel_outcome_unknown` (504): the result could not be stored.
 */
export const CAPTURE_ERRORS: Errors = ['channel_outcome_unknown'];

/**
 * The error codes for refunding an order, by an application or an administrator. `channel_outcome_unknown` (504): the
 * refund was accepted, but the result could not be stored.
 */
export const REFUND_ERRORS: Errors = [
  'limit_exceeded',
  'amount_invalid',
  ...giveBack,
  'refund_in_progress',
  'refund_limit_reached',
  'refund_window_over',
  'merchant_number_used',
  'channel_outcome_unknown',
];

/**
 * The error if the administrator has not just confirmed with password and second factor. The confirmation is needed if
 * the amount is above the setting `Approval.RefundAbove`. It is also needed to resolve the exception of an accepted
 * dispute, because further refunds may pay the payer twice.
 */
const confirmedAbove: Errors = ['password_confirmation_required'];

/** The error codes for refunding an order, by an administrator. */
export const REFUND_BY_ADMIN_ERRORS: Errors = [...REFUND_ERRORS, ...confirmedAbove];
/** The error codes for retrying a failed or abnormal refund. */
export const RETRY_REFUND_ERRORS: Errors = [...giveBack, ...channelUse, ...confirmedAbove];
/** The error codes for approving a refund, a dispute or an exception that waits for approval. */
export const APPROVE_ERRORS: Errors = [
  'approval_by_asker',
  'approval_not_independent',
  'approval_decided',
  'order_not_paid',
  'refund_exceeds_refundable',
  'dispute_closed',
  'exception_resolved',
  'refunds_blocked',
  'refund_in_progress',
  ...channelCall,
];
/** The error codes for rejecting a refund, a dispute or an exception that waits for approval. */
export const REJECT_ERRORS: Errors = ['approval_decided'];
/** The error codes for resolving an abnormal refund manually. */
export const RESOLVE_REFUND_ERRORS: Errors = [
  'refund_not_abnormal',
  'refund_not_released',
  'changed_meanwhile',
  ...channelUse,
];
/**
 * The error codes for answering or finishing a dispute. `channel_outcome_unknown` (504): the channel's result is
 * unknown.
 */
export const DISPUTE_ERRORS: Errors = ['dispute_closed', ...channelUse, ...channelCall];
/** The error codes for accepting a dispute, which pays its amount to the payer. */
export const ACCEPT_DISPUTE_ERRORS: Errors = [...DISPUTE_ERRORS, 'refund_in_progress', ...confirmedAbove];
/** The error codes for fetching a bill from a channel. */
export const FETCH_BILL_ERRORS: Errors = ['bills_not_configured'];
/** The error codes for importing an uploaded bill. A file that is not the expected bill is rejected as a whole. */
export const IMPORT_BILL_ERRORS: Errors = ['bills_not_configured', 'bill_malformed', 'bill_being_read'];
/** The error codes for comparing a bill with the orders again. */
export const RERUN_BILL_ERRORS: Errors = ['bill_not_read'];
/** The error codes for resolving an exception of an order. */
export const RESOLVE_EXCEPTION_ERRORS: Errors = ['exception_resolved', 'order_already_paid', ...confirmedAbove];
/** The error codes for listing orders by amount. */
export const FIND_ORDERS_ERRORS: Errors = ['amount_invalid'];

/**
 * The error codes for calling a paid resource (pay-per-call). The list includes the error codes of the Idempotency-Key.
 * Other routes get these codes automatically because they are marked as idempotent. This route is not marked, because
 * only the first call accepts the key.
 */
export const CALL_SKILL_ERRORS: Errors = [
  'payment_required',
  'payment_expired',
  'payment_id_used',
  'proof_unverified',
  'resource_required',
  'resource_mismatch',
  'proof_invalid',
  'order_closed',
  'order_refunded',
  'fulfilment_in_progress',
  'fulfilment_unavailable',
  'fulfilment_failed_refund_failed',
  'fulfilment_failed_refund_pending',
  'too_many_offers',
  'limit_exceeded',
  ...purchase,
  'project_disabled',
  'channel_disabled',
  ...channelUse,
  ...channelCall,
  'changed_meanwhile',
  'idempotency_conflict',
  'idempotency_in_progress',
];

/** The error codes for writing a channel configuration. */
export const WRITE_CONFIG_ERRORS: Errors = [
  'debug_refuses_live',
  'staging_refuses_live',
  'production_refuses_simulator',
  'configuration_broken',
];
/** The error codes for testing a channel configuration. */
export const TEST_CONFIG_ERRORS: Errors = channelUse;
/**
 * The error codes for registering the service for the notifications of a channel. The registration is stored in the
 * channel configuration, so the error codes for writing a configuration are included.
 */
export const REGISTER_NOTIFICATIONS_ERRORS: Errors = ['channel_not_configured', ...WRITE_CONFIG_ERRORS];
/** The error codes for writing the settings of WeChat agent pay. */
export const WRITE_AGENT_PAY_ERRORS: Errors = ['staging_refuses_live'];
/** The error codes for enabling or disabling a channel. */
export const TOGGLE_CONFIG_ERRORS: Errors = ['channel_not_configured'];
/** The error codes for uploading a certificate or key. */
export const UPLOAD_CERT_ERRORS: Errors = ['certificate_exists', 'configuration_broken'];
/**
 * The error codes for making a certificate the default of its kind. A channel configuration that names no certificate
 * of this kind uses the default.
 */
export const CHOOSE_CERT_ERRORS: Errors = [
  'certificate_not_trusted',
  'certificate_pair_mismatch',
  'certificate_unusable',
  'configuration_broken',
];
/** The error codes for trusting a verification key. */
export const TRUST_CERT_ERRORS: Errors = ['trust_not_needed', 'certificate_unusable', 'configuration_broken'];
/** The error codes for distrusting a verification key. */
export const DISTRUST_CERT_ERRORS: Errors = ['trust_not_needed'];
/** The error codes for deleting a certificate or key. */
export const DELETE_CERT_ERRORS: Errors = ['in_use', 'certificate_unusable', 'configuration_broken'];

/** The error codes for creating a project. */
export const CREATE_PROJECT_ERRORS: Errors = ['code_taken'];
/** The error codes for deleting a project. */
export const DELETE_PROJECT_ERRORS: Errors = ['in_use'];
/** The error codes for creating a product. */
export const CREATE_PRODUCT_ERRORS: Errors = ['amount_invalid', 'code_taken'];
/** The error codes for changing a product. */
export const CHANGE_PRODUCT_ERRORS: Errors = ['amount_invalid'];
/** The error codes for deleting a product. */
export const DELETE_PRODUCT_ERRORS: Errors = ['in_use'];
/** The error codes for creating a coin. */
export const CREATE_COIN_ERRORS: Errors = ['code_taken'];
/** The error codes for deleting a coin. */
export const DELETE_COIN_ERRORS: Errors = ['in_use'];
/** The error codes for adjusting the coin balance of a payer. */
export const ADJUST_COINS_ERRORS: Errors = ['coins_insufficient', 'password_confirmation_required'];
/** The error codes for debiting coins. */
export const DEBIT_COINS_ERRORS: Errors = ['coins_insufficient', 'coin_disabled', 'biz_no_used'];

/** The error codes for logging in to the console. */
export const LOGIN_ERRORS: Errors = [
  'login_failed',
  'second_factor_required',
  'second_factor_unreadable',
  'not_bootstrapped',
  'login_busy',
  'rate_limited',
  'csrf_failed',
];
/** The error codes for an administrator who confirms their own password and second factor. */
export const CONFIRM_ERRORS: Errors = ['login_busy', 'rate_limited', 'second_factor_unreadable'];
/** The error codes for an administrator who changes their own password. */
export const CHANGE_PASSWORD_ERRORS: Errors = ['changed_meanwhile', ...CONFIRM_ERRORS];
/** The error codes for completing the enrolment of a second factor with its first code. */
export const CONFIRM_SECOND_FACTOR_ERRORS: Errors = [
  'second_factor_not_started',
  'second_factor_unreadable',
  'rate_limited',
];
/** The error codes for replacing the recovery codes of a second factor. */
export const RENEW_RECOVERY_CODES_ERRORS: Errors = [
  'second_factor_not_enabled',
  'second_factor_unreadable',
  'rate_limited',
];
/**
 * The error codes for starting to enrol a second factor. To replace an existing second factor, one of its codes is
 * needed.
 */
export const START_SECOND_FACTOR_ERRORS: Errors = ['second_factor_unreadable', 'rate_limited'];
/** The error codes for an administrator who removes their own second factor. */
export const REMOVE_SECOND_FACTOR_ERRORS: Errors = ['second_factor_not_enabled', ...CONFIRM_ERRORS];
/** The error codes for resetting the second factor of another administrator. */
export const RESET_SECOND_FACTOR_ERRORS: Errors = ['second_factor_not_enabled', 'second_factor_own'];
/** The error codes for creating an administrator. */
export const CREATE_ADMIN_ERRORS: Errors = ['username_taken', 'login_busy'];
/** The error codes for changing an administrator. `login_busy`: the service is too busy to hash the new password. */
export const CHANGE_ADMIN_ERRORS: Errors = ['last_admin', 'login_busy'];
/** The error codes for disabling or deleting an administrator. */
export const END_ADMIN_ERRORS: Errors = ['last_admin'];
/**
 * The error codes for creating or changing an application, or rotating its secret. A confirmed password may be
 * required, because a trusted application can configure channels.
 */
export const WRITE_APP_ERRORS: Errors = ['password_confirmation_required'];
/** The error codes for replacing the secret of an application in two steps: create the new secret, then confirm it. */
export const ROTATE_APP_ERRORS: Errors = [...WRITE_APP_ERRORS, 'changed_meanwhile'];
/** The error codes for deleting an application. */
export const DELETE_APP_ERRORS: Errors = ['in_use'];
/** The error codes for getting an access token. RFC 6749 §5.2 defines these codes. */
export const GRANT_TOKEN_ERRORS: Errors = [
  'invalid_request',
  'invalid_client',
  'invalid_scope',
  'unsupported_grant_type',
  'unauthorized_client',
];
/** The error codes for revoking an access token. */
export const REVOKE_TOKEN_ERRORS: Errors = ['invalid_request', 'invalid_client', 'unauthorized_client'];

/** The error codes for setting the webhook of an application. */
export const SET_WEBHOOK_ERRORS: Errors = ['changed_meanwhile', 'password_confirmation_required'];
/** The error codes for rotating the secret of a webhook in two steps. */
export const ROTATE_WEBHOOK_ERRORS: Errors = SET_WEBHOOK_ERRORS;
/** The error codes for sending a test message, or redelivering an event. */
export const SEND_EVENT_ERRORS: Errors = ['webhook_not_configured'];
/** The error codes for checking the database's health. */
export const PING_DATABASE_ERRORS: Errors = ['database_unavailable', 'shutting_down'];
