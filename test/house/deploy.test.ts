import { execFileSync, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'yaml';
import { loadConfig } from '../../config/load.ts';
import { chartDocuments, CHART_VALUES } from './chart.ts';
import { readDockerfile } from './dockerfile.ts';
import { freePort, listenOnFreePort } from '../support/free-port.ts';
import { haproxyByItsSample, isInstalled, startProxy } from './proxies.ts';
import { until } from '../support/service.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root } from './sources.ts';

const folder = join(root, 'config/deploy');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const JWT = 'Zq8-vT2_rW5.yB1mN7hJ4kL0pX3cG6dF';
const MASTER = '2KVPKgMJD4WU4Crn00MxqF0QnsM17uFkpUb7u8i6FKA=';

/** The configuration that a service would load with these variables and secret files; throws its startup errors. */
function configOf(t: ExecutionContext, env: Record<string, string>, databaseUrl: string, config?: string) {
  const secrets = temporaryFolder(t, { 'database-url': databaseUrl, jwt: JWT, master: MASTER });
  const files: Record<string, string> = {
    PAY_DATABASE_URL_FILE: 'database-url',
    PAY_JWT_SECRET_KEY_FILE: 'jwt',
    PAY_SECURITY_MASTER_KEY_FILE: 'master',
  };
  const there = Object.entries(env).map(([name, value]) => [name, files[name] ? join(secrets, files[name]) : value]);
  return loadConfig({ argv: { config }, env: Object.fromEntries(there) as Record<string, string>, cwd: '/' });
}

/** The longest time in seconds that the service takes to stop. */
function secondsToStop({ server }: ReturnType<typeof loadConfig>): number {
  return server.drainSeconds + 2 * server.shutdownSeconds + 10;
}

interface Compose {
  services: Record<string, Record<string, unknown> & { environment: Record<string, string>; secrets: string[] }>;
  networks: Record<string, object>;
  volumes: Record<string, object>;
  secrets: Record<string, { file: string }>;
}

test('compose.yaml starts a service with a valid configuration and without privileges', (t) => {
  const { services, secrets, networks, volumes } = parse(read('compose.yaml'), { merge: true }) as Compose;
  t.deepEqual(Object.keys(services), ['db', 'migrate', 'pay']);
  for (const name of ['migrate', 'pay']) {
    const service = services[name]!;
    t.like(service, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, name);
    const env = { ...service.environment, NODE_ENV: 'production', PAY_SERVER_PUBLIC_URL: 'https://pay.shop.example' };
    const config = configOf(t, env, 'postgres://pay:x1@db/pay');
    t.like(config, { environment: 'production', debug: false });
    t.false(config.database.migrate);
    if (name === 'pay') t.true(Number.parseInt(String(service['stop_grace_period']), 10) >= secondsToStop(config));
  }
  for (const service of Object.values(services))
    for (const secret of service.secrets) t.truthy(secrets[secret]?.file, secret);
  t.deepEqual(services['pay']!['depends_on'], {
    db: { condition: 'service_healthy' },
    migrate: { condition: 'service_completed_successfully' },
  });
  const used = (member: string) => Object.values(services).flatMap((service) => (service[member] ?? []) as string[]);
  t.deepEqual(new Set(used('networks')), new Set(Object.keys(networks)));
  t.deepEqual(
    used('volumes').map((one) => one.split(':')[0]),
    Object.keys(volumes),
  );
  t.truthy(services['db']!['healthcheck']);
  t.deepEqual(networks['inside'], { internal: true });
});

test('the unit starts a service with a valid configuration, and systemd-analyze rates its exposure at most 2', (t) => {
  const unit = read('pay.service');
  const env = Object.fromEntries(
    [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, words = '']) =>
      words.split(' ').map((word) => word.split('=')),
    ),
  ) as Record<string, string>;
  t.like(env, {
    PAY_CONFIG: '/etc/pay/pay.toml',
    PAY_JWT_SECRET_KEY_FILE: '/etc/pay/secrets/jwt',
    PAY_SECURITY_MASTER_KEY_FILE: '/etc/pay/secrets/master',
  });
  const config = configOf(t, env, '', join(folder, 'pay.toml'));
  t.like(config, { environment: 'production' });
  t.true(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) >= secondsToStop(config));
  const { status, stdout, error } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', join(folder, 'pay.service')],
    { encoding: 'utf8' },
  );
  if (error || status === null) return t.log('Not run: systemd-analyze is not installed');
  const exposure = Number(/exposure level for pay\.service: ([\d.]+)/.exec(stdout)?.[1]);
  t.true(exposure <= 2, `${exposure}\n${stdout}`);
  t.log(`systemd-analyze security: ${exposure}`);
});

test('HAProxy and nginx accept their sample configurations', (t) => {
  const at = temporaryFolder(t, { 'pay-proxy.conf': read('pay-proxy.conf') });
  const tried: string[] = [];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      '/CN=pay',
      '-keyout',
      'pay.key',
      '-out',
      'pay.crt',
    ],
    { cwd: at, stdio: 'ignore' },
  );
  writeFileSync(
    join(at, 'pay.pem'),
    readFileSync(join(at, 'pay.crt'), 'utf8') + readFileSync(join(at, 'pay.key'), 'utf8'),
  );
  writeFileSync(join(at, 'haproxy.cfg'), read('haproxy.cfg').replaceAll('/etc/haproxy/', `${at}/`));
  writeFileSync(join(at, 'site.conf'), read('nginx.conf').replaceAll('/etc/nginx/', `${at}/`));
  writeFileSync(
    join(at, 'nginx.conf'),
    `pid ${at}/pid; error_log stderr; events {} http { access_log off; include site.conf; }`,
  );
  for (const [program, args] of [
    ['haproxy', ['-c', '-f', join(at, 'haproxy.cfg')]],
    ['nginx', ['-t', '-p', at, '-e', 'stderr', '-c', join(at, 'nginx.conf')]],
  ] as const) {
    const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    if (error) {
      t.log(`Not run: ${program} is not installed`);
      continue;
    }
    t.is(status, 0, `${program}: ${stderr}`);
    t.notRegex(stderr, /\[(WARNING|warn)\]/);
    tried.push(program);
  }
  if (tried.length === 0) return t.pass('Not run: neither program is installed');
  t.log(`accepted by ${tried.join(' and ')}`);
});

test('HAProxy forwards requests to a service without a database, and returns its 503', async (t) => {
  if (!isInstalled(haproxyByItsSample)) return t.pass('Not run: haproxy is not installed');
  const servers = await Promise.all([0, 1].map(() => unhealthyServer(t)));
  const quick = {
    ...haproxyByItsSample,
    config: (...at: Parameters<typeof haproxyByItsSample.config>) =>
      haproxyByItsSample.config(...at).replace('inter 2s', 'inter 50ms'),
  };
  const port = await freePort();
  startProxy(t, quick, port, servers);
  const answer = await until('every server is unhealthy, and one receives the request', async () => {
    const found = await fetch(`http://127.0.0.1:${port}/api/v2/me`).catch(() => undefined);
    const isOfService = found?.headers.get('content-type') === 'application/problem+json';
    await found?.arrayBuffer();
    return isOfService && found;
  });
  t.is(answer.status, 503);
  t.is(answer.headers.get('retry-after'), '5');
});

/** A service whose database is down: 503 for `/health/db` and a 503 problem for every other request. */
async function unhealthyServer(t: ExecutionContext): Promise<number> {
  const server = createServer((request, response) => {
    const headers =
      request.url === '/health/db' ? {} : { 'content-type': 'application/problem+json', 'retry-after': '5' };
    response.writeHead(503, headers).end('{}');
  });
  t.teardown(() => void server.close());
  return listenOnFreePort(server);
}

interface Pod {
  containers: { args: string[]; env: { name: string; value: string }[]; securityContext: object }[];
  terminationGracePeriodSeconds?: number;
  securityContext: object;
}

test('the pods of the chart start a service with a valid configuration', (t) => {
  const documents = chartDocuments(CHART_VALUES);
  t.deepEqual([...documents.keys()].toSorted(), [
    'Deployment',
    'Job',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
  ]);
  const podOf = (kind: string) => (documents.get(kind)!['spec'] as { template: { spec: Pod } }).template.spec;
  for (const kind of ['Deployment', 'Job']) {
    const pod = podOf(kind);
    t.like(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    const [container] = pod.containers;
    t.like(container!.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const env = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
    const config = configOf(t, { NODE_ENV: 'production', ...env }, 'postgres://pay@db/pay?sslmode=verify-full');
    t.like(config, { environment: 'production' });
    t.deepEqual(config.server.adminNetworks, ['10.0.0.0/8']);
    if (kind === 'Deployment')
      t.true(pod.terminationGracePeriodSeconds! >= secondsToStop(config) && !config.database.migrate);
  }
  t.deepEqual(podOf('Job').containers[0]?.args, ['server', 'migrate']);
  const selector = (documents.get('Service')!['spec'] as { selector: object }).selector;
  t.deepEqual(
    (documents.get('Deployment')!['spec'] as { selector: { matchLabels: object } }).selector.matchLabels,
    selector,
  );
});

test('the chart requires the values without a default, and omits a disabled document', (t) => {
  for (const missing of ['image', 'publicUrl', 'existingSecret'] as const)
    t.throws(() => chartDocuments({ ...CHART_VALUES, [missing]: '' }), { message: new RegExp(missing) });
  t.throws(() => chartDocuments({ ...CHART_VALUES, networkPolicy: {} }), { message: /databaseCidr/ });
  t.false(chartDocuments({ ...CHART_VALUES, networkPolicy: { enabled: false } }).has('NetworkPolicy'));
});

test('the unit and the Dockerfile pass the Node.js flags of bin/payctl.ts', (t) => {
  const [first = ''] = readFileSync(join(root, 'bin/payctl.ts'), 'utf8').split('\n');
  const flags = first.slice('#!/usr/bin/env -S node '.length);
  t.regex(flags, /^--[\w-]+=\d+$/);
  t.true(read('pay.service').includes(`ExecStart=/opt/node/bin/node ${flags} /opt/pay/dist/bin/payctl.js`));
  t.true(read('Dockerfile').includes(`ENTRYPOINT ["/usr/local/bin/node", "${flags}", "/opt/pay/dist/bin/payctl.js"]`));
});

test('the Dockerfile takes its images as arguments, runs as an unprivileged user, and has no tools in its last stage', (t) => {
  const { args, stages } = readDockerfile(read('Dockerfile'));
  t.deepEqual(args, ['NODE_IMAGE', 'BASE_IMAGE']);
  const last = stages.at(-1)!;
  t.is(last.from, '${BASE_IMAGE}');
  const of = (instruction: string) =>
    last.steps.filter((step) => step.instruction === instruction).map(({ text }) => text);
  t.deepEqual(of('RUN'), []);
  t.deepEqual(of('USER'), ['65532:65532']);
  t.deepEqual(of('COPY'), [
    '--from=install /usr/local/bin/node /usr/local/bin/node',
    '--from=install /opt/pay /opt/pay',
  ]);
  t.regex(of('HEALTHCHECK')[0] ?? '', /127\.0\.0\.1:8080\/health'/);
  // The sources of the first stage must exist and be part of the build context.
  const sources = stages[0]!.steps
    .filter(({ instruction }) => instruction === 'COPY')
    .flatMap(({ text }) => text.split(' ').slice(0, -1));
  const kept = read('Dockerfile.dockerignore').split('\n');
  for (const source of sources) {
    t.true(existsSync(join(root, source)), source);
    t.true(kept.includes(`!${source}`), source);
  }
});
