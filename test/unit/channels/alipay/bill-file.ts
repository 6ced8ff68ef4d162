import { crc32, deflateRawSync } from 'node:zlib';
import iconv from 'iconv-lite';

export const DAY = '2026-03-01';
export const SELLER = '2088000000000001';
export const ACCOUNT = `${SELLER}0156`;

export const HEADER =
  '支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）,支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注';
export const SUMMARY_HEADER =
  '门店编号,门店名称,交易订单总笔数,退款订单总笔数,订单金额（元）,商家实收（元）,支付宝优惠（元）,商家优惠（元）,卡消费金额（元）,服务费（元）,分润（元）,实收净额（元）';

/** One row; amounts in fen, with refunds and charged fees negative as in the bill. */
export interface Row {
  tradeNo?: string;
  orderNo?: string;
  type?: string;
  name?: string;
  time?: string;
  ordered?: number;
  received?: number;
  refundNo?: string;
  fee?: number;
  share?: number;
  remark?: string;
  shop?: string;
  operator?: string;
  payer?: string;
  voucher?: string;
}

export const yuan = (value: number): string =>
  `${value < 0 ? '-' : ''}${Math.floor(Math.abs(value) / 100)}.${String(Math.abs(value) % 100).padStart(2, '0')}`;

/** Returns the cells of a row, padded as Alipay does. */
export function cellsOf(row: Row): string[] {
  const { ordered = 0, time = `${DAY} 10:00:00` } = row;
  return [
    `${row.tradeNo ?? '2026030122001400000000000001'}\t`,
    `${row.orderNo ?? 'ORDER1'}\t`,
    `${row.type ?? '交易'}\t`,
    `${row.name ?? '一杯茶'}          `,
    `${DAY} 09:59:00`,
    time,
    '\t',
    row.shop ?? '',
    row.operator ?? '',
    '',
    `${row.payer ?? '**茶(tea***@example.com)'}\t`,
    yuan(ordered),
    yuan(row.received ?? ordered),
    '0.00',
    '0.00',
    '0.00',
    '0.00',
    '0.00',
    row.voucher ?? '',
    '0.00',
    '0.00',
    row.refundNo === undefined ? '' : `${row.refundNo}\t`,
    yuan(row.fee ?? 0),
    yuan(row.share ?? 0),
    row.remark ?? '',
  ];
}

const isRefund = ({ type = '交易' }: Row): boolean => type.includes('退款');

function sums(rows: readonly Row[]) {
  const sum = (of: (row: Row) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const received = ({ received: got, ordered = 0 }: Row): number => got ?? ordered;
  return {
    payments: rows.filter((row) => !isRefund(row)).length,
    refunds: rows.filter(isRefund).length,
    got: sum((row) => (isRefund(row) ? 0 : received(row))),
    back: sum((row) => (isRefund(row) ? received(row) : 0)),
    ordered: sum(({ ordered = 0 }) => ordered),
    received: sum(received),
    fees: sum(({ fee = 0 }) => fee),
    shares: sum(({ share = 0 }) => share),
  };
}

function preamble(title: string, list: string, account: string, day: string): string[] {
  const [year = '', month = '', date = ''] = day.split('-');
  const next = new Date(Date.UTC(Number(year), Number(month) - 1, Number(date) + 1)).toISOString().slice(0, 10);
  const [nextYear, nextMonth, nextDate] = next.split('-');
  return [
    `#支付宝业务${title}查询`,
    `#账号：[${account}]`,
    `#起始日期：[${year}年${month}月${date}日 00:00:00]   终止日期：[${nextYear}年${nextMonth}月${nextDate}日 00:00:00]`,
    `#-----------------------------------------业务${list}列表----------------------------------------`,
  ];
}

/** Returns the lines of the details file. */
export function detailLines(rows: readonly Row[], { account = ACCOUNT, day = DAY } = {}): string[] {
  const { payments, refunds, got, back } = sums(rows);
  return [
    ...preamble('明细', '明细', account, day),
    HEADER,
    ...rows.map((row) => cellsOf(row).join(',')),
    '#-----------------------------------------业务明细列表结束------------------------------------',
    `#交易合计：${payments}笔，商家实收共${yuan(got)}元，商家优惠共0.00元`,
    `#退款合计：${refunds}笔，商家实收退款共${yuan(back)}元，商家优惠退款共0.00元`,
    '#导出时间：[2026年03月02日 06:27:10]',
  ];
}

/** Returns the lines of the summary by shop. */
export function summaryLines(rows: readonly Row[], { account = ACCOUNT, day = DAY } = {}): string[] {
  const { payments, refunds, ordered, received, fees, shares } = sums(rows);
  const money = [ordered, received, 0, 0, 0, fees, shares, received + fees + shares];
  const cells = [payments, refunds, ...money.map(yuan)];
  return [
    ...preamble('汇总', '汇总', account, day),
    SUMMARY_HEADER,
    ['0000\t', '茶馆\t', ...cells].join(','),
    ['合计\t', '\t', ...cells].join(','),
    '#----------------------------------------业务汇总列表结束-------------------------------------',
    '#导出时间：[2026年03月02日 06:27:10]',
  ];
}

export const gbk = (lines: readonly string[], end = '\r\n'): Buffer => iconv.encode(`${lines.join(end)}${end}`, 'gbk');

/** A zip entry, whose stated metadata may be wrong. */
export interface Entry {
  name: Buffer | string;
  bytes: Buffer;
  packed?: Buffer;
  size?: number;
  crc?: number;
  flags?: number;
}

/** Builds a zip from local headers with files, the directory and its end (PKWARE's APPNOTE). */
export function zipOf(entries: readonly Entry[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const {
    name,
    bytes,
    packed = deflateRawSync(bytes),
    size = bytes.length,
    crc = crc32(bytes),
    flags = 0,
  } of entries) {
    const rawName = typeof name === 'string' ? iconv.encode(name, 'gbk') : name;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(rawName.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, rawName, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, tail, rawName]));
    locals.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, list, end]);
}

export const DETAILS_NAME = `${ACCOUNT}_20260301_业务明细.csv`;
export const SUMMARY_NAME = `${ACCOUNT}_20260301_业务明细(汇总).csv`;

/** Builds a whole bill. */
export function billZip(rows: readonly Row[], how: { account?: string; day?: string } = {}): Buffer {
  return zipOf([
    { name: DETAILS_NAME, bytes: gbk(detailLines(rows, how)) },
    { name: SUMMARY_NAME, bytes: gbk(summaryLines(rows, how)) },
  ]);
}
