import type { Command } from 'commander';
import { addAction } from '../action.ts';
import type { ContextOf } from '../context.ts';
import { say } from '../language.ts';
import { type Resource, addGet, addList } from '../resource.ts';
import { BY, EXCEPTIONS, KIND, REASON, printWaiting } from './views.ts';

const EXCEPTION_ID = '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52';

const exception: Resource = {
  noun: 'exception',
  plural: 'exceptions',
  path: EXCEPTIONS,
  idName: 'id',
  view: {
    noun: 'exception',
    id: 'id',
    columns: [
      { field: 'id', kind: 'id' },
      { ...KIND, kind: 'status' },
      { field: 'orderNo', title: 'ORDER', kind: 'id' },
      { field: 'refundNo', title: 'REFUND', kind: 'id' },
      { field: 'state', kind: 'status', words: 'exceptionState' },
      { field: 'createdAt', kind: 'time' },
      { field: 'detail' },
    ],
    more: [{ field: 'resolution', words: 'resolution' }],
  },
  filters: [
    { name: 'state', value: 'state', help: 'filter by state', choices: ['open', 'resolved'] },
    {
      name: 'kind',
      value: 'kind',
      help: 'filter by kind: late_paid, amount_mismatch, refund_overrun, refund_abnormal, …',
    },
    BY.order,
    BY.project,
  ],
};

/** Adds the subcommands of `payctl exception`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, show and resolve exceptions, the cases that need manual review.');
  addList(noun, context, exception, [
    'payctl exception list --state open',
    'payctl exception list --kind amount_mismatch --json',
  ]);
  addGet(
    noun,
    context,
    exception,
    [`payctl exception get ${EXCEPTION_ID}`, `payctl exception get ${EXCEPTION_ID} --fields kind,state,detail`],
    'Show one exception with all its details.',
  );
  addAction(noun, context, exception, {
    verb: 'resolve',
    words:
      'Resolve an exception: acknowledge it, refund a second payment, refund or accept an amount mismatch, close an overdue order, or retry an action that failed.',
    lines: [
      `payctl exception resolve ${EXCEPTION_ID} --action acknowledge --reason "agreed with the merchant"`,
      `payctl exception resolve ${EXCEPTION_ID} --action refund --reason "paid twice" --confirm ${EXCEPTION_ID}`,
    ],
    fields: [
      {
        name: 'action',
        value: 'action',
        help: 'resolution',
        choices: ['acknowledge', 'refund', 'accept', 'close', 'retry'],
        required: true,
      },
      REASON,
    ],
    request: (id, { action }) => ({ what: `resolve exception ${id} (${String(action)})` }),
    // Resolving the exception may move money.
    risk: 'severe',
    async print(context, row, id) {
      if (row['askedBy'] !== undefined) return printWaiting(context, row);
      await context.print.item(row, exception.view);
      await context.print.done(
        row['state'] === 'open'
          ? say`Exception ${id} is still open: the action failed again.`
          : say`Resolved exception ${id}.`,
      );
    },
  });
}
