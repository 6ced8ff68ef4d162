import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changes, examples, integer } from '../../options.ts';
import { bodyOf, complete, projectFlag, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { Row } from '../../values.ts';
import type { ContextOf } from '../index.ts';
import { ENTRY, coin } from './resource.ts';

const whole = integer(-1_000_000_000, 1_000_000_000);

const FIELDS: readonly Field[] = [
  { name: 'userId', value: 'id', help: 'payer', required: true },
  { name: 'amount', value: 'n', help: 'coins to add; --amount=-5 takes away', read: whole, required: true },
  { name: 'reason', value: 'text', help: 'why; kept with your name', required: true },
];

/** The flags of `coin adjust`. */
export type AdjustFlags = Row & ChangeFlags & { project?: string };

/** Adds `coin adjust`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun.command('adjust').description('Correct a balance by hand; the ledger keeps who and why.').argument('<code>'),
  );
  command
    .option('--user-id <id>', 'payer')
    .option('--amount <n>', 'coins to add; --amount=-5 takes away', whole)
    .option('--reason <text>', 'why; kept with your name');
  examples(
    changes(command, { money: true }),
    'payctl coin adjust gold --user-id u-1 --amount 50 --reason "apology"',
    'payctl coin adjust gold --user-id u-1 --amount=-5 --reason "granted twice" -y',
  ).action((code: string, flags: AdjustFlags) => run(context(), code, flags));
}

/** Adds one entry to the ledger. */
export async function run(context: Context, code: string, flags: AdjustFlags): Promise<void> {
  const body = await complete(context, FIELDS, bodyOf(flags, FIELDS));
  const query = flags.project === undefined ? {} : { project: flags.project };
  const what = `change the ${code} balance of ${String(body['userId'])} by ${String(body['amount'])}`;
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
