import type { Command } from 'commander';
import type { ApiClient } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { tsvLine } from '../../output.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { ORDERS, VIEW } from '../order/view.ts';
import { drawPage } from './draw.ts';
import { sectionsOf, type Found, type Section } from './sections.ts';

/** Adds `explain`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Explain why an order is in its current state: what happens next and when, the amounts, and its history. Piped output is one labelled line per fact, with ISO 8601 times.',
    )
    .argument('<orderNo>', 'order number, see payctl order list');
  examples(
    command,
    'payctl explain P202611210558007K2MQX9WBT',
    'payctl explain P202611210558007K2MQX9WBT --json',
    'payctl explain P202611210558007K2MQX9WBT -o tsv',
  ).action((orderNo: string) => run(context(), orderNo));
}

/** Why an order is in its state, for a person who reads it now; without a time for a program, with times as they are. */
export async function explainOrder(
  api: ApiClient,
  orderNo: string,
  now: Date | undefined,
): Promise<readonly Section[]> {
  return sectionsOf(await find(api, orderNo), now);
}

async function find(api: ApiClient, orderNo: string): Promise<Found> {
  const path = `${ORDERS}/${segment(orderNo)}`;
  const [explanation, { rows: timeline }, order] = await Promise.all([
    api.get(`${path}/explain`),
    api.page(`${path}/timeline`),
    api.get(path),
  ]);
  return { explanation, timeline, order } as unknown as Found;
}

/** Prints the explanation: a page for a person, labelled lines in a pipe, the server's object with its timeline as JSON. */
export async function run({ api, print, terminal, flags }: Context, orderNo: string): Promise<void> {
  const words = (print.format === 'table' || print.format === 'tsv') && !flags.quiet && !print.fields;
  if (!words) return print.item(await bare(api, orderNo), VIEW);
  const isPage = print.format === 'table';
  const sections = await explainOrder(api, orderNo, isPage ? terminal.now() : undefined);
  const { columns, style } = terminal.out;
  await terminal.out.write(isPage ? drawPage(sections, { columns, style }) : sections.flatMap(labelled).join(''));
}

/** The server's own words, without the order itself. */
async function bare(api: ApiClient, orderNo: string): Promise<Row> {
  const path = `${ORDERS}/${segment(orderNo)}`;
  const [explanation, { rows: timeline }] = await Promise.all([
    api.get(`${path}/explain`),
    api.page(`${path}/timeline`),
  ]);
  return { ...explanation, timeline };
}

/** In a pipe every line says what it belongs to: a refund's reason is `refund-why`. */
function labelled({ title, lines }: Section): string[] {
  const owner = { order: '', refunds: 'refund', exceptions: 'exception', bills: 'bill', story: 'step' }[title];
  return lines.map(({ label, cells }) =>
    tsvLine([owner === '' || label === owner ? label : `${owner}-${label}`, ...cells]),
  );
}
