import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { plain } from '../../values.ts';
import { APPROVALS, REFUND_NO, VIEW } from './view.ts';

const FIELDS: readonly Field[] = [
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** Adds `approval approve` and `approval reject`. */
export function define(noun: Command, context: ContextOf): void {
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
export async function approve({ change, print }: Context, refundNo: string, flags: ChangeFlags): Promise<void> {
  const path = `${APPROVALS}/${segment(refundNo)}/approve`;
  const what = `approve ${refundNo}`;
  const row = await change({ what, name: refundNo, risk: 'severe', method: 'POST', path }, flags);
  if (!row) return;
  await print.item(row, VIEW);
  const { kind = 'refund' } = row;
  await print.done(`Approved ${plain(kind)} ${refundNo}. Next: payctl ${plain(kind)} get ${refundNo}`);
}

/** Rejects a refund. */
export async function reject(
  context: Context,
  refundNo: string,
  flags: ChangeFlags & { reason?: string },
): Promise<void> {
  const body = await complete(context, FIELDS, flags.reason === undefined ? {} : { reason: flags.reason });
  const path = `${APPROVALS}/${segment(refundNo)}/reject`;
  const what = `reject ${refundNo}`;
  const row = await context.change({ what, name: refundNo, risk: 'moderate', method: 'POST', path, body }, flags);
  if (!row) return;
  await context.print.item(row, VIEW);
  await context.print.done(`Rejected ${plain(row['kind'] ?? 'refund')} ${refundNo}.`);
}
