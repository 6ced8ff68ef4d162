import { accessCodes, requestCodes } from './request.ts';
import { catalogCodes, credentialsCodes, paymentsCodes, skillpayCodes } from './payments.ts';

/** The texts that explain an error code to a developer, in one language. */
export interface ErrorWords {
  /**
   * A short name of the error. The English name is the field `title` of every error response (problem document) with
   * this code.
   */
  readonly title: string;
  readonly meaning: string;
  /** What the caller can do to solve the problem. */
  readonly remedy: string;
}

/** The data of an error code that its documentation page shows. */
export interface PublishedError extends ErrorWords {
  /** true: the caller may send the same request again, for example after some time. */
  readonly retryable?: true;
}

/** The error codes by group. The index page of the error codes shows the groups in this sequence. */
export const errorGroups = {
  request: requestCodes,
  access: accessCodes,
  payments: paymentsCodes,
  credentials: credentialsCodes,
  catalog: catalogCodes,
  skillpay: skillpayCodes,
} as const;

/**
 * All error codes that an HTTP response can contain, with the English texts of their documentation pages
 * `/docs/errors/{code}`. The Chinese texts are in `zh/`.
 */
export const errorCodes = {
  ...requestCodes,
  ...accessCodes,
  ...paymentsCodes,
  ...credentialsCodes,
  ...catalogCodes,
  ...skillpayCodes,
} as const satisfies Readonly<Record<string, PublishedError>>;

/** One of the documented error codes. TypeScript rejects any other code at compile time. */
export type ErrorCode = keyof typeof errorCodes;

/** Whether a text is an error code. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}
