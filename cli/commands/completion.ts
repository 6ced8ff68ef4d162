import { Argument, type Command } from 'commander';
import { completionScript, type Shell, SHELLS } from '../completion.ts';
import type { Context, ContextOf, DescribedTree } from '../context.ts';
import { examples } from '../options.ts';

/** Adds `completion`. */
export function define(command: Command, context: ContextOf, tree: DescribedTree): void {
  command
    .description('Print the completion script for a shell.')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS));
  examples(
    command,
    'payctl completion bash > ~/.local/share/bash-completion/completions/payctl',
    'payctl completion zsh > "${fpath[1]}/_payctl"',
    'payctl completion fish > ~/.config/fish/completions/payctl.fish',
  ).action((shell: Shell) => run(context(), shell, tree));
}

/** Prints the script, made from the whole tree of commands. */
export async function run({ terminal }: Context, shell: Shell, tree: DescribedTree): Promise<void> {
  await terminal.out.write(completionScript(shell, await tree()));
}
