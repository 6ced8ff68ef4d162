import { segment } from '../../../resource.ts';
import type { View } from '../../../values.ts';
import { app } from '../resource.ts';

/** A client_id for examples. */
export const CLIENT_ID = 'app_7Kd2mQxW9bTzR4vLp1Ns';

/** The console's path of the webhook of an application. */
export function webhookOf(clientId: string): string {
  return `${app.path}/${segment(clientId)}/webhook`;
}

/** How a webhook is shown. */
export const VIEW: View = {
  noun: 'webhook',
  id: 'clientId',
  columns: [
    { field: 'clientId', title: 'APP', kind: 'id' },
    { field: 'url' },
    { field: 'enabled', kind: 'yesno' },
    { field: 'disabledReason' },
    { field: 'types', read: ({ types }) => (Array.isArray(types) && types.length === 0 ? 'all' : types) },
    { field: 'previousSecretExpiresAt', kind: 'time' },
    { field: 'updatedAt', kind: 'time' },
  ],
};
