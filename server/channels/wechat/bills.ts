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

/**
 * WeChat Pay's documents state that a bill is ready at 10:00 of the next day and available for three months. This
 * service waits until 10:30.
 */
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

interface BillCalls {
  ask: Ask;
  download: DownloadSigned;
  settings: Pick<Settings, 'base' | 'spareBase' | 'mchid' | 'sub' | 'refundFunds'>;
  now: () => Date;
  rate: FeeRate | undefined;
}

/** Creates the adapter for trade bills (交易账单); in partner mode, for those of the configured sub-merchant. */
export function wechatBills(calls: BillCalls): BillDesk {
  const { rate, settings } = calls;
  const { mchid, sub } = settings;
  const owner = { mchid, subMchid: sub?.mchid };
  return {
    ...(rate && { rate }),
    fetch: (day) => fetchSure(calls, day),
    // The configured merchant is returned without reading the file, because the reader checks the merchant in every
    // row.
    payeeIn: async () => payeeOf(settings),
    read: (file, day, { isLenient = false, isWhole = false } = {}) =>
      readTradeBill(file, day, { ...owner, isWhole }, isLenient),
  };
}

/** WeChat Pay's error code for a day without a bill. */
const NONE = 'NO_STATEMENT_EXIST';

interface Offered {
  kind: 'offered';
  url: URL;
  hash: string;
}

/**
 * Fetches the bill of a day. A small sub-merchant (小微商户) has no bill of its own: its payments are only in the partner's
 * bill of all merchants ("下载账单", sub_mch_id). WeChat Pay does not document the refusal for such a sub-merchant. So if
 * the sub-merchant has no bill for a day, the partner's bill is fetched.
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
  const all = await requestBill(calls, day, 'ALL');
  const isMore = calls.settings.refundFunds !== undefined && (all.kind === 'offered' || all.kind === 'empty');
  const more = isMore ? await requestBill(calls, day, 'RECHARGE_REFUND') : undefined;
  // Only documents of the older API describe the second bill of a day (RECHARGE_REFUND). So if WeChat Pay refuses it,
  // the first bill (ALL) is used alone.
  if (more === undefined || more.kind === 'empty' || more.kind === 'refused') return downloaded(calls, all);
  if (more.kind !== 'offered') return more;
  if (all.kind !== 'offered') return downloaded(calls, more);
  const first = await downloaded(calls, all);
  return first.kind === 'bill' ? { kind: 'bill', bytes: joined(first.bytes, () => downloaded(calls, more)) } : first;
}

/**
 * Requests one of the two bills of a day. The bill ALL does not contain refunds from the available balance (充值退款,
 * "下载交易账单", bill_type). These refunds are in the bill RECHARGE_REFUND. WeChat Pay's documents suggest that their
 * `funds_account` is AVAILABLE.
 */
async function requestBill(
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
    // "No bill" means an empty day only if the response is signed and the bill should be ready by now.
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

/** Joins two bills into one file. The second bill begins on a new line. Two GZIP files can be joined byte by byte. */
async function* joined(
  first: AsyncIterable<Uint8Array>,
  requestSecond: () => Promise<BillAnswer>,
): AsyncGenerator<Uint8Array> {
  let begin: Uint8Array = Buffer.alloc(0);
  for await (const piece of first) {
    if (begin.byteLength < 2) begin = Buffer.concat([begin, piece]);
    yield piece;
  }
  const isPacked = isGzip(begin);
  const second = await requestSecond();
  if (second.kind !== 'bill')
    throw new TransportFailed('network', 'The second bill (refunds) could not be downloaded.');
  yield isPacked ? gzipSync(LINE_END) : Buffer.from(LINE_END);
  begin = Buffer.alloc(0);
  for await (const piece of second.bytes) {
    if (begin.byteLength < 2) begin = Buffer.concat([begin, piece]);
    if (begin.byteLength >= 2 && isGzip(begin) !== isPacked)
      throw new BillMalformed('not_a_bill', 'One of the two bills of the day is GZIP, and the other is not.');
    yield piece;
  }
}

/**
 * Returns the merchant of the bill. For a sub-merchant the partner's number is added, because each partner has a
 * separate bill.
 */
function payeeOf({ mchid, sub }: BillCalls['settings']): string {
  return sub ? `${mchid}/${sub.mchid}` : mchid;
}

/** Whether a URL leads to the configured host or its spare host. Signed requests are sent only to these hosts. */
function isTrusted(url: URL, { base, spareBase }: BillCalls['settings']): boolean {
  if (url.username !== '' || url.password !== '') return false;
  return [base, spareBase].some((one) => one !== undefined && new URL(one).origin === url.origin);
}

/** The file itself is not signed, but the SHA-1 of the unpacked bill is in a signed response. */
async function* verified(bytes: AsyncIterable<Uint8Array>, expected: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha1');
  yield* unpackedBeside(bytes, (plain) => hash.update(plain));
  const found = hash.digest('hex');
  if (found !== expected.toLowerCase())
    throw new BillMalformed('wrong_hash', `The SHA-1 of the bill is ${found}, not ${expected.toLowerCase()}.`);
}
