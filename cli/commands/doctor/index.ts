import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { printFindings } from '../../findings.ts';
import { command as commandWith, startService } from '../../hints.ts';
import { isInstalledAt, unitOf } from '../../installation.ts';
import { type Text, joined, say, textIn } from '../../language.ts';
import { type OfflineFlags, offlineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';
import { findToken, loginCommand } from '../../own-login.ts';
import type { Target } from '../../settings.ts';
import { withSpinner } from '../../terminal.ts';
import { type Row, plain } from '../../values.ts';
import { APPROVALS, EXCEPTIONS, ORDERS, REFUNDS } from '../views.ts';
import { checkCertificates, checkChannels, ofEveryProject } from './channels.ts';
import { checkDiagnosis } from './diagnosis.ts';
import {
  type Finding,
  attempt,
  clockFinding,
  NETWORK_REFUSED,
  degraded,
  failed,
  handlerFinding,
  isLoopback,
  ok,
  openTo,
  unreadable,
} from './finding.ts';

/** Hints by error code. After a timeout the service may still run, so the hint must not be `payctl server start`. */
const HINTS: Readonly<Record<string, Text>> = {
  timeout: say`look at the network in between, and at the load and the log of the server`,
};

async function checkSettings({ sessions: { folder } }: Context): Promise<Finding[]> {
  for (const name of ['', 'contexts.json', 'credentials.json']) {
    const path = join(folder, name);
    if ((await openTo(path, 0o077)) !== 0)
      return [failed('files', say`${path} is accessible to other users`, `chmod go= ${path}`)];
  }
  return [ok('files', existsSync(folder) ? say`${folder} is private` : say`none: ${folder} does not exist`)];
}

async function checkService(context: Context): Promise<Finding[]> {
  const { api, target, terminal } = context;
  const place = await target();
  const { server, label } = place;
  const answer = await attempt(() => api.call({ method: 'GET', path: '/health', anonymous: true }));
  if (answer instanceof CliError)
    return [failed('service', answer.message, HINTS[answer.code] ?? startService(place, context))];
  const database = await attempt(() => api.call({ method: 'GET', path: '/health/db', anonymous: true }));
  const isPlain = server.startsWith('http://');
  return [
    ok('service', server),
    isPlain && !isLoopback(server)
      ? failed('encryption', say`${label} is accessed without HTTPS`, `payctl context add ${label} --server https://…`)
      : ok('encryption', isPlain ? say`not needed on this machine` : 'HTTPS'),
    clock(answer, terminal.now()),
    database instanceof CliError
      ? failed(
          'database',
          database.message,
          commandWith('payctl doctor --offline', say`On the machine of the service.`),
        )
      : ok('database', say`up`),
  ];
}

function clock({ headers }: Answer, now: Date): Finding {
  const theirs = new Date(headers['date'] ?? '').getTime();
  if (Number.isNaN(theirs)) return ok('clock', say`the server sent no Date header`);
  const [off] = clockFinding(say`this machine and the server`, (now.getTime() - theirs) / 1000);
  return off ?? ok('clock', say`in sync with the server`);
}

async function checkLogin(context: Context): Promise<Finding[]> {
  const { api, target, terminal, sessions } = context;
  const place = await target();
  const token = await attempt(() => findToken(terminal, sessions, place));
  const me = token instanceof CliError ? token : await attempt(() => api.get('/api/v1/me'));
  if (me instanceof CliError) return loginFinding(context, place, me);
  const info = await attempt(() => api.get('/api/v1/info'));
  const isFull = !(info instanceof CliError) && info['databaseFull'] === true;
  const debug = !(info instanceof CliError) && info['debug'] === true;
  const findings = [ok('login', `${String(me['username'])}, ${String(me['role'])}`)];
  if (debug && (place.label === 'prod' || !isLoopback(place.server)))
    findings.push(
      failed(
        'debug',
        say`Debug is on: test applications with publicly known secrets are active`,
        say`set Debug = false and restart the server: payctl server start`,
      ),
    );
  if (isFull)
    findings.push(
      failed(
        'storage',
        say`the disk of the database is full, so the service can neither store data nor start payments`,
        commandWith('df -h', say`On the machine of the database.`),
      ),
    );
  return findings;
}

/** A refused login, or a cause that a login does not change: a fault of the service, or a network that is not allowed. */
async function loginFinding({ api, installation }: Context, place: Target, error: CliError): Promise<Finding[]> {
  const { status = 0, hint } = error.options;
  const unit = isInstalledAt(place.origin, installation) ? unitOf(installation) : undefined;
  if (error.code === NETWORK_REFUSED) {
    const allow = say`add the address of this machine to Server.AdminNetworks`;
    const more = unit === undefined ? [] : [say`In ${installation.config}. Then: ${`systemctl restart ${unit}`}`];
    return [failed('login', error.message, joined([allow, ...more], '\n'))];
  }
  if (status < 500) return [failed('login', error.message, hint ?? loginCommand(place))];
  const database = await attempt(() => api.call({ method: 'GET', path: '/health/db', anonymous: true }));
  if (database instanceof CliError) return [];
  const log = unit === undefined ? say`look into the log of the service` : `journalctl -u ${unit} -n 50`;
  return [failed('login', say`not checked: ${error.message}`, log)];
}

const OPEN_STATUSES = ['created', 'pending', 'closing'] as const;
/** An order that is still open this long after its expiry is stuck. */
const OVERDUE_MS = 3_600_000;

/** Kinds of exceptions (cases for an operator) that concern no order of this service. */
const WITHOUT_ORDER: ReadonlySet<unknown> = new Set(['unmatched_notice', 'order_unknown_here', 'line_unreadable']);

async function checkExceptions({ api }: Context): Promise<Finding[]> {
  const answer = await attempt(() => api.page(EXCEPTIONS, { state: 'open' }));
  if (answer instanceof CliError) return unreadable('exceptions', answer);
  const [first] = answer.rows;
  if (!first) return [ok('exceptions', say`none open`)];
  // `payctl explain` needs an order number, so it is advised only for a single exception with an order.
  const isExplained = answer.rows.length === 1 && !WITHOUT_ORDER.has(first['kind']);
  const fix = isExplained ? `payctl explain ${plain(first['orderNo'])}` : 'payctl exception list --state open';
  return [degraded('exceptions', say`${countText(answer.rows, answer.nextCursor)} open`, fix)];
}

async function checkRefunds({ api }: Context): Promise<Finding[]> {
  const answer = await attempt(() => api.page(REFUNDS, { status: 'abnormal' }));
  if (answer instanceof CliError) return unreadable('refunds', answer);
  const [first] = answer.rows;
  if (!first) return [ok('refunds', say`none abnormal`)];
  const fix =
    answer.rows.length === 1
      ? `payctl refund retry ${plain(first['refundNo'])}`
      : 'payctl refund list --status abnormal';
  return [degraded('refunds', say`${countText(answer.rows, answer.nextCursor)} abnormal`, fix)];
}

/** A refund that waits for approval longer than this is reported as forgotten. */
const FORGOTTEN_MS = 3 * 86_400_000;

async function checkApprovals({ api, terminal }: Context): Promise<Finding[]> {
  const answer = await attempt(() => api.page(APPROVALS, { state: 'waiting' }));
  if (answer instanceof CliError) return unreadable('approvals', answer);
  if (answer.rows.length === 0) return [ok('approvals', say`none waiting`)];
  const before = terminal.now().getTime() - FORGOTTEN_MS;
  const old = answer.rows.filter((row) => new Date(plain(row['createdAt'])).getTime() < before);
  const waiting = say`${countText(answer.rows, answer.nextCursor)} waiting`;
  const fix = 'payctl approval list --state waiting';
  if (old.length === 0) return [degraded('approvals', waiting, fix)];
  return [failed('approvals', say`${waiting}; ${old.length} of these requests have waited for more than 3 days`, fix)];
}

/**
 * Orders that are still open long after their expiry mean that the workers have stopped. Simulator orders count only in
 * Debug mode or on staging, because the service processes them only there.
 */
async function checkOrders({ api, terminal }: Context): Promise<Finding[]> {
  const before = new Date(terminal.now().getTime() - OVERDUE_MS);
  const stuck = await attempt(async () => {
    const { debug, environment } = await api.get('/api/v1/info');
    const modes = debug === true || environment === 'staging' ? [undefined] : ['sandbox', 'live'];
    const questions = OPEN_STATUSES.flatMap((status) => modes.map((mode) => ({ status, mode })));
    const pages = await Promise.all(
      questions.map((query) => api.page(ORDERS, { ...query, createdTo: before.toISOString(), limit: 200 })),
    );
    return pages.flatMap(({ rows }) => rows).filter((row) => new Date(plain(row['expiresAt'])) < before);
  });
  if (stuck instanceof CliError) return unreadable('orders', stuck);
  const [first] = stuck;
  if (!first) return [ok('orders', say`none overdue`)];
  return [
    failed(
      'orders',
      say`${stuck.length} open for more than an hour after their expiry`,
      commandWith(`payctl explain ${plain(first['orderNo'])}`, say`Then: payctl order sync ${plain(first['orderNo'])}`),
    ),
  ];
}

function countText(rows: readonly Row[], nextCursor: string | null): Text {
  return nextCursor === null ? String(rows.length) : say`${rows.length} or more`;
}

/** The service refunds the paid calls of a skill whose handler URL it cannot call. */
async function checkHandlers({ api }: Context): Promise<Finding[]> {
  const skills = await ofEveryProject(api, async (project) => {
    const rows = [];
    for await (const page of api.pages('/api/v1/products', { project, kind: 'skill', enabled: 'true', limit: 200 }))
      rows.push(...page.rows);
    return rows;
  });
  if (skills instanceof CliError) return unreadable('skills', skills);
  const broken = skills.filter((row) => typeof row['handlerFault'] === 'string');
  if (broken.length === 0) return [ok('skills', say`${skills.length}, every handler can be called`)];
  return broken.map((row) =>
    handlerFinding(plain(row['code']), plain(row['handlerFault']), plain(row['project']) || 'default'),
  );
}

type DoctorFlags = OfflineFlags & { offline?: boolean };

type Check = (context: Context, flags: OfflineFlags) => Promise<Finding[]>;

const ONLINE: readonly Check[] = [
  checkSettings,
  checkService,
  checkLogin,
  checkChannels,
  checkCertificates,
  checkHandlers,
  checkExceptions,
  checkRefunds,
  checkApprovals,
  checkOrders,
  checkDiagnosis,
];

/** Defines `payctl doctor`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Diagnose problems: file permissions, login, clock skew, Debug mode, channels (one test request each), certificates, notifications, webhooks, handlers of skills, exceptions, refunds that wait for approval, stuck refunds and orders, overdue work, and public access to the console and the explorer. With --offline, check the configuration, keys and database of the server on this machine. Each problem comes with a command that fixes it. Exits with 1 if a check fails.',
    )
    .option('--offline', 'check the configuration and the database directly, read-only');
  examples(
    offlineFlags(command),
    'payctl doctor',
    'payctl doctor --json',
    'payctl doctor --offline --config /etc/pay/pay.toml',
  ).action((flags: DoctorFlags) => run(context(), flags));
}

async function run(context: Context, flags: DoctorFlags): Promise<void> {
  const { terminal, print } = context;
  const speech = await print.speech();
  const checks = flags.offline ? await offlineChecks() : ONLINE;
  const findings = await withSpinner(terminal.err, textIn(say`Running checks`, speech), async () =>
    (await Promise.all(checks.map((check) => check(context, flags)))).flat(),
  );
  await printFindings(context, findings, 'finding');
  const failed = findings.filter(({ status }) => status === 'failed');
  const [first] = failed;
  if (first)
    throw new CliError(
      'unhealthy',
      EXIT.failed,
      textIn(say`${failed.length} of ${findings.length} checks failed.`, speech),
      first.fix ? { hint: textIn(first.fix, speech) } : {},
    );
}

async function offlineChecks(): Promise<readonly Check[]> {
  const { checkDatabase, checkServerFiles } = await import('./offline.ts');
  return [checkSettings, checkServerFiles, checkDatabase];
}
