import type { Command } from 'commander';
import type { Context, ContextOf } from '../../../context.ts';
import { examples } from '../../../options.ts';
import { CLIENT_ID, VIEW, webhookOf } from './view.ts';

/** Adds `app webhook get`. */
export function define(webhook: Command, context: ContextOf): void {
  const command = webhook.command('get').description('Show the webhook of an application.').argument('<client_id>');
  examples(command, `payctl app webhook get ${CLIENT_ID}`, `payctl app webhook get ${CLIENT_ID} --json`).action(
    (clientId: string) => run(context(), clientId),
  );
}

/** Prints the webhook. */
export async function run({ api, print }: Context, clientId: string): Promise<void> {
  await print.item(await api.get(webhookOf(clientId)), VIEW);
}
