import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Answer } from './api-client.ts';
import { findToken, loginCommand, type Context } from './context.ts';
import { CliError, EXIT } from './errors.ts';
import type { Row } from './values.ts';

/** One thing that was looked at: how it is, and the command that repairs it. */
export interface Finding {
  check: string;
  status: 'ok' | 'degraded' | 'failed';
  detail: string;
  fix: string | null;
}

const WARN_DAYS = 30;
const SKEW_WARN_SECONDS = 5;
const SKEW_FAIL_SECONDS = 60;

function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail, fix: null };
}

function bad(check: string, detail: string, fix: string, status: 'degraded' | 'failed' = 'failed'): Finding {
  return { check, status, detail, fix };
}

/** Files of payctl are for their owner only. */
export async function checkSettings({ sessions: { folder } }: Context): Promise<Finding[]> {
  for (const name of ['', 'contexts.json', 'credentials.json']) {
    const path = join(folder, name);
    const mode = await stat(path).then(
      (found) => found.mode & 0o077,
      () => 0,
    );
    if (mode !== 0) return [bad('files', `${path} can be reached by others`, `chmod go= ${path}`)];
  }
  return [ok('files', `${folder} is private`)];
}

/** The service answers, over https unless it is here, with about our time, and its database is up. */
export async function checkService({ api, target, terminal }: Context): Promise<Finding[]> {
  const { server, label } = await target();
  const answer = await tryCall(() => api.call({ method: 'GET', path: '/health', anonymous: true }));
  if (answer instanceof CliError) return [bad('service', answer.message, 'payctl server start')];
  const database = await tryCall(() => api.call({ method: 'GET', path: '/health/db', anonymous: true }));
  const open = server.startsWith('http://') && label === 'prod';
  return [
    ok('service', server),
    open
      ? bad('encryption', 'prod is reached without https', 'payctl context add prod --server https://…')
      : ok('encryption', server.split(':')[0] ?? ''),
    clock(answer, terminal.now()),
    database instanceof CliError
      ? bad('database', database.message, 'look at the log of the server')
      : ok('database', 'answers'),
  ];
}

function clock({ headers }: Answer, now: Date): Finding {
  const theirs = new Date(headers['date'] ?? '').getTime();
  if (Number.isNaN(theirs)) return ok('clock', 'the server does not tell its time');
  const skew = Math.round(Math.abs(now.getTime() - theirs) / 1000);
  if (skew < SKEW_WARN_SECONDS) return ok('clock', 'agrees with the server');
  return bad(
    'clock',
    `${skew} s away from the server`,
    'timedatectl set-ntp true',
    skew >= SKEW_FAIL_SECONDS ? 'failed' : 'degraded',
  );
}

/** The login is good, and Debug is off where real money is. */
export async function checkLogin({ api, target, terminal, sessions }: Context): Promise<Finding[]> {
  const place = await target();
  const token = await tryCall(() => findToken(terminal, sessions, place));
  const me = token instanceof CliError ? token : await tryCall(() => api.get('/api/v1/me'));
  if (me instanceof CliError) return [bad('login', me.message, me.options.hint ?? loginCommand(place))];
  const info = await tryCall(() => api.get('/api/v1/info'));
  const debug = !(info instanceof CliError) && info['debug'] === true;
  const findings = [ok('login', `${String(me['username'])}, ${String(me['role'])}`)];
  if (debug && place.label === 'prod')
    findings.push(
      bad(
        'debug',
        'Debug is on: test applications with known secrets exist',
        'set Debug = false and restart the server',
      ),
    );
  return findings;
}

/** Every channel that is switched on works. */
export async function checkChannels({ api }: Context): Promise<Finding[]> {
  const answer = await tryCall(() => api.page('/api/v1/payment/channels'));
  if (answer instanceof CliError) return [];
  return answer.rows.map((row) => {
    const name = String(row['payWay']);
    const status = String(row['status']);
    if (status === 'down' || status === 'degraded')
      return bad(name, status, `payctl channel test ${name}`, status === 'down' ? 'failed' : 'degraded');
    return ok(name, status);
  });
}

/** No certificate runs out soon. */
export async function checkCertificates({ api }: Context): Promise<Finding[]> {
  const answer = await tryCall(() => api.call({ method: 'POST', path: '/api/v1/certs/list', body: {} }));
  if (answer instanceof CliError) return unreadable('certificates', answer);
  const rows = (answer.body as { data?: Row[] } | undefined)?.data ?? [];
  const ending = rows.filter(
    (row) => row['isDefault'] === true && typeof row['daysLeft'] === 'number' && row['daysLeft'] < WARN_DAYS,
  );
  if (ending.length === 0) return [ok('certificates', `${rows.length}, none ends within ${WARN_DAYS} days`)];
  return ending.map((row) => {
    const days = Number(row['daysLeft']);
    return bad(
      String(row['kind']),
      days < 0 ? 'has expired' : `ends in ${days} days`,
      `payctl cert upload FILE --kind ${String(row['kind'])}`,
      days < 0 ? 'failed' : 'degraded',
    );
  });
}

/** Nothing waits for a person. */
export async function checkExceptions({ api }: Context): Promise<Finding[]> {
  const answer = await tryCall(() => api.page('/api/v1/exceptions', { state: 'open' }));
  if (answer instanceof CliError) return unreadable('exceptions', answer);
  if (answer.rows.length === 0) return [ok('exceptions', 'none is open')];
  const more = answer.nextCursor === null ? '' : ' or more';
  return [
    bad(
      'exceptions',
      `${answer.rows.length}${more} wait for a person`,
      'payctl exception list --state open',
      'degraded',
    ),
  ];
}

/** A missing login or service is a finding of its own already. */
function unreadable(check: string, error: CliError): Finding[] {
  if (error.exitCode === EXIT.notLoggedIn || error.exitCode === EXIT.tryAgain) return [];
  return [bad(check, error.message, error.options.hint ?? 'payctl whoami', 'degraded')];
}

async function tryCall<T>(work: () => Promise<T>): Promise<T | CliError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError && error.exitCode !== EXIT.cancelled) return error;
    throw error;
  }
}
