import type { Context } from '../../context.ts';
import { segment } from '../../resource.ts';
import type { View } from '../../values.ts';
import { admin, adminId } from '../admin/resource.ts';

/** The flag by which another account is meant. */
export interface WhoseFlags {
  admin?: string;
}

/** Where the sessions are: the own ones, or those of another administrator. */
export async function sessionsOf({ api }: Pick<Context, 'api'>, { admin: name }: WhoseFlags): Promise<string> {
  if (name === undefined) return '/api/v1/me/sessions';
  return `${admin.path}/${segment(await adminId(api, name))}/sessions`;
}

/** How a session is shown. */
export const VIEW: View = {
  noun: 'session',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'current', kind: 'yesno' },
    { field: 'secondFactor', title: '2FA', kind: 'yesno' },
    { field: 'lastUsedAt', kind: 'time' },
    { field: 'ip', kind: 'id' },
    { field: 'userAgent' },
    { field: 'createdAt', kind: 'time' },
    { field: 'expiresAt', kind: 'time' },
  ],
};
