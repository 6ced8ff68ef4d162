import type { Addresses, Registration, Scene } from '../../payments/channel.ts';
import { NEEDED_EVENTS, WELCOME_EVENTS } from './webhooks.ts';

const DASHBOARD = 'Developer dashboard (developer.paypal.com), Apps & Credentials, the REST app';

/** What the REST app needs for this service; payctl makes the webhook. Return addresses go with each order. */
export function paypalRegistrations({ notifyUrl }: Pick<Addresses, 'notifyUrl'>): Registration<Scene>[] {
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
