import { PAY_WAYS } from '../../server/domain.ts';
import type { Context } from '../context.ts';
import { say } from '../language.ts';
import { instant } from '../options.ts';
import type { Field } from '../resource.ts';
import { type Column, type Row, type View, plain, valueOf } from '../values.ts';

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

/** The column with the kind of an exception or difference; its Chinese word says on which side the money is missing. */
export const KIND: Column = { field: 'kind', words: 'kind', nuance: surplusOf };

/**
 * `surplus` if the channel has more money than the books of the service because of the difference, `shortage` if it has
 * less; undefined if the amounts do not decide it. The two sides are those of a difference, or of the detail of its
 * exception.
 */
function surplusOf(row: Row): 'surplus' | 'shortage' | undefined {
  const gain = GAINS[plain(row['kind'])]?.(row) ?? 0;
  return gain === 0 ? undefined : gain > 0 ? 'surplus' : 'shortage';
}

/** The amount that the channel has more than the books of the service, in minor units, for kinds with both directions. */
const GAINS: Readonly<Record<string, (row: Row) => number | undefined>> = {
  amount_differs: (row) => apart(row, 'amount'),
  refund_amount_differs: (row) => -apart(row, 'amount'),
  fee_differs: (row) => -apart(row, 'fee'),
  order_unknown_here: (row) => {
    const isRefund = Boolean(row['refundNo'] ?? valueOf(row, 'detail.number'));
    // A refund in a bill of PayPal may have no number of its own.
    if (!isRefund && row['payWay'] === 'paypal') return undefined;
    return (isRefund ? -1 : 1) * (minorOf(row, 'theirs', 'amount') ?? 0);
  },
  dispute_unknown_to_us: (row) => minorOf(row, 'theirs', 'amount'),
  refund_elsewhere: (row) => (valueOf(row, 'detail.paidTwice') === true ? -1 : 0),
};

function apart(row: Row, name: 'amount' | 'fee'): number {
  const [ours, theirs] = [minorOf(row, 'ours', name), minorOf(row, 'theirs', name)];
  const [one, other] = (['ours', 'theirs'] as const).map((side) => sideOf(row, side, 'currency'));
  return ours === undefined || theirs === undefined || one !== other ? 0 : theirs - ours;
}

function minorOf(row: Row, side: 'ours' | 'theirs', name: 'amount' | 'fee'): number | undefined {
  const minor = valueOf(row, `${side}.${name}Minor`) ?? valueOf(row, `detail.${side}.${name}`);
  return minor === undefined || minor === null ? undefined : Number(minor);
}

function sideOf(row: Row, side: 'ours' | 'theirs', name: string): unknown {
  return valueOf(row, `${side}.${name}`) ?? valueOf(row, `detail.${side}.${name}`);
}

/** Prints a request that waits for the approval of another administrator. The service has changed nothing yet. */
export async function printWaiting({ print }: Pick<Context, 'print'>, row: Row): Promise<void> {
  await print.item(row, APPROVAL_VIEW);
  await print.done(
    say`Nothing was done yet: another administrator has to approve it. Next: payctl approval approve ${plain(row['refundNo'])}`,
  );
}

export const APPROVAL_VIEW: View = {
  noun: 'approval',
  id: 'refundNo',
  columns: [
    { field: 'refundNo', title: 'NUMBER', kind: 'id' },
    { field: 'kind', words: 'approvalKind' },
    { field: 'state', kind: 'status', words: 'approvalState' },
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
