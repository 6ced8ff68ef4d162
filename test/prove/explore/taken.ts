import type { NoticeResult } from '../../../server/payments/notifications/notice.ts';
import type { Ended } from './driver.ts';
import type { Deed } from './state.ts';

/** A message that was acknowledged: its channel does not repeat it. */
export function takenBy({ name, notice }: Deed, ended: Ended): string[] {
  if (name !== 'notice' || !notice || !('result' in ended)) return [];
  const { ack } = ended.result as NoticeResult;
  return ack.body === 'accepted' ? [taken(notice)] : [];
}

/** What is told of a message that was acknowledged. */
export function taken({ noticeId }: { readonly noticeId: string }): string {
  return `taken ${noticeId}`;
}
