import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { Cancelled, CliError, EXIT, onlyUnreachable } from '../../errors.ts';
import { duration, seconds } from '../../options.ts';
import { segment } from '../../resource.ts';
import { startSpinner } from '../../spinner.ts';
import type { Row } from '../../values.ts';
import { failureOf } from './faults.ts';
import { showBill } from './show.ts';
import { BILLS, countOf, nameOf } from './view.ts';

/** The flags of what waits for a bill. */
export interface WaitFlags {
  wait?: number | boolean;
  interval?: number;
}

const LONGEST_SECONDS = 600;

/** Adds the flags of what waits for a bill. */
export function waitFlags(command: Command): Command {
  return command
    .option('--wait <duration>', 'longest time to wait, e.g. 90s; by default 10m', duration)
    .option('--no-wait', 'do not wait for the result')
    .option('--interval <seconds>', 'seconds between checks', seconds, 2);
}

/** Waits for a bill that is asked for, read or compared, prints it and fails when it is not there. */
export async function finish(context: Context, begun: Row, flags: WaitFlags): Promise<void> {
  const { print } = context;
  const billNo = String(begun['billNo']);
  if (flags.wait === false) {
    await showBill(context, begun);
    return print.done(`Not waiting. Next: payctl bill get ${billNo}`);
  }
  const bill = await follow(context, begun, flags);
  await showBill(context, bill);
  const failure = failureOf(bill);
  if (failure) throw failure;
  await print.done(outcome(bill));
}

/** Asks until the bill has ended or the channel has not got it; an unreachable server is asked again. */
async function follow({ api, print, terminal }: Context, begun: Row, flags: WaitFlags): Promise<Row> {
  const billNo = String(begun['billNo']);
  const longest = typeof flags.wait === 'number' ? flags.wait : LONGEST_SECONDS;
  const until = performance.now() + longest * 1000;
  const spinner = startSpinner(terminal.err, progress(begun));
  let told = '';
  try {
    for (;;) {
      const bill = await api.get(`${BILLS}/${segment(billNo)}`).catch(onlyUnreachable);
      if (bill) {
        spinner.text = `${progress(bill)} (Ctrl-C stops waiting)`;
        if (!terminal.err.isTerminal && told !== bill['state'] && !isOver(bill, begun))
          await print.done(progress(bill));
        told = String(bill['state']);
        if (isOver(bill, begun)) return bill;
      }
      if (performance.now() >= until) throw tooLong(begun, told, longest);
      await wait((flags.interval ?? 2) * 1000, undefined, { signal: terminal.signal });
    }
  } catch (error) {
    if (terminal.signal.aborted)
      throw new Cancelled(`Stopped waiting; the service goes on. Next: payctl bill get ${billNo}`);
    throw error;
  } finally {
    spinner.stop();
  }
}

/** Ended, or asked for once more since and not there. */
function isOver(bill: Row, begun: Row): boolean {
  if (!Object.hasOwn(DOING, String(bill['state']))) return true;
  return bill['state'] === 'waiting' && bill['fault'] !== null && Number(bill['checks']) > Number(begun['checks']);
}

function tooLong(begun: Row, state: string, longest: number): CliError {
  return new CliError(
    'bill_takes_long',
    EXIT.tryAgain,
    `${nameOf(begun)} is still ${state || 'unknown'} after ${longest} s; the service goes on.`,
    { hint: `payctl bill get ${String(begun['billNo'])}`, extra: { billNo: begun['billNo'], state: state || null } },
  );
}

const DOING: Readonly<Record<string, string>> = {
  waiting: 'asking the channel',
  reading: 'reading',
  matching: 'comparing with the orders',
};

function progress(bill: Row): string {
  const state = String(bill['state']);
  const lines = state === 'matching' ? `, ${String(bill['lines'])} lines` : '';
  return `${nameOf(bill)}: ${DOING[state] ?? state}${lines}`;
}

function outcome(bill: Row): string {
  const [open, listed] = [countOf(bill, 'open'), countOf(bill, 'listed')];
  const lines = `${nameOf(bill)}: ${String(bill['lines'])} lines`;
  if (open + listed === 0) return `${lines}, no open differences.`;
  return `${lines}; differences: ${open} being checked, ${listed} for review. Next: payctl bill differences ${String(bill['billNo'])}`;
}
