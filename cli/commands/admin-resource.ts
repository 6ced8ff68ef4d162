import type { ApiClient } from '../api-client.ts';
import { CliError, EXIT } from '../errors.ts';
import { list } from '../options.ts';
import type { Editable, Field } from '../resource.ts';
import type { Column } from '../values.ts';

export const ROLE: Field = {
  name: 'role',
  value: 'role',
  help: 'role: a viewer reads, an operator moves money (orders, refunds, exceptions, disputes, bills), an admin may do everything',
  choices: ['viewer', 'operator', 'admin'],
};

export const PROJECTS: Field = {
  name: 'projects',
  value: 'a,b',
  help: 'codes of the projects that the account can access; by default all projects',
  read: list,
};

/** An administrator without a project list may access all projects. */
const PROJECTS_COLUMN: Column = {
  field: 'projects',
  read: ({ projects }) => (projects === null ? 'all' : projects),
};

export const admin: Editable = {
  noun: 'admin',
  plural: 'console accounts',
  path: '/api/v1/admins',
  idName: 'username',
  view: {
    noun: 'admin',
    id: 'username',
    columns: [
      { field: 'username', kind: 'id' },
      { field: 'role' },
      { field: 'enabled', kind: 'yesno' },
      PROJECTS_COLUMN,
      { field: 'secondFactor', kind: 'yesno' },
      { field: 'lastLoginAt', kind: 'time' },
      { field: 'createdAt', kind: 'time' },
      { field: 'id', kind: 'id' },
    ],
  },
  fields: [
    { name: 'username', value: 'name', help: 'login name', required: true },
    { ...ROLE, required: true },
    PROJECTS,
  ],
};

/** Finds the id of an administrator by username or id. If there is none, throws a CliError with exit code 3. */
export async function adminId(api: ApiClient, nameOrId: string): Promise<string> {
  for await (const page of api.pages(admin.path, { limit: 200 })) {
    const found = page.rows.find((row) => row['username'] === nameOrId || row['id'] === nameOrId);
    if (found) return String(found['id']);
  }
  throw new CliError('not_found', EXIT.notFound, `Administrator "${nameOrId}" not found.`, {
    hint: 'payctl admin list',
  });
}
