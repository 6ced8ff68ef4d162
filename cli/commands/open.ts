import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { examples } from '../options.ts';
import { segment } from '../resource.ts';

/** Defines `payctl open`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description('Open the API explorer in a browser, or the payment page of an order.')
    .argument('[orderNo]')
    .option('--print', 'print the URL without opening it');
  examples(command, 'payctl open --print', 'payctl open P202611210558007K2MQX9WBT --print').action(
    (orderNo: string | undefined, flags: { print?: boolean }) => run(context(), orderNo, flags),
  );
}

async function run(
  { target, terminal, print }: Context,
  orderNo: string | undefined,
  flags: { print?: boolean },
): Promise<void> {
  const { server } = await target();
  const address = orderNo === undefined ? `${server}/swagger/index.html` : `${server}/pay/${segment(orderNo)}`;
  await (print.json
    ? print.item({ address }, { noun: 'page', id: 'address', columns: [] })
    : terminal.out.write(`${address}\n`));
  if (flags.print || !terminal.out.isTerminal) return;
  const { spawn } = await import('node:child_process');
  const [program, ...args] = opener(address);
  // A missing browser is not an error: the address is printed.
  spawn(program, args, { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

function opener(address: string): [string, ...string[]] {
  if (process.platform === 'darwin') return ['open', address];
  return process.platform === 'win32' ? ['explorer.exe', address] : ['xdg-open', address];
}
