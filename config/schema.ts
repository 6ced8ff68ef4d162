import { z } from 'zod';
import { address, databaseUrl, listen, masterKey, network, origin } from './values.ts';

/** What a value looks like before it is read; decides how the text of an environment variable is taken apart. */
export type Kind = 'flag' | 'number' | 'text' | 'list';

/** One configuration key: how it is read, what it is when nobody sets it, and what a reader must know about it. */
export interface KeySpec<S extends z.ZodType = z.ZodType> {
  kind: Kind;
  schema: S;
  /** The value as it would stand in the TOML file; undefined when there is none. */
  fallback: string | number | boolean | readonly string[] | undefined;
  /** Completes the sentence "must be …". */
  expects: string;
  sentence: string;
  secret: boolean;
}

type About = Pick<KeySpec, 'sentence'> & { secret?: true };

function flag(fallback: boolean, sentence: string) {
  const expects = 'true or false';
  return { kind: 'flag', schema: z.boolean(), fallback, expects, sentence, secret: false } satisfies KeySpec;
}

function whole(min: number, max: number, fallback: number, sentence: string) {
  const expects = `a whole number from ${min} to ${max}`;
  const schema = z.int().min(min).max(max);
  return { kind: 'number', schema, fallback, expects, sentence, secret: false } satisfies KeySpec;
}

function text<S extends z.ZodType>(schema: S, expects: string, fallback: string, about: About) {
  return { kind: 'text', schema, fallback, expects, secret: false, ...about } satisfies KeySpec<S>;
}

function optional<S extends z.ZodType>(schema: S, expects: string, about: About) {
  return { kind: 'text', schema, fallback: undefined, expects, secret: false, ...about } satisfies KeySpec<S>;
}

function list<S extends z.ZodType>(item: S, expects: string, sentence: string) {
  const schema = z.array(item);
  return { kind: 'list', schema, fallback: [] as string[], expects, sentence, secret: false } satisfies KeySpec;
}

const networks = 'a list of address ranges such as 10.0.0.0/8 or ::1';
const hostAndPort = 'host:port, such as 127.0.0.1:8080 or [::1]:8080';

/** Every configuration key, in the order of the files and tables; the single source of types, defaults and words. */
export const keys = {
  Debug: flag(
    false,
    'Creates test applications and simulator configurations, and starts the simulator; never beside live ones.',
  ),
  'Server.Listen': text(listen, hostAndPort, '127.0.0.1:8080', {
    sentence: 'Where the HTTP service listens; port 0 takes a free one.',
  }),
  'Server.PublicUrl': text(origin, 'an http:// or https:// origin without a path', 'http://127.0.0.1:8080', {
    sentence: 'The address that callers, payers and channels reach; links, cookies and notices are built from it.',
  }),
  'Server.TrustedProxies': whole(
    0,
    10,
    0,
    'How many reverse proxies stand in front; that many X-Forwarded-For hops are believed.',
  ),
  'Server.AdminNetworks': list(network, networks, 'Who may reach /api/v1; empty means everyone.'),
  'Server.CorsOrigins': list(
    origin,
    'a list of origins such as https://shop.example',
    'Browser origins that may call /api/v2 and /oauth, without credentials.',
  ),
  'Server.ShutdownSeconds': whole(
    1,
    300,
    10,
    'How long requests in flight may take after a signal to stop, in seconds.',
  ),
  'Database.Url': text(databaseUrl, 'pglite://<folder> or postgres://…/<database>', 'pglite://./data/pglite', {
    sentence: 'The embedded database in a folder, or a PostgreSQL server.',
    secret: true,
  }),
  'Database.Migrate': flag(true, 'Brings the schema up to date at start; replicas may start at once.'),
  'Database.AllowEmbedded': flag(
    false,
    'Accepts the embedded database in production; it survives a killed process, not a power cut.',
  ),
  'Database.PoolSize': whole(1, 500, 10, 'Connections to PostgreSQL per process.'),
  'JWT.SecretKey': optional(
    z.string().refine((value) => Buffer.byteLength(value) >= 32),
    'a text of at least 32 bytes',

    {
      sentence:
        'Signs administrator sessions and OAuth tokens; changing it ends every one. Made by itself on the embedded database, required on PostgreSQL.',
      secret: true,
    },
  ),
  'JWT.ExpirationHours': whole(1, 8760, 24, 'Lifetime of an administrator session, in hours.'),
  'OAuth.Issuer': optional(address, 'an http:// or https:// address without query and fragment', {
    sentence: 'The issuer of OAuth tokens; Server.PublicUrl when not set.',
  }),
  'OAuth.TokenTtlSeconds': whole(60, 86_400, 3600, 'Lifetime of an OAuth access token, in seconds.'),
  'Security.MasterKey': {
    kind: 'list',
    schema: z.array(masterKey).min(1),
    fallback: undefined,
    expects: 'a list of base64 texts of 32 bytes each (openssl rand -base64 32)',
    sentence:
      'Seals channel secrets and private keys, newest first. Made by itself on the embedded database, required on PostgreSQL.',
    secret: true,
  } satisfies KeySpec,
  'Skillpay.Brand': text(
    z.string().regex(/^[A-Za-z][A-Za-z0-9]{0,31}$/),
    '1 to 32 letters and digits, a letter first',
    'Weixin',
    { sentence: 'First part of the pay-per-call header <Brand>-Pay-Required.' },
  ),
  'Skillpay.DevMode': flag(false, 'Pay-per-call gives content without the scan; only together with Debug.'),
  'Skillpay.OfferTtlSeconds': whole(60, 604_800, 900, 'How long a pay-per-call offer can be paid, in seconds.'),
  'Simulator.Listen': text(listen, hostAndPort, '127.0.0.1:8081', { sentence: 'Where the channel simulator listens.' }),
  'Simulator.Url': optional(address, 'an http:// or https:// address without query and fragment', {
    sentence: 'A channel simulator that already runs; none is started then.',
  }),
  'Simulator.Dir': text(z.string().min(1), 'a folder', './data/simulator', {
    sentence: 'Where the simulator keeps its keys and its ledger.',
  }),
  'Channels.TimeoutMs': whole(100, 60_000, 6000, 'How long a channel may take to answer, in milliseconds.'),
  'Explorer.Enabled': flag(true, 'Serves the API explorer and the OpenAPI document under /swagger.'),
  'Metrics.Listen': text(listen, hostAndPort, '127.0.0.1:9464', {
    sentence: 'Where Prometheus metrics, and nothing else, are served.',
  }),
  'Log.Level': text(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'fatal, error, warn, info, debug, trace or silent',
    'info',
    { sentence: 'The least serious log line that is written.' },
  ),
  'Webhook.AllowedNetworks': list(
    network,
    networks,
    'Private address ranges that webhooks and skill handlers may reach all the same.',
  ),
  'RateLimit.PerApp': whole(
    0,
    1_000_000,
    0,
    'Requests per minute of one application, 0 for no limit; an application may have its own.',
  ),
  'RateLimit.BadCredentialsPerMinute': whole(
    1,
    1_000_000,
    30,
    'Refused credentials per address in one minute; of IPv6 a /64 counts as one.',
  ),
  'RateLimit.LoginFailures': whole(
    1,
    1_000_000,
    10,
    'Failed logins per account and address in 15 minutes; ten times that per address.',
  ),
  'RateLimit.UnpaidOffersPerApp': whole(1, 10_000_000, 1000, 'Pay-per-call offers of one application open at a time.'),
} satisfies Record<string, KeySpec>;

/** The name of a configuration key, such as `JWT.SecretKey`. */
export type KeyName = keyof typeof keys;

/** The value of every key after it was read; those without a default may be undefined. */
export type Values = {
  [K in KeyName]: z.output<(typeof keys)[K]['schema']> | Extract<(typeof keys)[K]['fallback'], undefined>;
};

/** All key names in their order. */
export const keyNames = Object.keys(keys) as KeyName[];

/** The environment variable of a key: `JWT.SecretKey` is `PAY_JWT_SECRET_KEY`. */
export function environmentName(key: string): string {
  return `PAY_${key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase()}`;
}
