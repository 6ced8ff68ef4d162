import type { ErrorCode } from '../../error-codes/error-codes.ts';

/**
 * The error codes of each operation beyond those that any operation may return (authentication, limits, malformed
 * input, missing objects, an Idempotency-Key in use, database failures). All routes of one operation use the same list,
 * so that a client handles one set of codes.
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

/** `channel_outcome_unknown` (504): the close was requested, but its result could not be stored. */
export const CLOSE_ERRORS: Errors = ['order_already_paid', 'channel_outcome_unknown'];

/** `channel_outcome_unknown` (504): the result could not be stored. */
export const CAPTURE_ERRORS: Errors = ['channel_outcome_unknown'];

/** `channel_outcome_unknown` (504): the refund was accepted, but the result could not be stored. */
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

export const REFUND_BY_ADMIN_ERRORS: Errors = [...REFUND_ERRORS, ...confirmedAbove];
export const RETRY_REFUND_ERRORS: Errors = [...giveBack, ...channelUse, ...confirmedAbove];
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
export const REJECT_ERRORS: Errors = ['approval_decided'];
export const RESOLVE_REFUND_ERRORS: Errors = [
  'refund_not_abnormal',
  'refund_not_released',
  'changed_meanwhile',
  ...channelUse,
];
export const DISPUTE_ERRORS: Errors = ['dispute_closed', ...channelUse, ...channelCall];
export const ACCEPT_DISPUTE_ERRORS: Errors = [...DISPUTE_ERRORS, 'refund_in_progress', ...confirmedAbove];
export const FETCH_BILL_ERRORS: Errors = ['bills_not_configured'];
/** A file that is not the expected bill is rejected as a whole. */
export const IMPORT_BILL_ERRORS: Errors = ['bills_not_configured', 'bill_malformed', 'bill_being_read'];
export const RERUN_BILL_ERRORS: Errors = ['bill_not_read'];
export const RESOLVE_EXCEPTION_ERRORS: Errors = ['exception_resolved', 'order_already_paid', ...confirmedAbove];
export const FIND_ORDERS_ERRORS: Errors = ['amount_invalid'];

/**
 * The list includes the error codes of the Idempotency-Key, which routes get automatically if they are marked as
 * idempotent. This route is not marked, because only the first call accepts the key.
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

export const WRITE_CONFIG_ERRORS: Errors = [
  'debug_refuses_live',
  'staging_refuses_live',
  'production_refuses_simulator',
  'configuration_broken',
];
export const TEST_CONFIG_ERRORS: Errors = channelUse;
/** The registration is stored in the channel configuration, so the errors of writing it are included. */
export const REGISTER_NOTIFICATIONS_ERRORS: Errors = ['channel_not_configured', ...WRITE_CONFIG_ERRORS];
export const WRITE_AGENT_PAY_ERRORS: Errors = ['staging_refuses_live'];
export const TOGGLE_CONFIG_ERRORS: Errors = ['channel_not_configured'];
export const UPLOAD_CERT_ERRORS: Errors = ['certificate_exists', 'configuration_broken'];
export const CHOOSE_CERT_ERRORS: Errors = [
  'certificate_not_trusted',
  'certificate_pair_mismatch',
  'certificate_unusable',
  'configuration_broken',
];
export const TRUST_CERT_ERRORS: Errors = ['trust_not_needed', 'certificate_unusable', 'configuration_broken'];
export const DISTRUST_CERT_ERRORS: Errors = ['trust_not_needed'];
export const DELETE_CERT_ERRORS: Errors = ['in_use', 'certificate_unusable', 'configuration_broken'];

export const CREATE_PROJECT_ERRORS: Errors = ['code_taken'];
export const DELETE_PROJECT_ERRORS: Errors = ['in_use'];
export const CREATE_PRODUCT_ERRORS: Errors = ['amount_invalid', 'code_taken'];
export const CHANGE_PRODUCT_ERRORS: Errors = ['amount_invalid'];
export const DELETE_PRODUCT_ERRORS: Errors = ['in_use'];
export const CREATE_COIN_ERRORS: Errors = ['code_taken'];
export const DELETE_COIN_ERRORS: Errors = ['in_use'];
export const ADJUST_COINS_ERRORS: Errors = ['coins_insufficient', 'password_confirmation_required'];
export const DEBIT_COINS_ERRORS: Errors = ['coins_insufficient', 'coin_disabled', 'biz_no_used'];

export const LOGIN_ERRORS: Errors = [
  'login_failed',
  'second_factor_required',
  'second_factor_unreadable',
  'not_bootstrapped',
  'login_busy',
  'rate_limited',
  'csrf_failed',
];
export const CONFIRM_ERRORS: Errors = ['login_busy', 'rate_limited', 'second_factor_unreadable'];
export const CHANGE_PASSWORD_ERRORS: Errors = ['changed_meanwhile', ...CONFIRM_ERRORS];
export const CONFIRM_SECOND_FACTOR_ERRORS: Errors = [
  'second_factor_not_started',
  'second_factor_unreadable',
  'rate_limited',
];
export const RENEW_RECOVERY_CODES_ERRORS: Errors = [
  'second_factor_not_enabled',
  'second_factor_unreadable',
  'rate_limited',
];
/** To replace an existing second factor, one of its codes is needed. */
export const START_SECOND_FACTOR_ERRORS: Errors = ['second_factor_unreadable', 'rate_limited'];
export const REMOVE_SECOND_FACTOR_ERRORS: Errors = ['second_factor_not_enabled', ...CONFIRM_ERRORS];
export const RESET_SECOND_FACTOR_ERRORS: Errors = ['second_factor_not_enabled', 'second_factor_own'];
export const CREATE_ADMIN_ERRORS: Errors = ['username_taken', 'login_busy'];
/** `login_busy`: the service is too busy to hash the new password. */
export const CHANGE_ADMIN_ERRORS: Errors = ['last_admin', 'login_busy'];
export const END_ADMIN_ERRORS: Errors = ['last_admin'];
/** A confirmed password may be required, because a trusted application can configure channels. */
export const WRITE_APP_ERRORS: Errors = ['password_confirmation_required'];
export const ROTATE_APP_ERRORS: Errors = [...WRITE_APP_ERRORS, 'changed_meanwhile'];
export const DELETE_APP_ERRORS: Errors = ['in_use'];
/** RFC 6749 §5.2 defines these error codes. */
export const GRANT_TOKEN_ERRORS: Errors = [
  'invalid_request',
  'invalid_client',
  'invalid_scope',
  'unsupported_grant_type',
  'unauthorized_client',
];
export const REVOKE_TOKEN_ERRORS: Errors = ['invalid_request', 'invalid_client', 'unauthorized_client'];

export const SET_WEBHOOK_ERRORS: Errors = ['changed_meanwhile', 'password_confirmation_required'];
export const ROTATE_WEBHOOK_ERRORS: Errors = SET_WEBHOOK_ERRORS;
/** An application has no password to confirm. */
export const CHANGE_OWN_WEBHOOK_ERRORS: Errors = ['changed_meanwhile'];
export const SEND_EVENT_ERRORS: Errors = ['webhook_not_configured'];
export const PING_DATABASE_ERRORS: Errors = ['database_unavailable', 'shutting_down'];
