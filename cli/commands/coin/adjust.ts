import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples, integer } from '../../options.ts';
import { bodyOf, complete, projectFlag, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { ENTRY, coin } from './resource.ts';

const whole = integer(-1_000_000_000, 1_000_000_000);

const FIELDS: readonly Field[] = [
  { name: 'userId', value: 'id', help: 'user whose balance changes', required: true },
  {
    name: 'amount',
    value: 'n',
    help: 'coins to add; negative to deduct, e.g. --amount=-5',
    read: whole,
    required: true,
  },
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** The flags of `coin adjust`. */
export type AdjustFlags = Row & ChangeFlags & { project?: string };

/** Adds `coin adjust`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('adjust')
      .description('Adjust a balance manually. The ledger records who did it and why.')
      .argument('<code>'),
  );
  command
    .option('--user-id <id>', 'user whose balance changes')
    .option('--amount <n>', 'coins to add; negative to deduct, e.g. --amount=-5', whole)
    .option('--reason <text>', 'reason, recorded with your name');
  examples(
    changes(command, { money: true }),
    'payctl coin adjust gold --user-id user-20417 --amount 50 --reason "apology"',
    'payctl coin adjust gold --user-id user-20417 --amount=-5 --reason "granted twice" -y',
  ).action((code: string, flags: AdjustFlags) => run(context(), code, flags));
}

/** Adds one entry to the ledger. */
export async function run(context: Context, code: string, flags: AdjustFlags): Promise<void> {
  const body = await complete(context, FIELDS, bodyOf(flags, FIELDS));
  const query = flags.project === undefined ? {} : { project: flags.project };
  const what = `adjust the ${code} balance of ${String(body['userId'])} by ${String(body['amount'])}`;
  const row = await context.change(
    {
      what,
      name: code,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${coin.path}/${segment(code)}/adjustments`,
      query,
      body,
    },
    flags,
  );
  if (row) await context.print.item(row, ENTRY);
}
