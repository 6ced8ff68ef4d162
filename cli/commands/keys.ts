import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type OfflineFlags, changeDatabase, offlineFlags } from '../offline.ts';
import { changes, examples } from '../options.ts';
import type { ChangeFlags } from '../safety.ts';
import { readSecretFile } from '../secrets.ts';
import { withSpinner } from '../terminal.ts';
import type { Row } from '../values.ts';

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

async function runRotate(context: Context, flags: OfflineFlags & ChangeFlags): Promise<void> {
  const result = await changeDatabase(
    context,
    flags,
    { what: 're-encrypt every secret with the newest master key' },
    { row: ({ place }) => ({ place }), view: VIEW },
    (offline, actor) => withSpinner(context.terminal.err, 'Sealing', () => offline.rotateMasterKey({ actor })),
  );
  if (!result) return;
  await context.print.item({ ...result }, VIEW);
  await context.print.done(`${result.rewrapped} records are encrypted with key ${result.keyId}.`);
}

function defineId(noun: Command, context: ContextOf): void {
  const command = noun
    .command('id')
    .description(
      'Print the id of each master key in a file, without the database. Errors, logs and payctl doctor --offline name keys by their ids.',
    )
    .argument('<file...>');
  examples(command, 'payctl keys id master.key', 'payctl keys id master.key --json').action((files: string[]) =>
    runId(context(), files),
  );
}

const ID_VIEW = { noun: 'key', id: 'keyId', columns: [{ field: 'keyId' }, { field: 'file' }] };

async function runId({ terminal, print }: Context, files: readonly string[]): Promise<void> {
  const { masterKey } = await import('../../config/values.ts');
  const rows: Row[] = [];
  for (const file of files)
    for (const text of (await readSecretFile(terminal, file)).trim().split(',')) {
      const { data } = masterKey.safeParse(text);
      if (!data)
        throw new UsageError(`${file} contains no master key: 32 bytes in base64.`, undefined, 'master_key_invalid');
      rows.push({ keyId: data.id, file });
    }
  await print.list(rows, ID_VIEW);
}

/** Adds the subcommands of `payctl keys`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage the master key that encrypts channel secrets at rest.');
  defineId(noun, context);
  defineRotate(noun, context);
}
