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

/** WeChat Pay documents that a bill is ready at 10:00 of the next day, and is kept for three months. */
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

/** The calls to WeChat Pay, and the configuration for bills. */
interface BillCalls {
  ask: Ask;
  download: DownloadSigned;
  settings: Pick<Settings, 'base' | 'spareBase' | 'mchid' | 'sub' | 'refundFunds'>;
  now: () => Date;
  rate: FeeRate | undefined;
}

/** The trade bills (交易账单); in partner mode only those of the configured sub-merchant. */
export function wechatBills(calls: BillCalls): BillDesk {
  const { rate, settings } = calls;
  const { mchid, sub } = settings;
  const owner = { mchid, subMchid: sub?.mchid };
  return {
    ...(rate && { rate }),
    fetch: (day) => fetchSure(calls, day),
    // Each row names its merchants, and the reader rejects a row of another merchant.
    payeeIn: async () => payeeOf(settings),
    read: (file, day, { isLenient = false, isWhole = false } = {}) =>
      readTradeBill(file, day, { ...owner, isWhole }, isLenient),
  };
}

/** WeChat Pay's code for a day without a bill. */
const NONE = 'NO_STATEMENT_EXIST';

/** An available bill: the URL of its file, and its hash. */
interface Offered {
  kind: 'offered';
  url: URL;
  hash: string;
}

/**
 * A small merchant (小微商户) has no bill of its own: its payments are only in the partner's bill of all merchants ("下载账单", sub_mch_id). The
 * refusal of such a bill is not documented, so the partner's bill is fetched for every day without a bill of the merchant.
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
  // Only documents of the older API name this second bill, so the first bill is used even if the second is refused.
  if (more === undefined || more.kind === 'empty' || more.kind === 'refused') return downloaded(calls, all);
  if (more.kind !== 'offered') return more;
  if (all.kind !== 'offered') return downloaded(calls, more);
  const first = await downloaded(calls, all);
  return first.kind === 'bill' ? { kind: 'bill', bytes: joined(first.bytes, () => downloaded(calls, more)) } : first;
}

/**
 * Requests one of the bills of a day. ALL has no refunds from the available balance (充值退款, "下载交易账单", bill_type): they have a bill of
 * their own. These are the refunds with `funds_account` AVAILABLE, as inferred from the documents.
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
    // "No bill" means an empty day only if the answer is signed and the bill of the day is due.
    const when = { day, calendar: WECHAT_BILLS, now: now(), sureAfterMinutes: WECHAT_BILLS.readyAfterMinutes };
    if (code === NONE) return signed ? noBill(code, { ...when, payee: payeeOf(settings) }) : unknown('unsigned', code);
    const unknownReply = code === 'NO_AUTH' ? undefined : unknownRefusal(reply);
    return unknownReply ?? { kind: 'refused', code, reason: message };
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

/** Joins two bills into one file, the second on a new line; GZIP members may be concatenated. */
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
      throw new BillMalformed('not_a_bill', 'One of the two bills of the day is packed, and the other is not.');
    yield piece;
  }
}

/** The payee of a bill; a sub-merchant has a separate bill for each of its partners. */
function payeeOf({ mchid, sub }: BillCalls['settings']): string {
  return sub ? `${mchid}/${sub.mchid}` : mchid;
}

/** Whether a URL is on the configured host or its spare host; only these hosts get a signed request. */
function isTrusted(url: URL, { base, spareBase }: BillCalls['settings']): boolean {
  if (url.username !== '' || url.password !== '') return false;
  return [base, spareBase].some((one) => one !== undefined && new URL(one).origin === url.origin);
}

/** Passes the bytes on and checks the hash of the unpacked bill; the hash is in a signed answer, the file is not signed. */
async function* verified(bytes: AsyncIterable<Uint8Array>, expected: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha1');
  yield* unpackedBeside(bytes, (plain) => hash.update(plain));
  const found = hash.digest('hex');
  if (found !== expected.toLowerCase())
    throw new BillMalformed('wrong_hash', `The bill has the SHA-1 ${found}, not ${expected.toLowerCase()}.`);
}
