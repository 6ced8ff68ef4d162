// Listen addresses: their text form, and the errors of an address that cannot be used.
import { LocalError } from '../errors.ts';

/** Host and port in the notation of URLs. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * The listen address, if the public URL leads to this machine by plain HTTP, but to another port; else null. The URL
 * counts as correct if a proxy is configured or the listen port is unknown (0).
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

/** Returns the URL of the metrics. If the configured port is 0, `port` must be the port that was really opened. */
export function metricsUrl(listen: { host: string; port: number }, port = listen.port): string {
  return `http://${hostAndPort({ host: listen.host, port })}/metrics`;
}

class CannotListen extends LocalError {
  constructor(code: 'address_in_use' | 'address_unusable', key: string, why: string, hint: string, cause: unknown) {
    super(code, code === 'address_in_use' ? 409 : 503, `${key}: ${why}.`, { cause, hint });
  }
}

/** Starts to listen. If this fails, throws an error that names the fault, the address and its configuration key. */
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
  const change = `change ${key} (PAY_${key.replace('.', '_').toUpperCase()})`;
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
      `${address} may not be used by this user (ports below 1024 need a privilege)`,
      `Use a port above 1023: ${change}.`,
      error,
    );
  if (code === 'EADDRNOTAVAIL')
    return new CannotListen(
      'address_unusable',
      key,
      `${address} is not an address of this machine`,
      `Use 0.0.0.0 or an address of this machine: ${change}.`,
      error,
    );
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new CannotListen(
      'address_unusable',
      key,
      `the host of ${address} cannot be resolved`,
      `Use an IP address: ${change}.`,
      error,
    );
  return undefined;
}
