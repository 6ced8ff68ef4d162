import test from 'ava';
import { ConfigFaults } from '../../../config/faults.ts';
import { loadConfig } from '../../../config/load.ts';
import { temporaryFolder } from '../../support/folder.ts';

const secret = 'Zq8-vT2_rW5.yB1mN7hJ4kL0pX3cG6dF';
const key = '2KVPKgMJD4WU4Crn00MxqF0QnsM17uFkpUb7u8i6FKA=';
const postgres = { PAY_DATABASE_URL: 'postgres://pay:hunter2@db.example/pay' };
const secrets = { PAY_JWT_SECRET_KEY: secret, PAY_SECURITY_MASTER_KEY: key };

function faultsOf(env: Record<string, string>, cwd = '/', config?: string): Record<string, string> {
  try {
    loadConfig({ argv: { config }, env, cwd });
  } catch (error) {
    if (error instanceof ConfigFaults) return Object.fromEntries(error.faults.map((f) => [f.key, f.message]));
    throw error;
  }
  return {};
}

test('all faults are reported at once, by key and source, without secrets', (t) => {
  const cwd = temporaryFolder(t, {
    'bad.toml': 'Debug = "yes"\n[JWT]\nSecretKey = "hunter2"\nSecretKeys = "hunter2"\n',
  });
  const env = { PAY_LOG_LEVEL: 'loud', PAY_DATABASE_URL: 'mysql://pay:hunter2@db/pay', PAY_LOGLEVEL: 'x' };
  const error = t.throws(() => loadConfig({ argv: { config: 'bad.toml' }, env, cwd }), { instanceOf: ConfigFaults });
  t.deepEqual(error.faults.map((fault) => fault.key).toSorted(), [
    'Database.Url',
    'Debug',
    'JWT.SecretKey',
    'JWT.SecretKeys',
    'Log.Level',
    'PAY_LOGLEVEL',
  ]);
  t.true(error.message.includes(`Debug: must be true or false (set in ${cwd}/bad.toml)`));
  t.true(error.message.includes('did you mean JWT.SecretKey?'));
  t.true(error.message.includes('did you mean PAY_LOG_LEVEL?'));
  t.false(error.message.includes('hunter2'));
  t.regex(error.message, /^The configuration is invalid \(6 errors\):\n/);
});

const refused: Record<string, readonly string[]> = {
  DEBUG: ['yes', '1', 'TRUE', ' true', 'false '],
  SERVER_LISTEN: [
    '8080',
    ':8080',
    'localhost',
    'h:65536',
    'h:-1',
    '::1:80',
    '[h]:80',
    '[1.2.3.4]:80',
    'a b:1',
    'h:1/x',
  ],
  SERVER_PUBLIC_URL: ['x', 'ftp://a', 'https://', 'https://a/b', 'https://a?', 'https://a#x', 'https://u:p@a', '//a'],
  SERVER_TRUSTED_PROXIES: ['-1', '11', '1.5', '1e1', '0x1', ' 1', 'true', '9'.repeat(400)],
  SERVER_ADMIN_NETWORKS: [
    '10.0.0.0/33',
    '::1/129',
    '10.0.0',
    'all',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    '1/1',
  ],
  SERVER_CORS_ORIGINS: ['*', 'https://a/b', 'null', 'a.example'],
  DATABASE_URL: ['pglite://', 'mysql://a/b', 'postgres://', 'postgres://h', 'postgres://h/', 'postgres:h/b', './data'],
  DATABASE_POOL_SIZE: ['0', '501'],
  JWT_SECRET_KEY: ['x'.repeat(31)],
  JWT_EXPIRATION_HOURS: ['0', '8761'],
  OAUTH_ISSUER: ['pay', 'https://a?b', 'https://a#b', 'https://u@a'],
  OAUTH_TOKEN_TTL_SECONDS: ['59', '86401'],
  SECURITY_MASTER_KEY: [
    key.slice(0, -1),
    `${key.slice(0, -2)}B=`,
    key.slice(4),
    `${key},x`,
    ',',
    key.replace('A=', '='),
  ],
  SKILLPAY_BRAND: ['1a', 'a-b', 'a b', 'x'.repeat(33), 'a:b', 'é'],
  SKILLPAY_OFFER_TTL_SECONDS: ['59'],
  SIMULATOR_URL: ['localhost:1', 'http://'],
  CHANNELS_TIMEOUT_MS: ['99', '60001'],
  LOG_LEVEL: ['Info', 'verbose', 'constructor', '__proto__'],
  RATE_LIMIT_BAD_CREDENTIALS_PER_MINUTE: ['0'],
};

for (const [name, values] of Object.entries(refused)) {
  test(`PAY_${name} refuses invalid values`, (t) => {
    for (const value of values)
      t.is(Object.keys(faultsOf({ [`PAY_${name}`]: value })).length, 1, JSON.stringify(value));
  });
}

test('a read replica URL is refused with the embedded database, which has no replicas', (t) => {
  const readUrl = { PAY_DATABASE_READ_URL: 'postgres://pay:hunter2@standby.example/pay' };
  t.deepEqual(faultsOf({ PAY_DATABASE_URL: 'pglite://data/pay', ...readUrl }), {
    'Database.ReadUrl': 'needs PostgreSQL; the embedded database has no replicas',
  });
  t.deepEqual(faultsOf({ ...postgres, ...secrets, ...readUrl }), {});
});

test('a database URL with an unencoded password is refused with the reason, and no part of it is quoted', (t) => {
  for (const login of ['pay:hu@nter2', 'pay:hu@nter2/hunter3', 'pay:hunter2/hunter3', 'pay:12#hunter2'])
    for (const key of ['Database.Url', 'Database.ReadUrl']) {
      const name = key === 'Database.Url' ? 'PAY_DATABASE_URL' : 'PAY_DATABASE_READ_URL';
      const { [key]: message, ...others } = faultsOf({
        ...postgres,
        ...secrets,
        [name]: `postgres://${login}@db.example/pay`,
      });
      t.deepEqual(others, {});
      t.regex(
        message ?? '',
        /; characters such as @, \/ and # in user and password must be percent-encoded \(%40, %2F, %23\)$/,
      );
      t.notRegex(message ?? '', /nter|hunter|db\.example/);
    }
});

test('a value in a file must have its own type', (t) => {
  for (const value of ['"1"', '1.5', 'true', '[1]', '{ a = 1 }', '2026-01-01', 'nan', '-inf']) {
    const cwd = temporaryFolder(t, { 'a.toml': `[Server]\nTrustedProxies = ${value}` });
    t.deepEqual(Object.keys(faultsOf({}, cwd, 'a.toml')), ['Server.TrustedProxies'], value);
  }
});

const badFiles: Record<string, readonly [string | Uint8Array, string]> = {
  'is not TOML': ['[JWT]\nSecretKey = hunter2\n', 'line 2'],
  'sets a key twice': ['Debug = true\nDebug = false', 'line 2'],
  'is not UTF-8': [new Uint8Array([0x44, 0xff, 0xfe]), 'is not UTF-8 text'],
  'is too large': [`# ${'x'.repeat(1024 * 1024)}`, 'is larger than 1 MiB'],
  'nests too deep': [`a = ${'['.repeat(50_000)}`, 'is not valid TOML'],
  'holds a number beyond precision': ['[Server]\nTrustedProxies = 9007199254740993', 'is not valid TOML'],
};

for (const [what, [text, message]] of Object.entries(badFiles)) {
  test(`a file that ${what} gives one fault without its content`, (t) => {
    const cwd = temporaryFolder(t, { 'a.toml': text });
    const faults = faultsOf({}, cwd, 'a.toml');
    t.deepEqual(Object.keys(faults), ['(file)']);
    t.true(faults['(file)']?.includes(message), faults['(file)']);
    t.false(faults['(file)']?.includes('hunter2'));
  });
}

test('a configured file that is missing or a folder is a fault', (t) => {
  const cwd = temporaryFolder(t, { 'folder/x': '' });
  t.regex(faultsOf({}, cwd, 'missing.toml')['(file)'] ?? '', /missing\.toml does not exist$/);
  t.regex(faultsOf({ PAY_CONFIG: 'folder' }, cwd)['(file)'] ?? '', /folder is not a file$/);
  t.truthy(faultsOf({ PAY_CONFIG: 'a\0b' }, cwd)['(file)']);
});

test('unknown keys are faults, including names of object members', (t) => {
  for (const name of ['Servr', '__proto__', 'constructor', 'toString', '"a\\u001b[31m"']) {
    const cwd = temporaryFolder(t, { 'a.toml': `${name} = 1\n[Server]\n${name} = 2\n[nothing.${name}]\nx = 1` });
    const found = Object.keys(faultsOf({}, cwd, 'a.toml'));
    t.is(found.length, 3, name);
    t.false(found.join().includes('\u001b'));
  }
});

test('a section in place of a value and a value in place of a section are faults', (t) => {
  const cwd = temporaryFolder(t, { 'a.toml': 'Server = 1\n[Debug]\nx = 1\n[Log.Level]\ny = 1' });
  t.deepEqual(Object.keys(faultsOf({}, cwd, 'a.toml')).toSorted(), ['Debug', 'Log.Level', 'Server']);
});

test('unknown PAY_ variables are faults, except those of the tests and of payctl', (t) => {
  t.deepEqual(Object.keys(faultsOf({ PAY_JWT_SECRETKEY: 'x', PAY_: 'x', PAY_DEBUG_FILE_FILE: 'x' })), [
    'PAY_JWT_SECRETKEY',
    'PAY_',
    'PAY_DEBUG_FILE_FILE',
  ]);
  t.deepEqual(faultsOf({ PAY_TEST_LONG: '1', PAYCTL_TOKEN: 'x', PAYMENT: 'x', pay_debug: 'x' }), {});
});

test('variables that Kubernetes sets for a service named pay are accepted, but a wrongly set port is a fault', (t) => {
  const links = {
    PAY_SERVICE_HOST: '10.0.0.1',
    PAY_SERVICE_PORT: '8080',
    PAY_SERVICE_PORT_HTTP: '8080',
    PAY_PORT: 'tcp://10.0.0.1:8080',
    PAY_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
    PAY_PORT_8080_TCP_ADDR: '10.0.0.1',
    PAY_WEB_SERVICE_HOST: '10.0.0.2',
  };
  t.deepEqual(faultsOf(links), {});
  t.deepEqual(Object.keys(faultsOf({ PAY_PORT: '8080', PAY_SERVICE: 'x' })), ['PAY_PORT', 'PAY_SERVICE']);
});

test('a variable together with its _FILE variant is one fault', (t) => {
  const faults = faultsOf({ PAY_JWT_SECRET_KEY: secret, PAY_JWT_SECRET_KEY_FILE: '/nowhere' });
  t.deepEqual(Object.keys(faults), ['JWT.SecretKey']);
  t.regex(faults['JWT.SecretKey'] ?? '', /both PAY_JWT_SECRET_KEY and PAY_JWT_SECRET_KEY_FILE are set/);
});

test('an unreadable _FILE is reported without its path, which may be the secret itself', (t) => {
  const cwd = temporaryFolder(t, { 'folder/x': '', empty: '\n', binary: new Uint8Array([0xff]) });
  for (const name of ['hunter2', 'folder', 'empty', 'binary', 'a\0hunter2']) {
    const faults = faultsOf({ PAY_JWT_SECRET_KEY_FILE: name }, cwd);
    t.deepEqual(Object.keys(faults), ['JWT.SecretKey'], name);
    t.false(JSON.stringify(faults).includes('hunter2'));
  }
});

test('PostgreSQL needs both secrets', (t) => {
  t.deepEqual(Object.keys(faultsOf(postgres)), ['JWT.SecretKey', 'Security.MasterKey']);
  t.deepEqual(faultsOf({ ...postgres, ...secrets }), {});
});

test('DevMode needs Debug, and a master key must not be listed twice', (t) => {
  t.deepEqual(Object.keys(faultsOf({ PAY_SKILLPAY_DEV_MODE: 'true' })), ['Skillpay.DevMode']);
  t.deepEqual(faultsOf({ PAY_SKILLPAY_DEV_MODE: 'true', PAY_DEBUG: 'true' }), {});
  t.deepEqual(Object.keys(faultsOf({ PAY_SECURITY_MASTER_KEY: `${key},${key}` })), ['Security.MasterKey']);
});

test('Debug is refused on a non-loopback address unless explicitly allowed', (t) => {
  const debug = { PAY_DEBUG: 'true' };
  for (const host of ['0.0.0.0:8080', '[::]:8080', '10.0.0.5:8080', 'pay.example:8080']) {
    const remote = { ...debug, PAY_SERVER_LISTEN: host };
    t.deepEqual(Object.keys(faultsOf(remote)), ['Server.Listen'], host);
    t.deepEqual(Object.keys(faultsOf({ ...debug, PAY_SIMULATOR_LISTEN: host })), ['Simulator.Listen'], host);
    t.deepEqual(faultsOf({ ...remote, PAY_SERVER_ALLOW_REMOTE_DEBUG: 'true' }), {}, host);
    t.deepEqual(faultsOf({ PAY_SERVER_LISTEN: host }), {}, host);
  }
  for (const host of ['127.0.0.1:0', '127.8.8.8:8080', '[::1]:8080', 'localhost:8080'])
    t.deepEqual(faultsOf({ ...debug, PAY_SERVER_LISTEN: host }), {}, host);
  t.deepEqual(Object.keys(faultsOf({ ...production, ...debug, PAY_SERVER_ALLOW_REMOTE_DEBUG: 'true' })), ['Debug']);
});

test('a channel needs slots for at least two accounts', (t) => {
  const faults = faultsOf({ PAY_JOBS_PER_ACCOUNT: '20', PAY_JOBS_PER_CHANNEL: '39' });
  t.deepEqual(Object.keys(faults), ['Jobs.PerChannel']);
  t.regex(JSON.stringify(faults), /at least 40, twice Jobs\.PerAccount/);
  t.deepEqual(faultsOf({ PAY_JOBS_PER_ACCOUNT: '20', PAY_JOBS_PER_CHANNEL: '40' }), {});
});

test('sample secrets are refused if the service is reachable from other machines', (t) => {
  const sample = { ...secrets, PAY_JWT_SECRET_KEY: 'change-me-change-me-change-me-change-me' };
  const typed = { ...secrets, PAY_SECURITY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') };
  const open = { PAY_SERVER_LISTEN: '0.0.0.0:8080' };
  t.deepEqual(Object.keys(faultsOf({ ...sample, ...open })), ['JWT.SecretKey']);
  t.deepEqual(Object.keys(faultsOf({ ...typed, ...open })), ['Security.MasterKey']);
  for (const env of [sample, typed]) t.deepEqual(faultsOf(env), {});
});

const production = {
  ...postgres,
  ...secrets,
  NODE_ENV: 'production',
  PAY_DATABASE_URL: 'postgres://pay@db.shop.example/pay?sslmode=verify-full',
  PAY_SERVER_PUBLIC_URL: 'https://pay.shop.example',
};

/** Staging demands the same as production, regardless of NODE_ENV. */
const places: Record<string, Record<string, string>> = {
  'NODE_ENV=production': production,
  'Server.Environment = production': { ...production, NODE_ENV: '', PAY_SERVER_ENVIRONMENT: 'production' },
  'Server.Environment = staging': { ...production, NODE_ENV: '', PAY_SERVER_ENVIRONMENT: 'staging' },
  'both at once': { ...production, PAY_SERVER_ENVIRONMENT: 'staging' },
};

for (const [place, safe] of Object.entries(places))
  test(`${place} accepts a safe configuration and refuses each unsafe setting`, (t) => {
    t.deepEqual(faultsOf(safe), {});
    const unsafe: [string, Record<string, string>][] = [
      ['Debug', { PAY_DEBUG: 'true' }],
      ['NODE_TLS_REJECT_UNAUTHORIZED', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }],
      ['Skillpay.DevMode', { PAY_SKILLPAY_DEV_MODE: 'true' }],
      ['Server.PublicUrl', { PAY_SERVER_PUBLIC_URL: 'http://pay.shop.example' }],
      ['Database.Url', { PAY_DATABASE_URL: 'pglite:///srv/pay' }],
      ['JWT.SecretKey', { PAY_JWT_SECRET_KEY: 'change-me-change-me-change-me-change-me' }],
      ['JWT.SecretKey', { PAY_JWT_SECRET_KEY: 'abababababababababababababababababab' }],
      ['JWT.SecretKey', { PAY_JWT_SECRET_KEY: 'short' }],
      ['Security.MasterKey', { PAY_SECURITY_MASTER_KEY: Buffer.alloc(32).toString('base64') }],
      [
        'Security.MasterKey',
        { PAY_SECURITY_MASTER_KEY: `${key},${Buffer.from('x1y2z3'.repeat(6).slice(4)).toString('base64')}` },
      ],
      [
        'Security.MasterKey',
        { PAY_SECURITY_MASTER_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64') },
      ],
    ];
    for (const [fault, change] of unsafe) {
      t.deepEqual(Object.keys(faultsOf({ ...safe, ...change })), [fault], JSON.stringify(change));
    }
  });

test('the environment follows its key, else NODE_ENV, and a simulator URL is for staging', (t) => {
  const simulator = { PAY_SIMULATOR_URL: 'http://127.0.0.1:8081' };
  const at = (env: Record<string, string>) => {
    const {
      environment,
      production: demanding,
      simulated,
    } = loadConfig({ env: { ...production, NODE_ENV: '', ...env }, cwd: '/' });
    return [environment, demanding, simulated];
  };
  const staging = { PAY_SERVER_ENVIRONMENT: 'staging' };
  t.deepEqual(at({}), ['development', false, false]);
  t.deepEqual(at(simulator), ['development', false, false]);
  t.deepEqual(at({ NODE_ENV: 'production' }), ['production', true, false]);
  t.deepEqual(at({ NODE_ENV: 'test', PAY_SERVER_ENVIRONMENT: 'production' }), ['production', true, false]);
  t.deepEqual(at(staging), ['staging', true, false]);
  t.deepEqual(at({ ...staging, ...simulator, NODE_ENV: 'production' }), ['staging', true, true]);
  t.deepEqual(Object.keys(faultsOf({ ...production, ...simulator })), ['Simulator.Url']);
  t.deepEqual(Object.keys(faultsOf({ ...production, PAY_SERVER_ENVIRONMENT: 'test' })), ['Server.Environment']);
});

test('a misspelled NODE_ENV for production or staging is refused unless the key decides', (t) => {
  for (const NODE_ENV of ['Production', 'PRODUCTION', 'production ', 'prod', 'Staging', 'live']) {
    t.deepEqual(Object.keys(faultsOf({ ...production, NODE_ENV })), ['NODE_ENV'], NODE_ENV);
    t.deepEqual(faultsOf({ ...production, NODE_ENV, PAY_SERVER_ENVIRONMENT: 'staging' }), {}, NODE_ENV);
  }
  for (const NODE_ENV of ['', 'development', 'test', 'dev']) t.deepEqual(faultsOf({ NODE_ENV }), {}, NODE_ENV);
});

test('production accepts a remote PostgreSQL only with verified TLS, unless explicitly allowed', (t) => {
  const at = (url: string, more = {}) => Object.keys(faultsOf({ ...production, PAY_DATABASE_URL: url, ...more }));
  const plain = [
    'postgres://pay@db.example/pay',
    'postgres://pay@10.0.0.5/pay',
    'postgres://pay@[fd00::1]/pay',
    'postgres://127.0.0.1.db.example/pay',
    'postgres://127.0.0.1/pay?host=db.example',
    'postgres://127.0.0.1/pay?host=/run/postgresql&host=db.example',
    ...['disable', 'prefer', 'require', 'no-verify', 'verify-ca', 'VERIFY-FULL'].map(
      (mode) => `postgres://db.example/pay?sslmode=${mode}`,
    ),
    'postgres://db.example/pay?ssl=true',
    'postgres://db.example/pay?sslmode=verify-full&sslmode=disable',
  ];
  for (const url of plain) {
    t.deepEqual(at(url), ['Database.Url'], url);
    t.deepEqual(at(url, { PAY_DATABASE_ALLOW_PLAINTEXT: 'true' }), [], url);
    t.deepEqual(faultsOf({ ...secrets, PAY_DATABASE_URL: url }), {}, `${url} on a laptop`);
  }
  const safe = [
    'postgres://db.example/pay?sslmode=verify-full',
    'postgres://db.example/pay?sslmode=verify-full&sslrootcert=/etc/pay/ca.pem',
    'postgres://localhost/pay',
    'postgres://127.1.2.3:5433/pay',
    'postgres://[::1]/pay',
    'postgres:///pay?host=/run/postgresql',
    'postgres://%2Frun%2Fpostgresql/pay',
  ];
  for (const url of safe) t.deepEqual(at(url), [], url);
});

test('production accepts the embedded database only if explicitly allowed', (t) => {
  const env = { ...production, PAY_DATABASE_URL: 'pglite:///srv/pay', PAY_DATABASE_ALLOW_EMBEDDED: 'true' };
  t.deepEqual(faultsOf(env), {});
});
