import { hash } from 'node:crypto';
import { z } from 'zod';
import type {
  ChannelDispute,
  DisputeAction,
  DisputeDesk,
  DisputeOutcome,
  DisputePage,
  DisputeState,
  EvidenceFile,
} from '../../payments/channel.ts';
import { type TypedFile, multipartForm, typedFiles } from '../evidence.ts';
import { type Ask, type Refused, type Unknown, unknown, unknownRefusal } from './reply.ts';
import { type Account, type Call, beijingTime } from './requests.ts';

const PATH = '/v3/merchant-service/complaints-v2';
const PAGE = 50;
const UPLOAD = '/v3/merchant-service/images/upload';
/** A reply may have four images of at most 2 MB (pay.weixin.qq.com, chapter10_2_10 of API v3). */
const IMAGES = {
  channel: 'WeChat Pay',
  kinds: ['image/jpeg', 'image/png', 'image/bmp'],
  mostFiles: 4,
  mostBytes: 2 * 1024 * 1024,
} as const;
const Uploaded = z.object({ media_id: z.string().min(1) });
/** The maximum number of characters of a reply to a complaint. */
const LONGEST_ANSWER = 200;

/** The payer's phone number, which is encrypted for the merchant, is not read. */
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

const Word = z.union([z.string(), z.number(), z.boolean()]).optional().catch(undefined);
const Page = z.object({
  data: z
    .array(
      z.object({
        complaint_id: z.string(),
        complaint_state: Word,
        incoming_user_response: Word,
        user_complaint_times: Word,
        apply_refund_amount: Word,
      }),
    )
    .default([]),
});

/**
 * Creates the dispute adapter (`DisputeDesk`) for payers' complaints (消费者投诉 2.0). A complaint itself moves no money; if
 * the merchant or WeChat Pay returns money, it is reported as a refund. A complaint closes when the merchant declares
 * it settled.
 */
export function wechatComplaints(ask: Ask, account: Account): DisputeDesk {
  // A partner receives the complaints about all its sub-merchants, so they are selected by the number of the
  // sub-merchant.
  const mchid = account.sub?.mchid ?? account.mchid;
  return { read, list, answer, finish };

  async function read(id: string): Promise<DisputeOutcome> {
    const reply = await ask(get(`${PATH}/${encodeURIComponent(id)}`));
    if (reply.kind === 'refused' && reply.status === 404 && reply.signed) return { kind: 'absent' };
    if (reply.kind !== 'answered') return unknownFor(reply);
    const found = Complaint.safeParse(reply.members).data;
    if (!found) return unknown('unparsable', 'The response is not a complaint.');
    if (found.complaint_id !== id) return unknown('mismatch', 'The complaint has a different number.');
    return found.complainted_mchid === mchid ? { kind: 'found', dispute: disputeOf(found) } : { kind: 'absent' };
  }

  /**
   * Lists complaints. WeChat Pay selects complaints by the day on which they were made. A payer may continue an older
   * complaint that was closed. So that such complaints are listed too, the listed period begins 24 days (`EARLIER_MS`)
   * before `since`.
   */
  async function list(since: Date, page = '0'): Promise<DisputePage> {
    const begin = new Date(since.getTime() - EARLIER_MS);
    const days = { begin_date: dayOf(begin), end_date: dayOf(new Date(begin.getTime() + LIST_MS)) };
    const whose: Record<string, string> = account.sub ? { complainted_mchid: mchid } : {};
    const query = new URLSearchParams({ limit: String(PAGE), offset: page, ...days, ...whose });
    const reply = await ask(get(`${PATH}?${query.toString()}`));
    if (reply.kind !== 'answered') return unknownFor(reply);
    const read = Page.safeParse(reply.members).data;
    if (!read) return unknown('unparsable', 'The response is not a list of complaints.');
    const disputes = read.data.map(({ complaint_id: channelDisputeNo, ...words }) => ({
      channelDisputeNo,
      mark: Object.values(words).join(' '),
    }));
    const next = disputes.length < PAGE ? undefined : String(Number(page) + PAGE);
    return { kind: 'listed', disputes, next };
  }

  async function answer(id: string, text: string, files: readonly EvidenceFile[]): Promise<DisputeAction> {
    if ([...text].length > LONGEST_ANSWER)
      return {
        kind: 'refused',
        code: 'PARAM_ERROR',
        reason: `WeChat Pay accepts at most ${LONGEST_ANSWER} characters in a reply.`,
      };
    const typed = typedFiles(files, IMAGES);
    if ('kind' in typed) return typed;
    const images: string[] = [];
    for (const file of typed) {
      const image = await uploaded(file);
      if (typeof image !== 'string') return image;
      images.push(image);
    }
    return post(id, 'response', { response_content: text, ...(images.length > 0 ? { response_images: images } : {}) });
  }

  /** The signature of an upload covers only the part `meta` of its form (pay.weixin.qq.com, chapter10_2_10 of API v3). */
  async function uploaded({ name, kind, bytes }: TypedFile): Promise<string | DisputeAction> {
    const meta = JSON.stringify({ filename: name, sha256: hash('sha256', bytes) });
    const form = multipartForm([
      { name: 'meta', type: 'application/json', content: meta },
      { name: 'file', type: kind, fileName: name, content: bytes },
    ]);
    const about = { call: 'dispute image' };
    const reply = await ask({ method: 'POST', target: UPLOAD, body: meta, form, about });
    if (reply.kind === 'answered')
      return Uploaded.safeParse(reply.members).data?.media_id ?? unknown('unparsable', 'The response names no image.');
    return reply.kind === 'unknown' ? reply : refusal(reply);
  }

  /** Closes the complaint. The payer may complain again. */
  function finish(id: string): Promise<DisputeAction> {
    return post(id, 'complete', {});
  }

  async function post(id: string, verb: string, members: object): Promise<DisputeAction> {
    const body = JSON.stringify({ complainted_mchid: mchid, ...members });
    const target = `${PATH}/${encodeURIComponent(id)}/${verb}`;
    const reply = await ask({ method: 'POST', target, body, about: { call: `dispute ${verb}` } });
    if (reply.kind === 'answered') return { kind: 'done' };
    if (reply.kind === 'unknown') return reply;
    return refusal(reply);
  }
}

function refusal(reply: Refused): DisputeAction {
  return unknownRefusal(reply) ?? { kind: 'refused', code: reply.code, reason: reply.message };
}

/** A list covers 29 days, because WeChat Pay allows at most 30: from 24 days before `since` to 5 days after it. */
const LIST_MS = 29 * 86_400_000;
const EARLIER_MS = 24 * 86_400_000;

/** Any other state is `under_review`, so that an unknown state never closes a dispute. */
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
    // If the payer sends a new message in an open complaint, the merchant must reply.
    state: STATES[state] ?? (waits ? 'needs_answer' : 'under_review'),
    dueAt: null,
    openedAt: found.complaint_time,
  };
}

function unknownFor(reply: Refused | Unknown): Unknown {
  if (reply.kind === 'unknown') return reply;
  return unknownRefusal(reply) ?? unknown('rejected', `${reply.code}: ${reply.message}`);
}

function get(target: string): Call {
  return { method: 'GET', target, about: { call: 'dispute' } };
}

function dayOf(at: Date): string {
  return beijingTime(at).slice(0, 10);
}
