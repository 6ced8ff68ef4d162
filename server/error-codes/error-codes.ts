import { accessCodes } from './access.ts';
import { catalogCodes } from './catalog.ts';
import { credentialsCodes } from './credentials.ts';
import { paymentsCodes } from './payments.ts';
import { requestCodes } from './request.ts';
import { skillpayCodes } from './skillpay.ts';

/** What is published about one error code. */
export interface PublishedError {
  /** Short name of the fault; the `title` of every problem document with this code. */
  readonly title: string;
  readonly meaning: string;
  /** What the caller can do. */
  readonly remedy: string;
  /** The same request may be sent again. */
  readonly retryable?: true;
}

/** Every code that an answer may carry, and what `/docs/errors/{code}` says about it. */
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
