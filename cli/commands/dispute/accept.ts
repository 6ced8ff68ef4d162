import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { tellWaiting } from '../approval/view.ts';
import { DISPUTE_NO, DISPUTES, VIEW } from './view.ts';

/** The flags of `dispute accept`. */
export interface AcceptFlags extends ChangeFlags {
  note?: string;
}

const FIELDS: readonly Field[] = [
  { name: 'note', value: 'text', help: 'note for the channel, which may show it to the payer', required: true },
];

/** Adds `dispute accept`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('accept')
    .description('Accept a dispute: the channel refunds the payer from the account of the merchant, for good.')
    .argument('<disputeNo>')
    .option('--note <text>', 'note for the channel, which may show it to the payer');
  examples(
    changes(command, { money: true }),
    `payctl dispute accept ${DISPUTE_NO} --note "we are sorry"`,
    `payctl dispute accept ${DISPUTE_NO} --note "we are sorry" --confirm ${DISPUTE_NO} --json`,
  ).action((disputeNo: string, flags: AcceptFlags) => run(context(), disputeNo, flags));
}

/** Gives in; always confirmed with the number, because money moves and does not come back. */
export async function run(context: Context, disputeNo: string, flags: AcceptFlags): Promise<void> {
  const body = await complete(context, FIELDS, flags.note === undefined ? {} : { note: flags.note });
  const row = await context.change(
    {
      what: `accept dispute ${disputeNo}`,
      name: disputeNo,
      risk: 'severe',
      money: true,
      method: 'POST',
      path: `${DISPUTES}/${segment(disputeNo)}/accept`,
      body,
    },
    flags,
  );
  if (!row) return;
  if (row['askedBy'] !== undefined) return tellWaiting(context, row);
  await context.print.item(row, VIEW);
  await context.print.done(
    row['status'] === 'lost'
      ? `Accepted dispute ${disputeNo}; the payer gets the money.`
      : `The channel has not closed the dispute yet. Next: payctl dispute get ${disputeNo}`,
  );
}
