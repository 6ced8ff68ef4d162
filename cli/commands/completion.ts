import { Argument, type Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { examples } from '../options.ts';

/** The shells that can be completed. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
/** One of them. */
export type Shell = (typeof SHELLS)[number];

/** Adds `completion`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description('Print the completion script for a shell.')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS));
  examples(
    command,
    'payctl completion bash > ~/.local/share/bash-completion/completions/payctl',
    'payctl completion zsh > "${fpath[1]}/_payctl"',
    'payctl completion fish > ~/.config/fish/completions/payctl.fish',
  ).action((shell: Shell) => run(context(), shell));
}

/** Prints the script, made from the whole tree of commands. */
export async function run({ terminal }: Context, shell: Shell): Promise<void> {
  const { completionScript } = await import('../completion.ts');
  await terminal.out.write(await completionScript(shell, terminal.out));
}
