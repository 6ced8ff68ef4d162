// Runs every command of the guide "Install". Its rules say what a test replaces: places, ports, and programs that need systemd as
// process 1, the Internet or a phone.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startSimulator } from '../../server/simulator/simulator.ts';
import { guideText } from '../house/guide-text.ts';
import { clone } from '../support/built.ts';
import { freePort, listenOnFreePort } from '../support/free-port.ts';
import { until } from '../support/service.ts';

const NAME = 'pay.shop.example';
const GATEWAY = 'openapi.alipay.com';

/** The user that stands for root's other users: `nobody` if the test runs as root, otherwise the user of the test. */
const isRoot = process.getuid?.() === 0;
const idOf = (flag: string) => execFileSync('id', [flag, ...(isRoot ? ['nobody'] : [])], { encoding: 'utf8' }).trim();
const [user, group] = [idOf('-un'), idOf('-gn')];

interface Stage {
  folder: string;
  servicePort: number;
  httpPort: number;
  httpsPort: number;
  proxy: string;
}

/** The changes that the test makes to a command, a file of the guide or a sample of the package. */
function inStage(text: string, { folder, servicePort, httpPort, httpsPort, proxy }: Stage): string {
  return (
    text
      // Places.
      .replaceAll(/(?<![\w/])\/(etc|opt|root|run|usr\/local|var)\//g, `${folder}/$1/`)
      .replaceAll('%2Frun%2F', encodeURIComponent(`${folder}/run/`))
      // Ports and addresses.
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${servicePort}`)
      .replace('listen 443 ssl', `listen 127.0.0.1:${httpsPort} ssl`)
      .replace('  listen [::]:443 ssl;\n', '')
      .replace('listen 80;', `listen 127.0.0.1:${httpPort};`)
      .replace('  listen [::]:80;\n', '')
      .replace('http://proxy.shop.example:3128', proxy)
      // Users: PostgreSQL maps the one user of the test to the roles `pay` and `postgres`.
      .replaceAll(/-g (pay|postgres)\b/g, `-g ${group}`)
      .replaceAll('-o postgres', `-o ${user}`)
      .replaceAll('-o root', isRoot ? '$&' : `-o ${user}`)
      // The test has no authenticator app, and answers no question.
      .replace('second-factor enable', '$& --secret-file totp')
      .replace('channel set alipay', '$& --confirm alipay')
  );
}

/** Programs that stand before those of the system. `$STAGE` is the folder of the test. */
const PROGRAMS: Readonly<Record<string, string>> = {
  // Debian's packages are those of this machine.
  'apt-get': ':',
  useradd: ':',
  // The sources already have their packages.
  npm: `[ "$PWD $*" = "$STAGE/clone ci --loglevel=error" ] || exec "$REAL_NPM" "$@"`,
  runuser: `role=$2; shift 3
export PGHOST=$STAGE/run/postgresql PGUSER=$role
${isRoot ? `exec setpriv --reuid=${user} --regid=${group} --clear-groups -- "$@"` : 'exec "$@"'}`,
  // Another machine is a folder here.
  ssh: `mkdir -p "$STAGE/elsewhere" && cd "$STAGE/elsewhere" && "\${@:2}"`,
  scp: `cp "\${@/#backup.shop.example:/$STAGE/elsewhere/}"`,
  certbot: `cp -r "$STAGE/certificate" "$STAGE/etc/letsencrypt/live/${NAME}"`,
  curl: `exec /usr/bin/curl --cacert "$STAGE/certificate/fullchain.pem" --connect-to "${NAME}:443:127.0.0.1:$HTTPS_PORT" \\
  --connect-to "${NAME}:80:127.0.0.1:$HTTP_PORT" "$@"`,
  nginx: `exec /usr/sbin/nginx -e "$STAGE/var/log/nginx.log" -c "$STAGE/etc/nginx/nginx.conf" "$@"`,
  systemctl: `units=$STAGE/etc/systemd/system
environment() { cat "$units"/pay.service "$units"/pay.service.d/*.conf | sed -n 's/^Environment=//p' | tr '\\n' ' '; }
case "$*" in
  'show pay --property=Environment --value') environment ;;
  daemon-reload) ! command -v systemd-analyze > /dev/null || SYSTEMD_UNIT_PATH=$units: systemd-analyze verify --man=no pay.service ;;
  'enable --now pay' | 'start pay')
    command=$(sed -n 's/^ExecStart=//p' "$units/pay.service")
    (cd / && exec runuser -u pay -- env --ignore-environment PATH=/usr/bin PAY_METRICS_LISTEN=127.0.0.1:0 \\
      PAY_SERVER_DRAIN_SECONDS=0 $(environment) $command) > "$STAGE/service.log" 2>&1 < /dev/null &
    echo $! > "$STAGE/service.pid" ;;
  'stop pay') service=$(cat "$STAGE/service.pid"); kill "$service"; while kill -0 "$service" 2> /dev/null; do sleep 0.1; done ;;
  'restart pay') "$0" stop pay && "$0" start pay ;;
  'reload nginx') "$STAGE/bin/nginx" -g 'daemon off;' > /dev/null 2>&1 < /dev/null & echo $! > "$STAGE/nginx.pid" ;;
  *) echo "the test does not know systemctl $*" >&2; exit 1 ;;
esac`,
};

/** Makes the state of a machine after the section "User and database" of the guide. */
const NEW_MACHINE = `systemctl stop pay
runuser -u postgres -- dropdb pay
runuser -u postgres -- createdb --owner=pay --template=template0 --encoding=UTF8 --locale=C.UTF-8 pay
rm -f /etc/pay/secrets/jwt /etc/pay/secrets/master
mv /var/backups/pay/*.dump pay.dump`;

test('every command of the guide "Install" works, up to a doctor without a finding and a restored backup', async (t) => {
  const postgres = dirname(globSync('/usr/lib/postgresql/*/bin/initdb').at(-1) ?? '');
  const missing = [`${postgres}/initdb`, '/usr/sbin/nginx'].filter((program) => !existsSync(program));
  if (missing.length > 0) return t.pass("Not run: it needs Debian's packages postgresql and nginx");
  t.timeout(3_600_000);
  // On a disk: the doctor of the guide warns of secrets in memory.
  const folder = mkdtempSync('/var/tmp/pay-test-');
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  makeCertificate(folder);
  const { proxy, files } = await outside(t, folder);
  const [servicePort, httpPort, httpsPort] = [await freePort(), await freePort(), await freePort()];
  const stage = { folder, servicePort, httpPort, httpsPort, proxy };
  setTheStage(stage, files);
  startDebianPostgres(t, postgres, folder);
  t.teardown(async () => {
    for (const name of ['service', 'nginx']) await end(join(folder, `${name}.pid`));
  });
  const clean = process.env['PATH']!.split(':').filter((part) => !part.includes('node_modules'));
  const env = {
    HOME: process.env['HOME'],
    STAGE: folder,
    HTTP_PORT: String(httpPort),
    HTTPS_PORT: String(httpsPort),
    REAL_NPM: execFileSync('which', ['npm'], { encoding: 'utf8', env: { PATH: clean.join(':') } }).trim(),
    PATH: [join(folder, 'bin'), join(folder, 'usr/local/bin'), join(folder, 'usr/local/sbin'), ...clean].join(':'),
    PAYCTL_CONFIG_DIR: join(folder, 'payctl'),
    npm_config_prefer_offline: 'true',
    npm_config_loglevel: 'error',
    NO_COLOR: '1',
  };
  const blocks = guideText('install', 'en').blocks.map(({ language, text }) => commandOf(language, text, stage));
  // The samples of the package follow the same rules.
  const packaged = blocks.findIndex((text) => text.includes('tar -xzf'));
  blocks[packaged] += `\ncp "$STAGE"/samples/* $RELEASE/config/deploy/`;
  // The machine of the test becomes a new one: without its secrets and its data, but with the file of a backup.
  const renewed = blocks.findIndex((text) => text.includes('/root/master'));
  blocks[renewed] = `${inStage(NEW_MACHINE, stage)}\n${blocks[renewed]}`;
  const script = blocks.map((text, at) => `echo; echo '--- block ${at}'\n${text}\n`).join('');
  const child = spawn('bash', ['-euo', 'pipefail', '-c', `umask 022\n${script}`], {
    cwd: join(folder, 'clone'),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text));
  const [code] = (await once(child, 'close')) as [number | null];
  const log = existsSync(join(folder, 'service.log')) ? readFileSync(join(folder, 'service.log'), 'utf8') : '';
  t.is(code, 0, `${printed}\n${log.slice(-4000)}`);
  const blockWith = (word: string): string =>
    printed.split(/^--- block \d+\n/m)[blocks.findIndex((text) => text.includes(word)) + 1] ?? '';
  t.regex(blockWith('node --version'), /^v24\./m);
  const service = readFileSync(join(folder, 'service.pid'), 'utf8').trim();
  const asUser = async () => statSync(`/proc/${service}`).uid === Number(idOf('-u'));
  await until('the service runs as the unprivileged user', asUser);
  const doctor = blockWith('payctl doctor\n');
  t.regex(doctor, /^alipay\tok\tlive, test request succeeded\t$/m);
  t.regex(doctor, /^master key\tok\tdecrypts all [1-9]/m);
  t.deepEqual([...new Set([...doctor.matchAll(/^[a-z ]+\t(\w+)\t/gm)].map(([, status]) => status))], ['ok']);
  t.regex(blockWith('restore-check'), /^ledger\tok\t/m);
  t.regex(blockWith('/pay.dump'), /^master key\tok\tdecrypts all [1-9]/m, 'the kept secrets belong to the backup');
  t.false(existsSync(join(folder, 'etc/nginx/sites-enabled/default')));
  t.regex(blockWith('pay_lost'), /^master key\tok\tdecrypts all [1-9]/m);
  t.is([...printed.matchAll(/"status": ?"ok"/g)].length, 4, 'the first start, HTTPS, the new machine and the upgrade');
  const secrets = join(folder, 'etc/pay/secrets');
  for (const name of ['jwt', 'master']) {
    t.is(statSync(join(secrets, name)).mode & 0o777, 0o640, name);
    t.deepEqual(readFileSync(join(folder, 'elsewhere/pay-secrets', name)), readFileSync(join(secrets, name)), name);
  }
  const again = spawnSync('bash', ['-euc', blocks.find((text) => text.includes('openssl rand -base64 32')) ?? ''], {
    env,
  });
  t.not(again.status, 0, 'secrets are never overwritten');
  t.deepEqual(readFileSync(join(folder, 'elsewhere/pay-secrets/jwt')), readFileSync(join(secrets, 'jwt')));
});

/** A block as commands; a file that the guide shows is written to the place in its first line. */
function commandOf(language: string, text: string, stage: Stage): string {
  if (language === 'sh') return inStage(text, stage);
  const [, place = ''] = /^# (\S+)\n/.exec(text) ?? [];
  return inStage(`mkdir -p ${dirname(place)}\ncat > ${place} <<'END'\n${text}\nEND`, stage);
}

function setTheStage(stage: Stage, files: Readonly<Record<string, string>>): void {
  const { folder } = stage;
  for (const name of ['bin', 'usr/local/bin', 'usr/local/sbin', 'etc/cron.daily', 'etc/systemd/system', 'opt', 'root'])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of [
    'etc/pay/secrets',
    'etc/nginx/sites-available',
    'etc/nginx/sites-enabled',
    'etc/letsencrypt/live',
    'var/log',
    'samples',
  ])
    mkdirSync(join(folder, name), { recursive: true });
  for (const [name, text] of Object.entries(PROGRAMS))
    writeFileSync(join(folder, 'bin', name), `#!/bin/bash -e\n${text}\n`, { mode: 0o755 });
  const source = clone(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  cpSync(join(folder, 'certificate/fullchain.pem'), join(source, 'ca.pem'));
  writeFileSync(
    join(folder, 'etc/nginx/sites-enabled/default'),
    `server { listen 127.0.0.1:${stage.httpPort} default_server; return 200 "Welcome to nginx"; }\n`,
  );
  for (const name of ['pay.toml', 'pay.service'])
    writeFileSync(
      join(folder, 'samples', name),
      inStage(readFileSync(join(source, 'config/deploy', name), 'utf8'), stage),
    );
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/var/${name};`,
  );
  writeFileSync(
    join(folder, 'etc/nginx/nginx.conf'),
    `${isRoot ? `user ${user} ${group};` : ''} pid ${folder}/nginx.process; events {}
http { access_log off; ${temporary.join(' ')} include ${folder}/etc/nginx/sites-enabled/*; }\n`,
  );
  const url = join(folder, 'etc/pay/secrets/database-url');
  writeFileSync(url, inStage('postgres://pay@%2Frun%2Fpostgresql/pay', stage), { mode: 0o640 });
  if (isRoot) chownSync(url, 0, Number(idOf('-g')));
}

/** A certificate for the service's own name and for Alipay's, which is its own authority. */
function makeCertificate(folder: string): void {
  const at = join(folder, 'certificate');
  mkdirSync(at);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'privkey.pem'];
  const names = `subjectAltName=DNS:${NAME},DNS:${GATEWAY}`;
  const args = ['req', '-x509', ...key, '-subj', `/CN=${NAME}`, '-addext', names, '-out', 'fullchain.pem'];
  execFileSync('openssl', args, { cwd: at, stdio: 'ignore' });
}

/** The world outside: a proxy, and behind it Alipay, which is the simulator; and the files that Alipay's guide tells a merchant to have. */
async function outside(t: ExecutionContext, folder: string): Promise<{ proxy: string; files: Record<string, string> }> {
  const simulator = await startSimulator({ dir: join(folder, 'simulator'), listen: { host: '127.0.0.1', port: 0 } });
  t.teardown(() => simulator.close());
  const pem = (name: string) => readFileSync(join(folder, 'certificate', name));
  const alipay = createHttpsServer({ cert: pem('fullchain.pem'), key: pem('privkey.pem') }, (asked, answer) => {
    const { method, url, headers } = asked;
    const passed = request(`${simulator.url}${url}`, { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    asked.pipe(passed);
  });
  const alipayPort = await listenOnFreePort(alipay);
  const proxy = createHttpServer().on('connect', ({ url }, client) => {
    if (url !== `${GATEWAY}:443`) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const upstream = connect(alipayPort, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
  });
  const proxyPort = await listenOnFreePort(proxy);
  t.teardown(() => {
    for (const server of [alipay, proxy]) server.close().closeAllConnections();
  });
  const answer = await fetch(`${simulator.url}/sim/config?account=default`);
  const { alipay: own } = (await answer.json()) as { alipay: { fields: object; pems: Record<string, [string]> } };
  const fields = Object.entries({ ...own.fields, mode: 'live' });
  return {
    proxy: `http://127.0.0.1:${proxyPort}`,
    files: {
      'alipay.toml': fields.map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`).join(''),
      'app-private-key.pem': own.pems['alipay_app_key']![0],
      'alipay-public-key.pem': own.pems['alipay_public_key']![0],
    },
  };
}

/** Starts Debian's PostgreSQL; its Unix socket knows the user of the test as the roles `pay` and `postgres`. */
function startDebianPostgres(t: ExecutionContext, programs: string, folder: string): void {
  const [at, sockets] = [join(folder, 'var/postgresql'), join(folder, 'run/postgresql')];
  for (const each of [at, sockets]) {
    mkdirSync(each, { recursive: true });
    if (isRoot) chownSync(each, Number(idOf('-u')), Number(idOf('-g')));
  }
  const run = (program: string, ...args: string[]) => {
    const identity = isRoot ? { uid: Number(idOf('-u')), gid: Number(idOf('-g')) } : {};
    const { status, stdout, stderr } = spawnSync(join(programs, program), args, {
      ...identity,
      cwd: at,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (status !== 0) throw new Error(`${program}: ${stdout}${stderr}`);
  };
  run('initdb', '--pgdata', join(at, 'data'), '--username=postgres', '--auth-local=peer', '--no-sync');
  writeFileSync(join(at, 'data/pg_hba.conf'), 'local all all peer map=stage\n');
  writeFileSync(join(at, 'data/pg_ident.conf'), `stage ${user} postgres\nstage ${user} pay\n`);
  const settings = `-c listen_addresses= -c unix_socket_directories=${sockets} -c fsync=off`;
  run('pg_ctl', 'start', '--wait', '-D', join(at, 'data'), '-l', join(at, 'log'), '-o', settings);
  t.teardown(() => run('pg_ctl', 'stop', '-m', 'immediate', '-D', join(at, 'data')));
}

/** Ends a process that a command of the guide started, and waits for its end. */
async function end(file: string): Promise<void> {
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8'));
  const tell = (signal: NodeJS.Signals | 0) => {
    try {
      return process.kill(pid, signal);
    } catch {
      return false;
    }
  };
  tell('SIGTERM');
  await until(`process ${pid} has ended`, async () => !tell(0));
}
