import { accessCodes, requestCodes } from './request.ts';
import { catalogCodes, credentialsCodes, paymentsCodes, skillpayCodes } from './payments.ts';

export interface ErrorWords {
  /** The English title is the field `title` of every error response (problem document) with this code. */
  readonly title: string;
  readonly meaning: string;
  readonly remedy: string;
}

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

/** The English texts of the documentation pages `/docs/errors/{code}`; the Chinese texts are in `zh/`. */
export const errorCodes = {
  ...requestCodes,
  ...accessCodes,
  ...paymentsCodes,
  ...credentialsCodes,
  ...catalogCodes,
  ...skillpayCodes,
} as const satisfies Readonly<Record<string, PublishedError>>;

export type ErrorCode = keyof typeof errorCodes;

/** Whether a text is an error code. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}
