import { errorCodes, type ErrorCode } from '../error-codes/error-codes.ts';
import type { AdminAuth, Auth, Contract } from './contract.ts';
import type { Json } from './openapi-schemas.ts';

/** Codes that any request may meet: its credentials, its form, its limits, and faults of the service. */
export const GENERAL_CODES = [
  'body_incomplete',
  'body_malformed',
  'body_too_deep',
  'body_too_large',
  'change_unknown',
  'csrf_failed',
  'database_busy',
  'database_full',
  'database_unavailable',
  'insufficient_scope',
  'internal_error',
  'invalid_request',
  'ip_not_allowed',
  'media_type_unsupported',
  'method_not_allowed',
  'not_found',
  'rate_limited',
  'request_timeout',
  'role_insufficient',
  'second_factor_enrolment_required',
  'unauthenticated',
] as const satisfies readonly ErrorCode[];

/** What an `Idempotency-Key` may meet. */
const KEY_CODES: readonly ErrorCode[] = ['idempotency_conflict', 'idempotency_in_progress'];

/** Codes that an operation may answer with beyond the general ones. */
export function codesOf({ auth, errors = [], idempotent }: Contract): readonly ErrorCode[] {
  const ofKey = idempotent ? KEY_CODES : [];
  if (!isForAdmins(auth)) return [...errors, ...ofKey];
  const asked: ErrorCode[] = auth.confirmed === undefined ? [] : ['password_confirmation_required'];
  const beyond: ErrorCode[] = auth.reach === 'service' || auth.reach === 'account' ? ['beyond_projects'] : [];
  return [...new Set([...errors, ...ofKey, ...asked, ...beyond])];
}

/** Whether an operation is for administrators. */
export function isForAdmins(auth: Auth): auth is AdminAuth {
  return typeof auth === 'object' && 'admin' in auth;
}

/** Every code, and the general ones, as schemas. */
export const codeSchemas: Readonly<Record<string, Json>> = {
  ErrorCode: {
    type: 'string',
    description: 'Every code that an answer may carry.',
    enum: Object.keys(errorCodes).toSorted(),
  },
  GeneralErrorCode: { type: 'string', description: 'Codes that any request may meet.', enum: [...GENERAL_CODES] },
};

/** The problem of one operation: with the general codes and its own. */
export function problemOf(codes: readonly ErrorCode[]): Json {
  const general = { $ref: '#/components/schemas/GeneralErrorCode' };
  const code = codes.length === 0 ? general : { anyOf: [general, { type: 'string', enum: [...codes].toSorted() }] };
  return {
    description: 'What this operation may refuse.',
    allOf: [
      { $ref: '#/components/schemas/Problem' },
      {
        type: 'object',
        required: ['code'],
        properties: { code: { ...code, description: 'Code of the fault; it never changes its meaning.' } },
      },
    ],
  };
}
