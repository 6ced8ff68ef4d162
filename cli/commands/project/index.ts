import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { addCreate, addDelete, addGet, addList, addToggle, addUpdate, type Resource } from '../../resource.ts';
import * as stats from './stats.ts';

/** Tenants: each owns its applications, channel configurations, users, products and coins. */
export const project: Resource = {
  noun: 'project',
  plural: 'projects',
  path: '/api/v1/projects',
  idName: 'code',
  view: {
    noun: 'project',
    id: 'code',
    columns: [
      { field: 'code', kind: 'id' },
      { field: 'name' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'createdAt', kind: 'time' },
      { field: 'remark' },
    ],
  },
  createOnly: [{ name: 'code', value: 'code', help: 'letters, digits, "_" and "-"', required: true }],
  fields: [
    { name: 'name', value: 'name', help: 'display name', required: true },
    { name: 'remark', value: 'text', help: 'internal note' },
  ],
};

/** Adds the verbs of `project`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage projects: tenants with their own applications, channels, users, products and coins.');
  addList(noun, context, project, ['payctl project list', 'payctl project list --json']);
  addGet(noun, context, project, ['payctl project get shop-eu', 'payctl project get shop-eu --json']);
  addCreate(noun, context, project, [
    'payctl project create --code shop-eu --name "Shop Europe"',
    'payctl project create',
  ]);
  addUpdate(noun, context, project, [
    'payctl project update shop-eu --name "Shop EU"',
    'payctl project update shop-eu --clear remark --dry-run',
  ]);
  addToggle(noun, context, project, {
    enable: ['payctl project enable shop-eu', 'payctl project enable shop-eu --json'],
    disable: ['payctl project disable shop-eu', 'payctl project disable shop-eu -y'],
  });
  stats.define(noun, context);
  addDelete(noun, context, project, [
    'payctl project delete shop-eu',
    'payctl project delete shop-eu --confirm shop-eu',
  ]);
}
