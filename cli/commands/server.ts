import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { ServerInput } from '../../server/main.ts';
import type { ReadyFacts } from '../../server/workers/life.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { exists } from '../files.ts';
import { SET_A_CHANNEL } from '../findings.ts';
import {
  type OfflineFlags,
  databaseLine,
  migrateDatabase,
  offlineFlags,
  showProgress,
  translate,
  withOffline,
} from '../offline.ts';
import { examples } from '../options.ts';
import { withSpinner } from '../terminal.ts';
import type { Style } from '../terminal-text.ts';
import { defineRestoreCheck } from './server-restore-check.ts';

/** The text that is printed when the service is ready: addresses, database and the next command. */
export function bannerOf(facts: ReadyFacts, style: Style): string {
  const { version, debug, explorer, simulator, metrics, workers } = facts;
  const next = NEXT[facts.lacks ?? 'nothing'];
  const rows: [string, string | null][] = [
    ['API', apiOf(facts)],
    ['Explorer', explorer],
    ['Simulator', simulator],
    ['Metrics', metrics],
    ['Database', databaseOf(facts)],
    ['Workers', workers === undefined ? null : String(workers)],
    ['Debug', debug ? style('yellow', 'on: the secrets of the test applications are public') : null],
    ['Next', style('cyan', next.command)],
    ['', next.more ?? null],
    ['', mustStop(facts) ? 'Stop the service first.' : null],
    ['Stop', 'Ctrl-C'],
  ];
  const lines = rows.flatMap(([name, value]) =>
    value === null ? [] : [`  ${style('dim', name.padEnd(9))}  ${value}`],
  );
  return ['', `  ${style('bold', 'Unified payment service')} ${version}`, '', ...lines, '', ''].join('\n');
}

const NEXT: Readonly<Record<NonNullable<ReadyFacts['lacks']> | 'nothing', { command: string; more?: string }>> = {
  administrator: { command: 'payctl bootstrap admin -u admin' },
  channel: { command: SET_A_CHANNEL[0], more: `Or one of these channels: ${SET_A_CHANNEL[1]}.` },
  nothing: { command: 'payctl doctor' },
};

/** Only one process can open an embedded database, so the service must stop before an administrator is created. */
function mustStop(facts: ReadyFacts): boolean {
  return facts.lacks === 'administrator' && isFolder(facts);
}

function apiOf({ address, publicUrl }: ReadyFacts): string {
  return publicUrl === address ? address : `${publicUrl} (listens on ${new URL(address).host})`;
}

function databaseOf(facts: ReadyFacts): string {
  return isFolder(facts) ? `${facts.database} (embedded)` : `${facts.database} (PostgreSQL)`;
}

function isFolder({ database }: ReadyFacts): boolean {
  return /[\\/]/.test(database);
}

function defineStart(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('start')
      .description(
        'Run the service until it is stopped (SIGTERM, Ctrl-C). Logs go to stdout: as JSON lines, or as text on a terminal (Log.Format).',
      ),
  );
  examples(command, 'payctl server start', 'payctl server start --config /etc/pay/pay.toml').action(
    (flags: OfflineFlags) => runStart(context(), flags),
  );
}

async function runStart(context: Context, flags: OfflineFlags): Promise<void> {
  const { out } = context.terminal;
  const start = context.startServer ?? (await import('../../server/main.ts')).startServer;
  let removeProgress = (): void => {};
  const report: Pick<ServerInput, 'onStart' | 'onReady'> = {
    onStart: () => (removeProgress = showProgress(context, 'starting the service')),
    onReady(facts) {
      removeProgress();
      void out.write(bannerOf(facts, out.style));
    },
  };
  try {
    await start({
      env: context.terminal.env,
      cwd: context.terminal.cwd,
      installation: context.installation,
      ...(flags.config ? { config: flags.config } : {}),
      ...(out.isTerminal && report),
    });
  } catch (error) {
    throw translate(error, context);
  } finally {
    removeProgress();
  }
}

function defineMigrate(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun.command('migrate').description('Apply pending database migrations. Safe to run concurrently.'),
  ).option('--dry-run', 'only show how many migrations are pending');
  examples(command, 'payctl server migrate', 'payctl server migrate --dry-run --json').action(
    (flags: OfflineFlags & { dryRun?: boolean }) => runMigrate(context(), flags),
  );
}

async function runMigrate(context: Context, flags: OfflineFlags & { dryRun?: boolean }): Promise<void> {
  const { print, terminal } = context;
  await withOffline(context, flags, async (offline) => {
    const before = await offline.describeDatabase();
    await print.note(databaseLine(terminal, before));
    const view = {
      noun: 'migration',
      id: 'version',
      columns: [{ field: 'version' }, { field: 'pending' }, { field: 'applied' }],
    };
    if (flags.dryRun)
      return print.item(
        { dryRun: true, version: before.schema.version, pending: before.schema.pending, applied: [] },
        view,
      );
    const { applied } = await migrateDatabase(context, offline);
    if (applied.length > 0) context.run.completedChange = 'migrate the database';
    const after = await offline.describeDatabase();
    await print.item({ version: after.schema.version, pending: after.schema.pending, applied }, view);
  });
}

function defineBackup(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('backup')
      .description(
        'Back up the embedded database to a new file while the server is stopped. For PostgreSQL, use pg_dump.',
      )
      .argument('<file>'),
  );
  examples(
    command,
    'payctl server backup pay-2026-11-21.tar.gz',
    'payctl server backup /backup/pay.tar.gz --config /etc/pay/pay.toml',
  ).action((file: string, flags: OfflineFlags) => runBackup(context(), file, flags));
}

async function runBackup(context: Context, file: string, flags: OfflineFlags): Promise<void> {
  const { print, terminal } = context;
  const path = resolve(terminal.cwd, file);
  if (await exists(path)) throw new UsageError(`${path} already exists.`, 'choose another file name', 'file_exists');
  await withOffline(context, flags, async (offline) => {
    await print.note(databaseLine(terminal, await offline.describeDatabase()));
    const { bytes } = await withSpinner(terminal.err, 'Backing up', () => offline.backup(path));
    await print.item(
      { file: path, bytes },
      { noun: 'backup', id: 'file', columns: [{ field: 'file' }, { field: 'bytes' }] },
    );
  });
}

/** Adds the subcommands of `payctl server`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Run and maintain the service on this machine.');
  for (const addVerb of [defineStart, defineMigrate, defineBackup, defineRestoreCheck]) addVerb(noun, context);
}
