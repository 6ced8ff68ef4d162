import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { EXCEPTION_ID, EXCEPTIONS, VIEW } from './view.ts';

/** Adds `exception get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('get')
    .description('Show one exception with everything that is known of it.')
    .argument('<id>');
  examples(
    command,
    `payctl exception get ${EXCEPTION_ID}`,
    `payctl exception get ${EXCEPTION_ID} --fields kind,state,detail`,
  ).action((id: string) => run(context(), id));
}

/** Prints one exception. */
export async function run({ api, print }: Context, id: string): Promise<void> {
  await print.item(await api.get(`${EXCEPTIONS}/${segment(id)}`), VIEW);
}
