import type { ApiClient } from '../../api-client.ts';
import { CliError, EXIT } from '../../errors.ts';
import type { Resource } from '../../resource.ts';

/** Console accounts. */
export const admin: Resource = {
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
      { field: 'lastLoginAt', kind: 'time' },
      { field: 'createdAt', kind: 'time' },
      { field: 'id', kind: 'id' },
    ],
  },
  fields: [
    { name: 'username', value: 'name', help: 'login name', required: true },
    { name: 'role', value: 'role', help: 'role; a viewer is read-only', choices: ['admin', 'viewer'], required: true },
  ],
};

/** The id of the administrator with this username (or id). Throws CliError 3 when there is none. */
export async function adminId(api: ApiClient, nameOrId: string): Promise<string> {
  for await (const page of api.pages(admin.path, { limit: 200 })) {
    const found = page.rows.find((row) => row['username'] === nameOrId || row['id'] === nameOrId);
    if (found) return String(found['id']);
  }
  throw new CliError('not_found', EXIT.notFound, `Administrator "${nameOrId}" not found.`, {
    hint: 'payctl admin list',
  });
}
