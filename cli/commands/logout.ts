import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { administratorNeeded, revokeToken } from '../application.ts';
import { changes, examples } from '../options.ts';
import { type ChangeFlags, targetLine } from '../safety.ts';
import { hasOwnToken } from '../own-login.ts';
import type { Session } from '../session.ts';

interface LogoutFlags extends ChangeFlags {
  local?: boolean;
  everywhere?: boolean;
}

/** Defines `payctl logout`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'End the session on the server and delete the saved token; for an application, revoke the token and delete the saved secret.',
    )
    .option('--everywhere', 'end all sessions of this administrator')
    .option('--local', 'only delete the saved token, without contacting the server');
  examples(changes(command), 'payctl logout', 'payctl logout --everywhere', 'payctl logout -C prod --local').action(
    (flags: LogoutFlags) => run(context(), flags),
  );
}

const VIEW = { noun: 'context', id: 'context', columns: [] };

/** Ends the session on the server, then deletes the saved token. An expired token is not an error. */
async function run(all: Context, flags: LogoutFlags): Promise<void> {
  const { target, sessions, print } = all;
  if (hasOwnToken(all.terminal.env) && !flags.local) return endGivenSession(all, flags);
  const { context } = await target();
  if (context === null) throw new UsageError('There is no saved context for this server.', 'payctl context list');
  const session = await sessions.session(context);
  if (session?.app && !flags.local) {
    if (flags.everywhere)
      throw new UsageError('--everywhere is for administrators.', 'an administrator can run payctl app revoke-tokens');
    if (!(await endApplication(all, session, flags))) return;
  } else if (!flags.local) {
    const acting = await all.application();
    if (acting) throw administratorNeeded(acting);
    if (!(await endSession(all, flags).catch(ignoreDeadToken))) return;
  }
  const there = await sessions.removeSession(context);
  if (print.json) await print.item({ context, loggedOut: there }, VIEW);
  await print.done(there ? `Logged out of ${context}.` : `Not logged in to ${context}.`);
}

function endSession({ change }: Context, flags: LogoutFlags): Promise<object | undefined> {
  const body = flags.everywhere ? { body: { everywhere: true } } : {};
  return change({ what: 'end the session', method: 'POST', path: '/api/v1/logout', ...body }, flags);
}

/** Ends the session of the environment's token. The context stores another login, which nothing else would end. */
async function endGivenSession(all: Context, flags: LogoutFlags): Promise<void> {
  const { target, sessions, print } = all;
  const ended = await endSession(all, flags).catch((error: unknown) => {
    // With --everywhere the other sessions stay valid, so a dead token is a failure.
    if (error instanceof CliError && error.options.status === 401 && !flags.everywhere) return {};
    throw error;
  });
  if (!ended) return;
  const { context } = await target();
  const saved = context === null ? undefined : await sessions.session(context);
  if (print.json) await print.item({ context: null, loggedOut: true }, VIEW);
  const rest = saved ? ` The login of ${context} stays; unset PAYCTL_TOKEN to end it.` : '';
  await print.done(`Ended the session of the token in the environment.${rest}`);
}

/** Revokes the token of an application. Returns false after --dry-run. */
async function endApplication(
  { apiAt, target, terminal, print }: Context,
  { token, origin }: Pick<Session, 'token' | 'origin'>,
  { dryRun }: LogoutFlags,
): Promise<boolean> {
  const place = await target();
  const request = { dryRun: true, method: 'POST', path: '/oauth/revoke', body: { token: '***' } };
  if (dryRun) {
    await print.item(request, { noun: 'request', id: 'path', columns: [{ field: 'method' }, { field: 'path' }] });
    return false;
  }
  await print.note(targetLine(terminal, place));
  if (origin === place.origin) await revokeToken(apiAt(place.server), token).catch(ignoreDeadToken);
  return true;
}

function ignoreDeadToken(error: unknown): object {
  if (error instanceof CliError && error.exitCode === EXIT.notLoggedIn) return {};
  throw error;
}
