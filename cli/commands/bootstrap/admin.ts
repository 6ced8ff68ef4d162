import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CliError, EXIT, UsageError } from '../../errors.ts';
import { actor, offlineFlags, prepareDatabase, withOffline, type OfflineFlags } from '../../offline.ts';
import { examples, passwordFlags } from '../../options.ts';
import { openSecretSink, takePassword, type PasswordFlags, type SecretSink } from '../../secrets.ts';
import type { ContextOf } from '../index.ts';
import { ADMIN, unlessDone } from './view.ts';

/** The flags of `bootstrap admin`. */
export interface AdminFlags extends OfflineFlags, PasswordFlags {
  username?: string;
  generate?: boolean;
  secretFile?: string;
  ifNone?: boolean;
  dryRun?: boolean;
}

/** Adds `bootstrap admin`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('admin')
    .description('Make the first administrator. Refused (6) when there is one, unless --if-none.')
    .option('-u, --username <name>', 'name to log in with');
  passwordFlags(offlineFlags(command, { migrate: true }))
    .option('--generate', 'make up a password; it is shown once')
    .option('--secret-file <file>', 'write the made-up password into this new file')
    .option('--if-none', 'done before is no failure')
    .option('--dry-run', 'say what would be done, and write nothing');
  examples(
    command,
    'payctl bootstrap admin --username alice',
    'payctl bootstrap admin --username alice --password-file alice.password --migrate --if-none',
    'payctl bootstrap admin --username alice --generate --secret-file alice.password --migrate',
  ).action((flags: AdminFlags) => run(context(), flags));
}

/** Makes the first administrator in one transaction; a made-up password is revealed only after it was read back. */
export async function run(context: Context, flags: AdminFlags): Promise<void> {
  const { print, prompts } = context;
  if (flags.generate && (flags.passwordStdin || flags.passwordFile))
    throw new UsageError('Give --generate or a password, not both.');
  const username =
    flags.username ??
    (await prompts.text({
      message: 'Username of the first administrator',
      flag: '--username',
      validate: (text) => text !== '' || 'A name is needed.',
    }));
  await withOffline(context, flags, async (offline) => {
    const database = await prepareDatabase(context, offline, { ...flags, migrate: flags.migrate && !flags.dryRun });
    await unlessDone(context, flags.ifNone, ADMIN, async () => {
      if ((database.administrators ?? 0) > 0)
        throw new CliError(
          'already_bootstrapped',
          EXIT.conflict,
          'There is an administrator already; nothing was changed.',
          { hint: 'payctl login, or payctl admin reset-password NAME --offline' },
        );
      if (flags.dryRun) return print.item({ dryRun: true, username, role: 'admin' }, ADMIN);
      const sink = flags.generate
        ? await openSecretSink({ ...context, quiet: context.flags.quiet === true }, flags, 'password')
        : undefined;
      try {
        await create(context, username, flags, sink, (password) =>
          offline.createFirstAdmin({ username, password, actor: actor() }),
        );
      } finally {
        await sink?.discard();
      }
    });
  });
}

async function create(
  context: Context,
  username: string,
  flags: AdminFlags,
  sink: SecretSink | undefined,
  write: (password: string) => Promise<object>,
): Promise<void> {
  const { terminal, prompts, print } = context;
  const password = sink
    ? randomBytes(24).toString('base64url')
    : await takePassword(terminal, prompts, flags, { message: `Password for ${username}`, isNew: true });
  const row = { ...(await write(password)), changed: true };
  await (sink ? sink.deliver({ ...row, password }, ADMIN) : print.item(row, ADMIN));
  await print.done(`Made administrator ${username}. next: payctl server start, then payctl login -u ${username}`);
}
