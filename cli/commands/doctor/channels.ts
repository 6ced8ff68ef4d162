import type { Context } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { command } from '../../hints.ts';
import { coded, joined, say } from '../../language.ts';
import { plain, type Row } from '../../values.ts';
import {
  CHANNEL_CONFIGS,
  attempt,
  certificate,
  channelName,
  degraded,
  failed,
  fixOf,
  inProject,
  isSilent,
  lacking,
  nothingConfigured,
  noticesArrive,
  ok,
  otherMode,
  unreadable,
  WARN_DAYS,
  type Finding,
} from './finding.ts';

/** Checks the configuration, the answer to a signed test request and the notifications of every enabled channel. */
export async function checkChannels({ api }: Context): Promise<Finding[]> {
  const configs = await ofEveryProject(api, (project) =>
    api.page(`${CHANNEL_CONFIGS}/list`, { project }).then(({ rows }) => rows),
  );
  if (configs instanceof CliError) return unreadable('channels', configs);
  const used = configs.filter((row) => row['mode'] !== null);
  const findings = await Promise.all(used.map((row) => checkChannel(api, row)));
  const enabled = used.filter((row) => row['enabled'] === true);
  return [
    ...findings,
    ...nothingConfigured(enabled.length),
    ...configs.flatMap(waitingForTrust),
    ...enabled.flatMap(refusedNotices),
    ...(await checkNotices(api, used)),
  ];
}

async function checkChannel(api: Context['api'], row: Row): Promise<Finding> {
  const [project, payWay, mode] = [plain(row['project']) || 'default', plain(row['payWay']), plain(row['mode'])];
  const name = channelName(project, payWay);
  const missing = Array.isArray(row['missing']) ? (row['missing'] as string[]) : [];
  const enabled = row['enabled'] === true;
  if (missing.length > 0) return lacking(project, payWay, missing, enabled, rowsOf(row['ofOtherAccounts']));
  if (!enabled) return ok(name, say`disabled`);
  const fault = plain(row['fault']);
  if (fault)
    return failed(
      name,
      fault,
      say`check Security.MasterKey, or enter the secrets again: payctl channel set ${payWay}${inProject(project)}`,
    );
  if (row['configured'] === false)
    return degraded(
      name,
      say`accepts no orders: mode is ${mode}, which requires Debug = true`,
      `payctl channel set ${payWay}${inProject(project)}`,
    );
  const test = await attempt(() =>
    api.data({ method: 'POST', path: `${CHANNEL_CONFIGS}/${payWay}/test`, query: { project } }),
  );
  const isForbidden = test instanceof CliError && test.exitCode === EXIT.forbidden;
  if (isForbidden) return known(name, row);
  if (test instanceof CliError) return failed(name, test.message, `payctl channel test ${payWay}${inProject(project)}`);
  const lack = plain(test['message']);
  if (test['ok'] !== false && lack) return degraded(name, lack, `payctl channel set ${payWay}${inProject(project)}`);
  if (test['ok'] !== false) return ok(name, say`${coded('mode', mode)}, test request succeeded`);
  const field = plain(test['field']);
  if (isSilent(plain(test['code'])))
    return failed(
      name,
      say`does not answer, but its configuration is not the cause; check the network of the server: ${lack}`,
      `payctl channel test ${payWay}${inProject(project)}`,
    );
  return failed(
    name,
    joined([lack || say`the test request was refused`, field && `(${field})`], ' '),
    fixOf(payWay, field, inProject(project)),
  );
}

/** A verification key that is not trusted comes from a rotation in progress, or from an attacker's upload. */
function waitingForTrust(row: Row): Finding[] {
  const [project, payWay] = [plain(row['project']) || 'default', plain(row['payWay'])];
  return rowsOf(row['untrusted']).map(({ id, kind, fingerprint }) =>
    degraded(
      channelName(project, payWay),
      say`${plain(kind)} ${plain(fingerprint).slice(0, 16)}… is not trusted, so nothing is verified with it`,
      command(
        say`compare the fingerprint, then trust it: payctl cert trust ${plain(id)}${inProject(project)}`,
        say`or delete it: payctl cert delete ${plain(id)}`,
      ),
    ),
  );
}

/** After the service refused a notification, it learns of the payment only when it queries the channel. */
function refusedNotices(row: Row): Finding[] {
  const refused = row['refusedNotices'] as Row | null | undefined;
  if (refused?.['isOpen'] !== true) return [];
  const [project, payWay] = [plain(row['project']) || 'default', plain(row['payWay'])];
  const { why, detail, count, at, change } = refused;
  return [
    degraded(
      'notices',
      say`${channelName(project, payWay)}: ${plain(count)} refused (${coded('refusal', plain(why))}), the last one at ${plain(at)}: ${plain(detail)}`,
      plain(change),
    ),
  ];
}

function rowsOf(value: unknown): Row[] {
  return Array.isArray(value) ? (value as Row[]) : [];
}

/** Uses a channel's recent calls, because administrators with the role `viewer` may not send test requests. */
function known(name: string, row: Row): Finding {
  const status = plain(row['status']);
  if (status !== 'down' && status !== 'degraded')
    return ok(name, joined([coded('mode', plain(row['mode'])), coded('channelState', status)]));
  const make = status === 'down' ? failed : degraded;
  return make(
    name,
    plain(row['lastFailure']) || coded('channelState', status),
    `payctl channel test ${plain(row['payWay'])}${inProject(plain(row['project']) || 'default')}`,
  );
}

/** The public URL is taken from the address of the token endpoint. */
async function checkNotices(api: Context['api'], configs: readonly Row[]): Promise<Finding[]> {
  const real = configs.filter(({ mode, enabled }) => mode !== 'simulator' && enabled === true);
  if (real.length === 0) return [];
  const { body } = await api.call({
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    anonymous: true,
  });
  const endpoint = plain((body as { token_endpoint?: unknown } | undefined)?.token_endpoint);
  if (!URL.canParse(endpoint)) return [];
  const names = real.map((row) => channelName(plain(row['project']) || 'default', plain(row['payWay'])));
  return noticesArrive(new URL(endpoint).origin, names);
}

/** Checks the expiry of the certificates in use. Finds keys whose mode (e.g. sandbox) differs from the channel's. */
export async function checkCertificates({ api }: Context): Promise<Finding[]> {
  const certs = await ofEveryProject(api, async (project) => {
    const { body } = await api.call({ method: 'POST', path: '/api/v1/certs/list', query: { project }, body: {} });
    const { rows } = await api.page(`${CHANNEL_CONFIGS}/list`, { project });
    const presentOf = new Map(rows.map((row) => [plain(row['payWay']), row]));
    return rowsOf((body as { data?: unknown } | undefined)?.data).map((row) => {
      const { mode, account } = presentOf.get(plain(row['payWay'])) ?? {};
      return { ...row, present: mode ?? null, presentAccount: account ?? null };
    });
  });
  if (certs instanceof CliError) return unreadable('certificates', certs);
  const others = certs.filter(isOfOtherMode).map((row) =>
    otherMode({
      id: plain(row['id']),
      project: plain(row['project']) || 'default',
      payWay: plain(row['payWay']),
      kind: plain(row['kind']),
      mode: plain(row['mode']),
      present: plain(row['present']),
      trusted: row['trust'] === 'trusted',
    }),
  );
  const dated = certs.filter((row) => row['isDefault'] === true && typeof row['daysLeft'] === 'number' && isInUse(row));
  const ending = dated.flatMap((row) => {
    const kind = plain(row['kind']);
    return certificate(kind, kind, Number(row['daysLeft']), plain(row['project']) || 'default');
  });
  if (ending.length + others.length > 0) return [...ending, ...others];
  return [ok('certificates', say`${dated.length}, none expires within ${WARN_DAYS} days`)];
}

function isOfOtherMode({ trust, mode, present }: Row): boolean {
  if (trust === null || trust === undefined || present === null) return false;
  return (mode === 'simulator' && present !== 'simulator') || (mode === 'sandbox' && present === 'live');
}

function isInUse({ mode, account, present, presentAccount }: Row): boolean {
  return typeof mode !== 'string' || present === null || (mode === present && account === presentAccount);
}

/** Calls `read` for each project and returns the rows of all projects, or the error of a failed request. */
export async function ofEveryProject(
  api: Context['api'],
  read: (project: string) => Promise<Row[]>,
): Promise<Row[] | CliError> {
  return attempt(async () => {
    const rows: Row[] = [];
    for await (const page of api.pages('/api/v1/projects', { limit: 200 }))
      for (const { code } of page.rows) rows.push(...(await read(plain(code))));
    return rows;
  });
}
