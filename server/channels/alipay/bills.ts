import type { BillAnswer, BillCalendar, BillDesk, Download, FeeRate, Mode } from '../../payments/channel.ts';
import { downloadBill, goneDay, noBill } from '../bill-bytes.ts';
import { UTC_OFFSET_MINUTES, readBill, readPayee } from './bill-file.ts';
import { CODE, type Reply, unknown, unknownRefusal } from './reply.ts';
import type { AlipayCall } from './requests.ts';

/**
 * The days for which Alipay has bills. Alipay's documents state that a bill is ready at 9:00 of the next day, sometimes
 * later, so the service waits until 10:30 (630 minutes). The first bills are of 2016.
 */
export const ALIPAY_BILLS: BillCalendar = {
  utcOffsetMinutes: UTC_OFFSET_MINUTES,
  readyAfterMinutes: 630,
  backDays: 3650,
};

const METHOD = 'alipay.data.dataservice.bill.downloadurl.query';

interface BillCalls {
  request: (call: AlipayCall) => Promise<Reply>;
  download: Download;
  mode: Mode;
  gateway: string;
  /** A bill of another seller is rejected. If this setting is empty, the seller id in the bill is accepted. */
  sellerId: string;
  rate: FeeRate | undefined;
  now: () => Date;
}

/** Creates the adapter for trade bills (业务账单). A bill's URL is valid for 30 seconds, so the download starts at once. */
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
  const reply = await calls.request({ method: METHOD, content: { bill_type: 'trade', bill_date: day } });
  if (reply.kind === 'unknown') return reply;
  const { code, subCode, message, content } = reply.answer;
  if (code !== CODE.ok) {
    if (NO_BILL.test(subCode))
      return noBill(subCode, { day, calendar: ALIPAY_BILLS, now: calls.now(), sureAfterMinutes: EMPTY_AFTER_MINUTES });
    // If the app has no permission for bills, a retry does not help. So this response becomes a refusal and not an
    // unknown result.
    const unknownReply = code === CODE.permission ? undefined : unknownRefusal(reply.answer);
    return unknownReply ?? { kind: 'refused', code: subCode || code, reason: message };
  }
  const url = content['bill_download_url'];
  if (typeof url !== 'string' || !isTrusted(url, calls))
    return unknown('mismatch', 'bill_download_url does not lead to Alipay.');
  return downloadBill(() => calls.download({ method: 'GET', url, headers: {}, about: { call: 'bill file' } }));
}

const NO_BILL = /^(?:is[pv]\.)?(?:bill_not_exist|no_bill_data)$/i;

/**
 * Alipay returns one error code for two cases: the day has no payments, or its bill is not ready yet. So the code
 * counts as "no payments" only from 24 hours after the end of the day.
 */
const EMPTY_AFTER_MINUTES = 24 * 60;

const HOSTS = { live: /\.alipay\.com$/, sandbox: /\.alipay(?:dev)?\.com$/ } as const;

/** The host is checked even though the response with the URL is signed. Alipay uses both http and https. */
function isTrusted(address: string, { mode, gateway }: BillCalls): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') return false;
  if (mode === 'simulator') return url.origin === new URL(gateway).origin;
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.port === '' && HOSTS[mode].test(url.hostname);
}
