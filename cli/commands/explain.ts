import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { examples } from '../options.ts';
import { segment } from '../resource.ts';
import { plain, relativeTime, visible, type Row } from '../values.ts';
import type { ContextOf } from './index.ts';
import { ORDERS, VIEW } from './order/view.ts';

/** Adds `explain`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description('Why an order is in its state, what happens next and when, and every step that led there.')
    .argument('<orderNo>');
  examples(command, 'payctl explain P202611210558ABCDEFGH12', 'payctl explain P202611210558ABCDEFGH12 --json').action(
    (orderNo: string) => run(context(), orderNo),
  );
}

/** Prints the explanation: words and steps for a person, the bare object for a program. */
export async function run({ api, print, terminal }: Context, orderNo: string): Promise<void> {
  const path = `${ORDERS}/${segment(orderNo)}`;
  const [explanation, steps] = await Promise.all([api.get(`${path}/explain`), api.page(`${path}/timeline`)]);
  if (print.format !== 'table') return print.item({ ...explanation, timeline: steps.rows }, VIEW);
  await terminal.out.write(`${words(explanation, terminal.now()).join('\n')}\n`);
  const lines = steps.rows.map((step) => stepLine(step, terminal.now()));
  await terminal.out.write(lines.length > 0 ? `\n${lines.join('')}` : '');
}

function stepLine(step: Row, now: Date): string {
  return `  ${relativeTime(step['at'], now).padEnd(8)}  ${visible(String(step['summary'] ?? ''))}\n`;
}

/** The reason, the next action with its time, what a person can do, and the money equation (minor units). */
function words(explanation: Row, now: Date): string[] {
  const next = explanation['next'] as { action?: unknown; at?: unknown } | null | undefined;
  const time = next?.at ? relativeTime(next.at, now) : 'now';
  const equation = explanation['equation'] as Row | undefined;
  const refunds = (explanation['refunds'] ?? []) as Row[];
  const fixes = [explanation, ...refunds, ...((explanation['exceptions'] ?? []) as Row[])].flatMap((part) =>
    part['fix'] ? [`fix     ${text(part['fix'])}`] : [],
  );
  return [
    `${text(explanation['orderNo'])}  ${text(explanation['status'])}`,
    `why     ${text(explanation['reason'])}`,
    `next    ${next ? `${text(next.action)} (${time})` : 'nothing: this is final'}`,
    ...refunds.map(
      (refund) => `refund  ${text(refund['refundNo'])}  ${text(refund['status'])}: ${text(refund['reason'])}`,
    ),
    ...fixes,
    ...(equation
      ? [
          `money   ${Object.entries(equation)
            .map(([name, value]) => `${name} ${text(value)}`)
            .join(', ')}`,
        ]
      : []),
  ];
}

function text(value: unknown): string {
  return visible(plain(value));
}
