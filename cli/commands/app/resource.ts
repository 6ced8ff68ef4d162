import { integer, list, truth } from '../../options.ts';
import type { Resource } from '../../resource.ts';
import { readLimits } from './limits.ts';

/** The scopes that an application may have; the last four only when it is trusted. */
export const SCOPES = [
  'payment:write',
  'payment:read',
  'skillpay:call',
  'user:read',
  'user:write',
  'coin:read',
  'coin:write',
  'config:read',
  'config:write',
  'cert:manage',
  'admin',
] as const;

/** API applications. */
export const app: Resource = {
  noun: 'app',
  plural: 'API applications',
  path: '/api/v1/api-apps',
  idName: 'client_id',
  view: {
    noun: 'app',
    id: 'client_id',
    columns: [
      { field: 'client_id', title: 'CLIENT_ID', kind: 'id' },
      { field: 'name' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'project' },
      { field: 'scopes' },
      { field: 'lastUsedAt', kind: 'time' },
      { field: 'createdAt', kind: 'time' },
    ],
  },
  filters: [{ name: 'project', value: 'code', help: 'filter by project' }],
  createOnly: [{ name: 'project', value: 'code', help: 'project of the application' }],
  fields: [
    { name: 'name', value: 'name', help: 'display name', required: true },
    { name: 'scopes', flag: 'scope', value: 'a,b', help: `scopes: ${SCOPES.join(', ')}`, read: list },
    {
      name: 'allowedIps',
      value: 'a,b',
      help: 'IP addresses or CIDR ranges that may call the API',
      read: list,
      empty: [],
    },
    { name: 'rateLimit', value: 'n', help: 'requests per minute; 0 = unlimited', read: integer(0, 1_000_000) },
    { name: 'trusted', value: 'true|false', help: 'allow the config, cert and admin scopes', read: truth },
    {
      name: 'limits',
      flag: 'limit',
      value: 'CUR.name=n',
      help: 'limit in a currency: perOrder, perDay, perMonth, refundPerDay or ordersPerHour; "none" removes it; may be repeated',
      read: readLimits,
    },
    { name: 'remark', value: 'text', help: 'internal note' },
  ],
};
