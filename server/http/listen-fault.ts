import { LocalError } from '../errors.ts';
import { hostAndPort } from './address.ts';

/** A port cannot be listened on; `key` says where it is configured. */
class CannotListen extends LocalError {
  constructor(code: 'address_in_use' | 'address_unusable', key: string, why: string, hint: string, cause: unknown) {
    super(code, code === 'address_in_use' ? 409 : 503, `${key}: ${why}.`, { cause, hint });
  }
}

/** Begins to listen; when that cannot be, throws what is wrong with the address and the name of the key that has it. */
export async function listenAs<T>(
  key: string,
  where: { host: string; port: number },
  listen: () => Promise<T>,
): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    throw faultOf(key, hostAndPort(where), error) ?? error;
  }
}

function faultOf(key: string, address: string, error: unknown): CannotListen | undefined {
  const { code } = error as NodeJS.ErrnoException;
  const change = `change ${key}`;
  if (code === 'EADDRINUSE')
    return new CannotListen(
      'address_in_use',
      key,
      `${address} is already in use`,
      `Stop the other process, or ${change}.`,
      error,
    );
  if (code === 'EACCES')
    return new CannotListen(
      'address_unusable',
      key,
      `${address} may not be used by this user (ports below 1024 need a right)`,
      `Take a port above 1023: ${change}.`,
      error,
    );
  if (code === 'EADDRNOTAVAIL')
    return new CannotListen(
      'address_unusable',
      key,
      `${address} is no address of this machine`,
      `Take 0.0.0.0, or one that it has: ${change}.`,
      error,
    );
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new CannotListen(
      'address_unusable',
      key,
      `the host of ${address} cannot be resolved`,
      `Take an IP address: ${change}.`,
      error,
    );
  return undefined;
}
