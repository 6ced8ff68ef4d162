import test from 'ava';
import { join } from 'node:path';
import { ConfigFaults } from '../../../config/faults.ts';
import { loadConfig } from '../../../config/load.ts';
import { temporaryFolder } from '../../support/folder.ts';

const keyA = Buffer.alloc(32, 1).toString('base64');
const keyB = Buffer.alloc(32, 2).toString('base64');

test('an empty environment gives the documented defaults', (t) => {
  const cwd = temporaryFolder(t);
  const { sources, ...config } = loadConfig({ env: {}, cwd });
  t.deepEqual(config, {
    debug: false,
    environment: 'development',
    production: false,
    simulated: false,
    server: {
      listen: { host: '127.0.0.1', port: 8080 },
      publicUrl: 'http://127.0.0.1:8080',
      trustedProxies: 0,
      adminNetworks: [],
      corsOrigins: [],
      shutdownSeconds: 10,
      drainSeconds: 0,
      maxConnections: 5000,
      workers: 1,
    },
    database: {
      kind: 'pglite',
      url: `pglite://${cwd}/data/pglite`,
      folder: `${cwd}/data/pglite`,
      migrate: true,
      allowEmbedded: false,
      readUrl: undefined,
      readMaxLagSeconds: 10,
      poolSize: 10,
      prepared: 'auto',
    },
    jwt: { secretKey: undefined, expirationHours: 24, idleMinutes: 120 },
    oauth: { issuer: 'http://127.0.0.1:8080', tokenTtlSeconds: 3600 },
    security: { masterKeys: [], lostKeys: [] },
    skillpay: { brand: undefined, devMode: false, offerTtlSeconds: 900 },
    simulator: { listen: { host: '127.0.0.1', port: 8081 }, url: undefined, dir: `${cwd}/data/simulator` },
    channels: { timeoutMs: 6000, confirmAbove: 1000 },
    approval: { refundAbove: 0, coinsAbove: 0 },
    jobs: { perAccount: 16, perChannel: 32, perReceiver: 8, callsPerSecond: 0 },
    admin: { requireSecondFactor: false },
    explorer: { enabled: true },
    metrics: { listen: { host: '127.0.0.1', port: 9464 } },
    log: { level: 'info', format: 'auto' },
    telemetry: { otlp: undefined, samplePercent: 100 },
    webhook: { allowedNetworks: [] },
    rateLimit: { perApp: 0, badCredentialsPerMinute: 30, loginFailures: 10, unpaidOffersPerApp: 1000 },
    retention: {
      channelMessageDays: 90,
      noticeDays: 180,
      deliveryDays: 90,
      eventDays: 400,
      historyDays: 36500,
      effectDays: 90,
      refundQuestionDays: 180,
      billLineDays: 400,
      unpaidOrderDays: 365,
    },
  });
  t.is(sources['Server.Listen'], 'default');
  t.is(sources['JWT.SecretKey'], 'not set');
});

test('in development the public URL follows a changed listen address', (t) => {
  const cwd = temporaryFolder(t);
  const urls = (env: Record<string, string>) => {
    const { server, oauth, sources } = loadConfig({ env, cwd });
    return [server.publicUrl, oauth.issuer, sources['Server.PublicUrl']];
  };
  const own = 'http://127.0.0.1:9090';
  t.deepEqual(urls({ PAY_SERVER_LISTEN: '127.0.0.1:9090' }), [own, own, 'default']);
  t.deepEqual(urls({ PAY_SERVER_LISTEN: '0.0.0.0:9090' }), [own, own, 'default']);
  for (const [listen, url] of [
    ['[::1]:9090', 'http://[::1]:9090'],
    ['[::]:9090', 'http://[::1]:9090'],
    ['localhost:9090', 'http://localhost:9090'],
    ['127.0.0.1:80', 'http://127.0.0.1'],
    ['127.0.0.1:0', 'http://127.0.0.1:8080'],
  ] as const)
    t.is(urls({ PAY_SERVER_LISTEN: listen })[0], url, listen);
  const said = { PAY_SERVER_LISTEN: '127.0.0.1:9090', PAY_SERVER_PUBLIC_URL: 'http://127.0.0.1:8080' };
  t.deepEqual(urls(said).slice(0, 1), ['http://127.0.0.1:8080'], 'what somebody set stays');
  const production = { NODE_ENV: 'production', PAY_SERVER_LISTEN: '0.0.0.0:9090', PAY_DATABASE_ALLOW_EMBEDDED: 'true' };
  t.throws(() => loadConfig({ env: production, cwd }), { message: /Server\.PublicUrl: / });
});

test('production drains before it stops and serves no explorer, staging serves it, unless configured otherwise', (t) => {
  const cwd = temporaryFolder(t);
  const env = {
    NODE_ENV: 'production',
    PAY_SERVER_PUBLIC_URL: 'https://pay.example',
    PAY_DATABASE_ALLOW_EMBEDDED: 'true',
  };
  const { server, explorer, sources } = loadConfig({ env, cwd });
  t.is(server.drainSeconds, 8);
  t.false(explorer.enabled);
  t.is(sources['Explorer.Enabled'], 'not set');
  const told = loadConfig({ env: { ...env, PAY_EXPLORER_ENABLED: 'true', PAY_SERVER_DRAIN_SECONDS: '0' }, cwd });
  t.is(told.server.drainSeconds, 0);
  t.true(told.explorer.enabled);
  t.false(loadConfig({ env: { PAY_EXPLORER_ENABLED: 'false' }, cwd }).explorer.enabled);
  const staging = { ...env, PAY_SERVER_ENVIRONMENT: 'staging' };
  t.true(loadConfig({ env: staging, cwd }).explorer.enabled);
  t.false(loadConfig({ env: { ...staging, PAY_EXPLORER_ENABLED: 'false' }, cwd }).explorer.enabled);
});

test('the environment overrides the file, the file overrides the defaults, and each value names its source', (t) => {
  const cwd = temporaryFolder(t, {
    'config/local.toml': '[Server]\nListen = "[::1]:1"\nTrustedProxies = 1\n[Log]\nLevel = "warn"',
  });
  const config = loadConfig({ env: { PAY_LOG_LEVEL: 'error', PAY_SERVER_TRUSTED_PROXIES: '2' }, cwd });
  t.deepEqual(config.server.listen, { host: '::1', port: 1 });
  t.is(config.server.trustedProxies, 2);
  t.is(config.log.level, 'error');
  t.is(config.sources['Server.Listen'], join(cwd, 'config/local.toml'));
  t.is(config.sources['Log.Level'], 'PAY_LOG_LEVEL');
  t.is(config.sources.Debug, 'default');
});

test('--config overrides PAY_CONFIG, and both override config/local.toml', (t) => {
  const level = (name: string) => `[Log]\nLevel = "${name}"\n`;
  const cwd = temporaryFolder(t, {
    'config/local.toml': level('trace'),
    'a.toml': level('warn'),
    'b.toml': level('error'),
  });
  t.is(loadConfig({ env: {}, cwd }).log.level, 'trace');
  t.is(loadConfig({ env: { PAY_CONFIG: 'a.toml' }, cwd }).log.level, 'warn');
  t.is(loadConfig({ argv: { config: 'b.toml' }, env: { PAY_CONFIG: 'a.toml' }, cwd }).log.level, 'error');
});

test('a relative path is resolved from the folder of its file, else from the working directory', (t) => {
  const cwd = temporaryFolder(t, {
    'etc/pay.toml': '[Database]\nUrl = "pglite://./db"\n[Simulator]\nDir = "../sim"',
    'secrets/url': 'pglite://beside\n',
  });
  const fromFile = loadConfig({ argv: { config: 'etc/pay.toml' }, env: {}, cwd });
  t.is(fromFile.database.folder, join(cwd, 'etc/db'));
  t.is(fromFile.simulator.dir, join(cwd, 'sim'));
  t.is(loadConfig({ env: { PAY_DATABASE_URL: 'pglite://./db' }, cwd }).database.folder, join(cwd, 'db'));
  t.is(loadConfig({ env: { PAY_DATABASE_URL: 'pglite:///srv/db' }, cwd }).database.folder, '/srv/db');
  const beside = loadConfig({ env: { PAY_DATABASE_URL_FILE: 'secrets/url' }, cwd });
  t.is(beside.database.folder, join(cwd, 'secrets/beside'));
});

test('an edited default.toml applies, resolves paths from the working directory and is named as the source', (t) => {
  const cwd = temporaryFolder(t, { 'package/config/default.toml': 'Debug = true\n[Database]\nUrl = "pglite://x"\n' });
  const packageRoot = join(cwd, 'package');
  const config = loadConfig({ env: {}, cwd, packageRoot });
  t.true(config.debug);
  t.is(config.database.folder, join(cwd, 'x'));
  t.is(config.sources.Debug, join(packageRoot, 'config/default.toml'));
});

test('a package without default.toml has the defaults of the schema', (t) => {
  const cwd = temporaryFolder(t);
  const { sources: _, ...bare } = loadConfig({ env: {}, cwd, packageRoot: cwd });
  const { sources: __, ...usual } = loadConfig({ env: {}, cwd });
  t.deepEqual(bare, usual);
});

test('lists are comma-separated in the environment and arrays in a file; master keys keep their order', (t) => {
  const cwd = temporaryFolder(t, { 'a.toml': `[Security]\nMasterKey = ["${keyA}", "${keyB}"]` });
  const env = { PAY_SERVER_ADMIN_NETWORKS: ' 10.0.0.0/8, ::1 ,', PAY_SECURITY_MASTER_KEY: `${keyB},${keyA}` };
  const fromEnv = loadConfig({ env, cwd });
  t.deepEqual(fromEnv.server.adminNetworks, ['10.0.0.0/8', '::1/128']);
  const fromFile = loadConfig({ argv: { config: 'a.toml' }, env: {}, cwd });
  t.deepEqual(fromFile.security.masterKeys, fromEnv.security.masterKeys.toReversed());
  t.is(fromFile.security.masterKeys[0]?.id, '72cd6e84');
  t.deepEqual(fromFile.security.masterKeys[0]?.key, Buffer.alloc(32, 1));
});

test('a single text is accepted as a list of one', (t) => {
  const cwd = temporaryFolder(t, { 'a.toml': `[Security]\nMasterKey = "${keyA}"` });
  t.is(loadConfig({ argv: { config: 'a.toml' }, env: {}, cwd }).security.masterKeys.length, 1);
});

test('trailing line ends of a value are dropped, and control characters in it are refused', (t) => {
  const secret = 'k'.repeat(40);
  const cwd = temporaryFolder(t, { one: `${secret}\n`, windows: `${secret}\r\n`, two: `${secret}\n\n`, level: 'warn' });
  const load = (name: string) => loadConfig({ env: { PAY_JWT_SECRET_KEY_FILE: name }, cwd });
  t.is(load('one').jwt.secretKey, secret);
  t.is(load('windows').jwt.secretKey, secret);
  t.is(load('two').jwt.secretKey, secret);
  const url = 'postgres://pay@db/pay';
  const env = {
    PAY_JWT_SECRET_KEY: `${secret}\r\n`,
    PAY_DATABASE_URL: `${url}\n`,
    PAY_LOG_LEVEL: '\n',
    PAY_SECURITY_MASTER_KEY: `${keyA}\n`,
  };
  const plain = loadConfig({ env, cwd });
  t.is(plain.jwt.secretKey, secret);
  t.is(plain.database.url, url);
  t.is(plain.log.level, 'info');
  for (const [name, value] of [
    ['PAY_JWT_SECRET_KEY', `${secret}\n${secret}`],
    ['PAY_DATABASE_URL', `${url}\0`],
    ['PAY_SKILLPAY_BRAND', 'Tea\tHouse'],
  ] as const) {
    const { message } = t.throws(() => loadConfig({ env: { [name]: value }, cwd }), { instanceOf: ConfigFaults })!;
    t.regex(message, /must not contain control characters or line ends/);
  }
  t.is(load('one').sources['JWT.SecretKey'], 'PAY_JWT_SECRET_KEY_FILE');
  t.is(loadConfig({ env: { PAY_LOG_LEVEL_FILE: join(cwd, 'level') }, cwd }).log.level, 'warn');
});

test('an empty variable counts as not set', (t) => {
  const cwd = temporaryFolder(t, { level: 'warn' });
  const env = { PAY_DEBUG: '', PAY_CONFIG: '', PAY_LOG_LEVEL: '', PAY_LOG_LEVEL_FILE: 'level', PAY_NONSENSE: '' };
  const config = loadConfig({ env, cwd });
  t.false(config.debug);
  t.is(config.log.level, 'warn');
});

test('the issuer defaults to the public address', (t) => {
  const cwd = temporaryFolder(t);
  const env = { PAY_SERVER_PUBLIC_URL: 'https://pay.shop.example/' };
  t.is(loadConfig({ env, cwd }).server.publicUrl, 'https://pay.shop.example');
  t.is(loadConfig({ env, cwd }).oauth.issuer, 'https://pay.shop.example');
  const issuer = 'https://id.shop.example/pay';
  t.is(loadConfig({ env: { ...env, PAY_OAUTH_ISSUER: issuer }, cwd }).oauth.issuer, issuer);
});
