import { PAY_WAYS } from '../../server/domain.ts';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { resolve } from 'node:path';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type OfflineFlags, offlineFlags, translate } from '../offline.ts';
import { choice, duration, examples, given, integer } from '../options.ts';
import type { Row } from '../values.ts';
import {
  type SimulatorFlags,
  defineDispute,
  defineNotify,
  definePayer,
  postSimulator,
  simulatorApi,
  simulatorFlag,
} from './simulator-payer.ts';

interface Address {
  host: string;
  port: number;
}

type Roots = Partial<Record<(typeof PAY_WAYS)[number], Address>>;

interface StartFlags extends OfflineFlags {
  listen?: Address;
  dir?: string;
  root?: Roots;
}

function defineStart(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('start')
      .description('Run the simulator of the three channels as a separate process, until Ctrl-C.')
      .option(
        '--listen <host:port>',
        'address to listen on; by default Simulator.Listen, or Simulator.Url of this machine',
        address,
      )
      .option('--dir <folder>', 'directory for its keys and ledger; by default Simulator.Dir')
      .option(
        '--root <channel=host:port>',
        'serve one channel at the root of another address, too, for clients that sign paths from /; can be repeated',
        addRoot,
      ),
  );
  examples(
    command,
    'payctl simulator start',
    'payctl simulator start --listen 127.0.0.1:9081 --dir /tmp/simulator',
    'payctl simulator start --root wechat=127.0.0.1:8082',
  ).action((flags: StartFlags) => runStart(context(), flags));
}

function addRoot(text: string, before: Roots = {}): Roots {
  const channel = PAY_WAYS.find((one) => text.startsWith(`${one}=`));
  if (!channel) throw new InvalidArgumentError('Expected channel=host:port, e.g. wechat=127.0.0.1:8082.');
  return { ...before, [channel]: address(text.slice(channel.length + 1)) };
}

function address(text: string): Address {
  const match = /^(.+):(\d{1,5})$/.exec(text);
  if (!match?.[1] || Number(match[2]) > 65_535)
    throw new InvalidArgumentError('Expected host:port, e.g. 127.0.0.1:8081.');
  return { host: match[1].replace(/^\[|\]$/g, ''), port: Number(match[2]) };
}

async function runStart({ terminal, runSimulator }: Context, flags: StartFlags): Promise<void> {
  const start = runSimulator ?? (await import('../../server/simulator/simulator.ts')).runSimulator;
  const { env, cwd } = terminal;
  const { loadSimulator } = await import('../../config/load.ts');
  try {
    const configured = loadSimulator({ argv: flags.config ? { config: flags.config } : {}, env, cwd });
    const { listen = configured.listen, dir = configured.dir } = flags;
    await start(
      { dir: resolve(cwd, dir), listen, roots: flags.root ?? {} },
      (url) => void terminal.out.write(announce(url, terminal.out.isTerminal)),
    );
  } catch (error) {
    throw translate(error);
  }
}

function announce(url: string, isTerminal: boolean): string {
  return isTerminal ? `  Simulator  ${url}\n  Stop       Ctrl-C\n` : `${JSON.stringify({ simulator: url })}\n`;
}

const CLOCK = { noun: 'clock', id: 'now', columns: [{ field: 'now' }] };

function defineClock(noun: Command, context: ContextOf): void {
  const clock = noun
    .command('clock')
    .description('Show or advance the simulator clock, which drives expiry and notifications.');
  const show = simulatorFlag(clock.command('show').description('Show the simulated time.'));
  examples(show, 'payctl simulator clock show', 'payctl simulator clock show --json').action((flags: SimulatorFlags) =>
    runShowClock(context(), flags),
  );
  const advance = simulatorFlag(
    clock
      .command('advance')
      .description('Advance the simulated time; everything that falls due is carried out.')
      .argument('<span>', 'duration, e.g. 90s, 15m, 2h or 7d', duration),
  );
  examples(advance, 'payctl simulator clock advance 2h', 'payctl simulator clock advance 7d --json').action(
    (span: number, flags: SimulatorFlags) => runAdvanceClock(context(), span, flags),
  );
}

async function runShowClock(context: Context, flags: SimulatorFlags): Promise<void> {
  await context.print.item(await simulatorApi(context, flags).get('/sim/clock'), CLOCK);
}

async function runAdvanceClock(context: Context, advanceSeconds: number, flags: SimulatorFlags): Promise<void> {
  await context.print.item(await postSimulator(context, flags, '/sim/clock', { advanceSeconds }), CLOCK);
}

type FaultFlags = Row & SimulatorFlags & { fault?: string; payWay?: string; clear?: boolean };

const FAULT = {
  noun: 'fault',
  id: 'id',
  columns: [
    { field: 'fault', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'call', kind: 'id' },
    { field: 'times' },
    { field: 'probability' },
    { field: 'hits' },
    { field: 'id', kind: 'id' },
  ],
} as const;

function defineFaults(noun: Command, context: ContextOf): void {
  const command = simulatorFlag(
    noun
      .command('faults')
      .description('List the injected faults, inject one with --fault, or remove all with --clear.'),
  );
  command
    .option('--fault <name>', 'fault to inject, e.g. commit-then-timeout')
    .addOption(choice('--pay-way <channel>', 'channel', PAY_WAYS))
    .option('--call <call>', 'call that fails: create, query, close, capture, refund, notice …')
    .option('--times <n>', 'number of calls that fail', integer(1, 1_000_000))
    .option('--probability <p>', 'probability from 0 to 1', probability)
    .option('--order-no <no>', 'only for this order')
    .option('--clear', 'remove all faults');
  examples(
    command,
    'payctl simulator faults',
    'payctl simulator faults --pay-way alipay --call create --fault commit-then-timeout --times 1',
    'payctl simulator faults --clear',
  ).action((flags: FaultFlags) => runFaults(context(), flags));
}

function probability(text: string): number {
  const value = Number(text);
  if (text === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('Expected a number from 0 to 1.');
  return value;
}

async function runFaults(context: Context, flags: FaultFlags): Promise<void> {
  const api = simulatorApi(context, flags);
  if (flags.clear) {
    await clearSimulator(context, flags, '/sim/faults');
    return context.print.done('All faults removed.');
  }
  if (flags.fault === undefined)
    return context.print.list(((await api.get('/sim/faults'))['faults'] ?? []) as Row[], FAULT);
  if (flags.payWay === undefined) throw new UsageError('--fault requires --pay-way.', 'add --pay-way alipay');
  const body = given(flags, ['fault', 'payWay', 'call', 'times', 'probability', 'orderNo']);
  await context.print.item(await postSimulator(context, flags, '/sim/faults', body), FAULT);
}

/** The simulator requires the JSON content type, even without a body. */
async function clearSimulator(context: Context, flags: SimulatorFlags, path: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await simulatorApi(context, flags).data({ method: 'DELETE', path, headers, anonymous: true });
}

type LedgerFlags = Row & SimulatorFlags & { sums?: boolean };

const LEDGER_ENTRY = {
  noun: 'entry',
  id: 'number',
  columns: [
    { field: 'at', kind: 'time' },
    { field: 'type' },
    { field: 'orderNo', kind: 'id' },
    { field: 'minor' },
    { field: 'payWay', kind: 'id' },
    { field: 'number' },
  ],
} as const;
const LEDGER_SUMS = {
  noun: 'order',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'amount' },
    { field: 'paid' },
    { field: 'refunded' },
    { field: 'currency', kind: 'id' },
  ],
} as const;

function defineLedger(noun: Command, context: ContextOf): void {
  const command = simulatorFlag(
    noun
      .command('ledger')
      .description('Show the ledger of the simulated channels: every order, payment and refund, in minor units.'),
  );
  command
    .addOption(choice('--pay-way <channel>', 'filter by channel', PAY_WAYS))
    .option('--order-no <no>', 'filter by order')
    .option('--sums', 'one row per order');
  examples(
    command,
    'payctl simulator ledger',
    'payctl simulator ledger --sums --json',
    'payctl simulator ledger --order-no P202611210558007K2MQX9WBT',
  ).action((flags: LedgerFlags) => runLedger(context(), flags));
}

async function runLedger(context: Context, flags: LedgerFlags): Promise<void> {
  const query = given(flags, ['payWay', 'orderNo']) as Query;
  const { entries, orders } = (await simulatorApi(context, flags).get('/sim/ledger', query)) as {
    entries?: Row[];
    orders?: unknown;
  };
  if (!flags.sums) return context.print.list(entries ?? [], LEDGER_ENTRY);
  await context.print.list(Object.values(orders ?? {}) as Row[], LEDGER_SUMS);
}

/** Deliberate errors in the simulator's bills, e.g. a wrong amount. A test compares the list with the simulator's. */
export const PLANTS = [
  'paid_unknown_to_us',
  'paid_missing_at_channel',
  'amount_differs',
  'currency_differs',
  'refund_unknown_to_us',
  'refund_missing_at_channel',
  'refund_amount_differs',
  'fee_differs',
  'line_twice',
  'dispute_unknown_to_us',
  'duplicate_payment',
  'order_unknown_here',
  'line_unreadable',
  'withdrawal',
  'order_not_ours',
] as const;

const MEANINGS = {
  late: 'no bill yet',
  empty: 'no transactions',
  cut: 'a truncated file',
  'wrong-hash': 'WeChat Pay only',
  'expired-url': 'the download address expires at once; not PayPal',
  'wrong-charset': 'UTF-8 for GBK, GBK for UTF-8, UTF-16 at PayPal',
  'foreign-account': 'the bill of another merchant',
  'other-columns': 'a renamed column',
  'zip-bomb': 'a gigabyte in a small file; not PayPal',
  formula: 'texts that a spreadsheet would execute',
  'real-hours': 'available only at the real hours of the channel',
  filler: 'additional payments of another system, see --rows',
} as const;

/** Artificial situations of the simulator's bills, e.g. `cut`. A test compares the list with the simulator's. */
export const CONDITIONS = Object.keys(MEANINGS) as (keyof typeof MEANINGS)[];

type BillFlags = Row & SimulatorFlags & { payWay?: string; date?: string; rows?: number; off?: boolean };

const PLANT = {
  noun: 'plant',
  id: 'id',
  columns: [
    { field: 'kind', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'date' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'number' },
    { field: 'id', kind: 'id' },
  ],
} as const;
const CONDITION = {
  noun: 'condition',
  id: 'id',
  columns: [
    { field: 'condition', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'date' },
    { field: 'on' },
    { field: 'rows' },
    { field: 'id', kind: 'id' },
  ],
} as const;
const CHANGES = {
  noun: 'bill change',
  id: 'id',
  columns: [
    { field: 'what', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'date' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'id', kind: 'id' },
  ],
} as const;

function defineBill(noun: Command, context: ContextOf): void {
  const bill = noun
    .command('bill')
    .description('Plant differences in the bills of the simulated channels, or make the bills late, empty or broken.');
  definePlants(bill, context);
  definePlant(bill, context);
  defineCondition(bill, context);
  defineClear(bill, context);
}

function definePlants(bill: Command, context: ContextOf): void {
  const list = simulatorFlag(
    bill.command('list').description('List the planted differences and the conditions of the bills.'),
  );
  list.addOption(payWay('filter by channel'));
  examples(list, 'payctl simulator bill list', 'payctl simulator bill list --pay-way wechat --json').action(
    (flags: BillFlags) => runPlants(context(), flags),
  );
}

function definePlant(bill: Command, context: ContextOf): void {
  const command = simulatorFlag(
    bill
      .command('plant')
      .description(
        'Plant a difference between the bill of a day and the orders of the service. paid_unknown_to_us, refund_unknown_to_us, duplicate_payment and dispute_unknown_to_us move money without notifying the service; the other kinds change only the bill.',
      )
      .addArgument(
        new Argument(
          '<kind>',
          `kind of difference: ${PLANTS.join(', ')}. The bills of Alipay have no currency that could differ, and only those of PayPal have disputes.`,
        ).choices(PLANTS),
      ),
  );
  command
    .addOption(payWay('channel').makeOptionMandatory())
    .option('--date <day>', 'day of the bill, e.g. 2026-11-21; today if omitted')
    .option('--order-no <no>', 'order to plant it in; a fitting one of the day if omitted')
    .option('--account <name>', 'account of the simulator');
  examples(
    command,
    'payctl simulator bill plant amount_differs --pay-way wechat',
    'payctl simulator bill plant paid_unknown_to_us --pay-way alipay --order-no P202611210558007K2MQX9WBT',
    'payctl simulator bill plant order_not_ours --pay-way paypal --date 2026-11-20 --json',
  ).action((kind: string, flags: BillFlags) => runPlant(context(), kind, flags));
}

function defineCondition(bill: Command, context: ContextOf): void {
  const command = simulatorFlag(
    bill
      .command('condition')
      .description('Apply a condition to the bills of a channel, until the condition is removed.')
      .addArgument(new Argument('<condition>', `condition of the bills: ${meanings()}`).choices(CONDITIONS)),
  );
  command
    .addOption(payWay('channel').makeOptionMandatory())
    .option('--date <day>', 'only the bill of this day')
    .option('--rows <n>', 'number of rows that filler adds', integer(1, 5_000_000))
    .option('--off', 'switch the condition off');
  examples(
    command,
    'payctl simulator bill condition late --pay-way wechat',
    'payctl simulator bill condition late --pay-way wechat --off',
    'payctl simulator bill condition filler --pay-way alipay --date 2026-11-20 --rows 1000000',
    'payctl simulator bill condition real-hours --pay-way paypal --json',
  ).action((condition: string, flags: BillFlags) => runCondition(context(), condition, flags));
}

function defineClear(bill: Command, context: ContextOf): void {
  const command = simulatorFlag(
    bill
      .command('clear')
      .description('Remove one planted difference or condition by its ID, or all. Money that moved stays where it is.')
      .argument('[id]'),
  );
  examples(command, 'payctl simulator bill clear', 'payctl simulator bill clear b-1').action(
    (id: string | undefined, flags: BillFlags) => runClearPlants(context(), id, flags),
  );
}

function meanings(): string {
  return CONDITIONS.map((name) => `${name} (${MEANINGS[name]})`).join(', ');
}

function payWay(help: string) {
  return choice('--pay-way <channel>', help, PAY_WAYS);
}

async function runPlants(context: Context, flags: BillFlags): Promise<void> {
  const query = flags.payWay === undefined ? {} : { payWay: flags.payWay };
  const { plants, conditions } = await simulatorApi(context, flags).get('/sim/bills', query);
  const named = (rows: unknown, name: string) => ((rows ?? []) as Row[]).map((row) => ({ what: row[name], ...row }));
  await context.print.list([...named(plants, 'kind'), ...named(conditions, 'condition')], CHANGES);
}

async function runPlant(context: Context, kind: string, flags: BillFlags): Promise<void> {
  const body = { kind, ...given(flags, ['payWay', 'date', 'orderNo', 'account']) };
  await context.print.item(await postSimulator(context, flags, '/sim/bills/plants', body), PLANT);
}

async function runCondition(context: Context, condition: string, flags: BillFlags): Promise<void> {
  if (condition === 'filler' && flags.rows === undefined && !flags.off)
    throw new UsageError('filler requires --rows.', 'add --rows 1000');
  const body = { condition, ...given(flags, ['payWay', 'date', 'rows']), ...(flags.off ? { on: false } : {}) };
  await context.print.item(await postSimulator(context, flags, '/sim/bills/conditions', body), CONDITION);
}

async function runClearPlants(context: Context, id: string | undefined, flags: BillFlags): Promise<void> {
  await clearSimulator(context, flags, id === undefined ? '/sim/bills' : `/sim/bills/${encodeURIComponent(id)}`);
  await runPlants(context, flags);
}

/** Adds the subcommands of `payctl simulator`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Control the simulated channels: act as the payer, read their ledger, change their bills, inject faults.',
  );
  for (const addVerb of [
    defineStart,
    definePayer,
    defineDispute,
    defineNotify,
    defineLedger,
    defineBill,
    defineClock,
    defineFaults,
  ])
    addVerb(noun, context);
}
