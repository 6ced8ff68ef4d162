import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { exportBroken } from '../../export-stream.ts';
import { choice, examples, integer } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { BILL_NO, BILLS, LINE_KINDS, LINES } from './view.ts';

/** The flags of `bill lines`. */
export interface LinesFlags {
  kind?: string;
  limit?: number;
  all?: boolean;
}

const FIRST = 50;
const AT_ONCE = 200;

/** Adds `bill lines`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('lines')
    .description('Show the lines of a bill. For a whole bill, use payctl bill export.')
    .argument('<billNo>')
    .addOption(choice('--kind <kind>', 'filter by kind', LINE_KINDS))
    .option('--limit <n>', 'number of lines, by default 50', integer(1, 100_000))
    .option('--all', 'show all lines');
  examples(
    command,
    `payctl bill lines ${BILL_NO}`,
    `payctl bill lines ${BILL_NO} --kind refund --all`,
    `payctl bill lines ${BILL_NO} --limit 5 --json`,
  ).action((billNo: string, flags: LinesFlags) => run(context(), billNo, flags));
}

/** Prints the lines while they come, where the format allows it; says when there are more. */
export async function run(context: Context, billNo: string, flags: LinesFlags): Promise<void> {
  const { print, terminal } = context;
  const most = flags.all ? Infinity : (flags.limit ?? FIRST);
  let held: Row[] = [];
  let printed = 0;
  const show = async (): Promise<void> => {
    await print.list(held, LINES, { continued: printed > 0 });
    printed += held.length;
    held = [];
  };
  for await (const row of rowsOf(context, billNo, flags.kind)) {
    if (printed + held.length >= most) {
      await show();
      return print.note('There are more lines: add --all, or use payctl bill export.');
    }
    held.push(row);
    if (print.linewise && held.length >= AT_ONCE) await show();
    if (terminal.out.closed) return;
  }
  if (held.length > 0 || printed === 0) await show();
  if (printed === 0 && print.format === 'table') await print.note('No line found.');
}

/** The lines as the service streams them; leaving the loop closes the connection. */
async function* rowsOf(
  { api, terminal }: Context,
  billNo: string,
  kind: string | undefined,
): AsyncGenerator<Row, void, undefined> {
  const answer = await api.stream({
    method: 'GET',
    path: `${BILLS}/${segment(billNo)}/lines`,
    query: { format: 'ndjson', kind },
    headers: { accept: '*/*' },
  });
  let count = 0;
  try {
    for await (const line of createInterface({ input: answer, crlfDelay: Infinity })) {
      if (line === '') continue;
      const row = JSON.parse(line) as Row;
      count += 1;
      yield row;
    }
    if (!answer.complete) throw new Error('the connection was closed');
  } catch (error) {
    throw exportBroken(terminal.signal, count, error);
  } finally {
    answer.destroy();
  }
}
