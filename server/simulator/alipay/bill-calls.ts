import type { Context } from 'koa';
import iconv from 'iconv-lite';
import type { Answer } from '../exchange.ts';
import { write } from '../exchange.ts';
import type { Core } from '../half.ts';
import { isEmpty, type BillContent, type BillFile } from '../bills/book.ts';
import { spanOfDay, spanOfMonth } from '../bills/days.ts';
import type { BillRow } from '../bills/row.ts';
import { withGigabyte } from '../bills/packing.ts';
import { firstHalf, inTurn, piecesOf } from '../bills/text.ts';
import { zipOf, type ZipEntry } from '../bills/zip.ts';
import { accountBill, accountSummary } from './account-bill.ts';
import { sellerOf } from './model.ts';
import type { Trade } from '../trade.ts';
import { AlipayRefusal, success, type Content } from './reply.ts';
import type { AlipayRequest } from './request.ts';
import { tradeBill, tradeSummary, type BillFace } from './trade-bill.ts';

/** Where a file is fetched, without a signature; Alipay's own is `/downloadBillFile.resource` of another host. */
export const BILL_PATH = '/alipay/downloadBillFile.resource';
/** How long the address is good (page of alipay.data.dataservice.bill.downloadurl.query: 30 s). */
const ADDRESS_MS = 30_000;
/** The first day of which there are bills (same page). */
const FIRST_MS = Date.UTC(2016, 0, 1) - 8 * 3_600_000;
/** When yesterday's bill is there, after midnight (same page: usually 9 o'clock; of a month on its third day). */
const READY_MS = { day: 9 * 3_600_000, month: 2 * 86_400_000 };

/** By the type of a bill: the name of its file, and how file and summary are written. */
const TYPES: Readonly<Record<string, { name: string; list: BillWriter; summary: BillWriter }>> = {
  trade: { name: '业务明细', list: tradeBill, summary: tradeSummary },
  signcustomer: { name: '账务明细', list: accountBill, summary: accountSummary },
};
type BillWriter = (content: BillContent, face: BillFace) => Iterable<string>;

/** alipay.data.dataservice.bill.downloadurl.query: where the bill of a day or a month is. */
export function queryBill(core: Core, request: AlipayRequest): { content: Content } {
  const { account, content: asked, sellers } = request;
  const type = String(asked['bill_type']);
  const day = String(asked['bill_date']);
  const isDay = day.length === 10;
  const span = isDay ? spanOfDay('alipay', day) : spanOfMonth('alipay', day);
  const now = core.clock.now();
  if (!Object.hasOwn(TYPES, type) || !span || span.from < FIRST_MS || span.from > now) throw badArguments();
  const pid = sellers.find((seller) => seller === account.sellerId) ?? sellers[0] ?? account.sellerId;
  const content = listed(
    core.bills.contentOf({
      payWay: 'alipay',
      account: account.name,
      // A bill is the merchant's, whichever of its apps asks (same page: 商户).
      beside: core.accounts.of('alipay').map(({ name: one }) => one),
      ...span,
      isOurs: (trade) => sellerOf(trade, sellerIn(core, trade, account)) === pid,
      timeOf: ({ at, doneAt }) => doneAt ?? at,
    }),
  );
  // Of a day that is not over the channel knows of no bill at all (as integrators report it).
  if (content.has('real-hours') && span.to > now) throw badArguments();
  const isEarly = content.has('real-hours') && now < span.to + READY_MS[isDay ? 'day' : 'month'];
  if (isEarly || content.has('late') || isEmpty(content)) throw noBill();
  const name = `${pid}0156_${day.replaceAll('-', '')}`;
  const expiresAt = content.has('expired-url') ? now - 1 : now + ADDRESS_MS;
  const face = { ...span, pid: content.has('foreign-account') ? '2088000000000009' : pid, exportedAt: now };
  const write = () => fileOf(content, face, type, name);
  const token = core.bills.promise({ payWay: 'alipay', account: account.name, expiresAt, write });
  const about = new URLSearchParams({
    bizType: type,
    userId: `${pid}0156`,
    fileType: 'csv.zip',
    bizDates: day.replaceAll('-', ''),
  });
  about.set('downloadFileName', `${name}.csv.zip`);
  about.set('token', token);
  return { content: success({ bill_download_url: `${core.url}${BILL_PATH}?${about}` }) };
}

/** The account of a trade as it is now; of the one that asks what it was when it asked. */
function sellerIn(core: Core, trade: Trade, asking: AlipayRequest['account']): { sellerId: string } {
  const sellerId = core.accounts.get('alipay', trade.account)?.secrets['sellerId'] ?? '';
  return trade.account === asking.name ? asking : { sellerId };
}

/** Serves a file by its address; how Alipay refuses an address that is over was not found. */
export async function serveBill(core: Core, ctx: Context): Promise<void> {
  const token = ctx.URL.searchParams.get('token') ?? '';
  const file = core.bills.find(token);
  if (file?.payWay !== 'alipay') return write(ctx, gone(404));
  await core.answer(ctx, {
    payWay: 'alipay',
    account: file.account,
    call: 'bill-file',
    act: () => (file.expiresAt < core.clock.now() ? gone(403) : download(file, ctx)),
    seal: (answer) => answer,
  });
}

function download(file: BillFile, ctx: Context): Answer {
  const name = ctx.URL.searchParams.get('downloadFileName')?.replaceAll(/[^\w.]/g, '') ?? 'bill.csv.zip';
  const headers = { 'Content-Type': 'application/zip', 'Content-Disposition': `attachment; filename="${name}"` };
  return { status: 200, body: '', headers, file: () => file.write() };
}

function gone(status: number): Answer {
  return { status, body: '链接已失效\n', headers: { 'Content-Type': 'text/plain; charset=utf-8' } };
}

/** A zip with names in GBK, which it does not say. */
function fileOf(content: BillContent, face: BillFace, type: string, name: string): AsyncIterable<Buffer> {
  const { name: title, list, summary } = TYPES[type]!;
  const charset = content.has('wrong-charset') ? 'utf8' : 'gbk';
  const entry = (ending: string, writer: BillWriter): ZipEntry => {
    const pieces = inTurn(piecesOf(writer(content, face), charset));
    const isBomb = content.has('zip-bomb') && writer === list;
    return {
      name: iconv.encode(`${name}_${title}${ending}.csv`, 'gbk'),
      content: isBomb ? withGigabyte(pieces) : pieces,
    };
  };
  const zip = zipOf([entry('', list), entry('(汇总)', summary)], face.exportedAt);
  return content.has('cut') ? firstHalf(zip) : zip;
}

/** Only refunds that were made are in a bill. */
function listed(content: BillContent): BillContent {
  return { ...content, rows: content.rows.filter(({ state }: BillRow) => state === 'done') };
}

function noBill(): AlipayRefusal {
  return new AlipayRefusal('40004', 'isp.bill_not_exist', '账单不存在');
}

/** The code of the group is an inference; the sub_code is what integrators log. */
function badArguments(): AlipayRefusal {
  return new AlipayRefusal('40004', 'isv.invalid_arguments', '入参不合法');
}
