import { join } from 'node:path';
import type { Answer } from '../../api-client.ts';
import type { Context } from '../../context.ts';
import { findToken, loginCommand } from '../../own-login.ts';
import { CliError } from '../../errors.ts';
import { attempt, clockFinding, failed, isLoopback, ok, openTo, type Finding } from './finding.ts';

/** One that is there and slow, or that cannot be reached from here, is not started a second time. */
const HELP: Readonly<Record<string, string>> = {
  timeout: 'look at the network in between, and at the load and the log of the server',
};

/** The files of payctl are accessible to their owner only. */
export async function checkSettings({ sessions: { folder } }: Context): Promise<Finding[]> {
  for (const name of ['', 'contexts.json', 'credentials.json']) {
    const path = join(folder, name);
    if ((await openTo(path, 0o077)) !== 0)
      return [failed('files', `${path} is accessible to other users`, `chmod go= ${path}`)];
  }
  return [ok('files', `${folder} is private`)];
}

/** The service is up, uses HTTPS unless it is local, agrees on the time, and its database is up. */
export async function checkService({ api, target, terminal }: Context): Promise<Finding[]> {
  const { server, label } = await target();
  const answer = await attempt(() => api.call({ method: 'GET', path: '/health', anonymous: true }));
  if (answer instanceof CliError)
    return [failed('service', answer.message, HELP[answer.code] ?? 'payctl server start')];
  const database = await attempt(() => api.call({ method: 'GET', path: '/health/db', anonymous: true }));
  const isPlain = server.startsWith('http://');
  return [
    ok('service', server),
    isPlain && !isLoopback(server)
      ? failed('encryption', `${label} is accessed without HTTPS`, `payctl context add ${label} --server https://…`)
      : ok('encryption', isPlain ? 'not needed on this machine' : 'HTTPS'),
    clock(answer, terminal.now()),
    database instanceof CliError
      ? failed('database', database.message, 'payctl doctor --offline, on the machine of the server')
      : ok('database', 'up'),
  ];
}

function clock({ headers }: Answer, now: Date): Finding {
  const theirs = new Date(headers['date'] ?? '').getTime();
  if (Number.isNaN(theirs)) return ok('clock', 'the server sent no Date header');
  const [off] = clockFinding('this machine and the server', (now.getTime() - theirs) / 1000);
  return off ?? ok('clock', 'in sync with the server');
}

/** The login is valid, and Debug is off unless the server is local. */
export async function checkLogin({ api, target, terminal, sessions }: Context): Promise<Finding[]> {
  const place = await target();
  const token = await attempt(() => findToken(terminal, sessions, place));
  const me = token instanceof CliError ? token : await attempt(() => api.get('/api/v1/me'));
  if (me instanceof CliError) return [failed('login', me.message, me.options.hint ?? loginCommand(place))];
  const info = await attempt(() => api.get('/api/v1/info'));
  const isFull = !(info instanceof CliError) && info['databaseFull'] === true;
  const debug = !(info instanceof CliError) && info['debug'] === true;
  const findings = [ok('login', `${String(me['username'])}, ${String(me['role'])}`)];
  if (debug && (place.label === 'prod' || !isLoopback(place.server)))
    findings.push(
      failed(
        'debug',
        'Debug is on: test applications with publicly known secrets are active',
        'set Debug = false and restart the server: payctl server start',
      ),
    );
  if (isFull)
    findings.push(
      failed(
        'storage',
        'the disk of the database is full: nothing can be written, no payment can begin',
        'df -h, on the machine of the database',
      ),
    );
  return findings;
}
