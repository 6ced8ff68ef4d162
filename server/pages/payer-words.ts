// The texts of the payer pages, in English and Chinese.
import { type PayWay, channelNames } from '../domain.ts';
import type { PayerState } from '../payments/orders/payer.ts';

/** While `tone` is `busy`, the script of the page queries the state again and again. */
export interface StateWords {
  tone: 'busy' | 'good' | 'quiet' | 'bad';
  title: string;
  text: string;
}

export interface PayerWords {
  channels: Readonly<Record<PayWay, string>>;
  /** The name of the app in which the payer pays, for each channel. */
  apps: Readonly<Record<PayWay, string>>;
  states: Readonly<Record<PayerState, StateWords>>;
  /** Replaces `{channel}` in a text with the display name of the channel. */
  about(text: string, channel: string): string;
  /** The words for a paid order when the page is about to redirect the payer to the shop. */
  paidAndLeaving: StateWords;
  /** The text for a payer who came back before the channel reported a result. */
  returned: StateWords;
  cancelled: StateWords;
  unknown: Pick<StateWords, 'title' | 'text'>;
  payNow: string;
  payWith(channel: string): string;
  payWithInstead(channel: string): string;
  scan(app: string): string;
  scanOrOpen(app: string): string;
  openApp(app: string): string;
  /** The alternative text of the QR code. */
  codeOf(channel: string): string;
  /**
   * The text for a payer who opened the page on the same phone that has the payment app, so that the phone cannot scan
   * its own screen. It explains how to save the picture of the QR code and open it in the app.
   */
  onThisPhone: string;
  confirmOnPhone(app: string): string;
  finishInApp: string;
  backToShop: string;
  order: string;
  refunded: string;
  timeLeft: string;
  lessThanMinute: string;
  duration(hours: number, minutes: number): string;
  days(count: number): string;
  simulator: string;
  sandbox: string;
}

export const PAYER_WORDS_EN: PayerWords = {
  channels: channelNames('name', 'en'),
  apps: channelNames('app', 'en'),
  states: {
    preparing: {
      tone: 'busy',
      title: 'Preparing your payment',
      text: 'Waiting for {channel}. This page updates automatically.',
    },
    waiting: {
      tone: 'busy',
      title: 'Waiting for your payment',
      text: 'This page updates automatically once you have paid.',
    },
    declined: {
      tone: 'bad',
      title: 'Payment declined',
      text: '{channel} declined the payment method that you chose. You have not been charged. Choose another payment method and pay again.',
    },
    confirming: {
      tone: 'busy',
      title: 'Confirming your payment',
      text: '{channel} is confirming it. This can take a moment; please do not pay again.',
    },
    ending: {
      tone: 'busy',
      title: 'This payment has ended',
      text: 'We are checking with {channel} whether your payment still arrived. Please do not pay now.',
    },
    paid: { tone: 'good', title: 'Paid', text: 'Thank you. We have received your payment.' },
    partially_refunded: {
      tone: 'good',
      title: 'Partially refunded',
      text: 'The refund is returned to your original payment method.',
    },
    refunded: {
      tone: 'quiet',
      title: 'Refunded',
      text: 'The full amount is returned to your original payment method.',
    },
    returning: {
      tone: 'quiet',
      title: 'Your payment is being refunded',
      text: 'Your payment arrived after the order had ended. It is being refunded to your original payment method.',
    },
    not_returned: {
      tone: 'bad',
      title: 'Your payment could not be refunded yet',
      text: 'Your payment arrived after the order had ended, and {channel} could not refund it. Please contact the shop.',
    },
    closed: {
      tone: 'quiet',
      title: 'Order closed',
      text: 'This order was closed and can no longer be paid. You have not been charged.',
    },
    expired: {
      tone: 'quiet',
      title: 'Payment time expired',
      text: 'This order was not paid in time. Please return to the shop and order again.',
    },
    failed: {
      tone: 'bad',
      title: 'Payment declined',
      text: '{channel} declined this order. You have not been charged. Please return to the shop and order again, or pay in another way.',
    },
    refused: {
      tone: 'bad',
      title: 'Payment declined',
      text: '{channel} declined this payment for good. You have not been charged. Please return to the shop and pay in another way.',
    },
  },
  about: (text, channel) => text.replaceAll('{channel}', channel),
  paidAndLeaving: {
    tone: 'good',
    title: 'Paid',
    text: 'Thank you. We have received your payment and will return you to the shop in a moment.',
  },
  returned: {
    tone: 'busy',
    title: 'Waiting for {channel}',
    text: '{channel} has not confirmed the payment yet. If you have just paid, please stay on this page and do not pay again.',
  },
  cancelled: { tone: 'quiet', title: 'Not paid', text: 'You returned from {channel} without paying.' },
  unknown: {
    title: 'Payment not found',
    text: 'This link does not lead to a payment. It may be incomplete; please open the link from the shop again.',
  },
  payNow: 'Pay now',
  payWith: (channel) => `Pay with ${channel}`,
  payWithInstead: (channel) => `Pay with ${channel} instead`,
  scan: (app) => `Scan this code with the ${app} app.`,
  scanOrOpen: (app) => `Scan this code with the ${app} app, or open it on this device.`,
  openApp: (app) => `Open ${app}`,
  codeOf: (channel) => `QR code to pay with ${channel}`,
  onThisPhone:
    'On this phone? Press and hold the code and save the picture. Then choose it in WeChat under Scan, Album. If WeChat does not accept it, scan the code on this screen with another phone.',
  confirmOnPhone: (app) => `Please confirm the payment in the ${app} app on your phone.`,
  finishInApp: 'Please complete the payment in the app where you started it.',
  backToShop: 'Back to the shop',
  order: 'Order',
  refunded: 'Refunded',
  timeLeft: 'Time left',
  lessThanMinute: 'less than a minute',
  duration: (hours, minutes) => (hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`),
  days: (count) => `${count} days`,
  simulator: 'Simulator: no real money moves here.',
  sandbox: 'Sandbox: no real money moves here.',
};

export const PAYER_WORDS_ZH: PayerWords = {
  channels: channelNames('name', 'zh'),
  apps: channelNames('app', 'zh'),
  states: {
    preparing: { tone: 'busy', title: '正在准备支付', text: '正在等待{channel}响应，页面会自动刷新。' },
    waiting: { tone: 'busy', title: '等待支付', text: '支付完成后，页面会自动刷新。' },
    declined: {
      tone: 'bad',
      title: '支付被拒绝',
      text: '{channel}拒绝了您选择的付款方式，您没有被扣款。请更换付款方式后重新支付。',
    },
    confirming: { tone: 'busy', title: '正在确认支付结果', text: '{channel}正在确认，请稍候，切勿重复支付。' },
    ending: { tone: 'busy', title: '支付已结束', text: '正在向{channel}核实您的款项是否到账，请不要再支付。' },
    paid: { tone: 'good', title: '支付成功', text: '感谢您的支付，我们已收到款项。' },
    partially_refunded: { tone: 'good', title: '已部分退款', text: '退款将原路退回您的付款账户。' },
    refunded: { tone: 'quiet', title: '已全额退款', text: '全部款项将原路退回您的付款账户。' },
    returning: { tone: 'quiet', title: '正在退款', text: '您付款时订单已结束，款项正在原路退回您的付款账户。' },
    not_returned: {
      tone: 'bad',
      title: '款项暂未退回',
      text: '您付款时订单已结束，{channel}未能退回款项，请联系商家处理。',
    },
    closed: { tone: 'quiet', title: '订单已关闭', text: '该订单已关闭，无法继续支付，您没有被扣款。' },
    expired: { tone: 'quiet', title: '订单已超时', text: '订单未在规定时间内支付，请返回商家重新下单。' },
    failed: {
      tone: 'bad',
      title: '支付被拒绝',
      text: '{channel}拒绝了该订单，您没有被扣款。请返回商家重新下单，或更换支付方式。',
    },
    refused: {
      tone: 'bad',
      title: '支付被拒绝',
      text: '{channel}最终拒绝了这笔支付，您没有被扣款。请返回商家，更换支付方式。',
    },
  },
  about: (text, channel) => spaced(text.replaceAll('{channel}', channel)),
  paidAndLeaving: { tone: 'good', title: '支付成功', text: '感谢您的支付，我们已收到款项，即将返回商家页面。' },
  returned: {
    tone: 'busy',
    title: '等待{channel}确认',
    text: '{channel}尚未确认支付结果。如果您刚刚完成支付，请停留在本页，切勿重复支付。',
  },
  cancelled: { tone: 'quiet', title: '未支付', text: '您已从{channel}返回，尚未支付。' },
  unknown: { title: '找不到该支付', text: '此链接没有对应的支付，链接可能不完整，请从商家页面重新打开。' },
  payNow: '立即支付',
  payWith: (channel) => spaced(`使用${paying(channel)}`),
  payWithInstead: (channel) => spaced(`改用${paying(channel)}`),
  scan: (app) => spaced(`请使用${app}扫描二维码。`),
  scanOrOpen: (app) => spaced(`请使用${app}扫描二维码，或在本机打开。`),
  openApp: (app) => spaced(`打开${app}`),
  codeOf: (channel) => spaced(`${channel}付款二维码`),
  onThisPhone:
    '正在用这部手机？请长按二维码保存图片，再打开微信“扫一扫”，从相册选取。如果微信提示不支持，请用另一部手机的微信扫描本屏幕上的二维码。',
  confirmOnPhone: (app) => spaced(`请在手机上的${app}中确认付款。`),
  finishInApp: '请回到发起支付的应用中完成支付。',
  backToShop: '返回商家',
  order: '订单号',
  refunded: '已退款',
  timeLeft: '剩余时间',
  lessThanMinute: '不足 1 分钟',
  duration: (hours, minutes) => (hours > 0 ? `${hours} 小时 ${minutes} 分钟` : `${minutes} 分钟`),
  days: (count) => `${count} 天`,
  simulator: '模拟环境：不会产生真实资金交易。',
  sandbox: '沙箱环境：不会产生真实资金交易。',
};

/** Adds a space between Chinese and Latin characters. */
function spaced(text: string): string {
  return text.replaceAll(/(?<=\p{Script=Han})(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=\p{Script=Han})/gu, ' ');
}

/** Adds 支付 to the Chinese name of a channel, unless the name already ends with it, as 微信支付 does. */
function paying(channel: string): string {
  return channel.endsWith('支付') ? channel : `${channel}支付`;
}
