/** Complaints: the actions of a payer, and the calls by which a merchant reads and closes complaints. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Call, FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { SimulatorRefusal, isOfKind } from '../requests.ts';
import { type DisputeAction, type Trade, disputedMinor, paymentOf } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import { AlipayRefusal, type Content, chinaTime, readChinaTime, success } from './answers.ts';
import { type AlipayRequest, sellerOf, tradeNoOf, yuan } from './requests.ts';

const DAY_MS = 86_400_000;

/** Alipay's statuses of a complaint and their descriptions. Source: see server/simulator/README.md. */
const COMPLAINT_STATUS = {
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
type ComplaintStatus = keyof typeof COMPLAINT_STATUS;

/** The results that a merchant can declare when it closes a complaint. ORTHER is Alipay's own spelling of "other". */
const PROCESS_CODES = {
  CONSENSUS_WITH_CLIENT: '已联系到用户，协商一致，无异议',
  RECTIFICATION_NO_REFUND: '不涉及退款，已针对投诉内容进行整改',
  REFUND: '已退款，用户无异议',
  SUBMIT_PROOF_NOT_CONTACTED: '已提交证明材料',
  ORTHER: '其他',
} as const;

interface AlipayComplaint {
  id: number;
  taskId: string;
  minor: number;
  content: string;
  /** The stored status. OVERDUE is not stored: `statusOf` returns it when the time `dueAt` has passed. */
  status: ComplaintStatus;
  processCode: keyof typeof PROCESS_CODES | null;
  remark: string;
  images: string[];
  createdAt: number;
  dueAt: number;
  processedAt: number | null;
}

/** The complaints of a trade, oldest first. */
function complaintsOf({ details }: Trade): AlipayComplaint[] {
  return (details['complaints'] as AlipayComplaint[] | undefined) ?? [];
}

/**
 * Applies an action to the complaint of a trade. `open`: the payer complains. `review`: the complaint is being
 * processed. `win`: the merchant declares a result, which closes the complaint. `cancel`: the payer withdraws the
 * complaint.
 */
export function actOnComplaint(core: Core, trade: Trade, action: DisputeAction): object {
  if (action.act === 'open') return open(core, trade, action);
  const complaint = complaintsOf(trade).at(-1);
  if (!complaint) throw new SimulatorRefusal(404, 'no_such_dispute', `Order ${trade.orderNo} has no complaint.`);
  if (action.act === 'review') complaint.status = 'PROCESSING';
  else if (action.act === 'win') process(core, complaint, 'CONSENSUS_WITH_CLIENT', '', []);
  else if (action.act === 'cancel') withdraw(core, complaint);
  else
    throw new SimulatorRefusal(400, 'no_such_act', 'For an Alipay complaint, act must be open, review, win or cancel.');
  core.trades.record(trade, 'updated', { number: String(complaint.id) });
  return { ...complaint, id: String(complaint.id) };
}

function open(core: Core, trade: Trade, action: DisputeAction): object {
  if (!paymentOf(trade))
    throw new SimulatorRefusal(409, 'not_paid', `Order ${trade.orderNo} is not paid, so no complaint can be opened.`);
  const createdAt = core.clock.now();
  const complaint: AlipayComplaint = {
    id: Number(core.trades.newNumber(() => `1${randomDigits(9)}`)),
    taskId: core.trades.newNumber(() => `102${randomDigits(9)}`),
    minor: disputedMinor(trade, action),
    content: action.reason ?? '商品没有收到',
    status: 'WAIT_PROCESS',
    processCode: null,
    remark: '',
    images: [],
    createdAt,
    dueAt: createdAt + action.dueDays * DAY_MS,
    processedAt: null,
  };
  trade.details['complaints'] = [...complaintsOf(trade), complaint];
  core.trades.record(trade, 'updated', { number: String(complaint.id) });
  return { ...complaint, id: String(complaint.id) };
}

/** Whether the merchant has declared a result, or the payer has withdrawn the complaint. */
export function isOver({ status }: AlipayComplaint): boolean {
  return status === 'PROCESSED' || status === 'OVERDUE_PROCESSED' || status.startsWith('DROP_');
}

/** Stores the result that the merchant declares for a complaint (code, remark, images), and closes the complaint. */
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

function statusOf(core: Core, { status, dueAt }: AlipayComplaint): ComplaintStatus {
  return status === 'WAIT_PROCESS' && core.clock.now() >= dueAt ? 'OVERDUE' : status;
}

/** Describes a complaint with the fields of the response models of alipay-sdk-java-all. */
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

/** An integer in a request. Alipay's own clients send integers as numbers or as text. */
const Whole = z.union([z.int(), z.string().regex(/^\d{1,18}$/)]).transform(Number);
const Time = z.string().transform((text, ctx) => {
  const at = readChinaTime(text);
  if (at === undefined) ctx.addIssue('is not a time');
  return at ?? 0;
});
const keysOf = <Key extends string>(table: Record<Key, unknown>) => Object.keys(table) as [Key, ...Key[]];

const ListRequest = z.object({
  current_page_num: Whole.pipe(z.int().min(1)).default(1),
  page_size: Whole.pipe(z.int().min(1)).default(10),
  gmt_complaint_start: Time.optional(),
  gmt_complaint_end: Time.optional(),
  gmt_process_start: Time.optional(),
  gmt_process_end: Time.optional(),
  status_list: z.array(z.enum(keysOf(COMPLAINT_STATUS))).optional(),
  task_id: z.string().optional(),
  task_id_list: z.array(z.string()).optional(),
  trade_no: z.string().optional(),
});
const ReadRequest = z.object({ complain_id: Whole });
const FinishRequest = z.object({
  id_list: z.array(Whole).min(1),
  process_code: z.enum(keysOf(PROCESS_CODES)),
  remark: z.string().default(''),
  img_file_list: z.array(z.object({ img_url: z.string().min(1), img_url_key: z.string().min(1) })).default([]),
});

/** The gateway methods about complaints (RiskGO); their names and fields are those of alipay-sdk-java-all. */
export const COMPLAINT_METHODS: Readonly<
  Record<
    string,
    { call: Call; act: (core: Core, request: AlipayRequest, fault: FaultName | undefined) => { content: Content } }
  >
> = {
  'alipay.security.risk.complaint.info.batchquery': { call: 'dispute', act: list },
  'alipay.security.risk.complaint.info.query': { call: 'dispute', act: read },
  'alipay.security.risk.complaint.process.finish': { call: 'dispute-deed', act: finish },
  'alipay.security.risk.complaint.file.upload': { call: 'dispute-image', act: upload },
};

interface Found {
  trade: Trade;
  complaint: AlipayComplaint;
}

function list(core: Core, request: AlipayRequest, fault: FaultName | undefined): { content: Content } {
  const query = parse(ListRequest, request);
  const { status_list: states, task_id: task, task_id_list: tasks, trade_no: tradeNo } = query;
  const found = (fault === 'query-lag' ? [] : allOf(core, request))
    .filter(({ complaint: { createdAt } }) => isWithin(createdAt, query.gmt_complaint_start, query.gmt_complaint_end))
    .filter(({ complaint: { processedAt } }) => isWithin(processedAt, query.gmt_process_start, query.gmt_process_end))
    .filter(({ complaint }) => states === undefined || states.includes(statusOf(core, complaint)))
    .filter(({ complaint: { taskId } }) => (task ?? taskId) === taskId && (tasks?.includes(taskId) ?? true))
    .filter(({ trade }) => tradeNo === undefined || String(trade.details['tradeNo']) === tradeNo)
    .toSorted((a, b) => b.complaint.createdAt - a.complaint.createdAt || b.complaint.id - a.complaint.id);
  const { current_page_num: page, page_size: size } = query;
  return {
    content: success({
      total_size: found.length,
      current_page: page,
      page_size: size,
      complaint_list: found
        .slice((page - 1) * size, page * size)
        .map(({ trade, complaint }) => present(core, trade, complaint, request.account.sellerId)),
    }),
  };
}

function read(core: Core, request: AlipayRequest, fault: FaultName | undefined): { content: Content } {
  if (fault === 'query-lag') throw unknownHere();
  const { trade, complaint } = named(core, request, parse(ReadRequest, request).complain_id);
  return { content: success({ ...present(core, trade, complaint, request.account.sellerId) }) };
}

/** Closes all complaints that the request names. If one of them cannot be closed, none is closed. */
function finish(core: Core, request: AlipayRequest): { content: Content } {
  const { id_list: ids, process_code: code, remark, img_file_list: images } = parse(FinishRequest, request);
  const found = ids.map((id) => named(core, request, id));
  if (found.some(({ complaint }) => isOver(complaint)))
    throw new AlipayRefusal('40004', 'COMPLAINT_PROCESSED', 'A complaint in id_list was already processed.');
  if (images.some(({ img_url, img_url_key: key }) => filesOf(core).get(key) !== `${request.account.name} ${img_url}`))
    throw new AlipayRefusal('40002', 'isv.invalid-parameter', 'img_file_list names an image that was not uploaded.');
  const urls = images.map(({ img_url: url }) => url);
  for (const { trade, complaint } of found) {
    process(core, complaint, code, remark, urls);
    core.trades.record(trade, 'updated', { number: String(complaint.id) });
  }
  return { content: success({ complaint_process_success: true }) };
}

/** The account and URL of each uploaded file, for each running simulator. The list is lost when the simulator stops. */
const uploaded = new WeakMap<Core, Map<string, string>>();

function filesOf(core: Core): Map<string, string> {
  const files = uploaded.get(core) ?? new Map<string, string>();
  uploaded.set(core, files);
  return files;
}

/** Accepts one image of at most 5 MB (comment of `file_content` in alipay-sdk-java-all) and returns its key and URL. */
function upload(core: Core, { account, files }: AlipayRequest): { content: Content } {
  const file = files.find(({ name }) => name === 'file_content');
  const { bytes = Buffer.alloc(0), fileName = '' } = file ?? {};
  if (bytes.length > 5 * 1024 * 1024 || !isOfKind(bytes, fileName, ['jpg', 'png', 'gif', 'bmp']))
    throw new AlipayRefusal('40002', 'isv.invalid-parameter', 'file_content must be jpg, png, gif or bmp up to 5 MB.');
  const key = randomUUID();
  const url = `${core.url}/afts/img/${key}`;
  filesOf(core).set(key, `${account.name} ${url}`);
  return { content: success({ file_key: key, file_name: fileName, file_url: url }) };
}

function allOf(core: Core, { account, sellers }: AlipayRequest): Found[] {
  return [...core.ledger.trades.values()]
    .filter(({ payWay, account: name }) => payWay === 'alipay' && name === account.name)
    .filter((trade) => sellers.includes(sellerOf(trade, account)))
    .flatMap((trade) => complaintsOf(trade).map((complaint) => ({ trade, complaint })));
}

function named(core: Core, request: AlipayRequest, id: number): Found {
  const found = allOf(core, request).find(({ complaint }) => complaint.id === id);
  if (!found) throw unknownHere();
  return found;
}

function unknownHere(): AlipayRefusal {
  return new AlipayRefusal('40004', 'COMPLAINT_NOT_EXIST', 'The complaint does not exist.');
}

function isWithin(at: number | null, from: number | undefined, to: number | undefined): boolean {
  if (from === undefined && to === undefined) return true;
  return at !== null && at >= (from ?? 0) && at <= (to ?? Infinity);
}

function parse<T>(schema: z.ZodType<T>, { content }: AlipayRequest): T {
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = issue?.path.map(String).join('.') ?? '';
  throw new AlipayRefusal('40002', 'isv.invalid-parameter', `${name} is invalid.`);
}
