import { InvalidArgumentError } from 'commander';
import { integer, list, truth } from '../options.ts';
import type { Editable, Resource } from '../resource.ts';
import type { Row } from '../values.ts';
import { BY } from './views.ts';

const NAMES = ['perOrder', 'perDay', 'perMonth', 'refundPerDay', 'ordersPerHour'] as const;

/** Parses spending limits, e.g. `CNY.perDay=1000,CNY.ordersPerHour=none`. A repeated flag adds limits. */
function readLimits(text: string, before?: unknown): Record<string, Row | null> {
  const change = { ...(before as Record<string, Row | null> | undefined) };
  for (const item of text.split(',')) {
    const [, currency = '', name, value = ''] = /^([A-Z]{3})(?:\.(\w+))?=(.+)$/.exec(item.trim()) ?? [];
    const isWhole = currency !== '' && name === undefined && value === 'none';
    const isKnown = NAMES.some((known) => known === name) && (value === 'none' || /^\d{1,9}(\.\d+)?$/.test(value));
    if (isWhole) change[currency] = null;
    else if (isKnown) change[currency] = { ...change[currency], [name!]: valueOf(name!, value) };
    else
      throw new InvalidArgumentError(
        `Expected limits like CNY.perDay=1000, CNY.perDay=none or CNY=none; the known limits are ${NAMES.join(', ')}.`,
      );
  }
  return change;
}

/** Amounts stay decimal strings, because a JavaScript number would lose digits. */
function valueOf(name: string, value: string): unknown {
  if (value === 'none') return null;
  return name === 'ordersPerHour' ? Number(value) : value;
}

/** `config:read`, `config:write`, `cert:manage` and `admin` require a trusted application. */
export const SCOPES = [
  'payment:write',
  'payment:read',
  'skillpay:call',
  'user:read',
  'user:write',
  'coin:read',
  'coin:write',
  'webhook:read',
  'webhook:write',
  'config:read',
  'config:write',
  'cert:manage',
  'admin',
] as const;

/** Parses a list of scopes. A repeated flag adds scopes. Throws InvalidArgumentError for a scope that does not exist. */
export function knownScopes(text: string, before?: string[]): string[] {
  const items = [...(before ?? []), ...list(text)];
  const unknown = items.find((item) => !SCOPES.some((scope) => scope === item));
  if (unknown === undefined) return items;
  throw new InvalidArgumentError(`${unknown} is not a scope; the scopes are ${SCOPES.join(', ')}.`);
}

export const app: Editable = {
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
  filters: [BY.project],
  createOnly: [{ name: 'project', value: 'code', help: 'project of the application' }],
  fields: [
    { name: 'name', value: 'name', help: 'display name', required: true },
    {
      name: 'scopes',
      flag: 'scope',
      value: 'a,b',
      help: `all scopes of the application: ${SCOPES.join(', ')}`,
      read: list,
    },
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
      help: 'limit in a currency: perOrder, perDay, perMonth, refundPerDay or ordersPerHour; "none" removes it, --clear limits removes all; may be repeated',
      read: readLimits,
    },
    { name: 'remark', value: 'text', help: 'internal note' },
  ],
};

/** The webhook of an application. An application has one, so that its commands need no id. */
export const webhook: Resource = {
  noun: 'webhook',
  plural: 'webhooks',
  path: app.path,
  below: 'webhook',
  idName: 'client_id',
  view: {
    noun: 'webhook',
    id: 'clientId',
    columns: [
      { field: 'clientId', title: 'APP', kind: 'id' },
      { field: 'url' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'disabledReason' },
      { field: 'types', read: ({ types }) => (Array.isArray(types) && types.length === 0 ? 'all' : types) },
      { field: 'previousSecretExpiresAt', kind: 'time' },
      { field: 'updatedAt', kind: 'time' },
    ],
  },
  own: { only: '/api/v2/webhook' },
};
