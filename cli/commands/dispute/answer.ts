import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { DISPUTE_NO, DISPUTES, VIEW } from './view.ts';

/** The flags of `dispute answer`. */
export interface AnswerFlags extends ChangeFlags {
  text?: string;
}

const FIELDS: readonly Field[] = [
  { name: 'text', value: 'text', help: 'what the merchant says, up to 2000 characters', required: true },
];

/** Adds `dispute answer`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('answer')
    .description('Answer a dispute: the text goes to the payer or, once the channel examines it, to the channel.')
    .argument('<disputeNo>')
    .option('--text <text>', 'what the merchant says, up to 2000 characters');
  examples(
    changes(command, { money: true }),
    `payctl dispute answer ${DISPUTE_NO} --text "delivered and signed for"`,
    `payctl dispute answer ${DISPUTE_NO} --text "delivered and signed for" -y --json`,
  ).action((disputeNo: string, flags: AnswerFlags) => run(context(), disputeNo, flags));
}

/** Sends the answer; the same Idempotency-Key goes with every try. */
export async function run(context: Context, disputeNo: string, flags: AnswerFlags): Promise<void> {
  const body = await complete(context, FIELDS, flags.text === undefined ? {} : { text: flags.text });
  const row = await context.change(
    {
      what: `answer dispute ${disputeNo}`,
      name: disputeNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${DISPUTES}/${segment(disputeNo)}/answer`,
      body,
    },
    flags,
  );
  if (!row) return;
  await context.print.item(row, VIEW);
  await context.print.done(`Answered dispute ${disputeNo}.`);
}
