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
  /** Introduces the link `payNow` on the page of a payer who came back. */
  unpaid: string;
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
      text: '{channel} declined your payment method. You have not been charged. Choose another payment method and pay again.',
    },
    confirming: {
      tone: 'busy',
      title: 'Confirming your payment',
      text: '{channel} is processing your payment. This can take a moment. Please do not pay again.',
    },
    ending: {
      tone: 'busy',
      title: 'This order is closing',
      text: 'We are asking {channel} whether you have paid. Please do not pay now.',
    },
    paid: { tone: 'good', title: 'Paid', text: 'Thank you. The shop has received your payment.' },
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
      text: '{channel} declined this payment. You have not been charged. Please return to the shop and pay in another way.',
    },
  },
  about: (text, channel) => text.replaceAll('{channel}', channel),
  paidAndLeaving: {
    tone: 'good',
    title: 'Paid',
    text: 'Thank you. The shop has received your payment. You will return to the shop in a moment.',
  },
  returned: {
    tone: 'busy',
    title: 'Checking your payment',
    text: '{channel} has not confirmed the payment yet. If you have paid, please wait and do not pay again.',
  },
  cancelled: { tone: 'quiet', title: 'Not paid', text: 'You returned from {channel} without paying.' },
  unknown: {
    title: 'Payment not found',
    text: 'This link is wrong or incomplete. Please open it from the shop again.',
  },
  unpaid: 'Not paid yet?',
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
    preparing: { tone: 'busy', title: '正在准备支付', text: '正在连接{channel}，请稍候，页面将自动刷新。' },
    waiting: { tone: 'busy', title: '等待支付', text: '支付完成后，页面将自动刷新。' },
    declined: {
      tone: 'bad',
      title: '支付失败',
      text: '{channel}未接受您选择的付款方式，未产生扣款。请更换付款方式后重新支付。',
    },
    confirming: { tone: 'busy', title: '支付结果确认中', text: '{channel}正在处理您的付款，请稍候，请勿重复支付。' },
    ending: { tone: 'busy', title: '订单正在关闭', text: '正在向{channel}核实支付结果，请稍候，请暂勿付款。' },
    paid: { tone: 'good', title: '支付成功', text: '感谢您的支付，商家已收到款项。' },
    partially_refunded: { tone: 'good', title: '已部分退款', text: '退款将原路退回您的付款账户。' },
    refunded: { tone: 'quiet', title: '已全额退款', text: '款项将原路退回您的付款账户。' },
    returning: { tone: 'quiet', title: '退款处理中', text: '您付款时订单已关闭，款项正在原路退回您的付款账户。' },
    not_returned: {
      tone: 'bad',
      title: '退款未完成',
      text: '您付款时订单已关闭，{channel}暂未完成退款，请联系商家处理。',
    },
    closed: { tone: 'quiet', title: '订单已关闭', text: '该订单已关闭，无法继续支付，未产生扣款。' },
    expired: { tone: 'quiet', title: '订单已超时关闭', text: '您未在规定时间内完成支付，请返回商家重新下单。' },
    failed: {
      tone: 'bad',
      title: '支付失败',
      text: '{channel}未受理该订单，未产生扣款。请返回商家重新下单，或更换支付方式。',
    },
    refused: {
      tone: 'bad',
      title: '支付失败',
      text: '{channel}未能完成该笔支付，未产生扣款。请返回商家更换支付方式。',
    },
  },
  about: (text, channel) => spaced(text.replaceAll('{channel}', channel)),
  paidAndLeaving: { tone: 'good', title: '支付成功', text: '感谢您的支付，商家已收到款项，即将返回商家页面。' },
  returned: {
    tone: 'busy',
    title: '支付结果确认中',
    text: '{channel}尚未返回支付结果。如您已完成支付，请在本页稍候，请勿重复支付。',
  },
  cancelled: { tone: 'quiet', title: '支付未完成', text: '您已从{channel}返回，订单尚未支付。' },
  unknown: { title: '未找到该订单', text: '链接有误或不完整，请返回商家页面重新打开。' },
  unpaid: '尚未支付？',
  payNow: '继续支付',
  payWith: (channel) => spaced(`使用${paying(channel)}`),
  payWithInstead: (channel) => spaced(`改用${paying(channel)}`),
  scan: (app) => spaced(`请使用${app}扫码支付。`),
  scanOrOpen: (app) => spaced(`请使用${app}扫码支付，或在本机打开${app}。`),
  openApp: (app) => spaced(`打开${app}`),
  codeOf: (channel) => spaced(`${paying(channel)}二维码`),
  onThisPhone:
    '在本机支付？请长按二维码保存图片，打开微信“扫一扫”，从相册中选择该图片。如微信提示不支持，请使用另一部手机的微信扫码支付。',
  confirmOnPhone: (app) => spaced(`请在手机${app}中确认付款。`),
  finishInApp: '请返回发起支付的应用完成支付。',
  backToShop: '返回商家',
  order: '订单号',
  refunded: '退款金额',
  timeLeft: '支付剩余时间',
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
