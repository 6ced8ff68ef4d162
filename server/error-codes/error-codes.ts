import { accessCodes, requestCodes } from './request.ts';
import { catalogCodes, credentialsCodes, paymentsCodes, skillpayCodes } from './payments.ts';

/** The texts of an error code. */
export interface ErrorWords {
  /** Short name; the English one is the `title` of every problem document with this code. */
  readonly title: string;
  readonly meaning: string;
  /** What the caller can do. */
  readonly remedy: string;
}

/** The published data of an error code. */
export interface PublishedError extends ErrorWords {
  /** The same request may be sent again. */
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

/** Every code of a response, with the English texts of `/docs/errors/{code}`; the Chinese ones are in `zh/`. */
export const errorCodes = {
  ...requestCodes,
  ...accessCodes,
  ...paymentsCodes,
  ...credentialsCodes,
  ...catalogCodes,
  ...skillpayCodes,
} as const satisfies Readonly<Record<string, PublishedError>>;

/** A published error code; other codes do not compile. */
export type ErrorCode = keyof typeof errorCodes;

/** Whether a text is an error code. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}
