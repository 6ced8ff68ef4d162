import { DISPUTE_STATES, PAY_WAYS } from '../../server/domain.ts';
import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { changes, choice, examples, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, bodyOf, complete, printList, segment } from '../resource.ts';
import type { Change, ChangeFlags } from '../safety.ts';
import type { Row, View } from '../values.ts';
import { tellWaiting } from './views.ts';

/** A dispute number for examples. */
const DISPUTE_NO = 'D20261121060100D4N8ZR3VHC';

/** The console's path of disputes. */
const DISPUTES = '/api/v1/disputes';

/** How disputes are shown. */
const VIEW: View = {
  noun: 'dispute',
  id: 'disputeNo',
  columns: [
    { field: 'disputeNo', title: 'DISPUTE', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'amount', kind: 'money' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'dueAt', title: 'DUE', kind: 'time' },
    { field: 'payWay', title: 'CHANNEL', kind: 'id' },
    { field: 'openedAt', kind: 'time' },
    { field: 'reason' },
  ],
};

/** What disputes can be found by. */
const FILTERS: readonly Field[] = [
  {
    name: 'status',
    value: 'status',
    help: 'filter by status',
    choices: DISPUTE_STATES,
  },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  { name: 'payWay', value: 'channel', help: 'filter by channel', choices: PAY_WAYS },
  { name: 'channelDisputeNo', value: 'no', help: 'filter by the number of the channel' },
  { name: 'project', value: 'code', help: 'filter by project' },
];

/** Adds `dispute list`. */
function defineList(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List disputes, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl dispute list --status needs_answer',
    'payctl dispute list --order P202611210558007K2MQX9WBT',
    'payctl dispute list --pay-way paypal --all --json',
  ).action((options: Row & ListFlags) => runList(context(), options));
}

/** Prints the disputes that pass the filters. */
function runList(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, DISPUTES, bodyOf(options, FILTERS) as Query, VIEW, options);
}

/** Adds `dispute get`. */
function defineGet(noun: Command, context: ContextOf): void {
  const command = noun.command('get').description('Show one dispute.').argument('<disputeNo>');
  examples(
    command,
    `payctl dispute get ${DISPUTE_NO}`,
    `payctl dispute get ${DISPUTE_NO} --fields status,dueAt`,
  ).action((disputeNo: string) => runGet(context(), disputeNo));
}

/** Prints one dispute. */
async function runGet({ api, print }: Context, disputeNo: string): Promise<void> {
  await print.item(await api.get(`${DISPUTES}/${segment(disputeNo)}`), VIEW);
}

/** The flags of `dispute answer`. */
interface AnswerFlags extends ChangeFlags {
  text?: string;
  file?: string[];
}

const ANSWER_FIELDS: readonly Field[] = [
  { name: 'text', value: 'text', help: 'what the merchant says, up to 2000 characters', required: true },
];

/** As the service takes them; the channels are stricter, each in its own way. */
const MOST_FILES = 10;
const MOST_BYTES = 10 * 1024 * 1024;

/** Adds `dispute answer`. */
function defineAnswer(noun: Command, context: ContextOf): void {
  const command = noun
    .command('answer')
    .description('Answer a dispute: the text goes to the payer or, once the channel examines it, to the channel.')
    .argument('<disputeNo>')
    .option('--text <text>', 'what the merchant says, up to 2000 characters')
    .option('--file <path>', 'image that proves it, at PayPal PDF, too; repeat it for several', several);
  examples(
    changes(command, { money: true }),
    `payctl dispute answer ${DISPUTE_NO} --text "delivered and signed for"`,
    `payctl dispute answer ${DISPUTE_NO} --text "signed for" --file receipt.pdf --file photo.jpg`,
    `payctl dispute answer ${DISPUTE_NO} --text "delivered and signed for" -y --json`,
  ).action((disputeNo: string, flags: AnswerFlags) => runAnswer(context(), disputeNo, flags));
}

/** Sends the answer; the same Idempotency-Key goes with every try. */
async function runAnswer(context: Context, disputeNo: string, flags: AnswerFlags): Promise<void> {
  const body = await complete(context, ANSWER_FIELDS, flags.text === undefined ? {} : { text: flags.text });
  const row = await context.change(
    {
      what: `answer dispute ${disputeNo}`,
      name: disputeNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${DISPUTES}/${segment(disputeNo)}/answer`,
      ...(await contentOf(context, body, flags.file ?? [])),
    },
    flags,
  );
  if (!row) return;
  await context.print.item(row, VIEW);
  await context.print.done(`Answered dispute ${disputeNo}.`);
}

function several(path: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), path];
}

/** JSON, or with files a form. */
async function contentOf(
  { terminal }: Context,
  body: Row,
  paths: readonly string[],
): Promise<Pick<Change, 'body' | 'raw' | 'shown'>> {
  if (paths.length === 0) return { body };
  if (paths.length > MOST_FILES) throw new UsageError(`An answer takes ${MOST_FILES} files at most.`);
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, String(value));
  for (const path of paths) {
    const bytes = await readFile(resolve(terminal.cwd, path));
    if (bytes.length > MOST_BYTES) throw new UsageError(`${path} is larger than 10 MB.`);
    form.append('file', new Blob([new Uint8Array(bytes)]), basename(path));
  }
  const sent = new Response(form);
  const type = sent.headers.get('content-type') ?? '';
  const content = new Uint8Array(await sent.arrayBuffer());
  return { raw: { type, content }, shown: { ...body, file: paths.map((path) => basename(path)) } };
}

/** The flags of `dispute accept`. */
interface AcceptFlags extends ChangeFlags {
  note?: string;
}

const ACCEPT_FIELDS: readonly Field[] = [
  { name: 'note', value: 'text', help: 'note for the channel, which may show it to the payer', required: true },
];

/** Adds `dispute accept`. */
function defineAccept(noun: Command, context: ContextOf): void {
  const command = noun
    .command('accept')
    .description('Accept a dispute: the channel refunds the payer from the account of the merchant, for good.')
    .argument('<disputeNo>')
    .option('--note <text>', 'note for the channel, which may show it to the payer');
  examples(
    changes(command, { money: true }),
    `payctl dispute accept ${DISPUTE_NO} --note "we are sorry"`,
    `payctl dispute accept ${DISPUTE_NO} --note "we are sorry" --confirm ${DISPUTE_NO} --json`,
  ).action((disputeNo: string, flags: AcceptFlags) => runAccept(context(), disputeNo, flags));
}

/** Gives in; always confirmed with the number, because money moves and does not come back. */
async function runAccept(context: Context, disputeNo: string, flags: AcceptFlags): Promise<void> {
  const body = await complete(context, ACCEPT_FIELDS, flags.note === undefined ? {} : { note: flags.note });
  const row = await context.change(
    {
      what: `accept dispute ${disputeNo}`,
      name: disputeNo,
      risk: 'severe',
      money: true,
      method: 'POST',
      path: `${DISPUTES}/${segment(disputeNo)}/accept`,
      body,
    },
    flags,
  );
  if (!row) return;
  if (row['askedBy'] !== undefined) return tellWaiting(context, row);
  await context.print.item(row, VIEW);
  await context.print.done(
    row['status'] === 'lost'
      ? `Accepted dispute ${disputeNo}; the payer gets the money.`
      : `The channel has not closed the dispute yet. Next: payctl dispute get ${disputeNo}`,
  );
}

/** What can be said of a complaint that has been dealt with. */
const RESULTS = ['agreed', 'refunded', 'corrected', 'proven', 'other'] as const;

/** The flags of `dispute finish`. */
interface FinishFlags extends ChangeFlags {
  result?: string;
}

/** Adds `dispute finish`. */
function defineFinish(noun: Command, context: ContextOf): void {
  const command = noun
    .command('finish')
    .description('Say that a complaint of Alipay or WeChat Pay has been dealt with. PayPal decides by itself.')
    .argument('<disputeNo>')
    .addOption(choice('--result <result>', 'what became of it, for Alipay; the default is other', RESULTS));
  examples(
    changes(command, { money: true }),
    `payctl dispute finish ${DISPUTE_NO}`,
    `payctl dispute finish ${DISPUTE_NO} --result refunded -y --json`,
  ).action((disputeNo: string, flags: FinishFlags) => runFinish(context(), disputeNo, flags));
}

/** Tells the channel; no money moves. */
async function runFinish(context: Context, disputeNo: string, flags: FinishFlags): Promise<void> {
  const row = await context.change(
    {
      what: `finish dispute ${disputeNo}`,
      name: disputeNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${DISPUTES}/${segment(disputeNo)}/finish`,
      ...(flags.result === undefined ? {} : { body: { result: flags.result } }),
    },
    flags,
  );
  if (!row) return;
  await context.print.item(row, VIEW);
  await context.print.done(`Finished dispute ${disputeNo}.`);
}

/** Adds the verbs of `dispute`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, answer, accept and finish disputes of payers about their payments.');
  for (const addVerb of [defineList, defineGet, defineAnswer, defineAccept, defineFinish]) addVerb(noun, context);
}
