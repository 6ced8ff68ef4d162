import type { WireRequest } from '../../payments/channel.ts';
import { multipartForm, type TypedFile } from '../evidence.ts';
import type { PaypalSettings } from './settings.ts';

const JSON_TYPE = 'application/json';

/** `GET /v1/customer/disputes/{id}`. */
export function getDisputeRequest(settings: PaypalSettings, id: string): WireRequest {
  return get(settings, `/v1/customer/disputes/${encodeURIComponent(id)}`);
}

/**
 * `GET /v1/customer/disputes`: those that changed after an instant, or those about one capture, 50 at a time, the next page by PayPal's
 * token. Source: PayPal's OpenAPI description of Disputes v1.
 */
export function listDisputesRequest(
  settings: PaypalSettings,
  which: { update_time_after: string } | { disputed_transaction_id: string },
  pageToken?: string,
): WireRequest {
  const query = new URLSearchParams({ ...which, page_size: '50' });
  if (pageToken !== undefined) query.set('next_page_token', pageToken);
  return get(settings, `/v1/customer/disputes?${query.toString()}`);
}

/**
 * `POST …/provide-evidence`: a note of 2000 characters at most, and files; PayPal takes a form with the JSON as its part
 * `input` and the files beside it. Source: PayPal's OpenAPI description of Disputes v1 and its guide.
 */
export function evidenceRequest(
  settings: PaypalSettings,
  id: string,
  notes: string,
  files: readonly TypedFile[] = [],
): WireRequest {
  return postForm(settings, id, 'provide-evidence', { evidences: [{ evidence_type: 'OTHER', notes }] }, files);
}

/** `POST …/send-message`: to the payer, while PayPal does not examine the dispute yet. */
export function messageRequest(settings: PaypalSettings, id: string, message: string): WireRequest {
  return postForm(settings, id, 'send-message', { message });
}

/** `POST …/accept-claim`: PayPal refunds the payer the disputed amount. */
export function acceptRequest(settings: PaypalSettings, id: string, note: string): WireRequest {
  const body = JSON.stringify({ note, accept_claim_type: 'REFUND' });
  return post(settings, id, 'accept-claim', { 'content-type': JSON_TYPE }, { body });
}

function postForm(
  settings: PaypalSettings,
  id: string,
  verb: string,
  input: object,
  files: readonly TypedFile[] = [],
): WireRequest {
  const { contentType, bytes } = multipartForm([
    { name: 'input', type: JSON_TYPE, content: JSON.stringify(input) },
    ...files.map(({ name, kind, bytes }, index) => ({
      name: `file${index + 1}`,
      type: kind,
      fileName: name,
      content: bytes,
    })),
  ]);
  return post(settings, id, verb, { 'content-type': contentType }, { bytes });
}

function get({ apiUrl }: PaypalSettings, path: string): WireRequest {
  return { method: 'GET', url: apiUrl + path, headers: { accept: JSON_TYPE }, about: { call: 'dispute' } };
}

function post(
  { apiUrl }: PaypalSettings,
  id: string,
  verb: string,
  headers: Record<string, string>,
  sent: Pick<WireRequest, 'body' | 'bytes'>,
): WireRequest {
  const url = `${apiUrl}/v1/customer/disputes/${encodeURIComponent(id)}/${verb}`;
  return {
    method: 'POST',
    url,
    headers: { accept: JSON_TYPE, ...headers },
    ...sent,
    about: { call: `dispute ${verb}` },
  };
}
