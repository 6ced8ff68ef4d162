import type { Command } from 'commander';
import type { Query } from '../../../api-client.ts';
import type { Context, ContextOf } from '../../../context.ts';
import { printList, type ListFlags } from '../../../listing.ts';
import { examples, paged } from '../../../options.ts';
import { addFields, bodyOf, type Field } from '../../../resource.ts';
import type { Row } from '../../../values.ts';
import { DELIVERY, EVENT_ID } from '../../event/view.ts';
import { CLIENT_ID, webhookOf } from './view.ts';

const FILTERS: readonly Field[] = [
  {
    name: 'state',
    value: 'state',
    help: 'filter by state',
    choices: ['pending', 'delivered', 'failed', 'cancelled'],
  },
  { name: 'eventId', flag: 'event', value: 'id', help: 'filter by event' },
];

/** Adds `app webhook deliveries`. */
export function define(webhook: Command, context: ContextOf): void {
  const command = webhook
    .command('deliveries')
    .description('List what was delivered to an application, or is to be, newest first; with -o json every attempt.')
    .argument('<client_id>');
  addFields(command, FILTERS);
  examples(
    paged(command),
    `payctl app webhook deliveries ${CLIENT_ID} --state failed`,
    `payctl app webhook deliveries ${CLIENT_ID} --event ${EVENT_ID} --json`,
  ).action((clientId: string, options: Row & ListFlags) => run(context(), clientId, options));
}

/** Prints the deliveries that pass the filters. */
export function run(context: Context, clientId: string, options: Row & ListFlags): Promise<void> {
  const query = bodyOf(options, FILTERS) as Query;
  return printList(context, `${webhookOf(clientId)}/deliveries`, query, DELIVERY, options);
}
