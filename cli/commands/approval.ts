import type { Command } from 'commander';
import { addAction } from '../action.ts';
import type { ContextOf } from '../context.ts';
import { type Resource, addGet, addList } from '../resource.ts';
import { plain } from '../values.ts';
import { APPROVALS, APPROVAL_VIEW, BY, REASON } from './views.ts';

const REFUND_NO = 'R20261121060100D4N8ZR3VHC';

const approval: Resource = {
  noun: 'approval',
  plural: 'approvals',
  path: APPROVALS,
  idName: 'refundNo',
  view: APPROVAL_VIEW,
  filters: [
    { name: 'state', value: 'state', help: 'filter by state', choices: ['waiting', 'approved', 'rejected'] },
    BY.order,
    BY.project,
  ],
};

/** Adds the subcommands of `payctl approval`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Approve or reject requests to return money that need a second administrator (Approval.RefundAbove).',
  );
  addList(
    noun,
    context,
    approval,
    ['payctl approval list --state waiting', 'payctl approval list --order P202611210558007K2MQX9WBT --json'],
    'List pending and decided approvals of refunds, disputes and exceptions, newest first.',
  );
  addGet(
    noun,
    context,
    approval,
    [`payctl approval get ${REFUND_NO}`, `payctl approval get ${REFUND_NO} --json`],
    'Show one approval, by the number of its refund or dispute, or the id of its exception.',
  );
  addAction(noun, context, approval, {
    verb: 'approve',
    words:
      'Approve a request of another administrator or an application: a refund, the acceptance of a dispute, or an exception resolved with a refund. The request is executed at once.',
    lines: [
      `payctl approval approve ${REFUND_NO}`,
      `payctl approval approve ${REFUND_NO} --confirm ${REFUND_NO} --json`,
    ],
    id: 'number of the refund, the dispute or the exception',
    request: (refundNo) => ({ what: `approve ${refundNo}` }),
    // The approval moves money: the service then executes the request, e.g. a refund.
    risk: 'severe',
    done: ({ kind = 'refund' }, refundNo) =>
      `Approved ${plain(kind)} ${refundNo}. Next: payctl ${plain(kind)} get ${refundNo}`,
  });
  addAction(noun, context, approval, {
    verb: 'reject',
    words:
      'Reject a request. A rejected refund fails, and its amount can be refunded again; a dispute or an exception stays open.',
    lines: [
      `payctl approval reject ${REFUND_NO} --reason "not agreed with the payer"`,
      `payctl approval reject ${REFUND_NO} --reason duplicate -y --json`,
    ],
    id: 'number of the refund, the dispute or the exception',
    fields: [{ ...REASON, required: true }],
    request: (refundNo) => ({ what: `reject ${refundNo}` }),
    risk: 'moderate',
    done: ({ kind = 'refund' }, refundNo) => `Rejected ${plain(kind)} ${refundNo}.`,
  });
}
