import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { examples } from '../options.ts';
import type { View } from '../values.ts';

const VIEW: View = {
  noun: 'admin',
  id: 'username',
  columns: [
    { field: 'username' },
    { field: 'role' },
    { field: 'projects', read: ({ projects }) => (projects === null ? 'all' : projects) },
    { field: 'secondFactor' },
    { field: 'context' },
    { field: 'label', kind: 'status' },
    { field: 'server' },
  ],
};

/** Adds the description, the examples and the action of `payctl whoami`. */
export function define(command: Command, context: ContextOf): void {
  examples(
    command.description('Show the logged-in administrator and the server.'),
    'payctl whoami',
    'payctl whoami -C prod --json',
  ).action(() => run(context()));
}

async function run({ api, target, print }: Context): Promise<void> {
  const { context, server, label } = await target();
  await print.item({ ...(await api.get('/api/v1/me')), context, server, label }, VIEW);
}
