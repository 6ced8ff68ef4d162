/** Scopes that any application may have. */
export const merchantScopes = [
  'payment:write',
  'payment:read',
  'skillpay:call',
  'user:read',
  'user:write',
  'coin:read',
  'coin:write',
] as const;

/** Scopes that reach into configuration; only applications marked as trusted may have them. */
export const trustedScopes = ['config:read', 'config:write', 'cert:manage', 'admin'] as const;

/** Every scope there is; `admin` stands for all of `/api/v2` and for nothing of `/api/v1`. */
export const scopes = [...merchantScopes, ...trustedScopes] as const;

/** A scope of an API application. */
export type Scope = (typeof scopes)[number];

const needsTrust: ReadonlySet<string> = new Set(trustedScopes);

/** Whether an application with these scopes must be trusted. */
export function needTrust(wanted: readonly string[]): boolean {
  return wanted.some((scope) => needsTrust.has(scope));
}
