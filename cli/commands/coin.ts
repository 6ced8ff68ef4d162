import type { Command } from 'commander';
import { addAction, addCreate, addDelete, addToggle, addUpdate } from '../action.ts';
import type { ContextOf } from '../context.ts';
import { integer } from '../options.ts';
import { type Editable, addGet, addList, addSubList } from '../resource.ts';
import { REASON } from './views.ts';

const coin: Editable = {
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
      help: 'effect of a refund if the coins are already spent',
      choices: ['refuse', 'debt', 'partial'],
    },
  ],
};

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

/** Adds the subcommands of `payctl coin`. */
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
  addAction(noun, context, coin, {
    verb: 'adjust',
    words: 'Adjust a balance manually. The ledger records the administrator and the reason.',
    lines: [
      'payctl coin adjust gold --user-id user-20417 --amount 50 --reason "apology"',
      'payctl coin adjust gold --user-id user-20417 --amount=-5 --reason "granted twice" -y',
    ],
    fields: [
      { name: 'userId', value: 'id', help: 'user whose balance changes', required: true },
      {
        name: 'amount',
        value: 'n',
        help: 'coins to add; negative to deduct, e.g. --amount=-5',
        read: integer(-1_000_000_000, 1_000_000_000),
        required: true,
      },
      { ...REASON, required: true },
    ],
    below: 'adjustments',
    request: (code, { userId, amount }) => ({
      what: `adjust the ${code} balance of ${String(userId)} by ${String(amount)}`,
    }),
    risk: 'moderate',
    money: true,
    view: ENTRY,
  });
  addDelete(noun, context, coin, ['payctl coin delete gold', 'payctl coin delete gold --confirm gold']);
}
