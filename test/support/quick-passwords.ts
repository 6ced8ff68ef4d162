import { argon2id, hash } from 'argon2';
import { randomUUID } from 'node:crypto';
import { createPasswords, type Passwords } from '../../server/identity/passwords.ts';

/** A hash says what it costs to check: these cost a hundredth of the service's own. */
const PARAMETERS = { type: argon2id, memoryCost: 64, timeCost: 2, parallelism: 1 } as const;

/**
 * The service's own hasher and gate over cheap hashes, for the hundreds of logins that are not about what one costs: `login.test.ts` and
 * the identity tests have the service's own.
 */
export function quickPasswords(): Passwords {
  let decoy: Promise<string> | undefined;
  return {
    ...createPasswords(),
    hash: (password) => hash(password, PARAMETERS),
    isOutdated: () => false,
    decoy: () => (decoy ??= hash(randomUUID(), PARAMETERS)),
  };
}
