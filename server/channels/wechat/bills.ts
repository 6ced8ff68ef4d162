import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import {
  type BillAnswer,
  type BillCalendar,
  type BillDesk,
  BillMalformed,
  type FeeRate,
  TransportFailed,
} from '../../payments/channel.ts';
import { downloadBill, goneDay, isGzip, noBill, unpackedBeside } from '../bill-bytes.ts';
import { UTC_OFFSET_MINUTES, readTradeBill } from './bill-file.ts';
import { type Ask, type DownloadSigned, unknown, unknownRefusal } from './reply.ts';
import type { Settings } from './settings.ts';

/** WeChat Pay says 10 o'clock of the next day, and keeps bills for three months. */
export const WECHAT_BILLS: BillCalendar = {
  utcOffsetMinutes: UTC_OFFSET_MINUTES,
  readyAfterMinutes: 630,
  backDays: 90,
};

const Named = z.object({
  hash_type: z.literal('SHA1'),
  hash_value: z.string().regex(/^[0-9a-fA-F]{40}$/),
  download_url: z.url(),
});

/** How WeChat Pay is asked. */
interface BillCalls {
  ask: Ask;
  download: DownloadSigned;
  settings: Pick<Settings, 'base' | 'spareBase' | 'mchid' | 'sub' | 'refundFunds'>;
  now: () => Date;
  rate: FeeRate | undefined;
}

/** The trade bills (交易账单): of a partner that of the one merchant that it acts for here. */
export function wechatBills(calls: BillCalls): BillDesk {
  const { rate, settings } = calls;
  const { mchid, sub } = settings;
  const owner = { mchid, subMchid: sub?.mchid };
  return {
    ...(rate && { rate }),
    fetch: (day) => fetchSure(calls, day),
    // Each row names the merchants, and one of others is refused; that the keys are this merchant's the answer proves.
    payeeIn: async () => payeeOf(settings),
    read: (file, day, { isLenient = false, isWhole = false } = {}) =>
      readTradeBill(file, day, { ...owner, isWhole }, isLenient),
  };
}

/** WeChat Pay's word for a day without a bill. */
const NONE = 'NO_STATEMENT_EXIST';

/** A bill that is there: where its file is, and its hash. */
interface Offered {
  kind: 'offered';
  url: URL;
  hash: string;
}

/**
 * WeChat Pay makes no bill of its own for a small merchant (小微商户): its payments stand in the partner's bill of all merchants alone ("下载账单", sub_mch_id).
 * How it refuses such a bill no document says, so the partner's is read for every day of which a merchant has none.
 */
async function fetchSure(calls: BillCalls, day: string): Promise<BillAnswer> {
  const own = await fetchBill(calls, day);
  const { sub, ...partner } = calls.settings;
  const isNone = own.kind === 'empty' || own.kind === 'refused' || (own.kind === 'not_ready' && own.code === NONE);
  if (!sub || !isNone) return own;
  const whole = await fetchBill({ ...calls, settings: { ...partner, sub: undefined } }, day);
  return whole.kind === 'bill' ? { ...whole, isWhole: true } : own;
}

async function fetchBill(calls: BillCalls, day: string): Promise<BillAnswer> {
  const gone = goneDay(day, WECHAT_BILLS, calls.now());
  if (gone) return gone;
  const all = await askFor(calls, day, 'ALL');
  const isMore = calls.settings.refundFunds !== undefined && (all.kind === 'offered' || all.kind === 'empty');
  const more = isMore ? await askFor(calls, day, 'RECHARGE_REFUND') : undefined;
  // Only documents of the older API name this bill, so that it is refused says nothing about the other.
  if (more === undefined || more.kind === 'empty' || more.kind === 'refused') return downloaded(calls, all);
  if (more.kind !== 'offered') return more;
  if (all.kind !== 'offered') return downloaded(calls, more);
  const first = await downloaded(calls, all);
  return first.kind === 'bill' ? { kind: 'bill', bytes: joined(first.bytes, () => downloaded(calls, more)) } : first;
}

/**
 * Asks for one of the bills of a day. ALL has no refunds that were paid from the available balance (充值退款, "下载交易账单", bill_type): they
 * have a bill of their own. That these are the refunds with `funds_account` AVAILABLE is inferred from the documents.
 */
async function askFor(
  { ask, settings, now }: BillCalls,
  day: string,
  type: 'ALL' | 'RECHARGE_REFUND',
): Promise<Offered | BillAnswer> {
  const whose: Record<string, string> = settings.sub ? { sub_mchid: settings.sub.mchid } : {};
  const query = new URLSearchParams({ bill_date: day, bill_type: type, tar_type: 'GZIP', ...whose });
  const reply = await ask({ method: 'GET', target: `/v3/bill/tradebill?${query.toString()}`, about: { call: 'bill' } });
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'refused') {
    const { code, message, signed } = reply;
    if (code === 'STATEMENT_CREATING') return { kind: 'not_ready', code };
    // That there is nothing is said of a whole day, so it must be WeChat Pay that says it, when its bills are there.
    const when = { day, calendar: WECHAT_BILLS, now: now(), sureAfterMinutes: WECHAT_BILLS.readyAfterMinutes };
    if (code === NONE) return signed ? noBill(code, { ...when, payee: payeeOf(settings) }) : unknown('unsigned', code);
    const silence = code === 'NO_AUTH' ? undefined : unknownRefusal(reply);
    return silence ?? { kind: 'refused', code, reason: message };
  }
  const named = Named.safeParse(reply.members).data;
  if (!named) return unknown('unparsable', 'The response names no bill with a SHA-1.');
  const url = new URL(named.download_url);
  if (!isTrusted(url, settings)) return unknown('mismatch', 'download_url does not lead to WeChat Pay.');
  return { kind: 'offered', url, hash: named.hash_value };
}

async function downloaded(
  { download }: Pick<BillCalls, 'download'>,
  offered: Offered | BillAnswer,
): Promise<BillAnswer> {
  if (offered.kind !== 'offered') return offered;
  const file = await downloadBill(() => download(offered.url));
  return file.kind === 'bill' ? { kind: 'bill', bytes: verified(file.bytes, offered.hash) } : file;
}

const LINE_END = '\r\n';

/** Two bills in one file, the second on a line of its own: GZIP, too, may follow GZIP. */
async function* joined(
  first: AsyncIterable<Uint8Array>,
  askSecond: () => Promise<BillAnswer>,
): AsyncGenerator<Uint8Array> {
  let begin: Uint8Array = Buffer.alloc(0);
  for await (const piece of first) {
    if (begin.byteLength < 2) begin = Buffer.concat([begin, piece]);
    yield piece;
  }
  const isPacked = isGzip(begin);
  const second = await askSecond();
  if (second.kind !== 'bill') throw new TransportFailed('network', 'The bill of refunds could not be downloaded.');
  yield isPacked ? gzipSync(LINE_END) : Buffer.from(LINE_END);
  begin = Buffer.alloc(0);
  for await (const piece of second.bytes) {
    if (begin.byteLength < 2) begin = Buffer.concat([begin, piece]);
    if (begin.byteLength >= 2 && isGzip(begin) !== isPacked)
      throw new BillMalformed('not_a_bill', 'Of two bills of a day one is packed, and one is not.');
    yield piece;
  }
}

/** The merchant that a bill is of: a sub-merchant has one for each partner that acts for it. */
function payeeOf({ mchid, sub }: BillCalls['settings']): string {
  return sub ? `${mchid}/${sub.mchid}` : mchid;
}

/** The request is signed for the host that was asked, or its spare; nobody else gets a signature. */
function isTrusted(url: URL, { base, spareBase }: BillCalls['settings']): boolean {
  if (url.username !== '' || url.password !== '') return false;
  return [base, spareBase].some((one) => one !== undefined && new URL(one).origin === url.origin);
}

/** The bytes as they came. The hash is that of the bill before it was packed, and stands in a signed answer; the file is not signed. */
async function* verified(bytes: AsyncIterable<Uint8Array>, expected: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha1');
  yield* unpackedBeside(bytes, (plain) => hash.update(plain));
  const found = hash.digest('hex');
  if (found !== expected.toLowerCase())
    throw new BillMalformed('wrong_hash', `The bill has the SHA-1 ${found}, not ${expected.toLowerCase()}.`);
}
