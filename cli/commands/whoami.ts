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

const APPLICATION: View = {
  noun: 'app',
  id: 'client_id',
  columns: [
    { field: 'client_id', title: 'CLIENT_ID', kind: 'id' },
    { field: 'name' },
    { field: 'project' },
    { field: 'scopes' },
    { field: 'mode' },
    { field: 'context' },
    { field: 'label', kind: 'status' },
    { field: 'server' },
  ],
};

/** Adds the description, the examples and the action of `payctl whoami`. */
export function define(command: Command, context: ContextOf): void {
  examples(
    command.description('Show the logged-in administrator, or the application with its scopes, and the server.'),
    'payctl whoami',
    'payctl whoami -C prod --json',
  ).action(() => run(context()));
}

async function run({ api, application, target, print }: Context): Promise<void> {
  const { context, server, label } = await target();
  const isApplication = (await application()) !== undefined;
  const me = await api.get(isApplication ? '/api/v2/me' : '/api/v1/me');
  await print.item({ ...me, context, server, label }, isApplication ? APPLICATION : VIEW);
}
