import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { sessionsOf, VIEW, type WhoseFlags } from './view.ts';

/** The flags of `session end`. */
export type EndFlags = ChangeFlags & WhoseFlags & { all?: boolean };

/** Adds `session end`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('end')
    .description(
      'End one of your sessions, or one or all of another administrator. To end all of your own: payctl logout --everywhere.',
    )
    .argument('[id]')
    .option('--admin <username>', 'a session of this administrator')
    .option('--all', 'all sessions of that administrator');
  examples(
    changes(command),
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44',
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44 -y',
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44 --admin bob -y',
    'payctl session end --all --admin bob -y',
  ).action((id: string | undefined, flags: EndFlags) => run(context(), id, flags));
}

/** Ends the session; its token is refused from then on. */
export async function run(context: Context, id: string | undefined, flags: EndFlags): Promise<void> {
  const { change, print } = context;
  if (flags.all && flags.admin === undefined)
    throw new UsageError('--all requires --admin.', 'to end all of your own sessions: payctl logout --everywhere');
  if ((id === undefined) !== (flags.all === true))
    throw new UsageError('Give the id of a session, or --all with --admin.', 'payctl session list');
  const sessions = await sessionsOf(context, flags);
  const which = id === undefined ? `all sessions of ${flags.admin}` : `session ${id}`;
  const path = id === undefined ? sessions : `${sessions}/${segment(id)}`;
  const name = id ?? String(flags.admin);
  const answer = await change({ what: `end ${which}`, name, risk: 'moderate', method: 'DELETE', path }, flags);
  if (!answer) return;
  if (print.json) await print.item({ id: id ?? null, ended: true }, VIEW);
  await print.done(`Ended ${which}.`);
}
