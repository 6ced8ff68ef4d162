import type { NotificationResult } from '../../../server/payments/notifications/receive.ts';
import type { Ended } from './driver.ts';
import type { Action } from './state.ts';

/** The acknowledged message, which its channel does not repeat. */
export function takenBy({ name, notice }: Action, ended: Ended): string[] {
  if (name !== 'notice' || !notice || !('result' in ended)) return [];
  const { ack } = ended.result as NotificationResult;
  return ack.body === 'accepted' ? [taken(notice)] : [];
}

/** The record of an acknowledged message. */
export function taken({ notificationId }: { readonly notificationId: string }): string {
  return `taken ${notificationId}`;
}
