/** The columns of a current trade bill, in WeChat Pay's order. */
export const HEADER =
  '交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注';
export const SUMS_HEADER =
  '总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额';

export const DAY = '2026-03-01';
export const MCHID = '1900000109';
export const OWNER = { mchid: MCHID, subMchid: undefined };

/** One row; amounts in fen, the fee in hundred-thousandths of a yuan. */
export interface Row {
  time?: string;
  mchid?: string;
  sub?: string;
  tradeNo?: string;
  orderNo?: string;
  state?: string;
  currency?: string;
  settled?: number;
  ordered?: number;
  refundId?: string;
  refundNo?: string;
  returned?: number;
  asked?: number;
  refundState?: string;
  name?: string;
  attach?: string;
  fee?: number;
}

export const yuan = (value: number, decimals = 2): string => {
  const digits = String(Math.abs(value)).padStart(decimals + 1, '0');
  return `${value < 0 ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
};

/** Returns the cells of a row in WeChat Pay's order. */
export function cellsOf(row: Row): string[] {
  const { ordered = 0, asked = 0 } = row;
  return [
    row.time ?? `${DAY} 10:00:00`,
    'wx0000000000000001',
    row.mchid ?? MCHID,
    row.sub ?? '0',
    '',
    row.tradeNo ?? '4200001234202603010000000001',
    row.orderNo ?? 'ORDER1',
    'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o',
    'NATIVE',
    row.state ?? 'SUCCESS',
    'OTHERS',
    row.currency ?? 'CNY',
    yuan(row.settled ?? ordered),
    '0.00',
    row.refundId ?? '0',
    row.refundNo ?? '0',
    yuan(row.returned ?? asked),
    '0.00',
    row.refundId ? 'ORIGINAL' : '',
    row.refundState ?? '',
    row.name ?? '一杯茶',
    row.attach ?? '',
    yuan(row.fee ?? 0, 5),
    '0.60%',
    yuan(ordered),
    yuan(asked),
    '',
  ];
}

export const rowText = (cells: readonly string[]): string => cells.map((cell) => `\`${cell}`).join(',');

/** Returns the cells of the last line, the sums of all rows. */
export function sumCells(rows: readonly Row[]): string[] {
  const sum = (of: (row: Row) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return [
    String(rows.length),
    yuan(sum(({ settled, ordered = 0 }) => settled ?? ordered)),
    yuan(sum(({ returned, asked = 0 }) => returned ?? asked)),
    '0.00',
    yuan(
      sum(({ fee = 0 }) => fee),
      5,
    ),
    yuan(sum(({ ordered = 0 }) => ordered)),
    yuan(sum(({ asked = 0 }) => asked)),
  ];
}

/** Returns a whole bill with this byte order mark and these line ends. */
export function billText(rows: readonly Row[], { mark = '\ufeff', end = '\r\n' } = {}): string {
  const lines = [HEADER, ...rows.map((row) => rowText(cellsOf(row))), SUMS_HEADER, rowText(sumCells(rows))];
  return `${mark}${lines.join(end)}${end}`;
}
