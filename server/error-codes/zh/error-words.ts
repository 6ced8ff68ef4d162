import type { ErrorCode, ErrorWords } from '../error-codes.ts';
import { accessWords } from './access.ts';
import { catalogWords } from './catalog.ts';
import { credentialsWords } from './credentials.ts';
import { paymentsWords } from './payments.ts';
import { requestWords } from './request.ts';
import { skillpayWords } from './skillpay.ts';

/** The words of every code in Chinese; the compiler refuses a code without them. */
export const chineseErrorWords: Readonly<Record<ErrorCode, ErrorWords>> = {
  ...requestWords,
  ...accessWords,
  ...paymentsWords,
  ...credentialsWords,
  ...catalogWords,
  ...skillpayWords,
};
