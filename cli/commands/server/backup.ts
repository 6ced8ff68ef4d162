import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { exists } from '../../files.ts';
import { databaseLine, offlineFlags, withOffline, type OfflineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';
import { withSpinner } from '../../spinner.ts';

/** Adds `server backup`. */
export function define(noun: Command, context: ContextOf): void {
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
  ).action((file: string, flags: OfflineFlags) => run(context(), file, flags));
}

/** Writes the backup; refuses an existing file. */
export async function run(context: Context, file: string, flags: OfflineFlags): Promise<void> {
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
