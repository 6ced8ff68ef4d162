import { CHANNEL_LIST, CHANNELS, PAY_WAYS, type PayWay, channelNames } from '../domain.ts';
import type { Language } from '../pages/language.ts';
import type { EntryType, TradeState } from './trade.ts';
import type { stageOf } from './faults.ts';

export interface SimulatorWords {
  channels: Readonly<Record<PayWay, string>>;
  title: string;
  subtitle: string;
  /** From here on: texts of the payer page. */
  payment: string;
  missing: { title: string; text: string };
  simulated(channel: string): string;
  pay: string;
  decline: string;
  paid: string;
  reviewed: string;
  approved: string;
  closed: string;
  declined: string;
  backToMerchant: string;
  order: string;
  refunded: string;
  noMoney: string;
  /** From here on: texts of the control page. */
  clock: string;
  advance: Readonly<Record<'minute' | 'quarter' | 'hour' | 'day', string>>;
  open: string;
  noneOpen: string;
  states: Readonly<Record<Exclude<TradeState, 'paid' | 'closed'>, string>>;
  wasDeclined: string;
  faults: string;
  faultsHelp: string;
  stages: Readonly<Record<ReturnType<typeof stageOf>, string>>;
  channel: string;
  call: string;
  anyCall: string;
  fault: string;
  times: string;
  word: string;
  plant: string;
  struck(hits: number, times: number | null): string;
  remove: string;
  removeAll: string;
  nonePlanted: string;
  ledger: string;
  emptyLedger: string;
  when: string;
  what: string;
  amount: string;
  number: string;
  entries: Readonly<Record<EntryType, string>>;
  refused: string;
  /** The text for each error code; for a code without a text, the message of the error is shown. */
  refusals: Readonly<Partial<Record<string, string>>>;
  /** The separator between two details of a payment, e.g. its state and an earlier declined attempt. */
  comma: string;
}

const EN: SimulatorWords = {
  channels: channelNames('name', 'en'),
  title: 'Simulator',
  subtitle: `Simulates ${CHANNEL_LIST}. No real money is moved.`,
  payment: 'Payment',
  missing: { title: 'No such payment', text: 'The simulator has no order at this address.' },
  simulated: (channel) => `${channel} (simulated)`,
  pay: 'Pay',
  decline: 'Decline',
  paid: 'Paid.',
  reviewed: 'The payment is under review.',
  approved: 'Approved. The merchant captures the payment next.',
  closed: 'This order is closed. It can no longer be paid.',
  declined: 'Declined. You can try again.',
  backToMerchant: 'Back to the merchant',
  order: 'Order',
  refunded: 'Refunded',
  noMoney: 'Simulator: no real money is moved.',
  clock: 'Clock',
  advance: { minute: '+ 1 min', quarter: '+ 15 min', hour: '+ 1 h', day: '+ 1 day' },
  open: 'Open payments',
  noneOpen: 'No open payments. Place an order, and it appears here.',
  states: { offered: 'not scanned', open: 'waiting for the payer', approved: 'approved, not captured' },
  wasDeclined: 'declined',
  faults: 'Faults',
  faultsHelp: 'A fault applies to the next matching calls.',
  stages: {
    before: 'The channel does nothing',
    after: 'The channel acts; the response is lost or corrupted',
    answer: 'The channel acts; the response fails verification',
    effect: 'The result differs from the request',
    notice: 'Notifications',
  },
  channel: 'Channel',
  call: 'Call',
  anyCall: 'any call',
  fault: 'Fault',
  times: 'Times',
  word: "Channel's code, for refused",
  plant: 'Set fault',
  struck: (hits, times) => (times === null ? `applied ${hits}×` : `applied ${hits} of ${times}`),
  remove: 'Remove',
  removeAll: 'Remove all',
  nonePlanted: 'No fault is set.',
  ledger: 'Ledger',
  emptyLedger: 'Nothing has happened yet.',
  when: 'Time',
  what: 'Type',
  amount: 'Amount',
  number: 'Number',
  entries: {
    created: 'created',
    scanned: 'scanned',
    approved: 'approved',
    declined: 'declined',
    paid: 'paid',
    captured: 'captured',
    'capture-pending': 'capture pending',
    'capture-declined': 'capture declined',
    closed: 'closed',
    expired: 'expired',
    'refund-accepted': 'refund accepted',
    refunded: 'refunded',
    'refund-failed': 'refund failed',
    'refund-abnormal': 'refund abnormal',
    'refund-reversed': 'refund reversed',
    updated: 'updated',
  },
  refused: 'Not done.',
  refusals: {},
  comma: ', ',
};

const ZH: SimulatorWords = {
  channels: channelNames('name', 'zh'),
  title: '模拟器',
  subtitle: `模拟${new Intl.ListFormat('zh').format(PAY_WAYS.map((payWay) => CHANNELS[payWay].name.zh)).replace(/和(?=\w)/, '和 ')}，不会产生真实资金交易。`,
  payment: '支付',
  missing: { title: '未找到该订单', text: '模拟器中没有此地址对应的订单。' },
  simulated: (channel) => `${channel}（模拟）`,
  pay: '支付',
  decline: '拒绝',
  paid: '支付成功。',
  reviewed: '付款正在审核。',
  approved: '已授权，等待商户收款。',
  closed: '订单已关闭，无法支付。',
  declined: '已拒绝，可以重试。',
  backToMerchant: '返回商家',
  order: '订单号',
  refunded: '已退款',
  noMoney: '模拟环境：不会产生真实资金交易。',
  clock: '时钟',
  advance: { minute: '+ 1 分钟', quarter: '+ 15 分钟', hour: '+ 1 小时', day: '+ 1 天' },
  open: '待支付',
  noneOpen: '没有待支付的订单。下单后会显示在这里。',
  states: { offered: '未扫码', open: '等待付款', approved: '已授权，未收款' },
  wasDeclined: '已拒绝',
  faults: '故障',
  faultsHelp: '故障作用于接下来匹配的调用。',
  stages: {
    before: '渠道不执行任何操作',
    after: '渠道已执行，响应丢失或损坏',
    answer: '渠道已执行，响应无法通过验签',
    effect: '实际结果与请求不同',
    notice: '异步通知',
  },
  channel: '渠道',
  call: '调用',
  anyCall: '任意调用',
  fault: '故障',
  times: '次数',
  word: '渠道错误码（用于 refused）',
  plant: '设置故障',
  struck: (hits, times) => (times === null ? `已触发 ${hits} 次` : `已触发 ${hits}/${times} 次`),
  remove: '移除',
  removeAll: '全部移除',
  nonePlanted: '没有设置故障。',
  ledger: '账本',
  emptyLedger: '还没有任何记录。',
  when: '时间',
  what: '类型',
  amount: '金额',
  number: '单号',
  entries: {
    created: '已创建',
    scanned: '已扫码',
    approved: '已授权',
    declined: '已拒绝',
    paid: '已支付',
    captured: '已收款',
    'capture-pending': '收款待定',
    'capture-declined': '收款被拒',
    closed: '已关闭',
    expired: '已过期',
    'refund-accepted': '退款已受理',
    refunded: '已退款',
    'refund-failed': '退款失败',
    'refund-abnormal': '退款异常',
    'refund-reversed': '退款被撤回',
    updated: '已更新',
  },
  refused: '未执行。',
  refusals: {
    word_missing: '故障 refused 需要填写渠道错误码。',
    no_such_order: '模拟器中没有该订单。',
    already_paid: '该订单已支付。',
    closed: '该订单已关闭。',
    invalid_form: '提交的内容无效。',
  },
  comma: '，',
};

export const SIMULATOR_WORDS: Readonly<Record<Language, SimulatorWords>> = { en: EN, zh: ZH };
