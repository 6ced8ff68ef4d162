import { resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readTextFile } from '../../files.ts';
import { withOffline, type OfflineFlags } from '../../offline.ts';
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

/** Checks that files with secrets are not readable for all users. */
export async function checkServerFiles({ terminal }: Context, flags: OfflineFlags): Promise<Finding[]> {
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
      return [failed('secret files', `${path} contains a secret and is accessible to all users`, `chmod o= ${path}`)];
  return [
    ok('secret files', paths.length === 0 ? 'no secrets in files' : `${paths.length}, not accessible to other users`),
  ];
}

/** Checks the configuration and the database directly, without requests to the service. */
export async function checkDatabase(context: Context, flags: OfflineFlags): Promise<Finding[]> {
  const result = await attempt(() => withOffline(context, flags, examine, { mustExist: true }));
  if (!(result instanceof CliError)) return result;
  const faults = configFaults(result);
  if (faults.length > 0) return faults;
  const fix = result.code === 'database_in_use' ? 'payctl doctor, or stop the server first' : result.options.hint;
  return [failed('database', result.message, fix ?? 'check Database.Url')];
}

async function examine(offline: Offline): Promise<Finding[]> {
  const { schema, administrators, kind, place, name } = await offline.describeDatabase();
  const findings = [ok('configuration', 'valid'), ok('database', `${kind} ${place} ${name}`)];
  if (schema.pending > 0) {
    const state = schema.version === null ? 'the database is empty' : `${schema.pending} migrations are pending`;
    return [...findings, failed('schema', state, 'payctl server migrate')];
  }
  const facts = await offline.examine();
  return [
    ...findings,
    ok('schema', schema.version ?? ''),
    administrators === 0
      ? failed('administrators', 'none exists', 'payctl bootstrap admin --username NAME')
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
function configFaults({ cause }: CliError): Finding[] {
  const faults = (cause as { faults?: { key: string; source?: string; message: string }[] } | undefined)?.faults;
  return (faults ?? []).map(({ key, source, message }) =>
    failed('configuration', `${key} ${message}`, source ? `correct ${key} in ${source}` : `set ${key}`),
  );
}

/** Checks that the configured master keys decrypt the encrypted records of the database. */
export function seals({ encrypted: { total, underOldKeys, broken } }: Pick<Examination, 'encrypted'>): Finding[] {
  const lost = [...new Set(broken.filter(({ why }) => why === 'key_unknown').map(({ keyId }) => keyId))];
  const damaged = broken.filter(({ why }) => why !== 'key_unknown');
  const findings = [
    ...lost.map((keyId) =>
      failed(
        'master key',
        `${broken.filter((one) => one.keyId === keyId).length} encrypted records need the key ${keyId ?? ''}`,
        `add the key ${keyId ?? ''} to Security.MasterKey after the newest key`,
      ),
    ),
    ...damaged.map(({ record }) =>
      failed(
        'sealed records',
        `${record} is damaged or was tampered with`,
        'store the record again: payctl channel set, payctl cert upload',
      ),
    ),
    ...(underOldKeys > 0
      ? [degraded('master key', `${underOldKeys} records are encrypted with an older key`, 'payctl keys rotate')]
      : []),
  ];
  return findings.length > 0 ? findings : [ok('master key', `decrypts all ${total} records`)];
}

function surroundings(facts: Examination): Finding[] {
  const { debug, production, publicUrl } = facts;
  const live = facts.channels.some(({ mode, enabled }) => mode === 'live' && enabled);
  if (debug && (live || !isLoopback(publicUrl)))
    return [
      failed('debug', 'Debug is on: test applications with publicly known secrets are active', 'set Debug = false'),
    ];
  const findings = [ok('debug', debug ? 'on, for this machine only' : 'off')];
  if (live && !production)
    findings.push(degraded('production', 'live channels without the production safeguards', 'set NODE_ENV=production'));
  if (live && publicUrl.startsWith('http:') && !isLoopback(publicUrl))
    findings.push(failed('encryption', `${publicUrl} does not use HTTPS`, 'set Server.PublicUrl to an HTTPS URL'));
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
        'accepts no orders: mode is simulator, which requires Debug, or Simulator.Url in staging',
        `payctl channel set ${payWay}${inProject(project)}`,
      ),
    ];
  return [ok(name, enabled ? mode : `${mode}, disabled`)];
}

function realChannels({ channels }: Examination): string[] {
  return channels
    .filter(({ mode, enabled }) => mode !== 'simulator' && enabled)
    .map(({ project, payWay }) => channelName(project, payWay));
}

function waiting({ openExceptions, abnormalRefunds, overdueOrders }: Examination): Finding[] {
  return [
    openExceptions > 0
      ? degraded('exceptions', `${openExceptions} open`, 'payctl exception list --state open')
      : ok('exceptions', 'none open'),
    abnormalRefunds > 0
      ? degraded('refunds', `${abnormalRefunds} abnormal`, 'payctl refund list --status abnormal')
      : ok('refunds', 'none abnormal'),
    overdueOrders > 0
      ? degraded('orders', `${overdueOrders} open for more than an hour after their expiry`, 'payctl server start')
      : ok('orders', 'none overdue'),
  ];
}
