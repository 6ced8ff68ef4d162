import { realpath } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readTextFile } from '../../files.ts';
import { command } from '../../hints.ts';
import { type Text, coded, say } from '../../language.ts';
import { DATABASE_NOT_NAMED, type OfflineFlags, fileFix, withOffline } from '../../offline.ts';
import type { ConfigFault } from '../../../config/faults.ts';
import type { Examination, Offline } from '../../../server/offline/port.ts';
import { diagnosisFindings } from './diagnosis.ts';
import {
  attempt,
  certificate,
  channelName,
  degraded,
  failed,
  handlerFinding,
  inProject,
  isLoopback,
  lacking,
  nothingConfigured,
  noticesArrive,
  ok,
  openTo,
  otherMode,
  type Finding,
} from './finding.ts';

const SECRET = /SecretKey|MasterKey|postgres(?:ql)?:\/\/[^/@\s"']+:[^@\s"']+@/;

/** Finds the path of the private key that the service uses to log in to PostgreSQL. */
const CLIENT_KEY = /[?&]sslkey=([^&\s"']+)/g;

/** Checks that files with secrets are not readable for all users, and are still there after the next boot. */
export async function checkServerFiles({ terminal, readMounts }: Context, flags: OfflineFlags): Promise<Finding[]> {
  const { cwd, env } = terminal;
  const file = resolve(cwd, flags.config ?? env['PAY_CONFIG'] ?? 'config/local.toml');
  const named = Object.entries(env).filter(([name, value]) => /^PAY_.*_FILE$/.test(name) && value);
  const text = await readTextFile(file).catch(() => '');
  const keys = [...`${text}\n${env['PAY_DATABASE_URL'] ?? ''}`.matchAll(CLIENT_KEY)].map(([, path = '']) =>
    resolve(cwd, decodeURIComponent(path)),
  );
  const paths = [...(SECRET.test(text) ? [file] : []), ...named.map(([, value]) => resolve(cwd, value ?? '')), ...keys];
  for (const path of paths)
    if ((await openTo(path, 0o007)) !== 0)
      return [
        failed('secret files', say`${path} contains a secret and is accessible to all users`, `chmod o= ${path}`),
      ];
  const master = resolve(cwd, env['PAY_SECURITY_MASTER_KEY_FILE'] ?? '');
  const mounts = await readMounts();
  const store = env['CREDENTIALS_DIRECTORY'];
  for (const path of paths.filter((one) => !store || !one.startsWith(`${store}/`))) {
    const place = emptiedAtBoot(await realpath(path).catch(() => path), mounts);
    const isMaster = path === master || (path === file && text.includes('MasterKey'));
    if (place !== undefined)
      return [
        degraded(
          'secret files',
          isMaster
            ? say`${path} is in memory (${place}), which is emptied at every boot; without the master key every channel secret is lost`
            : say`${path} is in memory (${place}), which is emptied at every boot`,
          say`move it to a disk, for example to /etc/pay/secrets/${basename(path)}, and set its new path`,
        ),
      ];
  }
  return [
    ok(
      'secret files',
      paths.length === 0 ? say`no secrets in files` : say`${paths.length}, not accessible to other users`,
    ),
  ];
}

/**
 * Directories that systems keep in memory. Stores of credentials use tmpfs too, but mount their own, such as /run/credentials/UNIT of
 * systemd or /run/secrets of Docker and Kubernetes, and fill it again at every start.
 */
const IN_MEMORY = /^(\/run(\/user\/\d+)?|\/dev\/shm|\/tmp)$/;

/** Returns the mount point in memory that a file is on and that nothing fills again after a boot; undefined for every other place. */
export function emptiedAtBoot(path: string, mounts: string): string | undefined {
  const [, place = '', kind = ''] =
    mounts
      .split('\n')
      .map((line) => line.split(' ').map((word) => word.replace(/\\040/g, ' ')))
      .filter(([, at = '-']) => path === at || path.startsWith(at === '/' ? at : `${at}/`))
      .toSorted(([, a = ''], [, b = '']) => a.length - b.length)
      .at(-1) ?? [];
  return /^(tmpfs|ramfs)$/.test(kind) && IN_MEMORY.test(place) ? place : undefined;
}

/** Checks the configuration and the database directly, without requests to the service. */
export async function checkDatabase(context: Context, flags: OfflineFlags): Promise<Finding[]> {
  const result = await attempt(() => withOffline(context, flags, examine, { mustExist: true }));
  if (!(result instanceof CliError)) return result;
  if (result.code === DATABASE_NOT_NAMED) throw result;
  const faults = configFaults(result, context);
  if (faults.length > 0) return faults;
  const fix =
    result.code === 'database_in_use'
      ? command('payctl doctor', say`With --offline, stop the service first.`)
      : result.options.hint;
  return [failed('database', result.message, fix ?? say`check Database.Url`)];
}

async function examine(offline: Offline): Promise<Finding[]> {
  const { schema, administrators, kind, place, name } = await offline.describeDatabase();
  const findings = [ok('configuration', say`valid`), ok('database', `${kind} ${place} ${name}`)];
  if (schema.pending > 0) {
    const state = schema.version === null ? say`the database is empty` : say`${schema.pending} migrations are pending`;
    return [...findings, failed('schema', state, 'payctl server migrate')];
  }
  const facts = await offline.examine();
  return [
    ...findings,
    ok('schema', schema.version ?? ''),
    administrators === 0
      ? failed('administrators', say`none exists`, 'payctl bootstrap admin --username NAME')
      : ok('administrators', String(administrators)),
    ...seals(facts),
    ...surroundings(facts),
    ...facts.channels.flatMap((channel) => channelFinding(channel, facts.simulated)),
    ...facts.otherModes.map(otherMode),
    ...nothingConfigured(facts.channels.filter(({ enabled }) => enabled).length),
    ...noticesArrive(facts.publicUrl, realChannels(facts)),
    ...facts.certs.flatMap(({ project, kind: cert, daysLeft }) => certificate(cert, cert, daysLeft, project)),
    ...facts.uncallable.map(({ code, fault, project }) => handlerFinding(code, fault, project)),
    ...waiting(facts),
    ...diagnosisFindings(facts.diagnosis),
  ];
}

/** One failed check per configuration error. The message has the configuration key, never the value. */
function configFaults({ cause }: CliError, context: Context): Finding[] {
  const { faults = [] } = (cause as { faults?: readonly ConfigFault[] } | undefined) ?? {};
  return faults.map((fault) =>
    failed(
      'configuration',
      fault.key === '(file)' ? fault.message : `${fault.key} ${fault.message}`,
      configFix(fault, context),
    ),
  );
}

function configFix(fault: ConfigFault, context: Context): Text {
  const { key, source } = fault;
  if (key.startsWith('PAY_')) return say`remove ${key} from the environment`;
  const known = fileFix(fault, context);
  if (known !== undefined) return known;
  if (key === '(file)') return say`correct the file`;
  return source ? say`correct ${key} in ${source}` : say`set ${key}`;
}

/** Checks that the configured master keys decrypt the encrypted records of the database. */
export function seals({ encrypted: { total, underOldKeys, broken } }: Pick<Examination, 'encrypted'>): Finding[] {
  const lost = [...new Set(broken.filter(({ why }) => why === 'key_unknown').map(({ keyId }) => keyId))];
  const damaged = broken.filter(({ why }) => why !== 'key_unknown');
  if (total > 0 && broken.length - damaged.length === total) return [wrongKey(total, lost)];
  const findings = [
    ...lost.map((keyId) =>
      failed(
        'master key',
        say`${broken.filter((one) => one.keyId === keyId).length} encrypted records need the key ${keyId ?? ''}`,
        say`add the key ${keyId ?? ''} to Security.MasterKey after the newest key`,
      ),
    ),
    ...damaged.map(({ record }) =>
      failed(
        'sealed records',
        say`${record} is damaged or was tampered with`,
        say`store the record again with payctl channel set or payctl cert upload`,
      ),
    ),
    ...(underOldKeys > 0
      ? [degraded('master key', say`${underOldKeys} records are encrypted with an older key`, 'payctl keys rotate')]
      : []),
  ];
  return findings.length > 0 ? findings : [ok('master key', say`decrypts all ${total} records`)];
}

/** A failed check: the configured master key is not the one of the database. */
export function wrongKey(total: number, keyIds: readonly (string | null)[] = []): Finding {
  const known = keyIds.filter((id) => id !== null).join(', ');
  return failed(
    'master key',
    total === 0
      ? say`the wrong key: the audit log of this database was written under another one`
      : say`the wrong key: it decrypts 0 of ${total} encrypted records of this database`,
    known
      ? say`set Security.MasterKey to the key of this database, which is ${known}`
      : say`set Security.MasterKey to the key of this database`,
  );
}

function surroundings(facts: Examination): Finding[] {
  const { debug, production, publicUrl } = facts;
  const live = facts.channels.some(({ mode, enabled }) => mode === 'live' && enabled);
  if (debug && (live || !isLoopback(publicUrl)))
    return [
      failed(
        'debug',
        say`Debug is on: test applications with publicly known secrets are active`,
        say`set Debug = false`,
      ),
    ];
  const findings = [ok('debug', debug ? say`on, for this machine only` : say`off`)];
  if (live && !production)
    findings.push(
      degraded('production', say`live channels without the production safeguards`, say`set NODE_ENV=production`),
    );
  if (live && publicUrl.startsWith('http:') && !isLoopback(publicUrl))
    findings.push(
      failed('encryption', say`${publicUrl} does not use HTTPS`, say`set Server.PublicUrl to an HTTPS URL`),
    );
  return findings;
}

function channelFinding(channel: Examination['channels'][number], simulated: boolean): Finding[] {
  const { project, payWay, mode, enabled, missing } = channel;
  if (missing.length > 0) return [lacking(project, payWay, missing, enabled)];
  const name = channelName(project, payWay);
  if (enabled && mode === 'simulator' && !simulated)
    return [
      degraded(
        name,
        say`accepts no orders: mode is simulator, which requires Debug, or Simulator.Url in staging`,
        `payctl channel set ${payWay}${inProject(project)}`,
      ),
    ];
  return [ok(name, enabled ? coded('mode', mode) : say`${coded('mode', mode)}, disabled`)];
}

function realChannels({ channels }: Examination): string[] {
  return channels
    .filter(({ mode, enabled }) => mode !== 'simulator' && enabled)
    .map(({ project, payWay }) => channelName(project, payWay));
}

function waiting({ openExceptions, abnormalRefunds, overdueOrders }: Examination): Finding[] {
  return [
    openExceptions > 0
      ? degraded('exceptions', say`${openExceptions} open`, 'payctl exception list --state open')
      : ok('exceptions', say`none open`),
    abnormalRefunds > 0
      ? degraded('refunds', say`${abnormalRefunds} abnormal`, 'payctl refund list --status abnormal')
      : ok('refunds', say`none abnormal`),
    overdueOrders > 0
      ? degraded('orders', say`${overdueOrders} open for more than an hour after their expiry`, 'payctl server start')
      : ok('orders', say`none overdue`),
  ];
}
