import type { Command } from 'commander';
import type { Context } from '../context.ts';
import {
  checkCertificates,
  checkChannels,
  checkExceptions,
  checkLogin,
  checkService,
  checkSettings,
} from '../doctor.ts';
import { CliError, EXIT } from '../errors.ts';
import { examples } from '../options.ts';
import { withSpinner } from '../spinner.ts';
import type { View } from '../values.ts';
import type { ContextOf } from './index.ts';

const VIEW: View = {
  noun: 'finding',
  id: 'check',
  columns: [{ field: 'check', kind: 'id' }, { field: 'status', kind: 'status' }, { field: 'detail' }, { field: 'fix' }],
};

const CHECKS = [checkSettings, checkService, checkLogin, checkChannels, checkCertificates, checkExceptions];

/** Adds `doctor`. */
export function define(command: Command, context: ContextOf): void {
  command.description(
    'Look for what is wrong: permissions, login, clock, Debug on prod, channels, certificate days, open exceptions. Each finding names the command that fixes it; exit 1 when one has failed.',
  );
  examples(command, 'payctl doctor', 'payctl doctor --json').action(() => run(context()));
}

/** Runs every check and prints what was found, good things too. */
export async function run(context: Context): Promise<void> {
  const { print, terminal } = context;
  const findings = await withSpinner(terminal.err, 'Examining', async () =>
    (await Promise.all(CHECKS.map((check) => check(context)))).flat(),
  );
  await print.list(
    findings.map((finding) => ({ ...finding })),
    VIEW,
  );
  const failed = findings.filter(({ status }) => status === 'failed');
  const first = failed[0];
  if (first)
    throw new CliError(
      'unhealthy',
      EXIT.failed,
      `${failed.length} of ${findings.length} checks failed.`,
      first.fix ? { hint: first.fix } : {},
    );
}
