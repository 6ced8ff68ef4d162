import { z } from 'zod';
import type {
  ChannelDispute,
  ComplaintResult,
  DisputeAction,
  DisputeDesk,
  DisputeOutcome,
  DisputePage,
  DisputeState,
} from '../../payments/channel.ts';
import { readMajorText } from '../../money.ts';
import { type TypedFile, typedFiles } from '../evidence.ts';
import { readChinaTime } from './answers.ts';
import { CODE, type Reply, type SignedAnswer, type Unknown, unknown, unknownRefusal } from './reply.ts';
import { type AlipayCall, type AlipayUpload, chinaTime } from './requests.ts';

const METHOD = 'alipay.security.risk.complaint';
/** The number of complaints per page. Alipay's documents state no maximum. */
const PAGE = 20;

/**
 * The limits of images for a complaint. The limit of 5 MB is from the comment on file_content in alipay-sdk-java-all,
 * which does not list the allowed image types.
 */
const IMAGES = {
  channel: 'Alipay',
  kinds: ['image/jpeg', 'image/png'],
  mostFiles: 10,
  mostBytes: 5 * 1024 * 1024,
} as const;

const Text = z.string().optional().catch(undefined);
/** The id of a complaint: a number or a text. A number that JavaScript cannot hold exactly is rejected. */
const Id = z.union([z.int().positive(), z.string().regex(/^\d{1,18}$/)]).transform(String);
const Time = z
  .string()
  .transform((text) => readChinaTime(text))
  .pipe(z.date());

/** The fields of a complaint that this service reads. The payer's contact data is not read. */
const Complaint = z.object({
  id: Id,
  opposite_pid: Text,
  complain_amount: Text,
  gmt_complain: Time,
  gmt_overdue: Time.optional().catch(undefined),
  status: z.string(),
  trade_no: Text,
  complaint_trade_info_list: z
    .array(z.object({ trade_no: Text, out_no: Text, amount: Text }))
    .optional()
    .catch(undefined),
});
type Complaint = z.infer<typeof Complaint>;

const Page = z.object({
  complaint_list: z.array(z.object({ id: Id, status: Text, gmt_process: Text, gmt_overdue: Text })).default([]),
});
const Uploaded = z.object({ file_key: z.string().min(1), file_url: z.string().min(1) });

interface ComplaintCalls {
  request: (call: AlipayCall) => Promise<Reply>;
  upload: (file: AlipayUpload) => Promise<Reply>;
  /** The merchant whose complaints are read; empty = the complaints of every merchant of the app. */
  sellerId: string;
}

/**
 * Creates the dispute adapter (`DisputeDesk`) for consumer complaints (消费者投诉). A complaint itself moves no money; if
 * the merchant returns money, it is reported as a refund. Alipay accepts one result per complaint and then closes it,
 * so the merchant's reply also closes the complaint.
 */
export function alipayComplaints({ request, upload, sellerId }: ComplaintCalls): DisputeDesk {
  return { read, list, answer, finish: (id, result) => finish(id, PROCESS_CODES[result]) };

  async function read(id: string): Promise<DisputeOutcome> {
    const reply = await request({ method: `${METHOD}.info.query`, content: { complain_id: id } });
    const content = contentOf(reply);
    if ('kind' in content) return unknownFor(content);
    const found = Complaint.safeParse(content.answer).data;
    if (!found) return unknown('unparsable', 'The response is not a complaint.');
    if (found.id !== id) return unknown('mismatch', 'The complaint has a different number.');
    const isOther = sellerId !== '' && found.opposite_pid !== undefined && found.opposite_pid !== sellerId;
    if (isOther) return { kind: 'absent' };
    const dispute = disputeOf(found);
    return typeof dispute === 'string' ? unknown('mismatch', dispute) : { kind: 'found', dispute };
  }

  async function list(since: Date, page = '1'): Promise<DisputePage> {
    const query = { current_page_num: Number(page), page_size: PAGE, gmt_complaint_start: chinaTime(since) };
    const content = contentOf(await request({ method: `${METHOD}.info.batchquery`, content: query }));
    if ('kind' in content) return unknownFor(content);
    const read = Page.safeParse(content.answer).data;
    if (!read) return unknown('unparsable', 'The response is not a list of complaints.');
    const disputes = read.complaint_list.map(({ id, status, gmt_process: at, gmt_overdue: due }) => ({
      channelDisputeNo: id,
      mark: [status, at, due].join(' '),
    }));
    return { kind: 'listed', disputes, next: disputes.length < PAGE ? undefined : String(Number(page) + 1) };
  }

  async function answer(id: string, text: string, files: Parameters<DisputeDesk['answer']>[2]): Promise<DisputeAction> {
    const typed = typedFiles(files, IMAGES);
    if ('kind' in typed) return typed;
    const images: { img_url: string; img_url_key: string }[] = [];
    for (const file of typed) {
      const image = await uploaded(file);
      if ('kind' in image) return image;
      images.push({ img_url: image.file_url, img_url_key: image.file_key });
    }
    const more = { remark: text, ...(images.length > 0 ? { img_file_list: images } : {}) };
    return finish(id, PROCESS_CODES.proven, more);
  }

  async function uploaded({ name, kind, bytes }: TypedFile): Promise<z.infer<typeof Uploaded> | DisputeAction> {
    const content = contentOf(
      await upload({
        method: `${METHOD}.file.upload`,
        part: { name: 'file_content', type: kind, fileName: name, content: bytes },
      }),
    );
    if ('kind' in content) return content;
    return Uploaded.safeParse(content.answer).data ?? unknown('unparsable', 'The response names no file.');
  }

  async function finish(id: string, code: string, more: object = {}): Promise<DisputeAction> {
    // Alipay's documents define the id as a number. An id that JavaScript cannot hold exactly as a number is sent as
    // text.
    const number = Number.isSafeInteger(Number(id)) ? Number(id) : id;
    const call = { method: `${METHOD}.process.finish`, content: { id_list: [number], process_code: code, ...more } };
    const content = contentOf(await request(call));
    if ('kind' in content) return content;
    return content.answer['complaint_process_success'] === true
      ? { kind: 'done' }
      : unknown('in_progress', 'Alipay did not confirm the result of the complaint (complaint_process_success).');
  }
}

/** Alipay's code for each result that the merchant declares. Alipay spells the last code `ORTHER`. */
const PROCESS_CODES: Readonly<Record<ComplaintResult, string>> = {
  agreed: 'CONSENSUS_WITH_CLIENT',
  refunded: 'REFUND',
  corrected: 'RECTIFICATION_NO_REFUND',
  proven: 'SUBMIT_PROOF_NOT_CONTACTED',
  other: 'ORTHER',
};

/**
 * The state of a dispute for each Alipay status. Any other status is `under_review`, so that an unknown status never
 * closes a dispute. The merchant can still reply to an overdue complaint.
 */
const STATES: Readonly<Record<string, DisputeState>> = {
  WAIT_PROCESS: 'needs_answer',
  OVERDUE: 'needs_answer',
  PART_OVERDUE: 'needs_answer',
  PROCESSED: 'won',
  OVERDUE_PROCESSED: 'won',
  DROP_COMPLAIN: 'won',
  DROP_OVERDUE_COMPLAIN: 'won',
  DROP_PROCESSED: 'won',
  DROP_OVERDUE_PROCESSED: 'won',
};

function disputeOf(found: Complaint): ChannelDispute | string {
  const trades = found.complaint_trade_info_list ?? [];
  const amount = readMajorText(found.complain_amount ?? trades[0]?.amount, 'CNY');
  if (!amount) return 'The amount of the complaint cannot be read.';
  const tradeNos = [...trades.map(({ trade_no }) => trade_no), found.trade_no].filter((no) => no !== undefined);
  return {
    channelDisputeNo: found.id,
    tradeNos: [...new Set(tradeNos)],
    orderNo: trades.find(({ out_no }) => out_no)?.out_no ?? null,
    // A complaint at Alipay has no reason code, only the payer's text.
    reason: 'COMPLAINT',
    amount,
    state: STATES[found.status] ?? 'under_review',
    dueAt: found.gmt_overdue ?? null,
    openedAt: found.gmt_complain,
  };
}

type Refused = Extract<DisputeAction, { kind: 'refused' }>;

function contentOf(reply: Reply): { answer: SignedAnswer['content'] } | Refused | Unknown {
  if (reply.kind === 'unknown') return reply;
  const { code, subCode, message, content } = reply.answer;
  if (code === CODE.ok) return { answer: content };
  return unknownRefusal(reply.answer) ?? { kind: 'refused', code: subCode || code, reason: message };
}

/** Alipay documents no code for a complaint that does not exist, so a refusal is never read as `absent`. */
function unknownFor(reply: Refused | Unknown): Unknown {
  return reply.kind === 'unknown' ? reply : unknown('rejected', `${reply.code}: ${reply.reason}`);
}
