import type { Core } from '../half.ts';
import { disputedMinor, type DisputeDeed } from '../dispute-deed.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { paymentOf, type Trade } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import { chinaTime } from './china-time.ts';
import { sellerOf, tradeNoOf, yuan } from './model.ts';

const DAY_MS = 86_400_000;

/** Alipay's words for a complaint, with what they are shown as. Source: see server/simulator/README.md. */
export const COMPLAINT_STATUS = {
  WAIT_PROCESS: '待处理',
  PROCESSING: '处理中',
  PROCESSED: '处理完成',
  OVERDUE: '超时未处理',
  OVERDUE_PROCESSED: '超时处理完成',
  PART_OVERDUE: '部分超时未处理',
  DROP_COMPLAIN: '用户撤诉',
  DROP_OVERDUE_COMPLAIN: '超时后用户撤诉',
  DROP_PROCESSED: '处理完成用户撤诉',
  DROP_OVERDUE_PROCESSED: '超时处理完成用户撤诉',
} as const;
export type ComplaintStatus = keyof typeof COMPLAINT_STATUS;

/** What a merchant can say that was done; the spelling of the last one is Alipay's. */
export const PROCESS_CODES = {
  CONSENSUS_WITH_CLIENT: '已联系到用户，协商一致，无异议',
  RECTIFICATION_NO_REFUND: '不涉及退款，已针对投诉内容进行整改',
  REFUND: '已退款，用户无异议',
  SUBMIT_PROOF_NOT_CONTACTED: '已提交证明材料',
  ORTHER: '其他',
} as const;

/** A complaint inside the details of its trade. */
export interface AlipayComplaint {
  id: number;
  taskId: string;
  minor: number;
  content: string;
  /** What is stored; time makes an untouched one overdue. */
  status: ComplaintStatus;
  processCode: keyof typeof PROCESS_CODES | null;
  remark: string;
  images: string[];
  createdAt: number;
  dueAt: number;
  processedAt: number | null;
}

/** The complaints of a trade, oldest first. */
export function complaintsOf({ details }: Trade): AlipayComplaint[] {
  return (details['complaints'] as AlipayComplaint[] | undefined) ?? [];
}

/** What a payer does, or the merchant in Alipay's own console: `open`, `review`, `win` (dealt with), `cancel` (withdrawn). */
export function actOnComplaint(core: Core, trade: Trade, deed: DisputeDeed): object {
  if (deed.act === 'open') return open(core, trade, deed);
  const complaint = complaintsOf(trade).at(-1);
  if (!complaint) throw new SimulatorRefusal(404, 'no_such_dispute', `Order ${trade.orderNo} has no complaint.`);
  if (deed.act === 'review') complaint.status = 'PROCESSING';
  else if (deed.act === 'win') process(core, complaint, 'CONSENSUS_WITH_CLIENT', '', []);
  else if (deed.act === 'cancel') withdraw(core, complaint);
  else throw new SimulatorRefusal(400, 'no_such_act', 'A complaint takes no money, so nobody loses or appeals.');
  core.trades.record(trade, 'updated', { number: String(complaint.id) });
  return { ...complaint, id: String(complaint.id) };
}

function open(core: Core, trade: Trade, deed: DisputeDeed): object {
  if (!paymentOf(trade)) throw new SimulatorRefusal(409, 'not_paid', `Order ${trade.orderNo} is not paid.`);
  const createdAt = core.clock.now();
  const complaint: AlipayComplaint = {
    id: Number(core.trades.newNumber(() => `1${randomDigits(9)}`)),
    taskId: core.trades.newNumber(() => `102${randomDigits(9)}`),
    minor: disputedMinor(trade, deed),
    content: deed.reason ?? '商品没有收到',
    status: 'WAIT_PROCESS',
    processCode: null,
    remark: '',
    images: [],
    createdAt,
    dueAt: createdAt + deed.dueDays * DAY_MS,
    processedAt: null,
  };
  trade.details['complaints'] = [...complaintsOf(trade), complaint];
  core.trades.record(trade, 'updated', { number: String(complaint.id) });
  return { ...complaint, id: String(complaint.id) };
}

/** Whether the merchant has said what was done, or the payer took it back. */
export function isOver({ status }: AlipayComplaint): boolean {
  return status === 'PROCESSED' || status === 'OVERDUE_PROCESSED' || status.startsWith('DROP_');
}

/** The merchant's one word about a complaint; nothing follows it. */
export function process(
  core: Core,
  complaint: AlipayComplaint,
  code: keyof typeof PROCESS_CODES,
  remark: string,
  images: readonly string[],
): void {
  const isLate = statusOf(core, complaint) === 'OVERDUE';
  const status = isLate ? 'OVERDUE_PROCESSED' : 'PROCESSED';
  Object.assign(complaint, { status, processCode: code, remark, images: [...images], processedAt: core.clock.now() });
}

function withdraw(core: Core, complaint: AlipayComplaint): void {
  const late: Partial<Record<ComplaintStatus, ComplaintStatus>> = {
    OVERDUE: 'DROP_OVERDUE_COMPLAIN',
    PROCESSED: 'DROP_PROCESSED',
    OVERDUE_PROCESSED: 'DROP_OVERDUE_PROCESSED',
  };
  complaint.status = late[statusOf(core, complaint)] ?? 'DROP_COMPLAIN';
}

/** The word of now: one that nobody dealt with in time is overdue. */
export function statusOf(core: Core, { status, dueAt }: AlipayComplaint): ComplaintStatus {
  return status === 'WAIT_PROCESS' && core.clock.now() >= dueAt ? 'OVERDUE' : status;
}

/** A complaint as the list and the details show it. Members: the response models of alipay-sdk-java-all. */
export function present(core: Core, trade: Trade, complaint: AlipayComplaint, sellerId: string): object {
  const status = statusOf(core, complaint);
  const { id, taskId, minor, content, createdAt, dueAt, processedAt, processCode, remark, images } = complaint;
  const payment = paymentOf(trade);
  const about = {
    id: String(id),
    complaint_record_id: String(id),
    trade_no: tradeNoOf(trade),
    out_no: trade.orderNo,
    gmt_trade: chinaTime(payment?.at ?? trade.createdAt),
    status: isOver(complaint) ? 'PROCESSED' : status,
    status_description: COMPLAINT_STATUS[isOver(complaint) ? 'PROCESSED' : status],
    amount: yuan(trade, trade.minor),
  };
  return {
    id,
    task_id: taskId,
    opposite_pid: sellerOf(trade, { sellerId }),
    opposite_name: '一家商店',
    complain_amount: yuan(trade, minor),
    contact: '138****0000',
    gmt_complain: chinaTime(createdAt),
    gmt_overdue: chinaTime(dueAt),
    complain_content: content,
    trade_no: tradeNoOf(trade),
    status,
    status_description: COMPLAINT_STATUS[status],
    gmt_risk_finish_time: chinaTime(createdAt),
    complain_url: '',
    certify_info: [],
    complaint_trade_info_list: [about],
    ...(processedAt === null ? {} : { gmt_process: chinaTime(processedAt) }),
    ...(processCode === null
      ? {}
      : { process_code: processCode, process_message: PROCESS_CODES[processCode], process_remark: remark }),
    ...(images.length === 0 ? {} : { process_img_url_list: images }),
  };
}
