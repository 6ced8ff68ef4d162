import { listOf, type Row, type Seen } from './list.ts';

const ORDER_NO = 'P202611210558007K2MQX9WBT';

/** A compared bill with one difference being checked and one for review. */
export const billRow: Row = {
  billNo: 'B20261121023000D4N8ZR3VHC',
  payWay: 'wechat',
  account: '1900000109',
  mode: 'live',
  project: 'default',
  day: '2026-11-20',
  state: 'done',
  source: 'channel',
  lines: 1200,
  mostLines: 1200,
  notOurs: 3,
  bytes: 81_204,
  sha256: '5f'.repeat(32),
  totals: [
    {
      currency: 'CNY',
      payments: 1190,
      paidMinor: 12_345_600,
      refunds: 10,
      refundedMinor: 40_000,
      feesMinor: 73_834,
      netMinor: 12_221_766,
      openingMinor: null,
      closingMinor: null,
    },
  ],
  sums: [
    {
      project: 'default',
      currency: 'CNY',
      payments: 1187,
      paidMinor: 12_300_000,
      refunds: 10,
      refundedMinor: 40_000,
      discountsMinor: 10_000,
      feesMinor: 73_560,
      sharesMinor: 0,
      disputedMinor: 0,
      otherMinor: 0,
      pendingRefunds: 0,
    },
    {
      project: null,
      currency: 'CNY',
      payments: 3,
      paidMinor: 45_600,
      refunds: 0,
      refundedMinor: 0,
      discountsMinor: 0,
      feesMinor: 274,
      sharesMinor: 0,
      disputedMinor: 0,
      otherMinor: 0,
      pendingRefunds: 1,
    },
  ],
  fault: null,
  checks: 1,
  nextCheckAt: '2026-11-22T02:30:00.000Z',
  createdAt: '2026-11-20T16:00:00.000Z',
  askedAt: '2026-11-21T02:30:00.000Z',
  readAt: '2026-11-21T02:30:05.000Z',
  matchedAt: '2026-11-21T02:30:06.000Z',
  differences: [
    { kind: 'refund_missing_at_channel', state: 'open', count: 1 },
    { kind: 'amount_differs', state: 'listed', count: 1 },
  ],
};

/** The same bill before it was fetched. */
const begunBill: Row = { ...billRow, state: 'waiting', lines: 0, checks: 0, differences: [] };

/** A difference that an operator must review. */
export const differenceRow: Row = {
  id: '01935b31-2d5e-7c04-8b6a-e41f9a7d0c53',
  billNo: billRow['billNo'],
  payWay: 'wechat',
  project: 'default',
  day: '2026-11-20',
  kind: 'amount_differs',
  orderNo: ORDER_NO,
  refundNo: null,
  ours: { state: 'paid', amountMinor: 10_000, currency: 'CNY', channelNo: '4200000001202611201234567890' },
  theirs: { amountMinor: 9900, currency: 'CNY', feeMinor: 59, channelNo: '4200000001202611201234567890', line: 17 },
  state: 'listed',
  checks: 1,
  nextCheckAt: null,
  exceptionId: '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52',
  fix: 'payctl exception resolve 01935b31-2d5e-7c04-8b6a-e41f9a7d0c52',
  createdAt: '2026-11-21T02:30:06.000Z',
  finishedAt: null,
};

/** A line of a bill, as the service streams it. */
export const billLineRow: Row = {
  line: 17,
  kind: 'payment',
  event: 'SUCCESS',
  orderNo: ORDER_NO,
  refundNo: null,
  channelTradeNo: '4200000001202611201234567890',
  channelRefundNo: null,
  currency: 'CNY',
  amountMinor: 9900,
  discountMinor: 0,
  feeMinor: 59,
  shareMinor: 0,
  at: '2026-11-20T03:04:05.000Z',
  raw: '`2026-11-20 11:04:05,`wx1',
};

const sumsRow: Row = {
  currency: 'CNY',
  payments: 1187,
  grossMinor: 12_300_000,
  refunds: 10,
  refundsMinor: 40_000,
  discountsMinor: 10_000,
  feesMinor: 73_560,
  sharesMinor: 0,
  disputesMinor: 0,
  otherMinor: 0,
  netMinor: 12_176_440,
};

/** Settlement figures: a day with a bill, a day without one, and a bill that disagrees with its lines. */
const settlementFigures: Row = {
  days: [
    {
      day: '2026-11-20',
      payWay: 'wechat',
      account: '1900000109',
      mode: 'live',
      project: 'default',
      billNo: billRow['billNo'],
      ...sumsRow,
    },
  ],
  totals: [sumsRow],
  missing: [
    {
      day: '2026-11-19',
      payWay: 'wechat',
      account: '1900000109',
      mode: 'live',
      project: 'shop-eu',
      billNo: null,
      state: null,
    },
  ],
  shrunk: [
    {
      billNo: billRow['billNo'],
      day: '2026-11-20',
      payWay: 'wechat',
      account: '1900000109',
      mode: 'live',
      lines: 1200,
      mostLines: 1208,
    },
  ],
  unreadable: [
    {
      billNo: billRow['billNo'],
      day: '2026-11-20',
      payWay: 'wechat',
      account: '1900000109',
      mode: 'live',
      lines: 2,
      shortfall: '订单总金额: the bill says 12345600, its lines add up to 12345500.',
    },
  ],
  pendingRefunds: [
    {
      billNo: billRow['billNo'],
      day: '2026-11-20',
      payWay: 'wechat',
      account: '1900000109',
      mode: 'live',
      project: null,
      currency: 'CNY',
      end: 'open',
      refunds: 1,
      amountMinor: 3000,
    },
  ],
  disagreements: [
    {
      billNo: billRow['billNo'],
      day: '2026-11-20',
      payWay: 'wechat',
      account: '1900000109',
      currency: 'CNY',
      what: 'fees',
      bill: 73_834,
      lines: 73_560,
    },
  ],
  balances: [
    {
      payWay: 'paypal',
      account: 'SIMMERCHANT01',
      mode: 'live',
      from: '2026-11-01',
      to: '2026-11-30',
      currency: 'USD',
      balance: 1194,
      lines: -43,
    },
  ],
  unchecked: [
    {
      billNo: 'B20261102023000D4N8ZR3VHC',
      day: '2026-11-02',
      payWay: 'paypal',
      account: 'SIMMERCHANT01',
      mode: 'live',
    },
  ],
};

const QUIET = { since: '2026-11-22T08:00:00.000Z', by: 'alice', reason: 'A second system' };

/** Responses for the paths of bills. */
export const billSamples: [RegExp, (request: Seen) => unknown][] = [
  [/^\/api\/v1\/bills$/, ({ method }) => (method === 'POST' ? { data: begunBill } : listOf(billRow))],
  [/^\/api\/v1\/bills\/import$/, () => ({ data: begunBill })],
  [/^\/api\/v1\/bills\/[^/]+\/differences$/, () => listOf(differenceRow)],
  [/^\/api\/v1\/bills\/[^/]+\/lines$/, () => billLineRow],
  [
    /^\/api\/v1\/bills\/[^/]+\/quiet$/,
    ({ method }) => ({ data: { ...billRow, quiet: method === 'POST' ? QUIET : null } }),
  ],
  [/^\/api\/v1\/bills\/[^/]+\/rerun$/, () => ({ data: { ...billRow, state: 'matching' } })],
  [/^\/api\/v1\/bills\//, () => ({ data: billRow })],
  [/^\/api\/v1\/stats\/settlement$/, () => ({ data: settlementFigures })],
];
