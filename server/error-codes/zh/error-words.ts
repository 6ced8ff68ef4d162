import type { ErrorCode, ErrorWords } from '../error-codes.ts';
import { accessWords, requestWords } from './request.ts';
import { catalogWords, credentialsWords, paymentsWords, skillpayWords } from './payments.ts';

/** The Chinese texts of all error codes. If a code is missing, TypeScript reports a compile error. */
export const chineseErrorWords: Readonly<Record<ErrorCode, ErrorWords>> = {
  ...requestWords,
  ...accessWords,
  ...paymentsWords,
  ...credentialsWords,
  ...catalogWords,
  ...skillpayWords,
};
