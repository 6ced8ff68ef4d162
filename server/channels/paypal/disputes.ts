import type {
  DisputeDeed,
  DisputeDesk,
  DisputeOutcome,
  DisputePage,
  EvidenceFile,
  WireRequest,
} from '../../payments/channel.ts';
import { typedFiles } from '../evidence.ts';
import { type Reply, type Unknown, unknown } from './answers.ts';
import type { Call } from './call.ts';
import {
  acceptRequest,
  evidenceRequest,
  getDisputeRequest,
  listDisputesRequest,
  messageRequest,
} from './dispute-form.ts';
import { disputeOf, isPayee, offers, type PaypalDispute, readDispute, readDisputePage } from './dispute-words.ts';
import type { PaypalSettings } from './settings.ts';

/** Less than 10 MB a file, 50 MB with a call: developer.paypal.com, "Supported file types and sizes" of disputes. */
const DOCUMENTS = {
  channel: 'PayPal',
  kinds: ['image/jpeg', 'image/gif', 'image/png', 'application/pdf'],
  mostFiles: 100,
  mostBytes: 10 * 1024 * 1024 - 1,
  mostBytesInAll: 50 * 1024 * 1024,
} as const;

/** PayPal's disputes (Disputes v1). The REST app needs the feature "Disputes"; without it PayPal answers 403. */
export function paypalDisputes(call: Call, settings: PaypalSettings): DisputeDesk {
  return { read, list, listOf, answer, accept };

  async function read(id: string): Promise<DisputeOutcome> {
    const found = await find(id);
    if ('kind' in found) return found;
    const dispute = disputeOf(found);
    return typeof dispute === 'string' ? unknown('mismatch', dispute) : { kind: 'found', dispute };
  }

  function list(since: Date, page?: string): Promise<DisputePage> {
    return readPage(listDisputesRequest(settings, { update_time_after: since.toISOString() }, page));
  }

  function listOf(captureId: string, page?: string): Promise<DisputePage> {
    return readPage(listDisputesRequest(settings, { disputed_transaction_id: captureId }, page));
  }

  async function readPage(request: WireRequest): Promise<DisputePage> {
    const reply = await call(request);
    if (reply.kind !== 'ok') return notFound(reply);
    const found = readDisputePage(reply.body);
    return found ? { kind: 'listed', ...found } : unknown('unparsable', 'The response is not a list of disputes.');
  }

  /** Evidence for PayPal, or a message to the payer while PayPal does not examine the dispute: what PayPal offers now. */
  async function answer(id: string, text: string, files: readonly EvidenceFile[]): Promise<DisputeDeed> {
    const typed = typedFiles(files, DOCUMENTS);
    if ('kind' in typed) return typed;
    const found = await find(id);
    if ('kind' in found) return found.kind === 'absent' ? gone() : found;
    if (offers(found, 'provide_evidence')) return deed(await call(evidenceRequest(settings, id, text, typed)));
    if (typed.length > 0) return notNow(found, 'files');
    if (offers(found, 'send_message')) return deed(await call(messageRequest(settings, id, text)));
    return notNow(found);
  }

  async function accept(id: string, note: string): Promise<DisputeDeed> {
    const found = await find(id);
    if ('kind' in found) return found.kind === 'absent' ? gone() : found;
    return offers(found, 'accept_claim') ? deed(await call(acceptRequest(settings, id, note))) : notNow(found);
  }

  async function find(id: string): Promise<PaypalDispute | Unknown | { kind: 'absent' }> {
    const reply = await call(getDisputeRequest(settings, id));
    if (reply.kind === 'refused' && reply.status === 404) return { kind: 'absent' };
    if (reply.kind !== 'ok') return notFound(reply);
    const found = readDispute(reply.body);
    if (!found) return unknown('unparsable', 'The response is not a dispute.');
    if (found.dispute_id !== id) return unknown('mismatch', 'The dispute has a different id.');
    return isPayee(found, settings.merchantId) ? found : { kind: 'absent' };
  }
}

function notFound(reply: Exclude<Reply, { kind: 'ok' }>): Unknown {
  return reply.kind === 'unknown' ? reply : unknown('rejected', `${reply.code}: ${reply.reason}`);
}

function deed(reply: Reply): DisputeDeed {
  if (reply.kind === 'refused') return { kind: 'refused', code: reply.code, reason: reply.reason };
  return reply.kind === 'ok' ? { kind: 'done' } : reply;
}

function gone(): DisputeDeed {
  return { kind: 'refused', code: 'RESOURCE_NOT_FOUND', reason: 'PayPal does not know the dispute.' };
}

/** PayPal's word for an action that is not among its links. */
function notNow({ status }: PaypalDispute, what = 'this'): DisputeDeed {
  const code = 'ACTION_NOT_ALLOWED_IN_CURRENT_DISPUTE_STATE';
  return { kind: 'refused', code, reason: `PayPal does not take ${what} while the dispute is ${status}.` };
}
