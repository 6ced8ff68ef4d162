import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { examples } from '../options.ts';
import { packageVersion } from '../version.ts';

/** Adds the description, the examples and the action of `payctl version`. */
export function define(command: Command, context: ContextOf): void {
  examples(
    command.description('Show the versions of payctl and Node.js.'),
    'payctl version',
    'payctl version --json',
  ).action(() => run(context()));
}

async function run({ print }: Context): Promise<void> {
  const row = {
    payctl: packageVersion(),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  await print.item(row, {
    noun: 'version',
    id: 'payctl',
    columns: [{ field: 'payctl' }, { field: 'node' }, { field: 'platform' }],
  });
}
