// Addresses that the service listens at: how they are written, and why one cannot be used.
import { LocalError } from '../errors.ts';

/** Host and port as one writes them in a URL. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Where the service listens, when its public URL is plain HTTP to another port of this machine and no proxy is configured: links of
 * payers then lead nowhere. Null = the URL may lead here, or the port is not known yet (0).
 */
export function listensElsewhere(
  { publicUrl, trustedProxies }: { publicUrl: string; trustedProxies: number },
  listens: { host: string; port: number },
): string | null {
  const { protocol, hostname, port } = new URL(publicUrl);
  const isHere = protocol === 'http:' && /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
  const leadsHere = listens.port === 0 || Number(port || 80) === listens.port;
  return isHere && trustedProxies === 0 && !leadsHere ? hostAndPort(listens) : null;
}

/** Where the figures are; `port` is the one that was opened in the place of port 0. */
export function metricsUrl(listen: { host: string; port: number }, port = listen.port): string {
  return `http://${hostAndPort({ host: listen.host, port })}/metrics`;
}

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
