import { PAY_WAYS } from '../../server/domain.ts';
import type { Context } from '../context.ts';
import { instant } from '../options.ts';
import type { Field } from '../resource.ts';
import { type Row, type View, plain } from '../values.ts';

export const BY = {
  app: { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  channel: { name: 'payWay', value: 'channel', help: 'filter by channel', choices: PAY_WAYS },
  order: { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  project: { name: 'project', value: 'code', help: 'filter by project' },
} as const satisfies Record<string, Field>;

/** The filters `--since` and `--until`. The arguments are the first words of the help texts, e.g. `created after`. */
export function period(since: string, until: string): [Field, Field] {
  const help = `${since} this time, e.g. 2026-01-31, or 2h for two hours ago`;
  return [
    { name: 'createdFrom', flag: 'since', value: 'time', help, read: instant },
    { name: 'createdTo', flag: 'until', value: 'time', help: `${until} this time`, read: instant },
  ];
}

/** The service records the reason with the operator's name. */
export const REASON: Field = {
  name: 'reason',
  value: 'text',
  help: 'reason, recorded with your name',
  required: 'text',
};

export const ORDERS = '/api/v1/orders';

export const ORDER_VIEW: View = {
  noun: 'order',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'amount', kind: 'money' },
    { field: 'payWay', title: 'CHANNEL', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'subject' },
    { field: 'refundedAmount', title: 'REFUNDED', kind: 'money' },
    { field: 'exception', kind: 'text' },
    { field: 'paidAt', kind: 'time' },
    { field: 'merchantOrderNo' },
    { field: 'clientId', title: 'APP' },
  ],
};

/** The path of payment operations for the login in use: those of the application, or of the console. */
export async function paymentPath({ application }: Pick<Context, 'application'>): Promise<string> {
  return (await application()) ? '/api/v2/payment' : '/api/v1/console/payment';
}

export const REFUNDS = '/api/v1/refunds';

export const EXCEPTIONS = '/api/v1/exceptions';

export const APPROVALS = '/api/v1/approvals';

/** Prints a request that waits for the approval of another administrator. The service has changed nothing yet. */
export async function printWaiting({ print }: Pick<Context, 'print'>, row: Row): Promise<void> {
  await print.item(row, APPROVAL_VIEW);
  await print.done(
    `Nothing was done yet: another administrator has to approve it. Next: payctl approval approve ${plain(row['refundNo'])}`,
  );
}

export const APPROVAL_VIEW: View = {
  noun: 'approval',
  id: 'refundNo',
  columns: [
    { field: 'refundNo', title: 'NUMBER', kind: 'id' },
    { field: 'kind' },
    { field: 'state', kind: 'status' },
    { field: 'refundAmount', title: 'AMOUNT', kind: 'money' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'askedBy', title: 'ASKED BY' },
    { field: 'createdAt', kind: 'time' },
    { field: 'decidedBy', title: 'DECIDED BY' },
    { field: 'reason' },
  ],
};

export const EVENTS = '/api/v1/events';
export const OWN_EVENTS = '/api/v2/events';

export const EVENT_ID = 'evt_5f0c2b6e8a179d3f01935b2e';

export const DELIVERY: View = {
  noun: 'delivery',
  id: 'id',
  columns: [
    { field: 'eventId', title: 'EVENT', kind: 'id' },
    { field: 'type', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'createdAt', kind: 'time' },
    { field: 'lastStatus', title: 'HTTP' },
    { field: 'attempts', title: 'TRIES' },
    { field: 'nextAttemptAt', title: 'NEXT', kind: 'time' },
    { field: 'lastError', title: 'ERROR' },
    { field: 'url' },
    { field: 'id', kind: 'id' },
  ],
};
