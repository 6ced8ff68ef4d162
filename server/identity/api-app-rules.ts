import type { ApiAppRow, LatePayment } from '../db/entities/identity.ts';
import type { Tx } from '../db/store.ts';
import { type FieldError, InvalidRequest } from '../errors.ts';
import { readNetwork } from '../addresses.ts';
import type { LimitsChange } from './app-limits.ts';
import { needTrust, scopes as knownScopes } from './scopes.ts';

/** What a caller may decide about an application. */
export interface AppSettings {
  name: string;
  scopes: readonly string[];
  trusted: boolean;
  allowedIps: readonly string[];
  rateLimit: number | null;
  latePayment: Partial<LatePayment> | null;
  remark: string | null;
  limits?: LimitsChange | undefined;
}

/** What happens to late money unless an application says otherwise (O9 in server/README.md, "Orders"). */
export const defaultLatePayment: LatePayment = { afterExpiry: 'accept', afterClose: 'refund', afterFailed: 'refund' };

/** The columns of settings. */
export type SettingColumns = Pick<
  ApiAppRow,
  'name' | 'scopes' | 'trusted' | 'allowedIps' | 'rateLimit' | 'latePayment' | 'remark'
>;

/** Checks settings and writes them as columns; throws a 400 that names every fault. */
export function toColumns(settings: AppSettings): SettingColumns {
  const { name, trusted, rateLimit, latePayment, remark } = settings;
  const scopes = [...new Set(settings.scopes)];
  const networks = settings.allowedIps.map(readNetwork);
  const errors = [...scopeFaults(scopes, trusted), ...networkFaults(networks)];
  if (errors.length > 0) throw new InvalidRequest('Invalid application settings.', errors);
  return {
    name,
    trusted,
    rateLimit,
    remark,
    scopes: knownScopes.filter((scope) => scopes.includes(scope)),
    allowedIps: [...new Set(networks.filter((network) => network !== undefined))],
    latePayment: { ...defaultLatePayment, ...latePayment },
  };
}

/** Throws a 400 unless the project exists; it cannot go away before the transaction ends. */
export async function requireProject(tx: Tx, project: string): Promise<void> {
  if (await tx.projects.lock({ code: project })) return;
  throw new InvalidRequest('The project does not exist.', [
    { pointer: '/project', code: 'project_unknown', detail: 'does not exist' },
  ]);
}

function scopeFaults(scopes: readonly string[], trusted: boolean): FieldError[] {
  const unknown = scopes.filter((scope) => !(knownScopes as readonly string[]).includes(scope));
  const pointer = '/scopes';
  if (scopes.length === 0) return [{ pointer, code: 'too_small', detail: 'must contain at least one scope' }];
  if (unknown.length > 0)
    return [{ pointer, code: 'scope_unknown', detail: `must contain only known scopes: ${knownScopes.join(' ')}` }];
  if (!needTrust(scopes) || trusted) return [];
  const detail = 'admin, config:* and cert:manage require trusted: true';
  return [{ pointer, code: 'trust_required', detail }];
}

function networkFaults(networks: readonly (string | undefined)[]): FieldError[] {
  return networks.flatMap((network, at) =>
    network === undefined
      ? [
          {
            pointer: `/allowedIps/${at}`,
            code: 'network_invalid',
            detail: 'must be an IP address or CIDR range such as 10.0.0.0/8',
          },
        ]
      : [],
  );
}
