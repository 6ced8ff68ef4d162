import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { type OfflineFlags, actor, offlineFlags, prepareDatabase, withOffline } from '../offline.ts';
import { changes, examples } from '../options.ts';
import { type ChangeFlags, confirmChange } from '../safety.ts';
import { withSpinner } from '../terminal.ts';

/** Adds `keys rotate`. */
function defineRotate(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('rotate')
      .description(
        'Re-encrypt all stored secrets with the first key of Security.MasterKey. Put the new key first, restart every server, then run this command; the old key can be removed afterwards.',
      ),
  );
  examples(changes(command), 'payctl keys rotate', 'payctl keys rotate --config /etc/pay/pay.toml -y').action(
    (flags: OfflineFlags & ChangeFlags) => runRotate(context(), flags),
  );
}

const VIEW = { noun: 'key', id: 'keyId', columns: [{ field: 'keyId' }, { field: 'rewrapped' }] };

/** Re-encrypts every sealed record. */
async function runRotate(context: Context, flags: OfflineFlags & ChangeFlags): Promise<void> {
  await withOffline(context, flags, async (offline) => {
    const database = await prepareDatabase(context, offline, flags);
    if (flags.dryRun) return context.print.item({ dryRun: true, place: database.place }, VIEW);
    await confirmChange(
      context.prompts,
      { what: 're-encrypt every secret with the newest master key', risk: 'moderate', name: database.name },
      flags,
      database.place,
    );
    const result = await withSpinner(context.terminal.err, 'Sealing', () =>
      offline.rotateMasterKey({ actor: actor() }),
    );
    context.known.done = 're-encrypt every secret';
    await context.print.item({ ...result }, VIEW);
    await context.print.done(`${result.rewrapped} records are encrypted with key ${result.keyId}.`);
  });
}

/** Adds the verbs of `keys`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage the master key that encrypts channel secrets at rest.');
  defineRotate(noun, context);
}
