import type { Command } from 'commander';
import type { Context, ContextOf } from '../../../context.ts';
import { CliError, EXIT } from '../../../errors.ts';
import { changes, examples } from '../../../options.ts';
import type { ChangeFlags } from '../../../safety.ts';
import { plain } from '../../../values.ts';
import { DELIVERY } from '../../event/view.ts';
import { CLIENT_ID, webhookOf } from './view.ts';

/** Adds `app webhook test`. */
export function define(webhook: Command, context: ContextOf): void {
  const command = webhook
    .command('test')
    .description(
      'Send one signed message of the type webhook.test, without retries. Exits with 1 if it is not accepted.',
    )
    .argument('<client_id>');
  examples(
    changes(command),
    `payctl app webhook test ${CLIENT_ID}`,
    `payctl app webhook test ${CLIENT_ID} --json`,
  ).action((clientId: string, flags: ChangeFlags) => run(context(), clientId, flags));
}

/** Sends the message and says what came of it. */
export async function run({ change, print }: Context, clientId: string, flags: ChangeFlags): Promise<void> {
  const what = `send a test message to app ${clientId}`;
  const row = await change({ what, name: clientId, method: 'POST', path: `${webhookOf(clientId)}/test` }, flags);
  if (!row) return;
  await print.item(row, DELIVERY);
  if (row['state'] === 'delivered') return print.done(`${plain(row['url'])} accepted the message.`);
  const why = row['lastError'] ?? (row['lastStatus'] === null ? 'no answer' : `HTTP ${plain(row['lastStatus'])}`);
  throw new CliError(
    'webhook_test_failed',
    EXIT.failed,
    `${plain(row['url'])} did not accept the message: ${plain(why).replace(/\.$/, '')}.`,
    {
      hint: `payctl app webhook get ${clientId}`,
    },
  );
}
