import type { NotificationResult } from '../../../server/payments/notifications/receive.ts';
import type { Ended } from './driver.ts';
import type { Deed } from './state.ts';

/** A message that was acknowledged: its channel does not repeat it. */
export function takenBy({ name, notice }: Deed, ended: Ended): string[] {
  if (name !== 'notice' || !notice || !('result' in ended)) return [];
  const { ack } = ended.result as NotificationResult;
  return ack.body === 'accepted' ? [taken(notice)] : [];
}

/** What is told of a message that was acknowledged. */
export function taken({ notificationId }: { readonly notificationId: string }): string {
  return `taken ${notificationId}`;
}
