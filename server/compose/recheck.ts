import { Forbidden } from '../errors.ts';
import { readAdminCredential } from '../http/admin-auth.ts';
import type { AdminCaller } from '../http/callers.ts';
import type { RequestFacts } from '../http/contract.ts';
import type { Identity } from '../identity/identity.ts';
import type { Base } from './base.ts';

/** Makes what a stream asks while it is open: throws when its administrator is no longer let in, or has another role than then. */
export function composeRecheck({ config }: Pick<Base, 'config'>, { authenticators }: Pick<Identity, 'authenticators'>) {
  const isSecure = config.server.publicUrl.startsWith('https:');
  return async ({ headers }: Pick<RequestFacts, 'headers'>, { role }: Pick<AdminCaller, 'role'>): Promise<void> => {
    const credential = readAdminCredential(headers, isSecure, true) ?? { token: '', via: 'bearer', safe: true };
    if ((await authenticators.admin(credential)).role !== role)
      throw new Forbidden('role_insufficient', 'Your role was changed.');
  };
}
