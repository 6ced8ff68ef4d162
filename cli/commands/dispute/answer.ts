import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { changes, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { Change, ChangeFlags } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { DISPUTE_NO, DISPUTES, VIEW } from './view.ts';

/** The flags of `dispute answer`. */
export interface AnswerFlags extends ChangeFlags {
  text?: string;
  file?: string[];
}

const FIELDS: readonly Field[] = [
  { name: 'text', value: 'text', help: 'what the merchant says, up to 2000 characters', required: true },
];

/** As the service takes them; the channels are stricter, each in its own way. */
const MOST_FILES = 10;
const MOST_BYTES = 10 * 1024 * 1024;

/** Adds `dispute answer`. */
export function define(noun: Command, context: ContextOf): void {
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
  ).action((disputeNo: string, flags: AnswerFlags) => run(context(), disputeNo, flags));
}

/** Sends the answer; the same Idempotency-Key goes with every try. */
export async function run(context: Context, disputeNo: string, flags: AnswerFlags): Promise<void> {
  const body = await complete(context, FIELDS, flags.text === undefined ? {} : { text: flags.text });
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
