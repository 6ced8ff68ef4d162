import { accessCodes, requestCodes } from './request.ts';
import { catalogCodes, credentialsCodes, paymentsCodes, skillpayCodes } from './payments.ts';

/** What people read about one error code. */
export interface ErrorWords {
  /** Short name of the fault; in English the `title` of every problem document with this code. */
  readonly title: string;
  readonly meaning: string;
  /** What the caller can do. */
  readonly remedy: string;
}

/** What is published about one error code. */
export interface PublishedError extends ErrorWords {
  /** The same request may be sent again. */
  readonly retryable?: true;
}

/** The codes by what they are about, in the order of the index. */
export const errorGroups = {
  request: requestCodes,
  access: accessCodes,
  payments: paymentsCodes,
  credentials: credentialsCodes,
  catalog: catalogCodes,
  skillpay: skillpayCodes,
} as const;

/** Every code that an answer may carry, and what `/docs/errors/{code}` says about it; its Chinese words are in `zh/`. */
export const errorCodes = {
  ...requestCodes,
  ...accessCodes,
  ...paymentsCodes,
  ...credentialsCodes,
  ...catalogCodes,
  ...skillpayCodes,
} as const satisfies Readonly<Record<string, PublishedError>>;

/** A code that has its words above; the compiler refuses any other. */
export type ErrorCode = keyof typeof errorCodes;

/** Whether a text from outside is one of the codes. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}
