/** Requests to this machine never use the proxy: the simulator, trace collector or service may run here. */
const OWN = ['localhost', '127.0.0.1', '[::1]', '::1'];

type Env = Readonly<Record<string, string | undefined>>;

/** Adds the loopback addresses to NO_PROXY. NODE_USE_ENV_PROXY=1 sends all other requests through the proxies. */
export function keepThisMachineDirect(env: Env): void {
  if (env['NODE_USE_ENV_PROXY'] !== '1') return;
  const direct = [env['no_proxy'] || env['NO_PROXY'], ...OWN].filter(Boolean).join(',');
  process.getBuiltinModule('node:http').setGlobalProxyFromEnv({ ...env, no_proxy: direct, NO_PROXY: direct });
}
