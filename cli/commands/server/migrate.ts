import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { databaseLine, offlineFlags, withOffline, type OfflineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';

/** Adds `server migrate`. */
export function define(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun.command('migrate').description('Apply pending database migrations. Safe to run concurrently.'),
  ).option('--dry-run', 'only show how many migrations are pending');
  examples(command, 'payctl server migrate', 'payctl server migrate --dry-run --json').action(
    (flags: OfflineFlags & { dryRun?: boolean }) => run(context(), flags),
  );
}

/** Migrates the database and prints what was applied. */
export async function run(context: Context, flags: OfflineFlags & { dryRun?: boolean }): Promise<void> {
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
    const { applied } = await offline.migrate();
    if (applied.length > 0) context.known.done = 'migrate the database';
    const after = await offline.describeDatabase();
    await print.item({ version: after.schema.version, pending: after.schema.pending, applied }, view);
  });
}
