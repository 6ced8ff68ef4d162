/** A proxy is never asked for this machine: a simulator, a collector of traces and a service beside payctl are here. */
const OWN = ['localhost', '127.0.0.1', '[::1]', '::1'];

type Env = Readonly<Record<string, string | undefined>>;

/**
 * With NODE_USE_ENV_PROXY=1, Node's own switch, requests of payctl and of the service go through HTTPS_PROXY and HTTP_PROXY, except to
 * NO_PROXY and to this machine. Node reads the variables at its start, so that this only adds this machine.
 */
export function keepThisMachineDirect(env: Env): void {
  if (env['NODE_USE_ENV_PROXY'] !== '1') return;
  const direct = [env['no_proxy'] || env['NO_PROXY'], ...OWN].filter(Boolean).join(',');
  process.getBuiltinModule('node:http').setGlobalProxyFromEnv({ ...env, no_proxy: direct, NO_PROXY: direct });
}
