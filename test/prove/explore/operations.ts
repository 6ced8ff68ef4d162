import { disputeActions } from '../../../server/payments/disputes/answer.ts';
import { capturePayment, checkOrder, closePayment, queryPayment } from '../../../server/payments/orders/order.ts';
import { checkRefund, refundLookups } from '../../../server/payments/refunds/lookups.ts';
import { receiveNotification } from '../../../server/payments/notifications/receive.ts';
import { checkDispute } from '../../../server/payments/disputes/sync.ts';
import { operatorRepairs } from '../../../server/payments/exceptions/operator.ts';
import { placePayment } from '../../../server/payments/orders/place.ts';
import type { Requester, Ports } from '../../../server/payments/ports.ts';
import { refundPayment } from '../../../server/payments/refunds/refund.ts';
import type { Tx } from '../../../server/db/store.ts';
import type { Operation } from './driver.ts';
import { currencyOf, type Flavour } from './truth.ts';

/** The requester of an application. */
export const SHOP: Requester = { owner: { clientId: 'app_1' }, actor: 'app:app_1' };
/** The requester of an administrator. */
export const OPERATOR: Requester = { owner: 'any', actor: 'admin:1' };

const PAYEE = {
  clientId: 'app_1',
  project: 'default',
  latePayment: { afterExpiry: 'accept', afterClose: 'refund', afterFailed: 'refund' },
  limits: null,
  actor: 'app:app_1',
} as const;

const PAY_WAYS = { scanned: 'alipay', opened: 'wechat', till: 'wechat', approved: 'paypal' } as const;

/** Every operation of the service, as its routes and jobs run it. `target` is its number or id. */
export const OPERATIONS = {
  pay:
    (flavour: Flavour): Operation =>
    (ports) =>
      placePayment(ports)(PAYEE, {
        subject: 'Tea',
        amount: '10.00',
        currency: currencyOf(flavour),
        payWay: PAY_WAYS[flavour],
        merchantOrderNo: 'm-1',
        expireSeconds: 900,
        ...(flavour === 'till' ? { scene: 'code' as const, payCode: '130000000000000000', clientIp: '192.0.2.7' } : {}),
      }),
  close:
    (orderNo: string): Operation =>
    (ports) =>
      closePayment(ports)(SHOP, orderNo),
  query:
    (orderNo: string): Operation =>
    (ports) =>
      queryPayment(ports)(SHOP, orderNo),
  capture:
    (orderNo: string): Operation =>
    async (ports) => {
      // As the return page does: reads the order, then captures.
      const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
      return capturePayment(ports)(orderNo, { cause: 'return', actor: 'service' }, order);
    },
  refund:
    (orderNo: string, refundAmount: string, merchantRefundNo: string): Operation =>
    (ports) =>
      refundPayment(ports)(SHOP, { orderNo, refundAmount, merchantRefundNo }),
  notice:
    (payWay: 'alipay' | 'wechat' | 'paypal'): Operation =>
    (ports) =>
      receiveNotification(ports)(payWay, 'default', {}, Buffer.from('0'), '192.0.2.1'),
  orderJob:
    (orderNo: string): Operation =>
    (ports) =>
      job(
        ports,
        (tx, now) => lease(tx.orders, { orderNo }, 'nextCheckAt', now),
        () => checkOrder(ports)(orderNo),
      ),
  refundJob:
    (refundNo: string): Operation =>
    (ports) =>
      job(
        ports,
        (tx, now) => lease(tx.refunds, { refundNo }, 'nextCheckAt', now),
        () => checkRefund(ports)(refundNo),
      ),
  questionJob:
    (id: string): Operation =>
    (ports) =>
      job(
        ports,
        (tx, now) => lease(tx.refundLookups, { id }, 'nextAt', now),
        () => refundLookups(ports)(id),
      ),
  disputeJob:
    (disputeNo: string): Operation =>
    (ports) =>
      job(
        ports,
        (tx, now) => lease(tx.disputes, { disputeNo }, 'nextCheckAt', now),
        () => checkDispute(ports)(disputeNo),
      ),
  acceptDispute:
    (disputeNo: string): Operation =>
    (ports) =>
      disputeActions(ports).accept(OPERATOR, disputeNo, 'we give in'),
  sync:
    (orderNo: string): Operation =>
    (ports) =>
      operatorRepairs(ports).syncOrder(OPERATOR, orderNo),
  retryRefund:
    (refundNo: string): Operation =>
    (ports) =>
      operatorRepairs(ports).retryRefund(OPERATOR, refundNo),
  resolveRefund:
    (refundNo: string, action: 'paid_elsewhere' | 'release' | 'failed_at_channel'): Operation =>
    (ports) =>
      operatorRepairs(ports).resolveRefund(OPERATOR, refundNo, action, 'looked at'),
  resolveException:
    (id: string, action: 'acknowledge' | 'refund' | 'accept' | 'close' | 'retry'): Operation =>
    (ports) =>
      operatorRepairs(ports).resolveException(OPERATOR, id, action, 'looked at'),
} as const;

/** The pay way whose rules a flavour has. */
export function payWayOf(flavour: Flavour) {
  return PAY_WAYS[flavour];
}

/** Runs a job only on a row that it has claimed, as `db/queries/due.ts` does. */
async function job(
  ports: Ports,
  claim: (tx: Tx, now: Date) => Promise<boolean>,
  work: () => Promise<void>,
): Promise<void> {
  const isMine = await ports.store.transaction((tx) => claim(tx, ports.now()));
  if (isMine) await work();
}

const LEASE_MS = 60_000;

type DueRow = { leasedUntil: Date | null } & Record<string, unknown>;

interface DueTable {
  find(where: object): Promise<DueRow | undefined>;
  update(where: object, patch: Partial<DueRow>): Promise<number>;
}

async function lease(table: unknown, where: object, at: 'nextCheckAt' | 'nextAt', now: Date): Promise<boolean> {
  const rows = table as DueTable;
  const row = await rows.find(where);
  const due = (row?.[at] ?? null) as Date | null;
  if (!row || due === null || due > now || (row.leasedUntil !== null && row.leasedUntil > now)) return false;
  await rows.update(where, { leasedUntil: new Date(now.getTime() + LEASE_MS) });
  return true;
}
