import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { offlineFlags, withOffline, type OfflineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';
import { DATABASE } from './view.ts';

/** Adds `bootstrap status`. */
export function define(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('status')
      .description('Show which database the service uses, and whether an administrator exists. Read-only.'),
  );
  examples(command, 'payctl bootstrap status', 'payctl bootstrap status --json').action((flags: OfflineFlags) =>
    run(context(), flags),
  );
}

/** Describes the database. */
export async function run(context: Context, flags: OfflineFlags): Promise<void> {
  await withOffline(context, flags, async (offline) => {
    const { kind, place, name, schema, administrators } = await offline.describeDatabase();
    const bootstrapped = administrators !== null && administrators > 0;
    await context.print.item(
      {
        kind,
        place,
        name,
        schemaVersion: schema.version,
        pendingMigrations: schema.pending,
        administrators,
        bootstrapped,
      },
      DATABASE,
    );
    if (!bootstrapped) await context.print.done('Next: payctl bootstrap admin --username NAME');
  });
}
