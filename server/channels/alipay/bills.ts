import type { BillAnswer, BillCalendar, BillDesk, Download, FeeRate, Mode } from '../../payments/channel.ts';
import { downloadBill, goneDay, noBill } from '../bill-bytes.ts';
import { UTC_OFFSET_MINUTES, readBill, readPayee } from './bill-file.ts';
import { CODE, type Reply, unknown, unknownRefusal } from './reply.ts';
import type { AlipayCall } from './requests.ts';

/** Alipay documents that a bill is ready at 9:00 of the next day, sometimes later. The first bills are of 2016. */
export const ALIPAY_BILLS: BillCalendar = {
  utcOffsetMinutes: UTC_OFFSET_MINUTES,
  readyAfterMinutes: 630,
  backDays: 3650,
};

const METHOD = 'alipay.data.dataservice.bill.downloadurl.query';

/** The calls to Alipay, and the configuration for bills. */
interface BillCalls {
  ask: (call: AlipayCall) => Promise<Reply>;
  download: Download;
  mode: Mode;
  gateway: string;
  /** The configured payee; empty = the payee that the file names. */
  sellerId: string;
  rate: FeeRate | undefined;
  now: () => Date;
}

/** The bills of trades (业务账单). The URL of a bill is valid for 30 seconds, so it is used immediately. */
export function alipayBills(calls: BillCalls): BillDesk {
  const { rate, sellerId } = calls;
  return {
    ...(rate && { rate }),
    fetch: (day) => fetchBill(calls, day),
    payeeIn: readPayee,
    read: (file, day, how) => readBill(file, day, sellerId, how?.isLenient),
  };
}

async function fetchBill(calls: BillCalls, day: string): Promise<BillAnswer> {
  const gone = goneDay(day, ALIPAY_BILLS, calls.now());
  if (gone) return gone;
  const reply = await calls.ask({ method: METHOD, content: { bill_type: 'trade', bill_date: day } });
  if (reply.kind === 'unknown') return reply;
  const { code, subCode, message, content } = reply.said;
  if (code !== CODE.ok) {
    if (NO_BILL.test(subCode))
      return noBill(subCode, { day, calendar: ALIPAY_BILLS, now: calls.now(), sureAfterMinutes: EMPTY_AFTER_MINUTES });
    // An app without the permission for bills has correct keys, and a retry does not help.
    const unknownReply = code === CODE.permission ? undefined : unknownRefusal(reply.said);
    return unknownReply ?? { kind: 'refused', code: subCode || code, reason: message };
  }
  const url = content['bill_download_url'];
  if (typeof url !== 'string' || !isTrusted(url, calls))
    return unknown('mismatch', 'bill_download_url does not lead to Alipay.');
  return downloadBill(() => calls.download({ method: 'GET', url, headers: {}, about: { call: 'bill file' } }));
}

const NO_BILL = /^(?:is[pv]\.)?(?:bill_not_exist|no_bill_data)$/i;

/**
 * Alipay uses the same code for a day without payments and for a late bill, so "no bill" means an empty day only a day
 * later.
 */
const EMPTY_AFTER_MINUTES = 24 * 60;

const HOSTS = { live: /\.alipay\.com$/, sandbox: /\.alipay(?:dev)?\.com$/ } as const;

/** Restricts downloads to Alipay's hosts, although the answer with the URL is signed. Alipay's own URLs are http or https. */
function isTrusted(address: string, { mode, gateway }: BillCalls): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') return false;
  if (mode === 'simulator') return url.origin === new URL(gateway).origin;
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.port === '' && HOSTS[mode].test(url.hostname);
}
