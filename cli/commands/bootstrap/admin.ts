import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT, UsageError } from '../../errors.ts';
import { actor, offlineFlags, prepareDatabase, withOffline, type OfflineFlags } from '../../offline.ts';
import { examples, passwordFlags } from '../../options.ts';
import { openSecretSink, takePassword, type PasswordFlags, type SecretSink } from '../../secrets.ts';
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
    .description('Create the first administrator. Exits with 6 if one exists already, unless --if-none is given.')
    .option('-u, --username <name>', 'login name');
  passwordFlags(offlineFlags(command, { migrate: true }))
    .option('--generate', 'generate a password; it is shown only once')
    .option('--secret-file <file>', 'write the generated password to a new file')
    .option('--if-none', 'succeed without changes if an administrator exists')
    .option('--dry-run', 'show what would be done without writing anything');
  examples(
    command,
    'payctl bootstrap admin --username alice',
    'payctl bootstrap admin --username alice --password-file alice.password --migrate --if-none',
    'payctl bootstrap admin --username alice --generate --secret-file alice.password --migrate',
  ).action((flags: AdminFlags) => run(context(), flags));
}

/** Creates the first administrator in one transaction; a generated password is revealed only after it was read back. */
export async function run(context: Context, flags: AdminFlags): Promise<void> {
  const { print, prompts } = context;
  if (flags.generate && (flags.passwordStdin || flags.passwordFile))
    throw new UsageError('--generate cannot be combined with --password-stdin or --password-file.');
  const username =
    flags.username ??
    (await prompts.text({
      message: 'Username of the first administrator',
      flag: '--username',
      validate: (text) => text !== '' || 'A name is required.',
    }));
  await withOffline(context, flags, async (offline) => {
    const database = await prepareDatabase(context, offline, { ...flags, migrate: flags.migrate && !flags.dryRun });
    await unlessDone(context, flags.ifNone, ADMIN, async () => {
      if ((database.administrators ?? 0) > 0)
        throw new CliError(
          'already_bootstrapped',
          EXIT.conflict,
          'An administrator exists already; nothing was changed.',
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
  context.known.done = `create administrator ${username}`;
  const again = `payctl admin reset-password ${username} --offline`;
  await (sink ? sink.deliver({ ...row, password }, ADMIN, again) : print.item(row, ADMIN));
  await print.done(`Created administrator ${username}. Next: payctl server start, then payctl login -u ${username}`);
}
