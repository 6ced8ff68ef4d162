import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { admin, adminId } from './resource.ts';

/** Adds `admin enable` and `admin disable`. */
export function define(noun: Command, context: ContextOf): void {
  for (const verb of ['enable', 'disable'] as const) {
    const words =
      verb === 'enable'
        ? 'Enable an administrator account.'
        : 'Disable an administrator account and end its sessions immediately.';
    const command = noun.command(verb).description(words).argument('<username>');
    examples(changes(command), `payctl admin ${verb} bob`, `payctl admin ${verb} bob -y`).action(
      (name: string, flags: ChangeFlags) => run(context(), name, { ...flags, enabled: verb === 'enable' }),
    );
  }
}

/** Turns an account on or off. */
export async function run(
  { api, change, print }: Context,
  username: string,
  options: ChangeFlags & { enabled: boolean },
): Promise<void> {
  const id = await adminId(api, username);
  const verb = options.enabled ? 'enable' : 'disable';
  const row = await change(
    {
      what: `${verb} administrator ${username}`,
      name: username,
      risk: options.enabled ? 'plain' : 'moderate',
      method: 'PUT',
      path: `${admin.path}/${segment(id)}/toggle`,
      body: { enabled: options.enabled },
    },
    options,
  );
  if (!row) return;
  await print.item(row, admin.view);
  await print.done(`Administrator ${username} is ${verb}d.`);
}
