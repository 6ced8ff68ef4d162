import { stat } from 'node:fs/promises';
import { CliError, EXIT } from '../../errors.ts';
import { type Finding, NO_CHANNEL } from '../../findings.ts';
import { command } from '../../hints.ts';
import { type Text, joined, say } from '../../language.ts';
import type { OtherModeKey } from '../../../server/db/queries/diagnosis.ts';
import { plain, type Row } from '../../values.ts';

export type { Finding } from '../../findings.ts';

export const CHANNEL_CONFIGS = '/api/v1/payment/config';

/** A failed check: a skill (a product that is paid per call) has a handler URL that the service refuses to call. */
export function handlerFinding(code: string, fault: string, project: string): Finding {
  const isPlain = fault === 'https_required';
  const update = `payctl product update ${code}${inProject(project)} --resource JSON`;
  return failed(
    `skill ${code}`,
    isPlain
      ? say`the service cannot call the handler, so it refunds paid calls: its URL does not use https`
      : say`the service cannot call the handler, so it refunds paid calls: its URL leads to a private address or is invalid`,
    isPlain
      ? command(update, say`Or stop its sale: payctl product disable ${code}${inProject(project)}`)
      : command(update, say`Or allow its network with Webhook.AllowedNetworks.`),
  );
}

const SKEW_WARN_SECONDS = 5;
const SKEW_FAIL_SECONDS = 60;

/** Certificates that expire within this number of days are reported. */
export const WARN_DAYS = 30;

/** Creates the result of a check that passed. */
export function ok(check: string, detail: Text): Finding {
  return { check, status: 'ok', detail, fix: null };
}

/** Creates the result of a check that failed. `fix` is the command that repairs the cause. */
export function failed(check: string, detail: Text, fix: Text): Finding {
  return { check, status: 'failed', detail, fix };
}

/** Creates the result of a check with a warning. `fix` is the command that repairs the cause. */
export function degraded(check: string, detail: Text, fix: Text): Finding {
  return { check, status: 'degraded', detail, fix };
}

/** Returns the result of `work`, or its CliError. If the operator cancels the command, the function still throws. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | CliError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError && error.exitCode !== EXIT.cancelled) return error;
    throw error;
  }
}

/** Error code: `Server.AdminNetworks` does not contain the address of this machine. */
export const NETWORK_REFUSED = 'ip_not_allowed';

/** Warns that the data for a check could not be read, unless another check already reports the cause. */
export function unreadable(check: string, error: CliError): Finding[] {
  if (error.code === NETWORK_REFUSED) return [];
  if (error.exitCode === EXIT.notLoggedIn || error.exitCode === EXIT.tryAgain) return [];
  return [degraded(check, error.message, error.options.hint ?? 'payctl whoami')];
}

/** The permission bits of a file that are also in `mask`; 0 for a missing file. */
export async function openTo(path: string, mask: number): Promise<number> {
  return stat(path).then(
    (found) => found.mode & mask,
    () => 0,
  );
}

/** A failed check for an expired certificate, or a warning for a certificate that expires soon; empty otherwise. */
export function certificate(where: string, kind: string, daysLeft: number, project: string): Finding[] {
  if (daysLeft >= WARN_DAYS) return [];
  const fix = `payctl cert upload FILE --kind ${kind}${inProject(project)}`;
  return daysLeft < 0
    ? [failed(where, say`${kind} has expired`, fix)]
    : [degraded(where, say`${kind} expires in ${daysLeft} days`, fix)];
}

/** The --project flag for a command; empty for the default project. */
export function inProject(project: string): string {
  return project === 'default' ? '' : ` --project ${project}`;
}

/** The name of a channel: `wechat` in the default project, `shop/wechat` in project `shop`. */
export function channelName(project: string, payWay: string): string {
  return project === 'default' ? payWay : `${project}/${payWay}`;
}

/** A warning about a key whose mode (e.g. sandbox) differs from the mode of its channel. */
export function otherMode({ id, project, payWay, kind, mode, present, trusted }: OtherModeKey): Finding {
  const name = channelName(project, payWay);
  const what = say`${kind} ${id} came with mode ${mode}`;
  if (mode === present)
    return degraded(
      name,
      say`${what}, which does not count here, and is still trusted`,
      'payctl cert distrust --offline',
    );
  const verifies = trusted
    ? say`it verifies orders of mode ${mode} only`
    : say`it is not trusted, and verifies nothing`;
  return degraded(
    name,
    say`${what}, the channel is in mode ${present}: ${verifies}`,
    `payctl cert delete ${id}${inProject(project)}`,
  );
}

/** The command that sets a field or certificate of a configuration. */
export function fixOf(payWay: string, field: string, ofProject: string): string {
  return field.startsWith(`${payWay}_`)
    ? `payctl cert upload FILE --kind ${field}${ofProject}`
    : `payctl channel set ${payWay}${ofProject}`;
}

/** Error codes that mean a network problem or an overloaded channel, not a wrong configuration. */
const SILENT: ReadonlySet<string> = new Set(['timeout', 'network', 'busy', 'http_status']);

/** Whether the error code of a test request says that the configuration of the channel is not the cause. */
export function isSilent(code: string): boolean {
  return SILENT.has(code);
}

const PROXY =
  'behind a proxy, set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY for the service (guide Install, "Proxy, private CA, other database")';

const NETWORK: readonly [cause: RegExp, advice: string][] = [
  [/ENOTFOUND|EAI_AGAIN/, `check the DNS of the machine of the service; ${PROXY}`],
  [/CERT_(HAS_EXPIRED|NOT_YET_VALID)/, 'check the clock of the machine of the service'],
  [
    /UNABLE_TO_|SELF_SIGNED|ALTNAME|CERT_|ERR_TLS|ERR_SSL|EPROTO/,
    'a proxy or firewall in between answers with a certificate of its own: set NODE_EXTRA_CA_CERTS to its CA for the service (guide Install, "Proxy, private CA, other database")',
  ],
];

/** Advice after a test request without a usable answer, by the cause in its message. */
export function networkAdvice(code: string, message: string): string {
  if (code === 'busy') return 'the channel is overloaded; test again later';
  if (code === 'http_status')
    return `the channel is out of order, or a proxy in between answers; test again later, and ${PROXY}`;
  const [, advice] = NETWORK.find(([cause]) => cause.test(message)) ?? [];
  return advice ?? `check that a firewall lets the service reach the channel on port 443; ${PROXY}`;
}

/**
 * A failed check for a channel whose configuration lacks fields or keys; only a warning if the channel is disabled.
 * `others` are keys like the missing ones, stored for another merchant account or another mode (e.g. sandbox).
 */
export function lacking(
  project: string,
  payWay: string,
  missing: readonly string[],
  enabled: boolean,
  others: readonly Row[] = [],
): Finding {
  const cert = missing.find((name) => name.startsWith(`${payWay}_`));
  const fix =
    cert === missing[0] && cert !== undefined
      ? `payctl cert upload FILE --kind ${cert}${inProject(project)}`
      : `payctl channel set ${payWay}${inProject(project)}`;
  const make = enabled ? failed : degraded;
  const elsewhere = others.map(({ kind, mode, account }) => say`${plain(kind)} of ${plain(mode)} ${plain(account)}`);
  const detail =
    elsewhere.length > 0
      ? say`missing: ${missing.join(', ')} (used for no other mode or account: ${joined(elsewhere)})`
      : say`missing: ${missing.join(', ')}`;
  return make(channelName(project, payWay), detail, fix);
}

/** Whether an address is a loopback address. A channel cannot send notifications there. */
export function isLoopback(address: string): boolean {
  const host = URL.canParse(address) ? new URL(address).hostname : '';
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
}

/** Checks that live channels can reach the public URL, which must not be a loopback address. */
export function noticesArrive(publicUrl: string, channels: readonly string[]): Finding[] {
  if (channels.length === 0) return [];
  if (!isLoopback(publicUrl)) return [ok('notices', say`delivered to ${publicUrl}`)];
  return [
    failed(
      'notices',
      say`${channels.join(', ')} cannot reach ${publicUrl}`,
      say`set Server.PublicUrl to the https address of the service and restart the service: payctl server start`,
    ),
  ];
}

/** A failed check for a service without an enabled channel. */
export function nothingConfigured(enabled: number): Finding[] {
  if (enabled > 0) return [];
  return [failed('channels', say`no channel is configured and enabled, so no payment is possible`, NO_CHANNEL)];
}

/** Warns from 5 s of clock difference. From 60 s the check fails, because signatures are valid only for minutes. */
export function clockFinding(between: Text, seconds: number): Finding[] {
  const skew = Math.round(Math.abs(seconds));
  if (skew < SKEW_WARN_SECONDS) return [];
  const make = skew >= SKEW_FAIL_SECONDS ? failed : degraded;
  return [make('clock', say`${between} differ by ${skew} s`, 'timedatectl set-ntp true')];
}
