import type { PayWay, UnknownCause } from '../../../../server/payments/channel.ts';

/** Simulator faults and the cause that the adapter must report for each. */
export type FaultWords = Readonly<Record<string, UnknownCause>>;

const EVERYWHERE: FaultWords = {
  timeout: 'timeout',
  'commit-then-timeout': 'timeout',
  '502': 'http_status',
  '500-after-commit': 'http_status',
  html: 'unparsable',
  'half-body': 'network',
  redirect: 'redirected',
};

const SIGNED: FaultWords = {
  ...EVERYWHERE,
  'wrong-key': 'signature_invalid',
  tampered: 'signature_invalid',
  'no-signature': 'unsigned',
};

/** The cause of each response fault by channel; PayPal signs no responses. */
export const ANSWER_FAULTS: Readonly<Record<PayWay, FaultWords>> = {
  alipay: { ...SIGNED, 'duplicate-key': 'duplicate_key' },
  wechat: {
    ...SIGNED,
    'duplicate-key': 'duplicate_key',
    'clock-skew': 'clock_skew',
    'unknown-serial': 'serial_unknown',
    signtest: 'signature_invalid',
  },
  paypal: { ...EVERYWHERE, 'duplicate-key': 'duplicate_key' },
};

/** The delivery faults that make a notification not genuine. */
export const NOTIFICATION_FAULTS: Readonly<Record<PayWay, readonly string[]>> = {
  alipay: ['bad-notify-signature', 'tampered', 'no-signature', 'duplicate-key'],
  wechat: ['bad-notify-signature', 'tampered', 'no-signature', 'clock-skew', 'unknown-serial', 'signtest'],
  paypal: ['bad-notify-signature', 'tampered', 'no-signature'],
};
