import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { changes, examples } from '../options.ts';
import type { ChangeFlags } from '../safety.ts';

interface LogoutFlags extends ChangeFlags {
  local?: boolean;
  everywhere?: boolean;
}

/** Defines `payctl logout`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description('End the session on the server and delete the saved token.')
    .option('--everywhere', 'end all sessions of this administrator')
    .option('--local', 'only delete the saved token, without contacting the server');
  examples(changes(command), 'payctl logout', 'payctl logout --everywhere', 'payctl logout -C prod --local').action(
    (flags: LogoutFlags) => run(context(), flags),
  );
}

/** Ends the session on the server, then deletes the saved token. An expired token is not an error. */
async function run({ change, target, sessions, print }: Context, flags: LogoutFlags): Promise<void> {
  const { context } = await target();
  if (context === null) throw new UsageError('There is no saved context for this server.', 'payctl context list');
  if (!flags.local) {
    const ended = await change(
      {
        what: 'end the session',
        method: 'POST',
        path: '/api/v1/logout',
        ...(flags.everywhere ? { body: { everywhere: true } } : {}),
      },
      flags,
    ).catch(ignoreDeadToken);
    if (!ended) return;
  }
  const there = await sessions.removeSession(context);
  if (print.json) await print.item({ context, loggedOut: there }, { noun: 'context', id: 'context', columns: [] });
  await print.done(there ? `Logged out of ${context}.` : `Not logged in to ${context}.`);
}

function ignoreDeadToken(error: unknown): object {
  if (error instanceof CliError && error.exitCode === EXIT.notLoggedIn) return {};
  throw error;
}
