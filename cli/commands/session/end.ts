import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { SESSIONS, VIEW } from './view.ts';

/** Adds `session end`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('end')
    .description('End one of your sessions. To end all of them: payctl logout --everywhere.')
    .argument('<id>');
  examples(
    changes(command),
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44',
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44 -y',
  ).action((id: string, flags: ChangeFlags) => run(context(), id, flags));
}

/** Ends the session; its token is refused from then on. */
export async function run({ change, print }: Context, id: string, flags: ChangeFlags): Promise<void> {
  const path = `${SESSIONS}/${segment(id)}`;
  const answer = await change({ what: `end session ${id}`, name: id, risk: 'moderate', method: 'DELETE', path }, flags);
  if (!answer) return;
  if (print.json) await print.item({ id, ended: true }, VIEW);
  await print.done(`Ended session ${id}.`);
}
