import type { ApiAppRow, LatePayment } from '../db/entities/identity.ts';
import type { Tx } from '../db/tx.ts';
import { type FieldError, InvalidRequest } from '../errors.ts';
import { readNetwork } from './networks.ts';
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
}

/** What happens to late money unless an application says otherwise (payments.md O9). */
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
  if (errors.length > 0) throw new InvalidRequest('The application cannot be like this.', errors);
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
  throw new InvalidRequest('There is no such project.', [
    { pointer: '/project', code: 'project_unknown', detail: 'is not a project of this service' },
  ]);
}

function scopeFaults(scopes: readonly string[], trusted: boolean): FieldError[] {
  const unknown = scopes.filter((scope) => !(knownScopes as readonly string[]).includes(scope));
  const pointer = '/scopes';
  if (scopes.length === 0) return [{ pointer, code: 'too_small', detail: 'must have a scope at least' }];
  if (unknown.length > 0) return [{ pointer, code: 'scope_unknown', detail: `must be of ${knownScopes.join(' ')}` }];
  if (!needTrust(scopes) || trusted) return [];
  const detail = 'admin, config:* and cert:manage are only for applications with trusted: true';
  return [{ pointer, code: 'trust_required', detail }];
}

function networkFaults(networks: readonly (string | undefined)[]): FieldError[] {
  return networks.flatMap((network, at) =>
    network === undefined
      ? [{ pointer: `/allowedIps/${at}`, code: 'network_invalid', detail: 'must be an address or range: 10.0.0.0/8' }]
      : [],
  );
}
