import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { changes, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { showBill } from './show.ts';
import { BILL_NO, BILLS } from './view.ts';

const FIELDS: readonly Field[] = [
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** The flags of `bill quiet`. */
export interface QuietFlags extends ChangeFlags {
  reason?: string;
  off?: boolean;
}

/** Adds `bill quiet`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('quiet')
    .description(
      'Treat unknown order numbers at the account of a bill as those of another installation of this service, in all bills of the account; with --off, report them again.',
    )
    .argument('<billNo>')
    .option('--reason <text>', 'reason, recorded with your name')
    .option('--off', 'report unknown order numbers of the account again');
  examples(
    changes(command),
    `payctl bill quiet ${BILL_NO} --reason "the staging system uses this account"`,
    `payctl bill quiet ${BILL_NO} --off`,
  ).action((billNo: string, flags: QuietFlags) => run(context(), billNo, flags));
}

/** Makes the account of a bill quiet, or ends that; to make it so is confirmed with the bill's number, because lost orders are then not missed. */
export async function run(context: Context, billNo: string, flags: QuietFlags): Promise<void> {
  const { reason, off } = flags;
  if (off && reason !== undefined) throw new UsageError('--off takes no --reason.', 'leave --reason out');
  const path = `${BILLS}/${segment(billNo)}/quiet`;
  const bill = await context.change(
    off
      ? { what: `report unknown orders of the account of bill ${billNo}`, name: billNo, method: 'DELETE', path }
      : {
          what: `keep quiet about unknown orders of the account of bill ${billNo}`,
          name: billNo,
          risk: 'severe',
          method: 'POST',
          path,
          body: await complete(context, FIELDS, reason ? { reason } : {}),
        },
    flags,
  );
  if (!bill) return;
  await showBill(context, bill);
  await context.print.done(`${nameOf(bill)} ${off ? 'is not quiet any more' : 'is quiet'}.`);
}

function nameOf({ payWay, account }: Row): string {
  return `${String(payWay)} ${String(account)}`;
}
