import type { KeyName, Values } from './schema.ts';

/** The source of each value: `default`, the path of a file, the name of an environment variable, or `not set`. */
export type Sources = Readonly<Record<KeyName, string>>;

/** The deployment environment in which the service runs. `development` means neither production nor staging. */
export type Place = 'development' | 'staging' | 'production';

/** The embedded database (PGlite) in a folder with an absolute path, or a PostgreSQL server. */
export type DatabaseTarget =
  | { kind: 'pglite'; url: string; folder: string }
  | { kind: 'postgres'; url: string; folder?: undefined };

/** With the embedded database `JWT.SecretKey` and `Security.MasterKey` may still be missing. */
export interface LoadedConfig {
  debug: boolean;
  /** Only the loader of the configuration reads NODE_ENV; all other code reads this property. */
  environment: Place;
  /** Whether the safety requirements of production apply. They apply in production and in staging. */
  production: boolean;
  /** The channels of the simulator are used if `Debug` is true, and in staging if `Simulator.Url` is set. */
  simulated: boolean;
  server: {
    listen: Values['Server.Listen'];
    publicUrl: string;
    trustedProxies: number;
    adminNetworks: string[];
    corsOrigins: string[];
    shutdownSeconds: number;
    drainSeconds: number;
    maxConnections: number;
    workers: number;
  };
  database: DatabaseTarget & {
    readUrl: string | undefined;
    readMaxLagSeconds: number;
    migrate: boolean;
    allowEmbedded: boolean;
    poolSize: number;
    prepared: 'auto' | 'on' | 'off';
  };
  jwt: { secretKey: string | undefined; expirationHours: number; idleMinutes: number };
  oauth: { issuer: string; tokenTtlSeconds: number };
  /**
   * The keys that encrypt channel secrets, newest first. The first key encrypts new secrets. Every key can decrypt.
   * `lostKeys` are the ids of keys that no configuration has any more.
   */
  security: { masterKeys: NonNullable<Values['Security.MasterKey']>; lostKeys: string[] };
  skillpay: { brand: string | undefined; devMode: boolean; offerTtlSeconds: number };
  simulator: { listen: Values['Simulator.Listen']; url: string | undefined; dir: string };
  channels: { timeoutMs: number; confirmAbove: number };
  approval: { refundAbove: number; coinsAbove: number };
  jobs: { perAccount: number; perChannel: number; perReceiver: number; callsPerSecond: number };
  admin: { requireSecondFactor: boolean };
  explorer: { enabled: boolean };
  metrics: { listen: Values['Metrics.Listen'] };
  log: { level: Values['Log.Level']; format: Values['Log.Format'] };
  telemetry: { otlp: string | undefined; samplePercent: number };
  webhook: { allowedNetworks: string[] };
  rateLimit: {
    perApp: number;
    badCredentialsPerMinute: number;
    loginFailures: number;
    unpaidOffersPerApp: number;
  };
  retention: {
    channelMessageDays: number;
    noticeDays: number;
    deliveryDays: number;
    eventDays: number;
    historyDays: number;
    effectDays: number;
    refundQuestionDays: number;
    billLineDays: number;
    unpaidOrderDays: number;
  };
  sources: Sources;
}

/** A complete configuration: `JWT.SecretKey` and `Security.MasterKey` are set. */
export type Config = LoadedConfig & { jwt: { secretKey: string } };
