import type { Command } from 'commander';
import { addCreate, addDelete, addToggle, addUpdate } from '../action.ts';
import type { ContextOf } from '../context.ts';
import { json } from '../options.ts';
import { type Editable, addGet, addList, addSubList } from '../resource.ts';
import { ORDER_VIEW } from './views.ts';

const user: Editable = {
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
    { name: 'status', value: 'status', help: 'filter by status', choices: ['active', 'blocked'] },
    { name: 'userId', value: 'id', help: 'filter by user id' },
  ],
  createOnly: [{ name: 'userId', value: 'id', help: "user id in the merchant's system", required: true }],
  fields: [
    { name: 'nickname', value: 'name', help: 'display name' },
    { name: 'email', value: 'address', help: 'e-mail address' },
    { name: 'phone', value: 'number', help: 'telephone number' },
    { name: 'metadata', value: 'json', help: 'custom data, a JSON object', read: json },
  ],
};

const BALANCE = {
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

/** Adds the subcommands of `payctl user`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage users, the payers of a project. A blocked user cannot pay, but can be refunded.');
  addList(noun, context, user, ['payctl user list --status blocked', 'payctl user list --project shop-eu --json']);
  addGet(noun, context, user, ['payctl user get user-20417', 'payctl user get user-20417 --project shop-eu --json']);
  addCreate(noun, context, user, [
    'payctl user create --user-id user-20417 --nickname Anna',
    'payctl user create --user-id user-20417 --metadata \'{"tier":2}\'',
  ]);
  addUpdate(noun, context, user, [
    'payctl user update user-20417 --nickname Ann',
    'payctl user update user-20417 --clear phone --dry-run',
  ]);
  addToggle(noun, context, user, {
    enable: ['payctl user enable user-20417', 'payctl user enable user-20417 --json'],
    disable: ['payctl user disable user-20417', 'payctl user disable user-20417 -y'],
  });
  addSubList(noun, context, user, {
    verb: 'orders',
    words: 'List the orders of a user.',
    view: ORDER_VIEW,
    lines: ['payctl user orders user-20417', 'payctl user orders user-20417 --all --json'],
  });
  addSubList(noun, context, user, {
    verb: 'coins',
    words: 'List the coin balances of a user.',
    view: BALANCE,
    lines: ['payctl user coins user-20417', 'payctl user coins user-20417 --json'],
  });
  addDelete(noun, context, user, [
    'payctl user delete user-20417',
    'payctl user delete user-20417 --confirm user-20417',
  ]);
}
