import { DISPUTE_STATES } from '../../server/domain.ts';
import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { addAction } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { say } from '../language.ts';
import { type Resource, addGet, addList } from '../resource.ts';
import type { Change } from '../safety.ts';
import type { Row } from '../values.ts';
import { BY, printWaiting } from './views.ts';

const DISPUTE_NO = 'D20261121060100D4N8ZR3VHC';

const dispute: Resource = {
  noun: 'dispute',
  plural: 'disputes',
  path: '/api/v1/disputes',
  idName: 'disputeNo',
  view: {
    noun: 'dispute',
    id: 'disputeNo',
    columns: [
      { field: 'disputeNo', title: 'DISPUTE', kind: 'id' },
      { field: 'status', kind: 'status', words: 'disputeState' },
      { field: 'amount', kind: 'money' },
      { field: 'orderNo', title: 'ORDER', kind: 'id' },
      { field: 'dueAt', title: 'DUE', kind: 'time' },
      { field: 'payWay', title: 'CHANNEL', kind: 'id', words: 'payWay' },
      { field: 'openedAt', kind: 'time' },
      { field: 'reason' },
    ],
  },
  filters: [
    { name: 'status', value: 'status', help: 'filter by status', choices: DISPUTE_STATES },
    BY.order,
    BY.app,
    BY.channel,
    { name: 'channelDisputeNo', value: 'no', help: 'filter by the number of the channel' },
    BY.project,
  ],
  own: {
    list: '/api/v2/payment/disputes',
    get: '/api/v2/payment/disputes',
    filters: ['status', 'orderNo'],
  },
};

/** The limits of the service for files of a dispute. Each channel has stricter limits. */
const MOST_FILES = 10;
const MOST_BYTES = 10 * 1024 * 1024;

function several(path: string, before: unknown): string[] {
  return [...((before as string[] | undefined) ?? []), path];
}

async function contentOf(
  { terminal }: Context,
  { file, ...body }: Row,
): Promise<Pick<Change, 'body' | 'raw' | 'shown'>> {
  const paths = (file ?? []) as string[];
  if (paths.length === 0) return { body };
  if (paths.length > MOST_FILES) throw new UsageError(`An answer to a dispute can have at most ${MOST_FILES} files.`);
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
  return { body: undefined, raw: { type, content }, shown: { ...body, file: paths.map((path) => basename(path)) } };
}

/** Adds the subcommands of `payctl dispute`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, answer, accept and finish disputes of payers about their payments.');
  addList(noun, context, dispute, [
    'payctl dispute list --status needs_answer',
    'payctl dispute list --order P202611210558007K2MQX9WBT',
    'payctl dispute list --pay-way paypal --all --json',
  ]);
  addGet(noun, context, dispute, [
    `payctl dispute get ${DISPUTE_NO}`,
    `payctl dispute get ${DISPUTE_NO} --fields status,dueAt`,
  ]);
  addAction(noun, context, dispute, {
    verb: 'answer',
    words: 'Answer a dispute: the text goes to the payer or, once the channel examines it, to the channel.',
    lines: [
      `payctl dispute answer ${DISPUTE_NO} --text "delivered and signed for"`,
      `payctl dispute answer ${DISPUTE_NO} --text "signed for" --file receipt.pdf --file photo.jpg`,
      `payctl dispute answer ${DISPUTE_NO} --text "delivered and signed for" -y --json`,
    ],
    fields: [
      { name: 'text', value: 'text', help: 'reply of the merchant, up to 2000 characters', required: true },
      {
        name: 'file',
        value: 'path',
        help: 'evidence image, or PDF for PayPal; may be repeated',
        read: several,
      },
    ],
    request: (_disputeNo, body, context) => contentOf(context, body),
    risk: 'moderate',
    money: true,
    done: (_row, disputeNo) => say`Answered dispute ${disputeNo}.`,
  });
  addAction(noun, context, dispute, {
    verb: 'accept',
    words: 'Accept a dispute: the channel refunds the payer from the account of the merchant, for good.',
    lines: [
      `payctl dispute accept ${DISPUTE_NO} --note "we are sorry"`,
      `payctl dispute accept ${DISPUTE_NO} --note "we are sorry" --confirm ${DISPUTE_NO} --json`,
    ],
    fields: [
      { name: 'note', value: 'text', help: 'note for the channel, which may show it to the payer', required: true },
    ],
    // Accepting a dispute cannot be undone: the channel refunds the payer.
    risk: 'severe',
    money: true,
    async print(context, row, disputeNo) {
      if (row['askedBy'] !== undefined) return printWaiting(context, row);
      await context.print.item(row, dispute.view);
      await context.print.done(
        row['status'] === 'lost'
          ? say`Accepted dispute ${disputeNo}; the payer gets the money.`
          : say`The channel has not closed the dispute yet. Next: payctl dispute get ${disputeNo}`,
      );
    },
  });
  addAction(noun, context, dispute, {
    verb: 'finish',
    words: 'Report a complaint at Alipay or WeChat Pay as settled. PayPal disputes are decided by PayPal.',
    lines: [`payctl dispute finish ${DISPUTE_NO}`, `payctl dispute finish ${DISPUTE_NO} --result refunded -y --json`],
    fields: [
      {
        name: 'result',
        value: 'result',
        help: 'outcome of the complaint, for Alipay; the default is other',
        choices: ['agreed', 'refunded', 'corrected', 'proven', 'other'],
      },
    ],
    risk: 'moderate',
    money: true,
    done: (_row, disputeNo) => say`Finished dispute ${disputeNo}.`,
  });
}
