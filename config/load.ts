import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DatabaseTarget, LoadedConfig, Place, Sources } from './config.ts';
import { type ConfigFault, ConfigFaults, DatabaseNotNamed } from './faults.ts';
import { type Environment, type Layer, readEnvironmentLayer, readTomlLayer, type Setting } from './layers.ts';
import { isLoopback, refusals } from './refusals.ts';
import { type KeyName, type KeySpec, keyNames, keys, type Values } from './schema.ts';

/** `packageRoot` is the folder that contains `config/`. */
export interface LoadOptions {
  argv?: { config?: string | undefined };
  env: Environment;
  cwd: string;
  packageRoot?: string;
  /** The files of a service that may be installed on this machine. If one exists, a database must be named. */
  installation?: Installation | undefined;
}

/** The configuration and the systemd unit of an installed service. */
export interface Installation {
  config: string;
  unit: string;
}

const ownRoot = dirname(import.meta.dirname ?? dirname(fileURLToPath(import.meta.url)));

/**
 * Reads the configuration from the defaults, one file and the environment. A later source overrides an earlier source.
 * Throws `ConfigFaults` with all faults, and `DatabaseNotNamed` for the default database beside an installed service.
 */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const { env, cwd } = options;
  const { settings, values, faults } = readLayers(options);
  if (faults.length === 0) refuseStrayDatabase(options, settings);
  const environment = placeOf(values, env);
  faults.push(...refusals(values, environment, new Set(faults.map((fault) => fault.key))), ...ofNode(env, environment));
  if (faults.length > 0) throw new ConfigFaults(faults);
  return assemble(values as Values, settings, { cwd, environment });
}

/**
 * Returns the listen address and the data folder of a simulator that runs in its own process. If `Simulator.Listen` is
 * not set and `Simulator.Url` is an http URL of this machine, the simulator listens on the address in this URL. Throws
 * `ConfigFaults` only for simulator keys and unreadable files, because the simulator does not need the secrets of the
 * service.
 */
export function loadSimulator(options: LoadOptions): Pick<LoadedConfig['simulator'], 'listen' | 'dir'> {
  const { settings, values, faults } = readLayers(options);
  const own = faults.filter(({ key }) => key === '(file)' || key.startsWith('Simulator.'));
  if (own.length > 0) throw new ConfigFaults(own);
  const { 'Simulator.Listen': listen, 'Simulator.Url': url, 'Simulator.Dir': dir } = values as Values;
  const isDefault = settings.get('Simulator.Listen')?.source === 'default';
  return {
    listen: (isDefault && url !== undefined ? ownAddress(url) : undefined) ?? listen,
    dir: resolve(settings.get('Simulator.Dir')?.base ?? options.cwd, dir),
  };
}

/**
 * Returns the listen address in a plain http URL of this machine. Returns undefined for any other URL, because another
 * server receives the requests to such a URL.
 */
function ownAddress(url: string): Values['Simulator.Listen'] | undefined {
  const { protocol, hostname, port, pathname } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return protocol === 'http:' && pathname === '/' && isLoopback(host) ? { host, port: Number(port || 80) } : undefined;
}

function readLayers({ argv, env, cwd, packageRoot = ownRoot }: LoadOptions) {
  const layers = [
    defaults(join(packageRoot, 'config', 'default.toml'), cwd),
    chosenFile(argv?.config || env.PAY_CONFIG, cwd),
    readEnvironmentLayer(env, cwd),
  ];
  const faults = layers.flatMap((layer) => layer.faults);
  const settings = new Map(layers.flatMap((layer) => [...layer.settings]));
  return { settings, values: read(settings, faults), faults };
}

/** The default database lies below the working directory, so beside an installed service it is an empty one or a wrong one. */
function refuseStrayDatabase(
  { argv, env, cwd, installation }: LoadOptions,
  settings: ReadonlyMap<KeyName, Setting>,
): void {
  const { value, source } = settings.get('Database.Url') ?? {};
  if (installation === undefined || source !== 'default' || argv?.config || env.PAY_CONFIG) return;
  // The unit itself may use the embedded database of its folder.
  if ([process.pid, process.ppid].includes(Number(env['SYSTEMD_EXEC_PID']))) return;
  const installed = [installation.config, installation.unit].find((path) => existsSync(path));
  if (installed === undefined) return;
  throw new DatabaseNotNamed(installed, resolve(cwd, String(value).slice('pglite://'.length)));
}

/** The value of `Server.Environment`. If it is not set, NODE_ENV=production means production. */
function placeOf(values: Partial<Values>, { NODE_ENV }: Environment): Place {
  return values['Server.Environment'] ?? (NODE_ENV === 'production' ? 'production' : 'development');
}

/** Values of NODE_ENV that suggest a real deployment. */
const DEPLOYED = /^\s*(?:prod|production|staging|live)\s*$/i;

/**
 * Yields a fault if NODE_ENV or NODE_TLS_REJECT_UNAUTHORIZED would silently disable a safety requirement of production.
 */
function* ofNode(
  { NODE_ENV, NODE_TLS_REJECT_UNAUTHORIZED: verifies }: Environment,
  place: Place,
): Iterable<ConfigFault> {
  const source = 'the environment';
  if (place === 'development' && DEPLOYED.test(NODE_ENV ?? '')) {
    const message = 'must be exactly "production", or Server.Environment must be set';
    yield { key: 'NODE_ENV', source, message };
  }
  if (place !== 'development' && verifies === '0') {
    const message = `must not be 0 in ${place}: no certificate would be verified; NODE_EXTRA_CA_CERTS=<file> adds a CA of your own`;
    yield { key: 'NODE_TLS_REJECT_UNAUTHORIZED', source, message };
  }
}

/**
 * A key that default.toml does not set has its default from schema.ts. Relative paths start at the working directory.
 */
function defaults(path: string, cwd: string): Layer {
  const layer: Layer = existsSync(path) ? readTomlLayer(path, cwd) : { settings: new Map(), faults: [] };
  for (const key of keyNames) {
    const { fallback } = keys[key];
    const set = layer.settings.get(key);
    const same = set === undefined || JSON.stringify(set.value) === JSON.stringify(fallback);
    if (same && fallback !== undefined) layer.settings.set(key, { value: fallback, source: 'default', base: cwd });
  }
  return layer;
}

function chosenFile(named: string | undefined, cwd: string): Layer {
  if (named) return readTomlLayer(resolve(cwd, named));
  const local = resolve(cwd, 'config', 'local.toml');
  return existsSync(local) ? readTomlLayer(local) : { settings: new Map(), faults: [] };
}

const CONTROL = /\p{Cc}/u;

function read(settings: ReadonlyMap<KeyName, Setting>, faults: ConfigFault[]): Partial<Values> {
  const values: Partial<Record<KeyName, unknown>> = {};
  for (const [key, { value, source }] of settings) {
    const { schema, kind, expects, note }: KeySpec = keys[key];
    if (typeof value === 'string' && CONTROL.test(value)) {
      faults.push({ key, source, message: 'must not contain control characters or line ends' });
      continue;
    }
    const result = schema.safeParse(kind === 'list' && typeof value === 'string' ? [value] : value);
    if (result.success) values[key] = result.data;
    else faults.push({ key, source, message: `must be ${expects}${note === undefined ? '' : `; ${note}`}` });
  }
  return values as Partial<Values>;
}

/**
 * Default of `Server.DrainSeconds` in production: how long requests are still accepted on shutdown while the health
 * check fails. By default HAProxy removes a server after three failed checks, two seconds apart, so 8 seconds are
 * enough.
 */
const DRAIN_SECONDS = 8;

/** With the embedded database, `auto` means one process, because only one process can open that database. */
function workersOf({ 'Server.Workers': wanted, 'Database.Url': url }: Values): number {
  if (wanted !== 'auto') return wanted;
  return url.startsWith('pglite://') ? 1 : availableParallelism();
}

interface Surroundings {
  cwd: string;
  environment: Place;
}

function assemble(
  values: Values,
  settings: ReadonlyMap<KeyName, Setting>,
  { cwd, environment }: Surroundings,
): LoadedConfig {
  const production = environment !== 'development';
  const publicUrl = publicUrlOf(values, settings, environment);
  const at = (key: KeyName, path: string) => resolve(settings.get(key)?.base ?? cwd, path);
  return {
    debug: values.Debug,
    environment,
    production,
    simulated: values.Debug || (environment === 'staging' && values['Simulator.Url'] !== undefined),
    server: {
      listen: values['Server.Listen'],
      publicUrl,
      trustedProxies: values['Server.TrustedProxies'],
      adminNetworks: values['Server.AdminNetworks'],
      corsOrigins: values['Server.CorsOrigins'],
      shutdownSeconds: values['Server.ShutdownSeconds'],
      drainSeconds: values['Server.DrainSeconds'] ?? (production ? DRAIN_SECONDS : 0),
      maxConnections: values['Server.MaxConnections'],
      workers: workersOf(values),
    },
    database: {
      ...databaseTarget(values['Database.Url'], (path) => at('Database.Url', path)),
      readUrl: values['Database.ReadUrl'],
      readMaxLagSeconds: values['Database.ReadMaxLagSeconds'],
      migrate: values['Database.Migrate'],
      allowEmbedded: values['Database.AllowEmbedded'],
      poolSize: values['Database.PoolSize'],
      prepared: values['Database.Prepared'],
    },
    jwt: {
      secretKey: values['JWT.SecretKey'],
      expirationHours: values['JWT.ExpirationHours'],
      idleMinutes: values['JWT.IdleMinutes'],
    },
    oauth: {
      issuer: values['OAuth.Issuer'] ?? publicUrl,
      tokenTtlSeconds: values['OAuth.TokenTtlSeconds'],
    },
    security: { masterKeys: values['Security.MasterKey'] ?? [], lostKeys: values['Security.LostKeys'] },
    skillpay: {
      brand: values['Skillpay.Brand'],
      devMode: values['Skillpay.DevMode'],
      offerTtlSeconds: values['Skillpay.OfferTtlSeconds'],
    },
    simulator: {
      listen: values['Simulator.Listen'],
      url: values['Simulator.Url'],
      dir: at('Simulator.Dir', values['Simulator.Dir']),
    },
    channels: { timeoutMs: values['Channels.TimeoutMs'], confirmAbove: values['Channels.ConfirmAbove'] },
    approval: { refundAbove: values['Approval.RefundAbove'], coinsAbove: values['Approval.CoinsAbove'] },
    jobs: {
      perAccount: values['Jobs.PerAccount'],
      perChannel: values['Jobs.PerChannel'],
      perReceiver: values['Jobs.PerReceiver'],
      callsPerSecond: values['Jobs.CallsPerSecond'],
    },
    admin: { requireSecondFactor: values['Admin.RequireSecondFactor'] },
    explorer: { enabled: values['Explorer.Enabled'] ?? environment !== 'production' },
    metrics: { listen: values['Metrics.Listen'] },
    log: { level: values['Log.Level'], format: values['Log.Format'] },
    telemetry: { otlp: values['Telemetry.Otlp'], samplePercent: values['Telemetry.SamplePercent'] },
    webhook: { allowedNetworks: values['Webhook.AllowedNetworks'] },
    rateLimit: {
      perApp: values['RateLimit.PerApp'],
      badCredentialsPerMinute: values['RateLimit.BadCredentialsPerMinute'],
      loginFailures: values['RateLimit.LoginFailures'],
      unpaidOffersPerApp: values['RateLimit.UnpaidOffersPerApp'],
    },
    retention: {
      channelMessageDays: values['Retention.ChannelMessageDays'],
      noticeDays: values['Retention.NoticeDays'],
      deliveryDays: values['Retention.DeliveryDays'],
      eventDays: values['Retention.EventDays'],
      historyDays: values['Retention.HistoryDays'],
      effectDays: values['Retention.EffectDays'],
      refundQuestionDays: values['Retention.RefundQuestionDays'],
      billLineDays: values['Retention.BillLineDays'],
      unpaidOrderDays: values['Retention.UnpaidOrderDays'],
    },
    sources: Object.fromEntries(keyNames.map((key) => [key, settings.get(key)?.source ?? 'not set'])) as Sources,
  };
}

/**
 * The public URL. If it is not set in development, it is derived from the listen address. With port 0 this is
 * impossible, because the port is not known yet.
 */
function publicUrlOf(values: Values, settings: ReadonlyMap<KeyName, Setting>, environment: Place): string {
  const { 'Server.PublicUrl': url, 'Server.Listen': at } = values;
  const isSet = settings.get('Server.PublicUrl')?.source !== 'default';
  if (isSet || environment !== 'development' || at.port === 0) return url;
  const host = at.host === '0.0.0.0' ? '127.0.0.1' : at.host === '::' ? '::1' : at.host;
  return new URL(`http://${host.includes(':') ? `[${host}]` : host}:${at.port}`).origin;
}

function databaseTarget(url: string, absolute: (path: string) => string): DatabaseTarget {
  if (!url.startsWith('pglite://')) return { kind: 'postgres', url };
  const folder = absolute(url.slice('pglite://'.length));
  return { kind: 'pglite', url: `pglite://${folder}`, folder };
}
