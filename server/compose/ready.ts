import type { Config } from '../../config/config.ts';
import { hostAndPort, listensElsewhere, metricsUrl } from '../http/address.ts';
import { VERSION } from '../http/version.ts';
import { countAdmins } from '../identity/offline.ts';
import { currentChannels } from '../db/queries/doctor.ts';
import type { Store } from '../db/store.ts';
import type { ReadyFacts } from '../workers/life.ts';
import type { Base } from './base.ts';

/** What a service listens on; port 0 became another one. */
interface Opened {
  listens: { host: string; port: number };
  metricsPort: number | undefined;
  simulatorUrl: string | undefined;
}

/** What a service that has begun to listen says of itself. */
export async function readyFacts(
  { schema, store }: Pick<Base, 'schema' | 'store'>,
  config: Config,
  { listens, metricsPort, simulatorUrl }: Opened,
): Promise<ReadyFacts> {
  const { database, debug, explorer, metrics, server, simulated, simulator } = config;
  return {
    version: VERSION,
    address: `http://${hostAndPort(listens)}`,
    publicUrl: server.publicUrl,
    explorer: explorer.enabled ? `${server.publicUrl}/swagger/index.html` : null,
    metrics: metricsUrl(metrics.listen, metricsPort),
    simulator: simulated ? (simulator.url ?? simulatorUrl ?? null) : null,
    database: database.kind === 'pglite' ? database.folder : new URL(database.url).host,
    schema: schema.version,
    debug,
    // Only advice hangs on it.
    lacks: await lackOf(store, simulated).catch(() => null),
    pid: process.pid,
  };
}

/** What a service that has begun to listen warns of; `payctl doctor` says the same. */
export function startWarnings(
  {
    production,
    server,
    admin,
  }: Pick<Config, 'production' | 'admin'> & { server: Pick<Config['server'], 'publicUrl' | 'trustedProxies'> },
  listens: Opened['listens'],
): { message: string; facts: Record<string, unknown> }[] {
  const elsewhere = listensElsewhere(server, listens);
  const facts = { publicUrl: server.publicUrl, listens: elsewhere, hint: 'Server.PublicUrl' };
  return [
    ...(elsewhere === null
      ? []
      : [{ message: 'the links of payers lead to a port where this service does not listen', facts }]),
    ...(production && !admin.requireSecondFactor
      ? [{ message: 'administrators need no second factor', facts: { hint: 'Admin.RequireSecondFactor' } }]
      : []),
  ];
}

/** Without an administrator nobody can set a channel, and without a channel nothing can be paid; where the simulator counts they come by themselves. */
async function lackOf(store: Store, simulated: boolean): Promise<ReadyFacts['lacks']> {
  if ((await countAdmins(store)) === 0) return 'administrator';
  if (simulated) return null;
  const channels = await store.read(currentChannels);
  const usable = channels.filter(
    ({ mode, enabled, missing }) => enabled && missing.length === 0 && mode !== 'simulator',
  );
  return usable.length === 0 ? 'channel' : null;
}
