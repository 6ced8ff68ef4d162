import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { SECOND_FACTOR, VIEW } from './view.ts';

/** Adds `second-factor status`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('status')
    .description('Show whether you have a second factor, and how many recovery codes are left.');
  examples(command, 'payctl second-factor status', 'payctl second-factor status --json').action(() => run(context()));
}

/** Prints the own second factor. */
export async function run({ api, print }: Context): Promise<void> {
  await print.item(await api.get(SECOND_FACTOR), VIEW);
}
