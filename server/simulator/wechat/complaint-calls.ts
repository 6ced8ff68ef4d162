import { constants, publicEncrypt, randomUUID, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { Answer } from '../exchange.ts';
import { disputedMinor, type DisputeDeed } from '../dispute-deed.ts';
import type { Core } from '../half.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { paymentOf, refundableMinor, type Trade } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import { settled, type Asked, type CallRoute, type Planned } from './calls.ts';
import { complaintUrlOf } from './complaint-notices.ts';
import { hasImage } from './image-calls.ts';
import { beijingTime, detailsOf } from './present.ts';
import { badParameter, empty, refuse, tell } from './refusals.ts';
import { readBody } from './schemas.ts';

/** A complaint inside the details of its trade. */
interface Complaint {
  id: string;
  minor: number;
  reason: string;
  state: 'PENDING' | 'PROCESSING' | 'PROCESSED';
  /** The payer wrote something that nobody answered. */
  waits: boolean;
  answers: string[];
  /** How often the payer complained, the first time included. */
  times?: number;
  /** Images that went with the answers. */
  images?: string[];
  createdAt: number;
}

const MOST_DAYS = 30;
const DAY_MS = 86_400_000;
const Day = z.iso.date();

const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(50).default(10),
  offset: z.coerce.number().int().min(0).default(0),
  begin_date: Day,
  end_date: Day,
  /** A partner's sub-merchant; left out, those of all of them ("查询投诉单列表"). */
  complainted_mchid: z.string().max(64).optional(),
});
const ResponseBody = z.object({
  complainted_mchid: z.string().min(1).max(64),
  response_content: z.string().min(1).max(200),
  response_images: z.array(z.string().min(1)).max(4).default([]),
});

const CompleteBody = ResponseBody.pick({ complainted_mchid: true });

/** Complaints, version 2: paths, members, words and limits as in the vendor's documents of 消费者投诉 2.0. */
export const COMPLAINT_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: /^\/v3\/merchant-service\/complaints-v2$/, call: 'dispute', plan: planList },
  { method: 'GET', path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)$/, call: 'dispute', plan: planRead },
  {
    method: 'POST',
    path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)\/response$/,
    call: 'dispute-deed',
    plan: (asked) => planDeed(asked, ResponseBody, (found, body) => answer(asked, found, body)),
  },
  {
    method: 'POST',
    path: /^\/v3\/merchant-service\/complaints-v2\/([^/]+)\/complete$/,
    call: 'dispute-deed',
    plan: (asked) => planDeed(asked, CompleteBody, (found) => complete(asked, found)),
  },
];

/**
 * What a payer does, or the merchant in WeChat Pay's own platform: `open`, `ask` (another message), `review`, `win` (dealt with), `appeal`
 * (the payer goes on complaining). Action types: pay.weixin.qq.com, chapter10_2_16 of API v3, 2023.06.06; which state a complaint
 * has that goes on is not said there.
 */
export function actOnComplaint(core: Core, trade: Trade, deed: DisputeDeed): object {
  if (deed.act === 'open') return open(core, trade, deed);
  const complaint = complaintsOf(trade).at(-1);
  if (!complaint) throw new SimulatorRefusal(404, 'no_such_dispute', `Order ${trade.orderNo} has no complaint.`);
  if (deed.act === 'ask') return move(core, trade, complaint, { state: 'PROCESSING', waits: true }, 'USER_RESPONSE');
  if (deed.act === 'review') return move(core, trade, complaint, { state: 'PROCESSING' }, 'MERCHANT_RESPONSE');
  if (deed.act === 'appeal') return goOn(core, trade, complaint);
  if (deed.act !== 'win' && deed.act !== 'cancel')
    throw new SimulatorRefusal(400, 'no_such_act', 'A complaint takes no money, so nobody loses or appeals.');
  return move(core, trade, complaint, { state: 'PROCESSED', waits: false }, 'MERCHANT_CONFIRM_COMPLETE');
}

function open(core: Core, trade: Trade, deed: DisputeDeed): Complaint {
  if (!paymentOf(trade)) throw new SimulatorRefusal(409, 'not_paid', `Order ${trade.orderNo} is not paid.`);
  const { reason = 'REFUND' } = deed;
  const id = core.trades.newNumber(() => `2002${randomDigits(23)}`);
  const minor = disputedMinor(trade, deed);
  const rest = { waits: false, answers: [], createdAt: core.clock.now() };
  const complaint: Complaint = { id, minor, reason, state: 'PENDING', ...rest };
  trade.details['complaints'] = [...complaintsOf(trade), complaint];
  return tellMerchant(core, trade, complaint, 'COMPLAINT.CREATE', 'CREATE_COMPLAINT');
}

function goOn(core: Core, trade: Trade, complaint: Complaint): Complaint {
  const times = (complaint.times ?? 1) + 1;
  return move(core, trade, complaint, { state: 'PENDING', waits: true, times }, 'CONTINUE_COMPLAINT');
}

function move(core: Core, trade: Trade, complaint: Complaint, change: Partial<Complaint>, action: string): Complaint {
  Object.assign(complaint, change);
  return tellMerchant(core, trade, complaint, 'COMPLAINT.STATE_CHANGE', action);
}

function tellMerchant(core: Core, trade: Trade, complaint: Complaint, event: string, action: string): Complaint {
  core.trades.record(trade, 'updated', { number: complaint.id });
  const facts = { complaint_id: complaint.id, action_type: action };
  const account = core.accounts.get('wechat', trade.account);
  // To the registered address; without one, as with other messages here, to that of the order.
  const url = (account && complaintUrlOf(account)) ?? trade.notifyUrl;
  if (url !== null) core.notices.send(trade, { id: randomUUID(), event, url, facts }, core.noticeDelay(trade));
  return complaint;
}

function complaintsOf({ details }: Trade): Complaint[] {
  return (details['complaints'] as Complaint[] | undefined) ?? [];
}

interface Found {
  trade: Trade;
  complaint: Complaint;
}

function allOf({ core, account }: Asked): Found[] {
  return [...core.ledger.trades.values()]
    .filter((trade) => trade.payWay === 'wechat' && trade.account === account.name)
    .flatMap((trade) => complaintsOf(trade).map((complaint) => ({ trade, complaint })));
}

function planList(asked: Asked): Planned {
  const read = ListQuery.safeParse(Object.fromEntries(asked.query));
  if (!read.success) return settled(badParameter('/query', read.error.issues[0]?.message ?? ''));
  const { limit, offset, begin_date: begin, end_date: end, complainted_mchid: about } = read.data;
  if (Date.parse(end) < Date.parse(begin) || Date.parse(end) - Date.parse(begin) > MOST_DAYS * DAY_MS)
    return settled(badParameter('/query/end_date', 'the days are more than 30 apart'));
  const found = allOf(asked).filter(({ trade, complaint }) => {
    const day = beijingTime(complaint.createdAt).slice(0, 10);
    return day >= begin && day <= end && (about === undefined || about === complainedOf(trade));
  });
  const data = found.slice(offset, offset + limit).map((one) => present(asked, one));
  const page = { data, limit, offset, ...(offset === 0 ? { total_count: found.length } : {}) };
  const none = { data: [], limit, offset, total_count: 0 };
  return { act: (fault) => tell(fault === 'query-lag' ? none : page) };
}

function planRead(asked: Asked): Planned {
  const found = allOf(asked).find(({ complaint }) => complaint.id === asked.parts[0]);
  if (!found) return settled(unknownHere());
  const { orderNo } = found.trade;
  return { orderNo, act: (fault) => (fault === 'query-lag' ? unknownHere() : tell(present(asked, found))) };
}

function planDeed<Body extends z.infer<typeof CompleteBody>>(
  asked: Asked,
  schema: z.ZodType<Body>,
  act: (found: Found, body: Body) => Answer,
): Planned {
  const read = readBody(schema, asked.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  const found = allOf(asked).find(({ complaint }) => complaint.id === asked.parts[0]);
  if (!found || read.body.complainted_mchid !== complainedOf(found.trade)) return settled(unknownHere());
  return { orderNo: found.trade.orderNo, act: () => (isOver(found) ? over() : act(found, read.body)) };
}

function answer(asked: Asked, { trade, complaint }: Found, body: z.infer<typeof ResponseBody>): Answer {
  const { core } = asked;
  const unknown = body.response_images.findIndex((id) => !hasImage(asked, id));
  if (unknown >= 0) return badParameter(`/response_images/${unknown}`, 'no such image');
  complaint.answers.push(body.response_content);
  complaint.images = [...(complaint.images ?? []), ...body.response_images];
  move(core, trade, complaint, { state: 'PROCESSING', waits: false }, 'MERCHANT_RESPONSE');
  return empty(204);
}

function complete({ core }: Asked, { trade, complaint }: Found): Answer {
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

function present({ merchant }: Asked, { trade, complaint }: Found): Record<string, unknown> {
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
    problem_description: '没有收到',
    problem_type: reason,
    ...(reason === 'REFUND' ? { apply_refund_amount: minor } : {}),
  };
}

/** Who is complained about: never a partner, always its sub-merchant. */
function complainedOf(trade: Trade): string {
  const { mchid, subMchid = mchid } = detailsOf(trade);
  return subMchid;
}

/** As sensitive members are written: RSA-OAEP for the merchant's own certificate. */
function encryptedPhone(certificate: string): string {
  const key = { key: new X509Certificate(certificate).publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING };
  return publicEncrypt(key, Buffer.from('13800000000')).toString('base64');
}
