import type http from 'node:http';
import https from 'node:https';

type Through = Pick<https.RequestOptions, 'agent' | 'hostname' | 'servername'> & { headers: { host: string } };

/**
 * How a request goes through the proxy of the environment (NODE_USE_ENV_PROXY=1); undefined without one, and for what NO_PROXY names.
 * The proxy is asked for the address that was checked, never for the name: it would look the name up itself, and be led elsewhere.
 * Plain http has no tunnel: its request names the host, and a path of two slashes another one, so it goes without the proxy.
 */
export function throughProxy(url: URL, { address }: { address: string }): Through | undefined {
  if (url.protocol !== 'https:') return undefined;
  const { Agent, globalAgent } = https;
  const proxyEnv = (globalAgent as { options?: http.AgentOptions }).options?.proxyEnv;
  if (proxyEnv === undefined || isDirect(url, proxyEnv['no_proxy'] ?? proxyEnv['NO_PROXY'])) return undefined;
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return {
    agent: new Agent({ proxyEnv }),
    hostname: address,
    ...(name === address ? {} : { servername: name }),
    headers: { host: url.host },
  };
}

/** Whether NO_PROXY names a host, in the forms that Node.js takes: `*`, a host with or without its port, and `.suffix` or `*.suffix`. */
function isDirect({ hostname, host }: URL, noProxy: string | undefined): boolean {
  return (noProxy ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*' || entry === hostname || entry === host) return true;
      return entry.startsWith('*.')
        ? hostname.endsWith(entry.slice(1))
        : entry.startsWith('.') && hostname.endsWith(entry);
    });
}
