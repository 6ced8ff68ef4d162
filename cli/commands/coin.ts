import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { changes, examples, integer } from '../options.ts';
import {
  type Field,
  type Resource,
  addCreate,
  addDelete,
  addGet,
  addList,
  addSubList,
  addToggle,
  addUpdate,
  bodyOf,
  complete,
  projectFlag,
  segment,
} from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import type { Row } from '../values.ts';

/** Virtual currencies. */
export const coin: Resource = {
  noun: 'coin',
  plural: 'coins',
  path: '/api/v1/coins',
  idName: 'code',
  inProject: true,
  view: {
    noun: 'coin',
    id: 'code',
    columns: [
      { field: 'code', kind: 'id' },
      { field: 'name' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'clawback', kind: 'id' },
      { field: 'project' },
      { field: 'createdAt', kind: 'time' },
    ],
  },
  createOnly: [{ name: 'code', value: 'code', help: 'letters, digits, "_" and "-"', required: true }],
  fields: [
    { name: 'name', value: 'name', help: 'display name', required: true },
    {
      name: 'clawback',
      value: 'policy',
      help: 'what a refund does if the coins are already spent',
      choices: ['refuse', 'debt', 'partial'],
    },
  ],
};

/** How a balance is shown. */
const ACCOUNT = {
  noun: 'account',
  id: 'userId',
  columns: [
    { field: 'userId', kind: 'id' },
    { field: 'balance' },
    { field: 'available' },
    { field: 'held' },
    { field: 'debt' },
  ],
} as const;

/** How a ledger entry is shown. */
const ENTRY = {
  noun: 'entry',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'userId', kind: 'id' },
    { field: 'amount' },
    { field: 'balanceAfter', title: 'BALANCE' },
    { field: 'kind', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'memo' },
  ],
} as const;

const whole = integer(-1_000_000_000, 1_000_000_000);

const ADJUST_FIELDS: readonly Field[] = [
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
type AdjustFlags = Row & ChangeFlags & { project?: string };

/** Adds `coin adjust`. */
function defineAdjust(noun: Command, context: ContextOf): void {
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
  ).action((code: string, flags: AdjustFlags) => runAdjust(context(), code, flags));
}

/** Adds one entry to the ledger. */
async function runAdjust(context: Context, code: string, flags: AdjustFlags): Promise<void> {
  const body = await complete(context, ADJUST_FIELDS, bodyOf(flags, ADJUST_FIELDS));
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

/** Adds the verbs of `coin`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage virtual currencies and their append-only ledgers.');
  addList(noun, context, coin, ['payctl coin list', 'payctl coin list --project shop-eu --json']);
  addGet(noun, context, coin, ['payctl coin get gold', 'payctl coin get gold --json']);
  addCreate(noun, context, coin, [
    'payctl coin create --code gold --name Gold',
    'payctl coin create --code gold --name Gold --clawback debt',
  ]);
  addUpdate(noun, context, coin, [
    'payctl coin update gold --name "Gold coins"',
    'payctl coin update gold --clawback partial --dry-run',
  ]);
  addToggle(noun, context, coin, {
    enable: ['payctl coin enable gold', 'payctl coin enable gold --json'],
    disable: ['payctl coin disable gold', 'payctl coin disable gold -y'],
  });
  addSubList(noun, context, coin, {
    verb: 'accounts',
    words: 'List the balances of a coin.',
    view: ACCOUNT,
    lines: ['payctl coin accounts gold', 'payctl coin accounts gold --all --json'],
  });
  addSubList(noun, context, coin, {
    verb: 'entries',
    words: 'List the ledger of a coin, newest first.',
    view: ENTRY,
    filters: [{ name: 'userId', value: 'id', help: 'filter by user' }],
    lines: ['payctl coin entries gold', 'payctl coin entries gold --user-id user-20417 --json'],
  });
  defineAdjust(noun, context);
  addDelete(noun, context, coin, ['payctl coin delete gold', 'payctl coin delete gold --confirm gold']);
}
