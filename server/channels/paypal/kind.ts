/** PayPal's limits, fields, certificates, and the settings that the merchant must make at PayPal. */
import type { Addresses, ChannelKind, FieldSpec, Mode, Registration, Scene } from '../../payments/channel.ts';
import { PERCENT_AND_AMOUNT_FIELD } from '../fee-rate.ts';
import { PAYPAL_BILLS } from './bills.ts';
import { createPaypalChannel, registerPaypalNotifications } from './channel.ts';
import { NEEDED_EVENTS, WELCOME_EVENTS } from './notification.ts';
import { SIMULATOR_CA, WEBHOOK_INTERMEDIATE } from './settings.ts';

const DASHBOARD = 'Developer dashboard (developer.paypal.com), Apps & Credentials, the REST app';

/** `payctl` creates the webhook. The return URLs need no setting, because each order contains them. */
function paypalRegistrations({ notifyUrl }: Pick<Addresses, 'notifyUrl'>): Registration<Scene>[] {
  return [
    {
      name: 'Webhook address',
      where: `${DASHBOARD}, Webhooks`,
      values: [notifyUrl],
      scenes: ['redirect'],
      by: 'payctl',
      note: 'payctl channel set paypal finds or creates it; PayPal calls https addresses only.',
    },
    {
      name: 'Webhook events',
      where: `${DASHBOARD}, Webhooks`,
      values: [...NEEDED_EVENTS, ...WELCOME_EVENTS],
      scenes: ['redirect'],
      by: 'payctl',
      note: 'payctl channel set paypal subscribes to them.',
    },
    {
      name: 'Feature Disputes',
      where: `${DASHBOARD}, Features`,
      values: ['Disputes'],
      scenes: ['redirect'],
      by: 'hand',
      note: 'Without it disputes can be neither read nor answered.',
    },
  ];
}

const MODES = ['simulator', 'sandbox', 'live'] as const satisfies readonly Mode[];

const FIELDS: readonly FieldSpec[] = [
  {
    name: 'clientId',
    label: 'Client ID',
    secret: false,
    requiredIn: MODES,
    pattern: /^[A-Za-z0-9_-]{10,128}$/,
    help: 'Client id of the REST app in the PayPal developer dashboard. Orders stay bound to it.',
  },
  {
    name: 'clientSecret',
    label: 'Client secret',
    secret: true,
    requiredIn: MODES,
    pattern: /^[A-Za-z0-9_-]{10,128}$/,
    help: 'Secret of the same REST app.',
  },
  {
    name: 'webhookId',
    label: 'Webhook ID',
    secret: false,
    // The webhook id is required, but `requiredIn` is empty: PayPal assigns the id, so it is often entered after the
    // other fields. The function `missing` below reports it as missing.
    requiredIn: [],
    ofAccount: true,
    pattern: /^[A-Za-z0-9-]{8,64}$/,
    help: 'Id of the webhook of the REST app that points to this service; payctl channel set finds or creates it when it is left out. Webhook signatures are verified with it. Disputes need the feature Disputes of the app.',
  },
  {
    name: 'merchantId',
    label: 'Merchant ID',
    secret: false,
    requiredIn: [],
    pattern: /^[A-Z0-9]{13}$/,
    pinned: true,
    help: 'If set, every order must have this payee. Orders stay bound to it.',
  },
  PERCENT_AND_AMOUNT_FIELD,
];

export const paypalKind: ChannelKind = {
  payWay: 'paypal',
  name: 'PayPal',
  modes: MODES,
  // PayPal allows about three hours for the approval and the capture of an order.
  scenes: { redirect: { type: 'redirect', maxSeconds: 3 * 3600, needs: [] } },
  defaultScene: 'redirect',
  currencies: [
    'AUD',
    'BRL',
    'CAD',
    'CHF',
    'CNY',
    'CZK',
    'DKK',
    'EUR',
    'GBP',
    'HKD',
    'HUF',
    'ILS',
    'JPY',
    'MXN',
    'MYR',
    'NOK',
    'NZD',
    'PHP',
    'PLN',
    'SEK',
    'SGD',
    'THB',
    'TWD',
    'USD',
  ],
  defaultCurrency: 'USD',
  limits: {
    minExpirySeconds: 60,
    maxRefundsPerOrder: null,
    refundSpacingSeconds: 0,
    refundWindowDays: 180,
    // A payer can open a dispute for 180 days, and PayPal may decide it months later.
    lateNotificationDays: 365,
    refundResendDays: 40,
  },
  bills: PAYPAL_BILLS,
  notificationHelp: {
    account: { en: 'client id', zh: 'client id' },
    signature: {
      en: 'the headers Paypal-Transmission-Id, -Time and -Sig, Paypal-Cert-Url and Paypal-Auth-Algo',
      zh: '请求头 Paypal-Transmission-Id、-Time、-Sig、Paypal-Cert-Url 和 Paypal-Auth-Algo',
    },
    key: {
      en: 'WebhookId is the id of the webhook that leads to this address',
      zh: 'WebhookId 是指向本地址的那个 webhook 的 ID',
    },
    changes: {
      chain_incomplete: {
        en: 'PayPal did not confirm the signature of the message: compare the client id and WebhookId of the channel configuration with those of the app.',
        zh: 'PayPal 未确认该消息的签名：请核对渠道配置中的 client id 和 WebhookId 是否与 PayPal 应用一致。',
      },
      serial_unknown: {
        en: 'The certificate address is not one of PayPal in the mode of the configuration: compare its mode with that of the app.',
        zh: '证书地址不是该配置所用模式下的 PayPal 地址：请核对配置的模式是否与 PayPal 应用一致。',
      },
    },
  },
  fields: FIELDS,
  certKinds: [
    {
      kind: WEBHOOK_INTERMEDIATE,
      label: 'Webhook intermediate certificate',
      form: 'certificate-chain',
      verifies: true,
      help: 'Useful if PayPal serves its webhook certificate without the intermediate: without it every webhook is verified by a call to PayPal. It must lead to a public root.',
    },
    {
      kind: SIMULATOR_CA,
      label: 'Simulator CA certificate',
      form: 'certificate',
      verifies: true,
      help: 'Verifies the webhook certificate of the simulator. Used in simulator mode only.',
    },
  ],
  accountOf: (fields) => fields['clientId'] ?? '',
  missing(mode, fields, kinds) {
    const needed = FIELDS.filter(({ name, requiredIn }) => name === 'webhookId' || requiredIn.includes(mode));
    const absent = needed.map(({ name }) => name).filter((name) => !fields[name]);
    return mode === 'simulator' && !kinds.has(SIMULATOR_CA) ? [...absent, SIMULATOR_CA] : absent;
  },
  registrations: (_fields, addresses) => paypalRegistrations(addresses),
  create: createPaypalChannel,
  registerNotifications: registerPaypalNotifications,
};
