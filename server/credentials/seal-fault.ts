import { openSecrets, pemsOf, type Unseal, type VersionRows } from './build.ts';
import { SealBroken } from './sealing.ts';

/** Why the secrets of a version do not open with the master keys of this process, without any content; null if they open. */
export function sealFaultOf({ config, certs }: Pick<VersionRows, 'config' | 'certs'>, unseal: Unseal): string | null {
  try {
    openSecrets(config, unseal);
    pemsOf(certs, unseal);
    return null;
  } catch (error) {
    if (error instanceof SealBroken) return error.message;
    throw error;
  }
}
