import type { Command } from 'commander';
import { json } from '../../options.ts';
import { addCreate, addDelete, addGet, addList, addToggle, addUpdate, type Resource } from '../../resource.ts';
import { addSubList } from '../../sub-list.ts';
import type { ContextOf } from '../index.ts';
import { VIEW as ORDER } from '../order/view.ts';

/** Payers: the people who pay, as the merchants know them. */
export const user: Resource = {
  noun: 'user',
  plural: 'payers',
  path: '/api/v1/users',
  idName: 'userId',
  inProject: true,
  view: {
    noun: 'user',
    id: 'userId',
    columns: [
      { field: 'userId', kind: 'id' },
      { field: 'status', kind: 'status' },
      { field: 'nickname' },
      { field: 'email' },
      { field: 'phone' },
      { field: 'project' },
      { field: 'createdAt', kind: 'time' },
    ],
  },
  filters: [
    { name: 'status', value: 'status', help: 'only in this state', choices: ['active', 'blocked'] },
    { name: 'userId', value: 'id', help: 'only this payer' },
  ],
  createOnly: [{ name: 'userId', value: 'id', help: "id in the merchant's system", required: true }],
  fields: [
    { name: 'nickname', value: 'name', help: 'name to show' },
    { name: 'email', value: 'address', help: 'e-mail address' },
    { name: 'phone', value: 'number', help: 'telephone number' },
    { name: 'metadata', value: 'json', help: 'anything, as a JSON object', read: json },
  ],
};

/** The balances of a payer. */
export const BALANCE = {
  noun: 'account',
  id: 'coin',
  columns: [
    { field: 'coin', kind: 'id' },
    { field: 'available' },
    { field: 'held' },
    { field: 'debt' },
    { field: 'updatedAt', kind: 'time' },
  ],
} as const;

/** Adds the verbs of `user`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Users: the people who pay. A blocked one cannot pay, but can be refunded.');
  addList(noun, context, user, ['payctl user list --status blocked', 'payctl user list --project shop-eu --json']);
  addGet(noun, context, user, ['payctl user get u-1', 'payctl user get u-1 --project shop-eu --json']);
  addCreate(noun, context, user, [
    'payctl user create --user-id u-1 --nickname Anna',
    'payctl user create --user-id u-1 --metadata \'{"tier":2}\'',
  ]);
  addUpdate(noun, context, user, [
    'payctl user update u-1 --nickname Ann',
    'payctl user update u-1 --clear phone --dry-run',
  ]);
  addToggle(noun, context, user, {
    enable: ['payctl user enable u-1', 'payctl user enable u-1 --json'],
    disable: ['payctl user disable u-1', 'payctl user disable u-1 -y'],
  });
  addSubList(noun, context, user, {
    verb: 'orders',
    words: 'List the orders of a payer.',
    view: ORDER,
    lines: ['payctl user orders u-1', 'payctl user orders u-1 --all --json'],
  });
  addSubList(noun, context, user, {
    verb: 'coins',
    words: 'List the balances of a payer.',
    view: BALANCE,
    lines: ['payctl user coins u-1', 'payctl user coins u-1 --json'],
  });
  addDelete(noun, context, user, ['payctl user delete u-1', 'payctl user delete u-1 --confirm u-1']);
}
