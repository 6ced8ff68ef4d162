import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { printFindings } from '../../findings.ts';
import { offlineFlags, type OfflineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';
import { withSpinner } from '../../spinner.ts';
import { checkCertificates, checkChannels } from './channels.ts';
import { checkDiagnosis } from './diagnosis.ts';
import type { Finding } from './finding.ts';
import { checkHandlers } from './handlers.ts';
import { checkLogin, checkService, checkSettings } from './service.ts';
import { checkApprovals, checkExceptions, checkOrders, checkRefunds } from './waiting.ts';

/** The flags of `doctor`. */
export type DoctorFlags = OfflineFlags & { offline?: boolean };

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

/** Adds `doctor`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Diagnose problems: file permissions, login, clock skew, Debug mode, channels (one test request each), certificates, notifications, webhooks, handlers of skills, exceptions, refunds that wait for approval, stuck refunds and orders, work that waits, and who can reach the console and the explorer. With --offline, check the configuration, keys and database of the server on this machine. Each problem comes with a command that fixes it. Exits with 1 if a check fails.',
    )
    .option('--offline', 'check the configuration and the database directly, read-only');
  examples(
    offlineFlags(command),
    'payctl doctor',
    'payctl doctor --json',
    'payctl doctor --offline --config /etc/pay/pay.toml',
  ).action((flags: DoctorFlags) => run(context(), flags));
}

/** Runs every check and prints what was found, good things too. */
export async function run(context: Context, flags: DoctorFlags): Promise<void> {
  const { terminal } = context;
  const checks = flags.offline ? await offlineChecks() : ONLINE;
  const findings = await withSpinner(terminal.err, 'Running checks', async () =>
    (await Promise.all(checks.map((check) => check(context, flags)))).flat(),
  );
  await printFindings(context, findings, 'finding');
  const failed = findings.filter(({ status }) => status === 'failed');
  const [first] = failed;
  if (first)
    throw new CliError(
      'unhealthy',
      EXIT.failed,
      `${failed.length} of ${findings.length} checks failed.`,
      first.fix ? { hint: first.fix } : {},
    );
}

async function offlineChecks(): Promise<readonly Check[]> {
  const { checkDatabase, checkServerFiles } = await import('./offline.ts');
  return [checkSettings, checkServerFiles, checkDatabase];
}
