/**
 * Addresses of this machine. Requests to them never use the proxy, because the simulator, the trace collector or the
 * service may run on this machine.
 */
const OWN = ['localhost', '127.0.0.1', '[::1]', '::1'];

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Adds the loopback addresses to NO_PROXY. With NODE_USE_ENV_PROXY=1 Node.js sends all other requests through HTTPS_PROXY and
 * HTTP_PROXY.
 */
export function keepThisMachineDirect(env: Env): void {
  if (env['NODE_USE_ENV_PROXY'] !== '1') return;
  const direct = [env['no_proxy'] || env['NO_PROXY'], ...OWN].filter(Boolean).join(',');
  process.getBuiltinModule('node:http').setGlobalProxyFromEnv({ ...env, no_proxy: direct, NO_PROXY: direct });
}
