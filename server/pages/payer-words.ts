import type { PayWay } from '../payments/channel.ts';
import type { PayerState } from '../payments/payer.ts';

/** Names of the channels as payers know them. */
export const CHANNEL_NAMES: Readonly<Record<PayWay, string>> = {
  alipay: 'Alipay',
  wechat: 'WeChat Pay',
  paypal: 'PayPal',
};

/** The apps in which payers pay, as their phones call them. */
export const APP_NAMES: Readonly<Record<PayWay, string>> = { alipay: 'Alipay', wechat: 'WeChat', paypal: 'PayPal' };

/** How a state is shown: `busy` is polled, the others are final. */
export interface StateWords {
  tone: 'busy' | 'good' | 'quiet' | 'bad';
  title: string;
  text: string;
}

/** The text for each state; `{channel}` becomes the channel's name. */
export const STATE_WORDS: Readonly<Record<PayerState, StateWords>> = {
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
    title: 'Please choose another way to pay',
    text: '{channel} could not use the payment method that you chose. You have not been charged. You can choose another one and pay again.',
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
  refunded: { tone: 'quiet', title: 'Refunded', text: 'The full amount is returned to your original payment method.' },
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
    title: 'Payment not possible',
    text: '{channel} did not accept this order. You have not been charged. Please return to the shop.',
  },
  refused: {
    tone: 'bad',
    title: 'Payment refused',
    text: '{channel} refused this payment for good. You have not been charged. Please return to the shop to pay in another way.',
  },
};

/** The text for a paid order with a return URL. */
export const PAID_WORDS: StateWords = {
  tone: 'good',
  title: 'Paid',
  text: 'Thank you. We have received your payment and will return you to the shop in a moment.',
};

/** The text for a payer who returned from the channel before it reported a result. */
export const RETURNED_WORDS: StateWords = {
  tone: 'busy',
  title: 'Waiting for {channel}',
  text: '{channel} has not confirmed the payment yet. If you have just paid, please stay on this page and do not pay again.',
};

/** The text for a payer who cancelled at the channel. */
export const CANCELLED_WORDS: StateWords = {
  tone: 'quiet',
  title: 'Not paid',
  text: 'You returned from {channel} without paying.',
};
