import { z } from 'zod';
import { PERCENT_ENCODING, address, databaseUrl, listen, masterKey, network, origin, replicaUrl } from './values.ts';

/** The form of a value, which decides how the text of an environment variable is parsed. */
export type Kind = 'flag' | 'number' | 'text' | 'list';

export interface KeySpec<S extends z.ZodType = z.ZodType> {
  kind: Kind;
  schema: S;
  /** The default as in the TOML file; undefined for a key without a default. */
  fallback: string | number | boolean | readonly string[] | undefined;
  /** Describes a valid value in error messages, after "must be": for example "true or false". */
  expects: string;
  /** Advice that error messages add to `expects`. */
  note?: string;
  sentence: string;
  secret: boolean;
}

type About = Pick<KeySpec, 'sentence' | 'note'> & { secret?: true };

function flag(fallback: boolean, sentence: string) {
  const expects = 'true or false';
  return { kind: 'flag', schema: z.boolean(), fallback, expects, sentence, secret: false } satisfies KeySpec;
}

function optionalFlag(sentence: string) {
  return { ...flag(false, sentence), schema: z.boolean().optional(), fallback: undefined } satisfies KeySpec;
}

function whole(min: number, max: number, fallback: number, sentence: string) {
  const expects = `an integer from ${min} to ${max}`;
  const schema = z.int().min(min).max(max);
  return { kind: 'number', schema, fallback, expects, sentence, secret: false } satisfies KeySpec;
}

function optionalWhole(min: number, max: number, sentence: string) {
  const { schema, ...rest } = whole(min, max, min, sentence);
  return { ...rest, schema: schema.optional(), fallback: undefined } satisfies KeySpec;
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

/** The maximum of the keys that state how many days rows are kept: a hundred years, so practically forever. */
const MOST_DAYS = 36_500;

function wholeOrWord(value: unknown): unknown {
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
}

/** Former values of `Database.Prepared`, each with the value that replaces it. */
const OLD_PREPARED: Readonly<Record<string, string>> = { true: 'on', false: 'off' };

const networks = 'a list of IP addresses or CIDR ranges such as 10.0.0.0/8 or ::1';
const hostAndPort = 'host:port, such as 127.0.0.1:8080 or [::1]:8080';

/** default.toml and README.md list the keys in this sequence; their types, defaults and texts come from this object. */
export const keys = {
  Debug: flag(
    false,
    'Creates test applications and simulator configurations, and starts the simulator; refused if live configurations exist.',
  ),
  'Server.Environment': {
    kind: 'text',
    schema: z.enum(['production', 'staging']).optional(),
    fallback: undefined,
    expects: 'production or staging',
    sentence:
      'The environment: production and staging both refuse unsafe settings; staging marks every response and page, and accepts no live channels. If not set: production with NODE_ENV=production, else neither.',
    secret: false,
  },
  'Server.Listen': text(listen, hostAndPort, '127.0.0.1:8080', {
    sentence: 'Listen address of the HTTP service; port 0 picks a free port.',
  }),
  'Server.AllowRemoteDebug': flag(
    false,
    'Allows Debug, with its test applications and its simulator, on an address that others can reach.',
  ),
  'Server.PublicUrl': text(origin, 'an http:// or https:// origin without a path', 'http://127.0.0.1:8080', {
    sentence:
      'Public URL of the service for merchants, payers and channels; used for links, cookies and notification URLs. If not set, it follows Server.Listen in development.',
  }),
  'Server.TrustedProxies': whole(
    0,
    10,
    0,
    'Number of reverse proxies in front of the service; that many X-Forwarded-For hops are trusted.',
  ),
  'Server.AdminNetworks': list(network, networks, 'IP ranges that may access /api/v1; empty allows all.'),
  'Server.CorsOrigins': list(
    origin,
    'a list of origins such as https://shop.example',
    'Browser origins that may call /api/v2 and /oauth, without credentials.',
  ),
  'Server.ShutdownSeconds': whole(
    1,
    300,
    10,
    'Grace period for requests in flight, and then for jobs, on shutdown, in seconds.',
  ),
  'Server.DrainSeconds': optionalWhole(
    0,
    300,
    'How long requests are still accepted on shutdown, while /health/db returns 503 and every response closes its connection; 8 in production if not set, else 0.',
  ),
  'Server.MaxConnections': whole(16, 100_000, 5000, 'Open connections per process; further ones are closed at once.'),
  'Server.Workers': {
    kind: 'text',
    schema: z.preprocess(wholeOrWord, z.union([z.literal('auto'), z.int().min(1).max(64)])),
    fallback: 1,
    expects: 'auto or an integer from 1 to 64',
    sentence:
      'Processes that serve requests and run jobs, under one supervisor; auto is one for each processor. SIGHUP replaces them one by one.',
    secret: false,
  },
  'Database.Url': text(databaseUrl, 'pglite://<folder> or postgres://…/<database>', 'pglite://./data/pglite', {
    sentence: 'The embedded database in a directory, or a PostgreSQL database.',
    note: PERCENT_ENCODING,
    secret: true,
  }),
  'Database.ReadUrl': optional(replicaUrl, 'postgres://…/<database>', {
    sentence:
      'A replica (hot standby) for lists, exports and statistics; all other reads use Database.Url. Responses from it carry Replica-Lag.',
    note: PERCENT_ENCODING,
    secret: true,
  }),
  'Database.ReadMaxLagSeconds': whole(
    0,
    3600,
    10,
    'While the replica is further behind than this many seconds, lists, exports and statistics are read from Database.Url.',
  ),
  'Database.Migrate': flag(true, 'Applies pending migrations at start; replicas may start concurrently.'),
  'Database.AllowEmbedded': flag(
    false,
    'Allows the embedded database in production; it survives a killed process, but not a power failure.',
  ),
  'Database.AllowPlaintext': flag(
    false,
    'Allows a connection to a remote PostgreSQL in production that is not encrypted, or whose server is not verified.',
  ),
  'Database.PoolSize': whole(1, 500, 10, 'Connections to PostgreSQL per process, so for each of Server.Workers.'),
  'Database.Prepared': text(
    z.preprocess((value) => OLD_PREPARED[String(value)] ?? value, z.enum(['auto', 'on', 'off'])),
    'auto, on or off',
    'auto',
    {
      sentence:
        'Prepares statements once per connection; auto does so unless a pooler in transaction mode, such as PgBouncer, would lose them.',
    },
  ),
  'JWT.SecretKey': optional(
    z.string().refine((value) => Buffer.byteLength(value) >= 32),
    'a string of at least 32 bytes',

    {
      sentence:
        'Signs administrator sessions and OAuth tokens; changing it invalidates all of them. Generated for the embedded database, required for PostgreSQL.',
      secret: true,
    },
  ),
  'JWT.ExpirationHours': whole(1, 8760, 24, 'Lifetime of an administrator session, in hours.'),
  'JWT.IdleMinutes': whole(
    0,
    525_600,
    120,
    'Minutes after which an unused administrator session ends; 0 for no limit except its lifetime.',
  ),
  'OAuth.Issuer': optional(address, 'an http:// or https:// URL without query and fragment', {
    sentence: 'Issuer of OAuth tokens; Server.PublicUrl if not set.',
  }),
  'OAuth.TokenTtlSeconds': whole(60, 86_400, 3600, 'Lifetime of an OAuth access token, in seconds.'),
  'Security.MasterKey': {
    kind: 'list',
    schema: z.array(masterKey).min(1),
    fallback: undefined,
    expects: 'a list of base64-encoded 32-byte keys (openssl rand -base64 32)',
    sentence:
      'Encrypts channel secrets, private keys and the secrets of second factors, newest key first. Generated for the embedded database, required for PostgreSQL.',
    secret: true,
  } satisfies KeySpec,
  'Security.LostKeys': list(
    z.string().regex(/^[0-9a-f]{8}$/),
    'a list of key ids of 8 hex digits',
    'Ids of master keys of which no copy is left: the service starts although it cannot decrypt the secrets that need them.',
  ),
  'Skillpay.Brand': optional(
    z.string().regex(/^[A-Za-z][A-Za-z0-9]{0,31}$/),
    '1 to 32 letters and digits, starting with a letter',
    {
      sentence:
        'First part of the pay-per-call header <Brand>-Pay-Required. If not set, it follows the channel of the order: Weixin, Alipay or PayPal.',
    },
  ),
  'Skillpay.DevMode': flag(
    false,
    'Pays pay-per-call offers automatically on the simulator, without a payer; only allowed with Debug.',
  ),
  'Skillpay.OfferTtlSeconds': whole(60, 604_800, 900, 'Validity of a pay-per-call offer, in seconds.'),
  'Simulator.Listen': text(listen, hostAndPort, '127.0.0.1:8081', {
    sentence: 'Listen address of the channel simulator.',
  }),
  'Simulator.Url': optional(address, 'an http:// or https:// URL without query and fragment', {
    sentence: 'URL of a running channel simulator; if set, none is started. Used with Debug, and in staging.',
  }),
  'Simulator.Dir': text(z.string().min(1), 'a directory', './data/simulator', {
    sentence: 'Directory for the keys and the ledger of the simulator.',
  }),
  'Channels.TimeoutMs': whole(100, 60_000, 6000, 'Timeout of a channel request, in milliseconds.'),
  'Channels.ConfirmAbove': whole(
    0,
    100_000_000,
    1000,
    "A notification of a payment above this amount, in major units of the payment's currency, counts only when the channel confirms it in a query.",
  ),
  'Approval.RefundAbove': whole(
    0,
    100_000_000,
    0,
    'Refunds above this amount, in major units of their currency, wait for a second administrator, and so do disputes that are accepted and exceptions whose payment is refunded; unapproved refunds and accepted disputes of an order count together. 0 for none.',
  ),
  'Approval.CoinsAbove': whole(
    0,
    1_000_000_000,
    0,
    'An adjustment that adds more coins than this asks the administrator for the password again, where channels can be live. 0 for every one that adds coins.',
  ),
  'Jobs.PerAccount': whole(
    1,
    256,
    16,
    'Due checks of orders that a process makes at the same time at one account of a channel, and as many of refunds; a quarter of it of disputes and everything else that queries a channel.',
  ),
  'Jobs.PerChannel': whole(
    2,
    1024,
    32,
    'The same for all accounts of a channel together, at least twice Jobs.PerAccount. Accounts whose calls take long share one half of it, so they never hold up the others.',
  ),
  'Jobs.PerReceiver': whole(
    1,
    256,
    8,
    'Webhook deliveries that a process sends at the same time to one host, and for one application; twelve times as many in all.',
  ),
  'Jobs.CallsPerSecond': whole(
    0,
    1000,
    0,
    'Calls per second that jobs may make at one account of a channel, all kinds and all replicas together; 0 for no limit. Calls for which a merchant or payer waits are never delayed.',
  ),
  'Admin.RequireSecondFactor': flag(
    false,
    'Administrators without a second factor can only enrol one until they have it. Set it once every replica runs a release that knows second factors.',
  ),
  'Explorer.Enabled': optionalFlag(
    'Serves the API explorer and the OpenAPI document under /swagger; if not set, everywhere but in production. The API reference of merchants (/docs/api) is always served.',
  ),
  'Metrics.Listen': text(listen, hostAndPort, '127.0.0.1:9464', {
    sentence: 'Listen address for Prometheus metrics; serves nothing else.',
  }),
  'Log.Level': text(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'fatal, error, warn, info, debug, trace or silent',
    'info',
    { sentence: 'Minimum level of log lines.' },
  ),
  'Log.Format': text(z.enum(['auto', 'json', 'text']), 'auto, json or text', 'auto', {
    sentence: 'Log lines as JSON or as text for people; auto is text on a terminal and JSON everywhere else.',
  }),
  'Telemetry.Otlp': optional(address, 'an http:// or https:// URL without query and fragment', {
    sentence:
      'URL of an OpenTelemetry collector (OTLP over HTTP, such as http://127.0.0.1:4318) that traces are sent to; if not set, there are none.',
  }),
  'Telemetry.SamplePercent': whole(
    0,
    100,
    100,
    'Percentage of requests that are traced; a request with a traceparent follows its sampling decision.',
  ),
  'Webhook.AllowedNetworks': list(network, networks, 'Private IP ranges that webhooks and skill handlers may access.'),
  'RateLimit.PerApp': whole(
    0,
    1_000_000,
    0,
    'Requests per minute and application, 0 for no limit; an application may have its own limit.',
  ),
  'RateLimit.BadCredentialsPerMinute': whole(
    1,
    1_000_000,
    30,
    'Failed client and token authentications per IP address and minute, ten times as many per client and per network; an IPv6 /64 counts as one address, a /24 or an IPv6 /48 as a network.',
  ),
  'RateLimit.LoginFailures': whole(
    1,
    1_000_000,
    10,
    'Failed logins per account and IP address in 15 minutes; ten times as many per IP address, twenty times per network. After five times as many, an account accepts one attempt in 30 seconds from addresses that it has never logged in from.',
  ),
  'RateLimit.UnpaidOffersPerApp': whole(
    1,
    10_000_000,
    1000,
    'Maximum number of unpaid pay-per-call offers per application.',
  ),
  'Retention.ChannelMessageDays': whole(
    1,
    MOST_DAYS,
    90,
    'Days after which messages to and from channels disappear from the timelines of orders.',
  ),
  'Retention.NoticeDays': whole(
    30,
    MOST_DAYS,
    180,
    'Days for which settled notifications are remembered; one that is repeated later is settled again, which changes nothing.',
  ),
  'Retention.DeliveryDays': whole(
    7,
    MOST_DAYS,
    90,
    'Days for which webhook deliveries and their attempts are kept after their end.',
  ),
  'Retention.EventDays': whole(
    90,
    MOST_DAYS,
    400,
    'Days for which the event log is kept; readers by number continue with the remaining events.',
  ),
  'Retention.HistoryDays': whole(
    400,
    MOST_DAYS,
    MOST_DAYS,
    'Days for which the histories of orders and refunds are kept; orders and refunds stay.',
  ),
  'Retention.EffectDays': whole(
    7,
    MOST_DAYS,
    90,
    'Days for which repeated effects of a payment or refund (stock, coins, content) are kept after they were done or given up.',
  ),
  'Retention.RefundQuestionDays': whole(
    30,
    MOST_DAYS,
    180,
    'Days for which lookups of refunds made elsewhere are kept after they were answered or given up.',
  ),
  'Retention.BillLineDays': whole(
    60,
    MOST_DAYS,
    400,
    "Days for which the lines of the channels' bills are kept; the bills, their sums, the differences and the fees stay.",
  ),
  'Retention.UnpaidOrderDays': whole(
    30,
    MOST_DAYS,
    365,
    'Days after which closed and failed orders without any payment are removed, with their history and events; statistics still count them.',
  ),
} satisfies Record<string, KeySpec>;

export type KeyName = keyof typeof keys;

/** The parsed value of every key. A key without a default may be undefined. */
export type Values = {
  [K in KeyName]: z.output<(typeof keys)[K]['schema']> | Extract<(typeof keys)[K]['fallback'], undefined>;
};

export const keyNames = Object.keys(keys) as KeyName[];

/** The environment variable of a key: `JWT.SecretKey` is `PAY_JWT_SECRET_KEY`. */
export function environmentName(key: string): string {
  return `PAY_${key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase()}`;
}
