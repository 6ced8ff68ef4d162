/** An error answer of the PayPal REST API. */
export class PaypalRefusal extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;
  constructor(status: number, body: Record<string, unknown>) {
    super(JSON.stringify(body));
    this.name = 'PaypalRefusal';
    this.status = status;
    this.body = body;
  }
}

/** Which error a refusal of this status is, as PayPal names it. */
const NAMES: Readonly<Record<number, readonly [name: string, message: string]>> = {
  400: ['INVALID_REQUEST', 'Request is not well-formed, syntactically incorrect, or violates schema.'],
  401: [
    'AUTHENTICATION_FAILURE',
    'Authentication failed due to invalid authentication credentials or a missing Authorization header.',
  ],
  403: ['NOT_AUTHORIZED', 'Authorization failed due to insufficient permissions.'],
  404: ['RESOURCE_NOT_FOUND', 'The specified resource does not exist.'],
  405: ['METHOD_NOT_SUPPORTED', 'The server does not implement the requested HTTP method.'],
  409: ['RESOURCE_CONFLICT', 'The server has detected a conflict while processing this request.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The server does not support the request payload media type.'],
  422: [
    'UNPROCESSABLE_ENTITY',
    'The requested action could not be performed, semantically incorrect, or failed business validation.',
  ],
};

/** A refusal with one issue, with the name and message that belong to its status. */
export function refuse(
  status: number,
  issue: string,
  description: string,
  field?: string,
  links: readonly object[] = [],
): PaypalRefusal {
  const [name, message] = NAMES[status] ?? ['INTERNAL_SERVER_ERROR', 'An internal server error has occurred.'];
  const detail = { ...(field === undefined ? {} : { field }), issue, description };
  return new PaypalRefusal(status, { name, message, debug_id: debugId(), details: [detail], links });
}

/** Issues that PayPal answers with 403 NOT_AUTHORIZED (Orders v2, responses of the calls). */
const NOT_AUTHORIZED: ReadonlySet<string> = new Set([
  'PERMISSION_DENIED',
  'PAYEE_ACCOUNT_NOT_SUPPORTED',
  'PAYEE_ACCOUNT_NOT_VERIFIED',
  'PAYEE_NOT_CONSENTED',
]);

/** The refusal that a fault asks for by its issue. */
export function refuseWith(issue = 'TRANSACTION_REFUSED', links: readonly object[] = []): PaypalRefusal {
  if (issue === 'INVALID_RESOURCE_ID') return notFound();
  return refuse(
    NOT_AUTHORIZED.has(issue) ? 403 : 422,
    issue,
    `The simulator was told to refuse with ${issue}.`,
    undefined,
    links,
  );
}

/** There is no such resource, or it is another account's. */
export function notFound(): PaypalRefusal {
  return refuse(
    404,
    'INVALID_RESOURCE_ID',
    'Specified resource ID does not exist. Please check the resource ID and try again.',
  );
}

/** The token call's own form of refusal (RFC 6749). */
export function refuseToken(status: number, error: string, description: string): PaypalRefusal {
  return new PaypalRefusal(status, { error, error_description: description });
}

function debugId(): string {
  return Math.floor(Math.random() * 2 ** 48)
    .toString(16)
    .padStart(13, 'f');
}
