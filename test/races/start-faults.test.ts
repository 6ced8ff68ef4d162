import test, { type ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { openDatabase } from '../../server/db/orm.ts';
import { runPayctl } from '../cli/payctl.ts';
import { createDatabase, PATIENT } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort, listenOnFreePort } from '../support/free-port.ts';
import { testPostgresUrl } from '../support/postgres.ts';
import { testEnvironment } from '../support/service.ts';

/** PostgreSQL's reply to a login; unless it ends the connection it then waits, as it does for a minute. */
const SAYS = {
  /** Requests a password by SCRAM. */
  scram(socket: Socket) {
    socket.once('data', (first) => {
      const [nonce] = /(?<=r=)[^,\0]+/.exec(first.toString('latin1')) ?? [''];
      const [salt] = [Buffer.alloc(16, 1).toString('base64')];
      socket.write(message('R', int32(11), `r=${nonce}more,s=${salt},i=4096`));
    });
    socket.write(message('R', int32(10), 'SCRAM-SHA-256\0\0'));
  },
  error: (code: string, text: string) => (socket: Socket) =>
    void socket.end(message('E', `SFATAL\0VFATAL\0C${code}\0M${text}\0\0`)),
  nothing() {},
  /** Accepts TLS. */
  tls: (socket: Socket) => void socket.write('S'),
  /** Another kind of server. */
  http: (socket: Socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
} as const;

/** Listens as PostgreSQL would; returns the URL. */
async function fakePostgres(
  t: Pick<ExecutionContext, 'teardown'>,
  says: (socket: Socket) => void,
  login = 'pay',
): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', () => says(socket));
  });
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://${login}@127.0.0.1:${port}/pay`;
}

function message(type: string, ...parts: (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

// Each failed start leaves its signal listeners behind.
process.setMaxListeners(0);

/** A cause that prevents the start, and its report: text, code and the key to change. */
interface StartFault {
  name: string;
  env: (t: ExecutionContext, at: Places) => Promise<Record<string, string | undefined>>;
  code: string;
  exit: number;
  says: RegExp;
  next: RegExp;
}

/** An existing database. */
interface Places {
  url: string;
  /** The URL as another user; with a password unless it is null. */
  as(user: string, password: string | null, database?: string): string;
  /** Creates a role for the test; returns its name. */
  role(t: ExecutionContext, options?: string): Promise<string>;
}

const SECRET = 'secret-word';
const database = (url: string) => ({ PAY_DATABASE_URL: url });

/** Holds a port while the test runs. */
async function taken(t: ExecutionContext): Promise<string> {
  const holder = createServer();
  const port = await listenOnFreePort(holder);
  t.teardown(() => void holder.close());
  return `127.0.0.1:${port}`;
}

const FAULTS: readonly StartFault[] = [
  {
    name: 'a database that requires a password, and none is set',
    env: async (_, { as }) => database(as('postgres', null)),
    code: 'database_refused',
    exit: 7,
    says: /refuses the connection: the server requires a password, and none is set/,
    next: /Add the password to Database\.Url/,
  },
  {
    name: 'a database that requires a SCRAM password, and none is set',
    env: async (t) => database(await fakePostgres(t, SAYS.scram)),
    code: 'database_refused',
    exit: 7,
    says: /the server requires a password, and none is set/,
    next: /Add the password to Database\.Url/,
  },
  {
    name: 'a wrong password',
    env: async (_, { as }) => database(as('postgres', SECRET)),
    code: 'database_refused',
    exit: 7,
    says: /password authentication failed for user "postgres"/,
    next: /Check user and password in Database\.Url/,
  },
  {
    name: 'a role that may not log in',
    env: async (t, { as, role }) => database(as(await role(t, 'nologin'), SECRET)),
    code: 'database_refused',
    exit: 7,
    says: /is not permitted to log in/,
    next: /Database\.Url/,
  },
  {
    name: 'a host that pg_hba.conf rejects',
    env: async (t) => {
      const words = 'no pg_hba.conf entry for host "10.0.0.9", user "pay", database "pay", no encryption';
      return database(await fakePostgres(t, SAYS.error('28000', words)));
    },
    code: 'database_refused',
    exit: 7,
    says: /no pg_hba\.conf entry for host "10\.0\.0\.9"/,
    next: /pg_hba\.conf.*Database\.Url/,
  },
  {
    name: 'too many connections',
    env: async (t, { as, role }) => database(as(await role(t, 'login connection limit 0'), SECRET)),
    code: 'database_refused',
    exit: 7,
    says: /too many connections/,
    next: /Database\.PoolSize/,
  },
  {
    name: 'a server that is just starting',
    env: async (t) => database(await fakePostgres(t, SAYS.error('57P03', 'the database system is starting up'))),
    code: 'database_refused',
    exit: 7,
    says: /the database system is starting up/,
    next: /Try again in a few seconds/,
  },
  {
    name: 'a server without the required TLS',
    env: async (_, { url }) => database(`${url}?sslmode=verify-full`),
    code: 'database_refused',
    exit: 7,
    says: /the server offers no TLS/,
    next: /sslmode in Database\.Url/,
  },
  {
    name: 'a database that does not exist',
    env: async (_, { url }) => database(`${url}_gone`),
    code: 'database_missing',
    exit: 7,
    says: /database ".*_gone" does not exist/,
    next: /Database\.Url.*createdb/,
  },
  {
    name: 'a port without a listener',
    env: async () => database(`postgres://pay:${SECRET}@127.0.0.1:${await freePort()}/pay`),
    code: 'database_unavailable',
    exit: 7,
    says: /cannot be reached at 127\.0\.0\.1:\d+: nothing listens there/,
    next: /host and port in Database\.Url/,
  },
  {
    name: 'a folder without the socket of PostgreSQL',
    env: async (t) => database(`postgres://pay@${encodeURIComponent(temporaryFolder(t))}/pay`),
    code: 'database_unavailable',
    exit: 7,
    says: /cannot be reached at \/\S+: nothing listens there/,
    next: /Database\.Url/,
  },
  {
    name: 'the key of the client certificate is missing',
    env: async (_, { url }) => database(`${url}?sslmode=verify-full&sslkey=/nowhere/client.key`),
    code: 'file_unusable',
    exit: 7,
    says: /ENOENT.*\/nowhere\/client\.key/,
    next: /sslkey .* in Database\.Url/,
  },
  {
    name: 'the key of the client certificate is invalid',
    env: async (t) => {
      const folder = temporaryFolder(t, { 'client.key': 'x' });
      return database(`${await fakePostgres(t, SAYS.tls)}?sslmode=verify-full&sslkey=${folder}/client.key`);
    },
    code: 'file_unusable',
    exit: 7,
    says: /not in PEM format/,
    next: /sslkey .* in Database\.Url/,
  },
  {
    name: 'a host that does not exist',
    env: async () => database(`postgres://pay:${SECRET}@db.invalid/pay`),
    code: 'database_unavailable',
    exit: 7,
    says: /db\.invalid: the host name cannot be resolved/,
    next: /Database\.Url/,
  },
  {
    name: 'a server that does not respond',
    env: async (t) => database(await fakePostgres(t, SAYS.nothing, `pay:${SECRET}`)),
    code: 'database_unavailable',
    exit: 7,
    says: /the server did not respond in time/,
    next: /Database\.Url/,
  },
  {
    name: 'another kind of server',
    env: async (t) => database(await fakePostgres(t, SAYS.http, `pay:${SECRET}`)),
    code: 'database_unavailable',
    exit: 7,
    says: /does not respond like PostgreSQL/,
    next: /Database\.Url/,
  },
  {
    name: 'a role that may not create tables in an empty database',
    env: async (t, { as, role }) => {
      const name = `empty_${randomBytes(6).toString('hex')}`;
      await asAdmin(`create database ${name}`);
      t.teardown(() => asAdmin(`drop database ${name} with (force)`));
      return database(as(await role(t, 'login'), SECRET, name));
    },
    code: 'database_denied',
    exit: 7,
    says: /schema cannot be migrated: permission denied/,
    next: /payctl server migrate.*Database\.Migrate = false/,
  },
  {
    name: 'a database without tables, while migrations are off',
    env: async (t) => {
      const name = `empty_${randomBytes(6).toString('hex')}`;
      await asAdmin(`create database ${name}`);
      t.teardown(() => asAdmin(`drop database ${name} with (force)`));
      const url = new URL(await testPostgresUrl());
      url.pathname = name;
      return { ...database(url.href), PAY_DATABASE_MIGRATE: 'false' };
    },
    code: 'schema_outdated',
    exit: 1,
    says: /migrations/,
    next: /payctl server migrate/,
  },
  {
    name: 'a database of an unreleased build',
    env: async (t) => {
      const { url, drop } = await createDatabase({ direct: true });
      t.teardown(drop);
      await asAdmin(
        `drop table schema_origin; insert into schema_migrations (name) values ('0002-refund-attempts')`,
        url,
      );
      return database(url);
    },
    code: 'schema_unreleased',
    exit: 1,
    says: /This database was created by an unreleased build; no release can migrate it/,
    next: /Delete the folder.*dump the rows/,
  },
  {
    name: 'an embedded folder that is a file',
    env: async (t) => database(`pglite://${temporaryFolder(t, { database: 'x' })}/database`),
    code: 'folder_unusable',
    exit: 7,
    says: /cannot be created: a file is in its place/,
    next: /Database\.Url/,
  },
  {
    name: 'an embedded folder below a file',
    env: async (t) => database(`pglite://${temporaryFolder(t, { file: 'x' })}/file/database`),
    code: 'folder_unusable',
    exit: 7,
    says: /cannot be created: a file is in its place/,
    next: /Database\.Url/,
  },
  {
    name: "a simulator's folder that is a file",
    env: async (t) => ({ PAY_DEBUG: 'true', PAY_SIMULATOR_DIR: `${temporaryFolder(t, { dir: 'x' })}/dir` }),
    code: 'folder_unusable',
    exit: 7,
    says: /cannot be created: a file is in its place/,
    next: /Simulator\.Dir/,
  },
  {
    name: 'an API port that is in use',
    env: async (t) => ({ PAY_SERVER_LISTEN: await taken(t) }),
    code: 'address_in_use',
    exit: 6,
    says: /Server\.Listen: 127\.0\.0\.1:\d+ is already in use/,
    next: /change Server\.Listen/,
  },
  {
    name: 'a metrics port that is in use',
    env: async (t) => ({ PAY_METRICS_LISTEN: await taken(t) }),
    code: 'address_in_use',
    exit: 6,
    says: /Metrics\.Listen: 127\.0\.0\.1:\d+ is already in use/,
    next: /change Metrics\.Listen/,
  },
  {
    name: 'a simulator port that is in use',
    env: async (t) => ({ PAY_DEBUG: 'true', PAY_SIMULATOR_LISTEN: await taken(t) }),
    code: 'address_in_use',
    exit: 6,
    says: /Simulator\.Listen: 127\.0\.0\.1:\d+ is already in use/,
    next: /change Simulator\.Listen/,
  },
  {
    name: 'an address that this machine does not have',
    env: async () => ({ PAY_METRICS_LISTEN: '203.0.113.9:9464' }),
    code: 'address_unusable',
    exit: 7,
    says: /Metrics\.Listen: 203\.0\.113\.9:9464 is not an address of this machine/,
    next: /change Metrics\.Listen/,
  },
  {
    name: 'a host to listen on that cannot be resolved',
    env: async () => ({ PAY_METRICS_LISTEN: 'metrics.invalid:9464' }),
    code: 'address_unusable',
    exit: 7,
    says: /the host of metrics\.invalid:9464 cannot be resolved/,
    next: /change Metrics\.Listen/,
  },
  {
    name: 'a secret file that is missing',
    env: async () => ({ PAY_JWT_SECRET_KEY: undefined, PAY_JWT_SECRET_KEY_FILE: '/nowhere/jwt' }),
    code: 'config_invalid',
    exit: 2,
    says: /JWT\.SecretKey: names a file that does not exist \(set in PAY_JWT_SECRET_KEY_FILE\)/,
    next: /^$/,
  },
  {
    name: 'a secret file that is unreadable',
    env: async (t) => ({ PAY_JWT_SECRET_KEY: undefined, PAY_JWT_SECRET_KEY_FILE: temporaryFolder(t) }),
    code: 'config_invalid',
    exit: 2,
    says: /JWT\.SecretKey: names \S+, which is not a file \(set in PAY_JWT_SECRET_KEY_FILE\)/,
    next: /^$/,
  },
  {
    name: 'a database URL with an unencoded password',
    env: async () => database(`postgres://pay:a@${SECRET}/b@127.0.0.1:1/pay`),
    code: 'config_invalid',
    exit: 2,
    says: /Database\.Url: must be .*; characters such as @, \/ and # in user and password must be percent-encoded/,
    next: /^$/,
  },
  {
    name: 'a master key that decrypts no stored secret',
    env: async (t) => {
      const { url, drop } = await createDatabase({ direct: true });
      t.teardown(drop);
      const sealed = `s1.0badc0de.${'A'.repeat(80)}.${'A'.repeat(40)}`;
      await asAdmin(`insert into audit_keys values (now(), 'k', '${sealed}')`, url);
      return database(url);
    },
    code: 'master_key_wrong',
    exit: 2,
    says: /Security\.MasterKey \(4bb06f8e\) decrypts none of the stored secrets, which need the key 0badc0de\.$/,
    next: /^payctl keys id FILE\nThe command prints the id of a kept key\..*Security\.LostKeys to 0badc0de/,
  },
  {
    name: 'an invalid master key',
    env: async () => ({ PAY_SECURITY_MASTER_KEY: SECRET }),
    code: 'config_invalid',
    exit: 2,
    says: /Security\.MasterKey: must be a list of base64-encoded 32-byte keys .*PAY_SECURITY_MASTER_KEY\)/,
    next: /^$/,
  },
  {
    name: 'a missing configuration file',
    env: async () => ({ PAY_CONFIG: '/nowhere/pay.toml' }),
    code: 'config_invalid',
    exit: 2,
    says: /\/nowhere\/pay\.toml does not exist/,
    next: /^correct --config or PAY_CONFIG$/,
  },
  {
    name: 'a value that is not valid',
    env: async () => ({ PAY_TELEMETRY_OTLP: 'collector:4318' }),
    code: 'config_invalid',
    exit: 2,
    says: /Telemetry\.Otlp: must be an http:\/\/ or https:\/\/ URL .*\(set in PAY_TELEMETRY_OTLP\)/,
    next: /^$/,
  },
];

async function asAdmin(sql: string, at?: string): Promise<void> {
  const url = at ?? (await testPostgresUrl());
  const admin = await openDatabase({ kind: 'postgres', url, poolSize: 1, timeouts: PATIENT });
  await admin.em.execute(sql);
  await admin.close();
}

async function places(): Promise<Places & { drop: () => Promise<void> }> {
  const { url, drop } = await createDatabase({ direct: true });
  const as: Places['as'] = (user, password, name) => {
    const own = new URL(url);
    Object.assign(own, { username: user, password: password ?? '', ...(name && { pathname: `/${name}` }) });
    return own.href;
  };
  async function role(of: ExecutionContext, options = 'login'): Promise<string> {
    const name = `role_${randomBytes(6).toString('hex')}`;
    await asAdmin(`create role ${name} ${options} password '${SECRET}'`);
    of.teardown(() => asAdmin(`drop role ${name}`));
    return name;
  }
  return { url, as, role, drop };
}

const at = await places();
test.after.always('the database is dropped', at.drop);

for (const { name, env, code, exit, says, next } of FAULTS)
  test.serial(`a failed start reports the cause and the key to change: ${name}`, async (t) => {
    const free = async () => `127.0.0.1:${await freePort()}`;
    const base = {
      ...testEnvironment(at.url),
      PAY_DEBUG: 'false',
      PAY_SERVER_LISTEN: await free(),
      PAY_METRICS_LISTEN: await free(),
      PAY_SIMULATOR_LISTEN: await free(),
      PAY_LOG_LEVEL: 'silent',
    };
    const cwd = temporaryFolder(t);
    const run = await runPayctl(['server', 'start', '--json'], { cwd, env: { ...base, ...(await env(t, at)) } });
    const { error } = JSON.parse(run.stderr) as { error: { code: string; message: string; hint: string | null } };
    t.is(error.code, code, run.stderr);
    t.regex(error.message, says);
    t.regex(error.hint ?? '', next);
    t.is(run.code, exit);
    t.false(run.stderr.includes(SECRET), 'no password is shown');
  });
