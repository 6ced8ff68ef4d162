import type { PayerWords } from './payer-words.ts';

/** What payers read in English. */
export const PAYER_WORDS_EN: PayerWords = {
  channels: { alipay: 'Alipay', wechat: 'WeChat Pay', paypal: 'PayPal' },
  apps: { alipay: 'Alipay', wechat: 'WeChat', paypal: 'PayPal' },
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
