import { addressBlock } from '../addresses.ts';
import type { Tx } from '../db/store.ts';
import type { Hide } from './hidden.ts';

/** Where an account has not been for so long is forgotten. */
const DAYS = 90;

/** The addresses from which an account has logged in, for all replicas; what is kept of them tells nobody where that is. */
export interface KnownAddresses {
  /** As what an address is kept. */
  keyOf(ip: string): string;
  /** Notes a login, within its transaction, and forgets where the account has not been for 90 days. */
  remember(tx: Tx, adminId: string, ip: string, at: Date): Promise<void>;
}

/** Makes them; `hide` hides the addresses. */
export function createKnownAddresses(hide: Hide): KnownAddresses {
  const keyOf = (ip: string) => hide(`address ${addressBlock(ip)}`);
  return {
    keyOf,
    async remember(tx, adminId, ip, at) {
      const one = { adminId, address: keyOf(ip) };
      if ((await tx.knownAddresses.update(one, { seenAt: at })) === 0)
        await tx.knownAddresses.insertIfNew({ ...one, seenAt: at });
      const before = new Date(at.getTime() - DAYS * 86_400_000);
      await tx.sql('delete from known_addresses where admin_id = ?::uuid and seen_at < ?', [adminId, before]);
    },
  };
}
