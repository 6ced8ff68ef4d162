import { createHash } from 'node:crypto';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import type { Answer } from '../exchange.ts';
import { isEmpty, type BillContent } from '../bills/book.ts';
import { dayOf, monthsBefore, spanOfDay } from '../bills/days.ts';
import { packedBy, withGigabyte } from '../bills/packing.ts';
import { firstHalf, inTurn, piecesOf } from '../bills/text.ts';
import { settled, type Asked, type CallRoute, type Planned } from './calls.ts';
import { fundBill } from './fund-bill.ts';
import { refuseSub } from './names.ts';
import { detailsOf } from './present.ts';
import { badParameter, refuse, tell } from './refusals.ts';
import { contentOf, TRADE_BILL_TYPES, tradeBill } from './trade-bill.ts';

/** How long an address is good (pay.weixin.qq.com, "申请交易账单", download_url: 5 minutes). */
const ADDRESS_MS = 5 * 60_000;
/** When yesterday's bill is there, after midnight (same page: 10 o'clock). */
const READY_MS = 10 * 3_600_000;
/** How far back there are bills, in months (same page). */
const BACK = 3;

const Shared = {
  bill_date: z.string().regex(/^\d{4}-\d\d-\d\d$/),
  tar_type: z.literal('GZIP').optional(),
  sub_mchid: z.string().min(1).max(32).optional(),
};
const TradeQuery = z.object({ ...Shared, bill_type: z.enum(TRADE_BILL_TYPES).default('ALL') });
const FundQuery = z.object({ ...Shared, account_type: z.enum(['BASIC', 'OPERATION', 'FEES']).default('BASIC') });

/** The bills of a day, and their files, which need a signed request and are not signed themselves. */
export const BILL_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: /^\/v3\/bill\/tradebill$/, call: 'bill', plan: planTrades },
  { method: 'GET', path: /^\/v3\/bill\/fundflowbill$/, call: 'bill', plan: planFunds },
  { method: 'GET', path: /^\/v3\/billdownload\/file$/, call: 'bill-file', plan: planFile },
];

/** What a bill is about, read. */
interface Bill {
  day: string;
  isPacked: boolean;
  subMchid: string | undefined;
}

/** What of a day is written, and how. */
interface Written {
  part?: (content: BillContent) => BillContent;
  lines: (content: BillContent) => Iterable<string>;
  /** The account's own statement. */
  isOfMoney?: boolean;
}

function planTrades(asked: Asked): Planned {
  const read = TradeQuery.safeParse(Object.fromEntries(asked.query));
  if (!read.success) return settled(badQuery(read.error));
  const { bill_type: type } = read.data;
  const owner = ownerOf(asked);
  return plan(asked, read.data, {
    part: (content) => contentOf(content, type),
    lines: (content) => tradeBill(content, owner, type),
  });
}

/** Only the basic account moves here: the others have no bills. */
function planFunds(asked: Asked): Planned {
  const read = FundQuery.safeParse(Object.fromEntries(asked.query));
  if (!read.success) return settled(badQuery(read.error));
  const owner = ownerOf(asked);
  if (read.data.account_type !== 'BASIC') return settled(noStatement());
  return plan(
    asked,
    { ...read.data, sub_mchid: undefined },
    { isOfMoney: true, lines: (content) => fundBill(content, owner) },
  );
}

function plan(
  asked: Asked,
  query: { bill_date: string; tar_type?: string | undefined; sub_mchid?: string | undefined },
  how: Written,
): Planned {
  const bill = { day: query.bill_date, isPacked: query.tar_type === 'GZIP', subMchid: query.sub_mchid };
  // Without a sub-merchant a partner has the bill of all of them ("申请所有/单个子商户交易账单").
  const wrong = bill.subMchid === undefined ? undefined : refuseSub(asked.merchant, bill.subMchid);
  if (wrong) return settled(wrong);
  // "小微商户不单独提供对账单下载" ("下载账单", sub_mch_id): its rows are in the partner's bill of all merchants. The word for it is inferred.
  if (asked.merchant.subMerchants.some(({ mchid, isSmall }) => isSmall && mchid === bill.subMchid))
    return settled(noStatement());
  return { act: () => answer(asked, bill, how) };
}

async function answer(
  { core, account, base }: Asked,
  { day, isPacked, subMchid }: Bill,
  { part = (content) => content, lines, isOfMoney = false }: Written,
): Promise<Answer> {
  const now = core.clock.now();
  const span = spanOfDay('wechat', day);
  if (!span) return badParameter('bill_date', 'bill_date is no day');
  if (span.from > now || span.from < monthsBefore('wechat', now, BACK))
    return refuse(400, 'INVALID_REQUEST', '账单日期无效');
  const found = core.bills.contentOf({
    payWay: 'wechat',
    account: account.name,
    ...span,
    isOfMoney,
    // Its refunds stand as they stood when it was made: their states change in no later one ("交易账单详细说明").
    madeAt: Math.min(now, span.to + READY_MS),
    isOurs: (trade) => subMchid === undefined || detailsOf(trade).subMchid === subMchid,
  });
  const content = part({
    ...found,
    rows: found.rows.filter(({ kind, state }) => kind !== 'payment' || state === 'done'),
  });
  const isEarly = content.has('real-hours') && now < span.to + READY_MS;
  if (isEarly || content.has('late')) return refuse(400, 'STATEMENT_CREATING', '账单生成中');
  if (isEmpty(content)) return noStatement();
  const plain = () => plainFile(content, lines(content));
  const hash = await sha1Of(plain());
  const token = core.bills.promise({
    payWay: 'wechat',
    account: account.name,
    expiresAt: content.has('expired-url') ? now - 1 : now + ADDRESS_MS,
    write: () => sent(content, isPacked ? packedBy(createGzip(), plain()) : plain()),
  });
  return tell({
    hash_type: 'SHA1',
    hash_value: content.has('wrong-hash') ? createHash('sha1').update(dayOf('wechat', now)).digest('hex') : hash,
    download_url: `${base}/v3/billdownload/file?token=${token}`,
  });
}

/** The refusals are those of the list of errors of "下载账单". */
function planFile({ core, account, query }: Asked): Planned {
  return {
    act() {
      const file = core.bills.find(query.get('token') ?? '');
      if (file?.payWay !== 'wechat' || file.expiresAt < core.clock.now())
        return refuse(400, 'INVALID_REQUEST', '请求的账单文件已失效');
      if (file.account !== account.name) return refuse(403, 'NO_AUTH', '权限异常');
      return { status: 200, body: '', headers: { 'Content-Type': 'text/plain' }, file: () => file.write() };
    },
  };
}

function plainFile(content: BillContent, lines: Iterable<string>): AsyncIterable<Buffer> {
  const pieces = inTurn(piecesOf(lines, content.has('wrong-charset') ? 'gbk' : 'utf8'));
  return content.has('zip-bomb') ? withGigabyte(pieces) : pieces;
}

function sent({ has }: BillContent, pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return has('cut') ? firstHalf(pieces) : pieces;
}

/** The hash is that of the file before it is packed. */
async function sha1Of(pieces: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha1');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

function ownerOf({ merchant: { mchid, appId } }: Asked) {
  return { mchid, appid: appId };
}

function noStatement(): Answer {
  return refuse(400, 'NO_STATEMENT_EXIST', '账单文件不存在');
}

function badQuery({ issues: [issue] }: z.ZodError): Answer {
  return badParameter(String(issue?.path[0] ?? ''), issue?.message ?? 'invalid');
}
