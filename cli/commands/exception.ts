import type { Command } from 'commander';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { changes, choice, examples, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, bodyOf, complete, printList, segment } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import type { Row, View } from '../values.ts';
import { EXCEPTIONS, tellWaiting } from './views.ts';

/** An exception id for examples. */
const EXCEPTION_ID = '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52';

/** How exceptions are shown. */
const VIEW: View = {
  noun: 'exception',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'kind', kind: 'status' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'refundNo', title: 'REFUND', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'createdAt', kind: 'time' },
    { field: 'detail' },
  ],
};

const FILTERS: readonly Field[] = [
  { name: 'state', value: 'state', help: 'filter by state', choices: ['open', 'resolved'] },
  {
    name: 'kind',
    value: 'kind',
    help: 'filter by kind: late_paid, amount_mismatch, refund_overrun, refund_abnormal, …',
  },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'project', value: 'code', help: 'filter by project' },
];

/** Adds `exception list`. */
function defineList(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List exceptions, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl exception list --state open',
    'payctl exception list --kind amount_mismatch --json',
  ).action((options: Row & ListFlags) => runList(context(), options));
}

/** Prints the exceptions that pass the filters. */
function runList(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, EXCEPTIONS, bodyOf(options, FILTERS) as Query, VIEW, options);
}

/** Adds `exception get`. */
function defineGet(noun: Command, context: ContextOf): void {
  const command = noun
    .command('get')
    .description('Show one exception with everything that is known of it.')
    .argument('<id>');
  examples(
    command,
    `payctl exception get ${EXCEPTION_ID}`,
    `payctl exception get ${EXCEPTION_ID} --fields kind,state,detail`,
  ).action((id: string) => runGet(context(), id));
}

/** Prints one exception. */
async function runGet({ api, print }: Context, id: string): Promise<void> {
  await print.item(await api.get(`${EXCEPTIONS}/${segment(id)}`), VIEW);
}

/** How an exception can be resolved. */
const ACTIONS = ['acknowledge', 'refund', 'accept', 'close', 'retry'] as const;

/** The flags of `exception resolve`. */
interface ResolveFlags extends ChangeFlags {
  action?: string;
  reason?: string;
}

const RESOLVE_FIELDS: readonly Field[] = [
  { name: 'action', value: 'action', help: 'resolution', choices: ACTIONS, required: true },
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** Adds `exception resolve`. */
function defineResolve(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resolve')
    .description(
      'Resolve an exception: acknowledge it, refund a second payment, refund or accept an amount mismatch, close an overdue order, or retry an action that failed.',
    )
    .argument('<id>');
  command
    .addOption(choice('--action <action>', 'resolution', ACTIONS))
    .option('--reason <text>', 'reason, recorded with your name');
  examples(
    changes(command),
    `payctl exception resolve ${EXCEPTION_ID} --action acknowledge --reason "agreed with the merchant"`,
    `payctl exception resolve ${EXCEPTION_ID} --action refund --reason "paid twice" --confirm ${EXCEPTION_ID}`,
  ).action((id: string, flags: ResolveFlags) => runResolve(context(), id, flags));
}

/** Resolves an exception; always confirmed with its id, because money may move. */
async function runResolve(context: Context, id: string, flags: ResolveFlags): Promise<void> {
  const { action, reason } = flags;
  const body = await complete(context, RESOLVE_FIELDS, {
    ...(action ? { action } : {}),
    ...(reason ? { reason } : {}),
  });
  const row = await context.change(
    {
      what: `resolve exception ${id} (${String(body['action'])})`,
      name: id,
      risk: 'severe',
      method: 'POST',
      path: `${EXCEPTIONS}/${segment(id)}/resolve`,
      body,
    },
    flags,
  );
  if (!row) return;
  if (row['askedBy'] !== undefined) return tellWaiting(context, row);
  await context.print.item(row, VIEW);
  if (row['state'] === 'open') await context.print.done(`Exception ${id} is still open: the action failed again.`);
  else await context.print.done(`Resolved exception ${id}.`);
}

/** Adds the verbs of `exception`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, show and resolve exceptions, the cases that need manual review.');
  for (const addVerb of [defineList, defineGet, defineResolve]) addVerb(noun, context);
}
