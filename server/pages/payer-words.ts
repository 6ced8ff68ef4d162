import type { PayWay } from '../payments/channel.ts';
import type { PayerState } from '../payments/payer.ts';

/** Names of the channels as payers know them. */
export const CHANNEL_NAMES: Readonly<Record<PayWay, string>> = {
  alipay: 'Alipay',
  wechat: 'WeChat Pay',
  paypal: 'PayPal',
};

/** How a state is shown: `busy` is looked at again and again, the others stay. */
export interface StateWords {
  tone: 'busy' | 'good' | 'quiet' | 'bad';
  title: string;
  text: string;
}

/** The calm words for each state; `{channel}` becomes the channel's name. */
export const STATE_WORDS: Readonly<Record<PayerState, StateWords>> = {
  preparing: {
    tone: 'busy',
    title: 'Preparing your payment',
    text: '{channel} has not answered yet. This page goes on by itself.',
  },
  waiting: { tone: 'busy', title: 'Waiting for your payment', text: 'This page changes by itself once you have paid.' },
  confirming: {
    tone: 'busy',
    title: 'Confirming your payment',
    text: '{channel} is confirming it. This can take a moment; please do not pay again.',
  },
  ending: {
    tone: 'busy',
    title: 'This payment has ended',
    text: 'We are asking {channel} whether your payment still came in. Please do not pay now.',
  },
  paid: { tone: 'good', title: 'Paid', text: 'Thank you. Your payment has arrived.' },
  partially_refunded: {
    tone: 'good',
    title: 'Paid, and partly refunded',
    text: 'The refund goes back the way that you paid.',
  },
  refunded: { tone: 'quiet', title: 'Refunded', text: 'All of your money goes back the way that you paid.' },
  returning: {
    tone: 'quiet',
    title: 'Your money goes back',
    text: 'Your payment arrived after the order had ended. It is being refunded the way that you paid.',
  },
  closed: {
    tone: 'quiet',
    title: 'Order closed',
    text: 'This order was closed and can no longer be paid. You have not been charged.',
  },
  expired: {
    tone: 'quiet',
    title: 'Time is up',
    text: 'This order was not paid in time. Please go back to the shop and order again.',
  },
  failed: {
    tone: 'bad',
    title: 'Payment not possible',
    text: '{channel} did not accept this order. You have not been charged. Please go back to the shop.',
  },
};

/** Words for a payer whom a shop waits for. */
export const PAID_WORDS: StateWords = {
  tone: 'good',
  title: 'Paid',
  text: 'Thank you. Your payment has arrived. We take you back to the shop in a moment.',
};

/** Words for a payer who came back from the channel before it said what happened. */
export const RETURNED_WORDS: StateWords = {
  tone: 'busy',
  title: 'Waiting for {channel}',
  text: '{channel} has not confirmed a payment yet. If you have just paid, stay here; there is no need to pay again.',
};

/** Words for a payer who turned back at the channel. */
export const CANCELLED_WORDS: StateWords = {
  tone: 'quiet',
  title: 'Not paid',
  text: 'You came back from {channel} without paying.',
};
