import type { OrderRow } from '../db/entities/orders.ts';
import type { Notice, PayWay } from './channel.ts';
import type { NoticeChannel } from './ports.ts';

/** Where a genuine notice arrived, what it says, and whose keys and names it was read with. */
export interface Arrived {
  project: string;
  payWay: PayWay;
  from: NoticeChannel;
  notice: Notice;
}

/** Whether a notice may speak about an order: everything that says whose money it is must be what the order pins. */
export function speaksFor(
  { project, payWay, from, notice }: Omit<Arrived, 'notice'> & { notice: Pick<Notice, 'account' | 'appIds'> },
  order: Pick<OrderRow, 'project' | 'payWay' | 'account' | 'mode' | 'configVersion' | 'appId'>,
): boolean {
  const isHere = order.project === project && order.payWay === payWay;
  // An app that both name says it better than the version: it stays what it was, however the configuration changed. But one app
  // may serve several merchants of a partner, so the version must have had the same one.
  const isIts =
    order.appId !== null && notice.appIds !== undefined
      ? notice.appIds.includes(order.appId) && from.payeeVersions.has(order.configVersion)
      : from.versions.has(order.configVersion);
  return isHere && order.account === notice.account && order.mode === from.mode && isIts;
}
