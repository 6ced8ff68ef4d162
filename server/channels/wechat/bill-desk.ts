import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  type BillAnswer,
  type BillCalendar,
  type BillDesk,
  BillMalformed,
  type FeeRate,
} from '../../payments/channel.ts';
import { downloadBill, goneDay, noBill } from '../bill-answers.ts';
import { unpackedBeside } from '../bill-bytes.ts';
import { readTradeBill, UTC_OFFSET_MINUTES } from './bill.ts';
import type { Ask, DownloadSigned } from './client.ts';
import { unknown, unknownRefusal } from './reply.ts';
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
export interface BillCalls {
  ask: Ask;
  download: DownloadSigned;
  settings: Pick<Settings, 'base' | 'spareBase' | 'mchid' | 'sub'>;
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
    fetch: (day) => fetchBill(calls, day),
    read: (file, day, isLenient) => readTradeBill(file, day, owner, isLenient),
  };
}

async function fetchBill({ ask, download, settings, now }: BillCalls, day: string): Promise<BillAnswer> {
  const gone = goneDay(day, WECHAT_BILLS, now());
  if (gone) return gone;
  const whose: Record<string, string> = settings.sub ? { sub_mchid: settings.sub.mchid } : {};
  const query = new URLSearchParams({ bill_date: day, bill_type: 'ALL', tar_type: 'GZIP', ...whose });
  const reply = await ask({ method: 'GET', target: `/v3/bill/tradebill?${query.toString()}`, about: { call: 'bill' } });
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'refused') {
    const { code, message, signed } = reply;
    if (code === 'STATEMENT_CREATING') return { kind: 'not_ready', code };
    // That there is nothing is said of a whole day, so it must be WeChat Pay that says it, when its bills are there.
    const when = { day, calendar: WECHAT_BILLS, now: now(), sureAfterMinutes: WECHAT_BILLS.readyAfterMinutes };
    if (code === 'NO_STATEMENT_EXIST') return signed ? noBill(code, when) : unknown('unsigned', code);
    const silence = code === 'NO_AUTH' ? undefined : unknownRefusal(reply);
    return silence ?? { kind: 'refused', code, reason: message };
  }
  const named = Named.safeParse(reply.members).data;
  if (!named) return unknown('unparsable', 'The response names no bill with a SHA-1.');
  const url = new URL(named.download_url);
  if (!isTrusted(url, settings)) return unknown('mismatch', 'download_url does not lead to WeChat Pay.');
  const file = await downloadBill(() => download(url));
  return file.kind === 'bill' ? { kind: 'bill', bytes: verified(file.bytes, named.hash_value) } : file;
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
