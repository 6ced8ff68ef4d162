import type { Command } from 'commander';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { changes, examples, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, bodyOf, complete, printList, segment } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { type Row, plain } from '../values.ts';
import { APPROVALS, APPROVAL_VIEW } from './views.ts';

/** The number of a refund for examples. */
const REFUND_NO = 'R20261121060100D4N8ZR3VHC';

const FILTERS: readonly Field[] = [
  { name: 'state', value: 'state', help: 'filter by state', choices: ['waiting', 'approved', 'rejected'] },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'project', value: 'code', help: 'filter by project' },
];

/** Adds `approval list`. */
function defineList(noun: Command, context: ContextOf): void {
  const command = noun
    .command('list')
    .description('List what waits, or waited, for approval, newest first: refunds, disputes and exceptions.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl approval list --state waiting',
    'payctl approval list --order P202611210558007K2MQX9WBT --json',
  ).action((options: Row & ListFlags) => runList(context(), options));
}

/** Prints the approvals that pass the filters. */
function runList(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, APPROVALS, bodyOf(options, FILTERS) as Query, APPROVAL_VIEW, options);
}

/** Adds `approval get`. */
function defineGet(noun: Command, context: ContextOf): void {
  const command = noun
    .command('get')
    .description('Show one approval, by the number of its refund or dispute, or the id of its exception.')
    .argument('<refundNo>');
  examples(command, `payctl approval get ${REFUND_NO}`, `payctl approval get ${REFUND_NO} --json`).action(
    (refundNo: string) => runGet(context(), refundNo),
  );
}

/** Prints one approval. */
async function runGet({ api, print }: Context, refundNo: string): Promise<void> {
  await print.item(await api.get(`${APPROVALS}/${segment(refundNo)}`), APPROVAL_VIEW);
}

const DECISION_FIELDS: readonly Field[] = [
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** Adds `approval approve` and `approval reject`. */
function defineDecide(noun: Command, context: ContextOf): void {
  const approving = noun
    .command('approve')
    .description(
      'Approve what another administrator or an application asked for: a refund, a dispute that is to be accepted, or an exception whose money is to be given back. It is done at once.',
    )
    .argument('<refundNo>', 'number of the refund, the dispute or the exception');
  examples(
    changes(approving),
    `payctl approval approve ${REFUND_NO}`,
    `payctl approval approve ${REFUND_NO} --confirm ${REFUND_NO} --json`,
  ).action((refundNo: string, flags: ChangeFlags) => approve(context(), refundNo, flags));
  const rejecting = noun
    .command('reject')
    .description(
      'Reject what waits for approval: a refund fails, and its amount can be refunded again; a dispute or an exception stays.',
    )
    .argument('<refundNo>', 'number of the refund, the dispute or the exception')
    .option('--reason <text>', 'reason, recorded with your name');
  examples(
    changes(rejecting),
    `payctl approval reject ${REFUND_NO} --reason "not agreed with the payer"`,
    `payctl approval reject ${REFUND_NO} --reason duplicate -y --json`,
  ).action((refundNo: string, flags: ChangeFlags & { reason?: string }) => reject(context(), refundNo, flags));
}

/** Approves a refund; always confirmed with its number, because money moves. */
async function approve({ change, print }: Context, refundNo: string, flags: ChangeFlags): Promise<void> {
  const path = `${APPROVALS}/${segment(refundNo)}/approve`;
  const what = `approve ${refundNo}`;
  const row = await change({ what, name: refundNo, risk: 'severe', method: 'POST', path }, flags);
  if (!row) return;
  await print.item(row, APPROVAL_VIEW);
  const { kind = 'refund' } = row;
  await print.done(`Approved ${plain(kind)} ${refundNo}. Next: payctl ${plain(kind)} get ${refundNo}`);
}

/** Rejects a refund. */
async function reject(context: Context, refundNo: string, flags: ChangeFlags & { reason?: string }): Promise<void> {
  const body = await complete(context, DECISION_FIELDS, flags.reason === undefined ? {} : { reason: flags.reason });
  const path = `${APPROVALS}/${segment(refundNo)}/reject`;
  const what = `reject ${refundNo}`;
  const row = await context.change({ what, name: refundNo, risk: 'moderate', method: 'POST', path, body }, flags);
  if (!row) return;
  await context.print.item(row, APPROVAL_VIEW);
  await context.print.done(`Rejected ${plain(row['kind'] ?? 'refund')} ${refundNo}.`);
}

/** Adds the verbs of `approval`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Decide about money that waits for a second administrator before it goes back (Approval.RefundAbove).',
  );
  for (const addVerb of [defineList, defineGet, defineDecide]) addVerb(noun, context);
}
