/**
 * Simulates WeChat Pay's complaints: the actions of a payer, the calls of a merchant, and the images in its responses.
 */
import { X509Certificate, constants, hash, publicEncrypt, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Answer } from '../exchange.ts';
import type { Core } from '../channel-simulator.ts';
import { SimulatorRefusal, isOfKind } from '../requests.ts';
import { type DisputeAction, type Trade, disputedMinor, paymentOf, refundableMinor } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import { beijingTime, detailsOf } from './answers.ts';
import { complaintUrlOf } from './notifications.ts';
import {
  type WechatRequest,
  type CallRoute,
  type Planned,
  badParameter,
  empty,
  readBody,
  readForm,
  refuse,
  settled,
  success,
} from './requests.ts';

const MOST_BYTES = 2 * 1024 * 1024;

const Meta = z.object({ filename: z.string().min(1).max(128), sha256: z.string().min(1).max(256) });

/** The upload of an image for a response (pay.weixin.qq.com, chapter10_2_10 of API v3). */
export const IMAGE_CALLS: readonly CallRoute[] = [
  { method: 'POST', path: /^\/v3\/merchant-service\/images\/upload$/, call: 'dispute-image', plan: planUpload },
];

/** The account that uploaded each image, for each running simulator. The list is lost when the simulator stops. */
const owners = new WeakMap<Core, Map<string, string>>();

function hasImage({ core, account }: Pick<WechatRequest, 'core' | 'account'>, mediaId: string): boolean {
  return owners.get(core)?.get(mediaId) === account.name;
}

function planUpload({ core, account, rawBody, contentType }: WechatRequest): Planned {
  const parts = readForm(contentType, rawBody);
  const file = parts?.find(({ name }) => name === 'file');
  const meta = Meta.safeParse(parseJson(parts?.find(({ name }) => name === 'meta')?.bytes));
  if (!file || !meta.success) return settled(badParameter('/meta', 'the form must have the parts file and meta'));
  const { filename, sha256 } = meta.data;
  if (file.bytes.length > MOST_BYTES) return settled(badParameter('/file', 'the file is larger than 2 MB'));
  if (!isOfKind(file.bytes, filename, ['jpg', 'png', 'bmp']))
    return settled(badParameter('/meta/filename', 'the file must be jpg, png or bmp'));
  if (hash('sha256', file.bytes) !== sha256)
    return settled(badParameter('/meta/sha256', 'sha256 is not the hash of the file'));
  return {
    act() {
      const images = owners.get(core) ?? new Map<string, string>();
      owners.set(core, images);
      const mediaId = `file_${randomUUID()}`;
      images.set(mediaId, account.name);
      return success({ media_id: mediaId });
    },
  };
}

function parseJson(bytes: Buffer | undefined): unknown {
  try {
    return JSON.parse(bytes?.toString('utf8') ?? '') as unknown;
  } catch {
    return undefined;
  }
}

/** An event in the history of a complaint. `action` is the `action_type` of the notification about the event. */
interface Step {
  id: string;
  at: number;
  action: Action;
  text: string;
}

/**
 * For each `action_type` of a notification: who acted (payer, merchant or system), and the type of the event in the
 * history of the complaint ("查询投诉单协商历史"). MERCHANT_REFUSE_RERUND is WeChat Pay's own spelling.
 */
const STEPS = {
  CREATE_COMPLAINT: ['投诉人', 'USER_CREATE_COMPLAINT'],
  CONTINUE_COMPLAINT: ['投诉人', 'USER_CONTINUE_COMPLAINT'],
  USER_RESPONSE: ['投诉人', 'USER_RESPONSE'],
  MERCHANT_RESPONSE: ['商户', 'MERCHANT_RESPONSE'],
  MERCHANT_CONFIRM_COMPLETE: ['商户', 'MERCHANT_CONFIRM_COMPLETE'],
  MERCHANT_APPROVE_REFUND: ['商户', 'MERCHANT_APPROVE_REFUND'],
  MERCHANT_REJECT_REFUND: ['商户', 'MERCHANT_REFUSE_RERUND'],
  REFUND_SUCCESS: ['系统', 'COMPLAINT_REFUND_RECEIVED_SYSTEM_MESSAGE'],
} as const;
type Action = keyof typeof STEPS;

/** A complaint of a payer. It is stored in `details` of its trade. */
interface Complaint {
  id: string;
  minor: number;
  reason: string;
  state: 'PENDING' | 'PROCESSING' | 'PROCESSED';
  /** True if the payer's last message has no answer yet. */
  waits: boolean;
  history?: Step[];
  /** True if the merchant agreed to a refund. The complaint is closed when the refund succeeds. */
  isApproved?: boolean;
  /** How often the payer has complained, including the first time. */
  times?: number;
  images?: string[];
  createdAt: number;
}

/** The text of every simulated complaint and of every later message of the payer. */
const WORDS = '没有收到';
const MOST_DAYS = 30;
const DAY_MS = 86_400_000;
const Day = z.iso.date();

const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(50).default(10),
  offset: z.coerce.number().int().min(0).default(0),
  begin_date: Day,
  end_date: Day,
  /** The sub-merchant of a partner; absent = all sub-merchants ("查询投诉单列表"). */
  complainted_mchid: z.string().max(64).optional(),
});
const ResponseBody = z.object({
  complainted_mchid: z.string().min(1).max(64),
  response_content: z.string().min(1).max(200),
  response_images: z.array(z.string().min(1)).max(4).default([]),
});

const CompleteBody = ResponseBody.pick({ complainted_mchid: true });
/** The body of "更新退款审批结果". A request with one action may also contain the fields of the other action. */
const RefundBody = z.object({
  action: z.enum(['APPROVE', 'REJECT']),
  launch_refund_day: z.int().min(0).optional(),
  reject_reason: z.string().min(1).max(200).optional(),
  reject_media_list: z.array(z.string().min(1)).max(4).default([]),
  remark: z.string().min(1).max(200).optional(),
});
const HistoryQuery = z.object({
  limit: z.coerce.number().int().min(1).max(300).default(100),
  offset: z.coerce.number().int().min(0).default(0),
});

/** Paths, fields, states and limits are those of WeChat Pay's documents of 消费者投诉 2.0. */
export const COMPLAINT_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: /^\/v3\/merchant-service\/complaints-v2$/, call: 'dispute', plan: planList },
  { method: 'GET', path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)$/, call: 'dispute', plan: planRead },
  {
    method: 'POST',
    path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)\/response$/,
    call: 'dispute-deed',
    plan: (request) => planAction(request, ResponseBody, (found, body) => answer(request, found, body)),
  },
  {
    method: 'POST',
    path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)\/complete$/,
    call: 'dispute-deed',
    plan: (request) => planAction(request, CompleteBody, (found) => complete(request, found)),
  },
  {
    method: 'POST',
    path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)\/update-refund-progress$/,
    call: 'dispute-deed',
    plan: (request) => planAction(request, RefundBody, (found, body) => decideRefund(request, found, body)),
  },
  {
    method: 'GET',
    path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)\/negotiation-historys$/,
    call: 'dispute',
    plan: planHistory,
  },
];

/**
 * Applies an action to a trade's complaint. `ask`: the payer sends another message. `review`: the merchant responds.
 * `appeal`: the payer continues the complaint; the state after that is not documented. Action types: pay.weixin.qq.com,
 * chapter10_2_16 of API v3, 2023.06.06.
 */
export function actOnComplaint(core: Core, trade: Trade, disputeAction: DisputeAction): object {
  if (disputeAction.act === 'open') return open(core, trade, disputeAction);
  const complaint = complaintsOf(trade).at(-1);
  if (!complaint) throw new SimulatorRefusal(404, 'no_such_dispute', `Order ${trade.orderNo} has no complaint.`);
  if (disputeAction.act === 'ask')
    return move(core, trade, complaint, { state: 'PROCESSING', waits: true }, 'USER_RESPONSE');
  if (disputeAction.act === 'review') return move(core, trade, complaint, { state: 'PROCESSING' }, 'MERCHANT_RESPONSE');
  if (disputeAction.act === 'appeal') return continueComplaint(core, trade, complaint);
  if (disputeAction.act !== 'win' && disputeAction.act !== 'cancel')
    throw new SimulatorRefusal(400, 'no_such_act', 'A complaint at WeChat Pay cannot be escalated or lost.');
  return move(core, trade, complaint, { state: 'PROCESSED', waits: false }, 'MERCHANT_CONFIRM_COMPLETE');
}

function open(core: Core, trade: Trade, disputeAction: DisputeAction): Complaint {
  if (!paymentOf(trade))
    throw new SimulatorRefusal(409, 'not_paid', `Order ${trade.orderNo} is not paid, so no complaint can be opened.`);
  const { reason = 'REFUND' } = disputeAction;
  const id = core.trades.newNumber(() => `2002${randomDigits(23)}`);
  const minor = disputedMinor(trade, disputeAction);
  const rest = { waits: false, createdAt: core.clock.now() };
  const complaint: Complaint = { id, minor, reason, state: 'PENDING', ...rest };
  trade.details['complaints'] = [...complaintsOf(trade), complaint];
  return notifyMerchant(core, trade, complaint, 'COMPLAINT.CREATE', 'CREATE_COMPLAINT');
}

/** Closes the complaints of a trade whose refund the merchant approved. Called when the refund has succeeded. */
export function endApproved(core: Core, trade: Trade): void {
  for (const complaint of complaintsOf(trade).filter(({ isApproved, state }) => isApproved && state !== 'PROCESSED'))
    move(core, trade, complaint, { state: 'PROCESSED', waits: false }, 'REFUND_SUCCESS');
}

function continueComplaint(core: Core, trade: Trade, complaint: Complaint): Complaint {
  const times = (complaint.times ?? 1) + 1;
  return move(core, trade, complaint, { state: 'PENDING', waits: true, times }, 'CONTINUE_COMPLAINT');
}

function move(
  core: Core,
  trade: Trade,
  complaint: Complaint,
  change: Partial<Complaint>,
  action: Action,
  text?: string,
): Complaint {
  Object.assign(complaint, change);
  return notifyMerchant(core, trade, complaint, 'COMPLAINT.STATE_CHANGE', action, text);
}

function notifyMerchant(
  core: Core,
  trade: Trade,
  complaint: Complaint,
  event: string,
  action: Action,
  text = action.startsWith('MERCHANT') || action === 'REFUND_SUCCESS' ? '' : WORDS,
): Complaint {
  const id = core.trades.newNumber(() => `3002${randomDigits(23)}`);
  complaint.history = [...(complaint.history ?? []), { id, at: core.clock.now(), action, text }];
  core.trades.record(trade, 'updated', { number: complaint.id });
  const facts = { complaint_id: complaint.id, action_type: action };
  const account = core.accounts.get('wechat', trade.account);
  // The notification goes to the registered address or, if there is none, to the notify_url of the order.
  const url = (account && complaintUrlOf(account)) ?? trade.notifyUrl;
  if (url !== null)
    core.notifications.send(trade, { id: randomUUID(), event, url, facts }, core.notificationDelay(trade));
  return complaint;
}

function complaintsOf({ details }: Trade): Complaint[] {
  return (details['complaints'] as Complaint[] | undefined) ?? [];
}

interface Found {
  trade: Trade;
  complaint: Complaint;
}

function allOf({ core, account }: WechatRequest): Found[] {
  return [...core.ledger.trades.values()]
    .filter((trade) => trade.payWay === 'wechat' && trade.account === account.name)
    .flatMap((trade) => complaintsOf(trade).map((complaint) => ({ trade, complaint })));
}

function planList(request: WechatRequest): Planned {
  const read = ListQuery.safeParse(Object.fromEntries(request.query));
  if (!read.success) return settled(badParameter('/query', read.error.issues[0]?.message ?? ''));
  const { limit, offset, begin_date: begin, end_date: end, complainted_mchid: about } = read.data;
  if (Date.parse(end) < Date.parse(begin) || Date.parse(end) - Date.parse(begin) > MOST_DAYS * DAY_MS)
    return settled(badParameter('/query/end_date', 'end_date must be at most 30 days after begin_date'));
  const found = allOf(request).filter(({ trade, complaint }) => {
    const day = beijingTime(complaint.createdAt).slice(0, 10);
    return day >= begin && day <= end && (about === undefined || about === complainedOf(trade));
  });
  const data = found.slice(offset, offset + limit).map((one) => present(request, one));
  const page = { data, limit, offset, ...(offset === 0 ? { total_count: found.length } : {}) };
  const none = { data: [], limit, offset, total_count: 0 };
  return { act: (fault) => success(fault === 'query-lag' ? none : page) };
}

function planRead(request: WechatRequest): Planned {
  const found = allOf(request).find(({ complaint }) => complaint.id === request.parts[0]);
  if (!found) return settled(unknownHere());
  const { orderNo } = found.trade;
  return { orderNo, act: (fault) => (fault === 'query-lag' ? unknownHere() : success(present(request, found))) };
}

function planHistory(request: WechatRequest): Planned {
  const read = HistoryQuery.safeParse(Object.fromEntries(request.query));
  if (!read.success) return settled(badParameter('/query', read.error.issues[0]?.message ?? ''));
  const found = allOf(request).find(({ complaint }) => complaint.id === request.parts[0]);
  if (!found) return settled(unknownHere());
  const { limit, offset } = read.data;
  const { history = [] } = found.complaint;
  const data = history.slice(offset, offset + limit).map(({ id, at, action, text }) => {
    const [operator, type] = STEPS[action];
    return { log_id: id, operator, operate_time: beijingTime(at), operate_type: type, operate_details: text };
  });
  const page = { data, limit, offset, ...(offset === 0 ? { total_count: history.length } : {}) };
  return { orderNo: found.trade.orderNo, act: (fault) => (fault === 'query-lag' ? unknownHere() : success(page)) };
}

function planAction<Body extends object>(
  request: WechatRequest,
  schema: z.ZodType<Body>,
  act: (found: Found, body: Body) => Answer,
): Planned {
  const read = readBody(schema, request.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  const found = allOf(request).find(({ complaint }) => complaint.id === request.parts[0]);
  const about = 'complainted_mchid' in read.body ? read.body.complainted_mchid : undefined;
  if (!found || (about ?? complainedOf(found.trade)) !== complainedOf(found.trade)) return settled(unknownHere());
  return { orderNo: found.trade.orderNo, act: () => (isOver(found) ? over() : act(found, read.body)) };
}

function answer(request: WechatRequest, { trade, complaint }: Found, body: z.infer<typeof ResponseBody>): Answer {
  const refused = refuseImages(request, 'response_images', body.response_images);
  if (refused) return refused;
  const images = [...(complaint.images ?? []), ...body.response_images];
  const change = { state: 'PROCESSING' as const, waits: false, images };
  move(request.core, trade, complaint, change, 'MERCHANT_RESPONSE', body.response_content);
  return empty(204);
}

/** The error code for a complaint that requests no refund is inferred. */
function decideRefund(request: WechatRequest, { trade, complaint }: Found, body: z.infer<typeof RefundBody>): Answer {
  if (complaint.reason !== 'REFUND') return refuse(400, 'INVALID_REQUEST', '投诉单非申请退款类型');
  const refused = refuseImages(request, 'reject_media_list', body.reject_media_list);
  if (refused) return refused;
  const { core } = request;
  if (body.action === 'REJECT') {
    const change = { state: 'PROCESSED', waits: false } as const;
    move(core, trade, complaint, change, 'MERCHANT_REJECT_REFUND', body.reject_reason ?? '');
  } else {
    const change = { state: 'PROCESSING', waits: false, isApproved: true } as const;
    move(core, trade, complaint, change, 'MERCHANT_APPROVE_REFUND', body.remark ?? '');
  }
  return empty(204);
}

function refuseImages(request: WechatRequest, member: string, images: readonly string[]): Answer | undefined {
  const unknown = images.findIndex((id) => !hasImage(request, id));
  return unknown < 0 ? undefined : badParameter(`/${member}/${unknown}`, 'the merchant has not uploaded this image');
}

function complete({ core }: WechatRequest, { trade, complaint }: Found): Answer {
  move(core, trade, complaint, { state: 'PROCESSED', waits: false }, 'MERCHANT_CONFIRM_COMPLETE');
  return empty(204);
}

function isOver({ complaint }: Found): boolean {
  return complaint.state === 'PROCESSED';
}

function unknownHere(): Answer {
  return refuse(404, 'RESOURCE_NOT_EXISTS', '投诉单不存在');
}

function over(): Answer {
  return refuse(400, 'INVALID_REQUEST', '投诉单已处理完成');
}

function present({ merchant }: WechatRequest, { trade, complaint }: Found): Record<string, unknown> {
  const { id, minor, reason, state, waits, times = 1, createdAt } = complaint;
  return {
    complaint_id: id,
    complaint_time: beijingTime(createdAt),
    complaint_detail: '商品没有收到',
    complaint_state: state,
    complainted_mchid: complainedOf(trade),
    payer_phone: encryptedPhone(merchant.merchantKeys[0]?.certificate ?? ''),
    complaint_order_info: [
      { transaction_id: paymentOf(trade)?.number ?? '', out_trade_no: trade.orderNo, amount: trade.minor },
    ],
    complaint_full_refunded: refundableMinor(trade) === 0,
    incoming_user_response: waits,
    user_complaint_times: times,
    problem_description: WORDS,
    problem_type: reason,
    ...(reason === 'REFUND' ? { apply_refund_amount: minor } : {}),
  };
}

/** Returns the mchid of the merchant that a complaint is about. For a trade of a partner, this is the sub-merchant. */
function complainedOf(trade: Trade): string {
  const { mchid, subMchid = mchid } = detailsOf(trade);
  return subMchid;
}

/** Returns a phone number, encrypted like all sensitive fields: with RSA-OAEP for the merchant's certificate. */
function encryptedPhone(certificate: string): string {
  const key = { key: new X509Certificate(certificate).publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING };
  return publicEncrypt(key, Buffer.from('13800000000')).toString('base64');
}
