import type { ErrorCode, ErrorWords } from '../error-codes.ts';
import { accessWords, requestWords } from './request.ts';
import { catalogWords, credentialsWords, paymentsWords, skillpayWords } from './payments.ts';

export const chineseErrorWords: Readonly<Record<ErrorCode, ErrorWords>> = {
  ...requestWords,
  ...accessWords,
  ...paymentsWords,
  ...credentialsWords,
  ...catalogWords,
  ...skillpayWords,
};
