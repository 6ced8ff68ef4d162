import { z } from 'zod';
import type {
  ChannelDispute,
  DisputeDeed,
  DisputeDesk,
  DisputeList,
  DisputeOutcome,
  DisputeState,
} from '../../payments/channel.ts';
import type { Ask } from './client.ts';
import { type Refused, type Unknown, unknown, unknownRefusal } from './reply.ts';
import { type Account, beijingTime, type Call } from './requests.ts';

const PATH = '/v3/merchant-service/complaints-v2';
/** Complaints of one page, and pages of one list that are read at most. */
const PAGE = 50;
const MOST_PAGES = 20;
/** Characters of an answer. */
const LONGEST_ANSWER = 200;

/** What is read of a complaint. The payer's phone number is encrypted for the merchant, and stays unread. */
const Complaint = z.object({
  complaint_id: z.string(),
  complaint_time: z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
  complaint_state: z.string(),
  complainted_mchid: z.string(),
  complaint_order_info: z
    .array(z.object({ transaction_id: z.string(), out_trade_no: z.string(), amount: z.int().positive() }))
    .min(1),
  incoming_user_response: z.boolean().catch(false).default(false),
  problem_type: z.string().optional().catch(undefined),
  apply_refund_amount: z.int().positive().optional().catch(undefined),
});
type Complaint = z.infer<typeof Complaint>;

const Page = z.object({ data: z.array(z.object({ complaint_id: z.string() })).default([]) });

/**
 * Complaints of payers (消费者投诉 2.0). A complaint takes no money: what the merchant or WeChat Pay gives back is a refund, and
 * told as such. It ends when the merchant says that it is dealt with.
 */
export function wechatComplaints(ask: Ask, account: Account): DisputeDesk {
  // A partner reads the complaints of all its merchants; who is complained about is one of them.
  const mchid = account.sub?.mchid ?? account.mchid;
  return { read, changedSince, answer, finish };

  async function read(id: string): Promise<DisputeOutcome> {
    const reply = await ask(get(`${PATH}/${encodeURIComponent(id)}`));
    if (reply.kind === 'refused' && reply.status === 404 && reply.signed) return { kind: 'absent' };
    if (reply.kind !== 'said') return silence(reply);
    const found = Complaint.safeParse(reply.members).data;
    if (!found) return unknown('unparsable', 'The response is not a complaint.');
    if (found.complaint_id !== id) return unknown('mismatch', 'The complaint has a different number.');
    return found.complainted_mchid === mchid ? { kind: 'found', dispute: disputeOf(found) } : { kind: 'absent' };
  }

  /** WeChat Pay lists by the day of the complaint; one that is known is asked about by its own schedule. */
  async function changedSince(since: Date): Promise<DisputeList> {
    const disputeNos: string[] = [];
    const days = { begin_date: dayOf(since), end_date: dayOf(new Date(since.getTime() + LIST_MS)) };
    const whose: Record<string, string> = account.sub ? { complainted_mchid: mchid } : {};
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const query = new URLSearchParams({ limit: String(PAGE), offset: String(page * PAGE), ...days, ...whose });
      const reply = await ask(get(`${PATH}?${query.toString()}`));
      if (reply.kind !== 'said') return silence(reply);
      const read = Page.safeParse(reply.members).data;
      if (!read) return unknown('unparsable', 'The response is not a list of complaints.');
      disputeNos.push(...read.data.map(({ complaint_id }) => complaint_id));
      if (read.data.length < PAGE) return { kind: 'listed', disputeNos, more: false };
    }
    return { kind: 'listed', disputeNos, more: true };
  }

  async function answer(id: string, text: string): Promise<DisputeDeed> {
    if ([...text].length > LONGEST_ANSWER)
      return { kind: 'refused', code: 'PARAM_ERROR', reason: `WeChat Pay takes ${LONGEST_ANSWER} characters.` };
    return post(id, 'response', { response_content: text });
  }

  /** The merchant's word ends it; the payer may complain again. */
  function finish(id: string): Promise<DisputeDeed> {
    return post(id, 'complete', {});
  }

  async function post(id: string, verb: string, members: object): Promise<DisputeDeed> {
    const body = JSON.stringify({ complainted_mchid: mchid, ...members });
    const target = `${PATH}/${encodeURIComponent(id)}/${verb}`;
    const reply = await ask({ method: 'POST', target, body, about: { call: `dispute ${verb}` } });
    if (reply.kind === 'said') return { kind: 'done' };
    if (reply.kind === 'unknown') return reply;
    return unknownRefusal(reply) ?? { kind: 'refused', code: reply.code, reason: reply.message };
  }
}

/** A list reaches over 30 days at most, so it ends this long after its beginning: today or a day that is to come. */
const LIST_MS = 20 * 86_400_000;

/** Whatever is not listed is examined: nothing ends by a word that nobody knows. */
const STATES: Readonly<Record<string, DisputeState>> = { PENDING: 'needs_answer', PROCESSED: 'won' };

function disputeOf(found: Complaint): ChannelDispute {
  const { complaint_state: state, incoming_user_response: waits, complaint_order_info: orders } = found;
  const minor = BigInt(found.apply_refund_amount ?? orders.reduce((sum, { amount }) => sum + amount, 0));
  return {
    channelDisputeNo: found.complaint_id,
    tradeNos: orders.map(({ transaction_id }) => transaction_id),
    orderNo: orders[0]?.out_trade_no ?? null,
    reason: found.problem_type ?? 'OTHERS',
    amount: { minor, currency: 'CNY' },
    // In a complaint under way a new message of the payer waits for the merchant.
    state: STATES[state] ?? (waits ? 'needs_answer' : 'under_review'),
    dueAt: null,
    openedAt: found.complaint_time,
  };
}

function silence(reply: Refused | Unknown): Unknown {
  if (reply.kind === 'unknown') return reply;
  return unknownRefusal(reply) ?? unknown('rejected', `${reply.code}: ${reply.message}`);
}

function get(target: string): Call {
  return { method: 'GET', target, about: { call: 'dispute' } };
}

/** A day in Beijing. */
function dayOf(at: Date): string {
  return beijingTime(at).slice(0, 10);
}
