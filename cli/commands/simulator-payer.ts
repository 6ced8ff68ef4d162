import { PAY_WAYS } from '../../server/domain.ts';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { amount, choice, examples, given, integer } from '../options.ts';
import type { Row, View } from '../values.ts';

const DEFAULT_SIMULATOR = 'http://127.0.0.1:8081';

export interface SimulatorFlags {
  simulator?: string;
}

/** Adds --simulator. */
export function simulatorFlag(command: Command): Command {
  return command.option(
    '--simulator <url>',
    `URL of the simulator; by default PAYCTL_SIMULATOR or ${DEFAULT_SIMULATOR}`,
  );
}

function channelFlag(command: Command): Command {
  return command.addOption(choice('--pay-way <channel>', 'channel, if several have this order number', PAY_WAYS));
}

/** Creates a client for the simulator, which needs no token. */
export function simulatorApi({ apiAt, terminal }: Context, flags: SimulatorFlags): ApiClient {
  return apiAt(flags.simulator ?? terminal.env['PAYCTL_SIMULATOR'] ?? DEFAULT_SIMULATOR);
}

/** Sends a POST request to the simulator. */
export function postSimulator(context: Context, flags: SimulatorFlags, path: string, body: Row): Promise<Row> {
  return simulatorApi(context, flags).data({ method: 'POST', path, body, anonymous: true });
}

export const TRADE: View = {
  noun: 'trade',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'account' },
    { field: 'scene' },
    { field: 'subject' },
    { field: 'state', kind: 'status' },
    { field: 'amount', kind: 'minor' },
    { field: 'currency', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'expiresAt', kind: 'time' },
    { field: 'closedAt', kind: 'time' },
    { field: 'payments' },
    { field: 'refunds' },
  ],
};

/** Converts the timestamps of a trade from milliseconds to RFC 3339. */
export function readTrade(trade: Row): Row {
  return Object.fromEntries(Object.entries(trade).map(([field, value]) => [field, readMember(field, value)]));
}

function readMember(field: string, value: unknown): unknown {
  if (typeof value === 'number' && /(^a|A)t$/.test(field)) return new Date(value).toISOString();
  if ((field === 'payments' || field === 'refunds') && Array.isArray(value))
    return value.map((one: Row) => readTrade(one));
  return value;
}

/** Converts a trade to a table row. The row shows each payment and each refund only by its id at the channel. */
export function shownTrade(trade: Row): Row {
  const numbers = (of: unknown) => (Array.isArray(of) ? of.map(({ number }: Row) => number) : []);
  const { orderNo, payWay, account, scene, subject, state, minor, currency, createdAt, expiresAt, closedAt } = trade;
  const [payments, refunds] = [numbers(trade['payments']), numbers(trade['refunds'])];
  const names = { orderNo, payWay, account, scene, subject, state, amount: minor, currency };
  return { ...names, createdAt, expiresAt, closedAt, payments, refunds };
}

const PAYER_ACTS = {
  scan: 'Scan the QR code, without paying yet.',
  pay: 'Pay.',
  approve: 'Approve the order at PayPal; the service captures it.',
  decline: 'Decline the payment.',
  expire: 'Let the order expire at the channel.',
} as const;
type Act = keyof typeof PAYER_ACTS;

type PayerFlags = Row & SimulatorFlags;

/** Adds the subcommands that act as the payer of an order: `scan`, `pay`, `approve`, `decline` and `expire`. */
export function definePayer(noun: Command, context: ContextOf): void {
  for (const act of Object.keys(PAYER_ACTS) as Act[]) {
    const command = channelFlag(
      simulatorFlag(
        noun
          .command(act)
          .description(`${PAYER_ACTS[act]} Takes the order number of the service.`)
          .argument('<orderNo>'),
      ),
    );
    examples(
      command,
      `payctl simulator ${act} P202611210558007K2MQX9WBT`,
      `payctl simulator ${act} P202611210558007K2MQX9WBT --json`,
    ).action((orderNo: string, flags: PayerFlags) => runPayer(context(), act, orderNo, flags));
  }
}

async function runPayer(context: Context, act: Act, orderNo: string, flags: PayerFlags): Promise<void> {
  const body = { orderNo, ...given(flags, ['payWay']) };
  const trade = readTrade(await postSimulator(context, flags, `/sim/${act}`, body));
  const { print } = context;
  await print.item(print.format === 'table' && !print.fields ? shownTrade(trade) : trade, TRADE);
}

/** Adds the subcommand `simulator notify`, which resends the last notification of an order to the service. */
export function defineNotify(noun: Command, context: ContextOf): void {
  const command = channelFlag(
    simulatorFlag(
      noun.command('notify').description('Resend the last notification of an order.').argument('<orderNo>'),
    ),
  );
  command
    .option('--times <n>', 'how many times, sent concurrently', integer(1, 1000))
    .option('--kind <kind>', 'kind of notification, e.g. refund');
  examples(
    command,
    'payctl simulator notify P202611210558007K2MQX9WBT',
    'payctl simulator notify P202611210558007K2MQX9WBT --times 50',
  ).action((orderNo: string, flags: PayerFlags) => runNotify(context(), orderNo, flags));
}

async function runNotify(context: Context, orderNo: string, flags: PayerFlags): Promise<void> {
  const body = { orderNo, ...given(flags, ['times', 'kind', 'payWay']) };
  const { sent } = await postSimulator(context, flags, '/sim/notify', body);
  await context.print.item(
    { orderNo, sent },
    { noun: 'notice', id: 'orderNo', columns: [{ field: 'orderNo' }, { field: 'sent' }] },
  );
}

const DISPUTE_ACTS = ['open', 'escalate', 'ask', 'review', 'lose', 'win', 'cancel', 'appeal'] as const;

const DISPUTE = {
  noun: 'dispute',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'stage' },
    { field: 'minor' },
    { field: 'outcome' },
    { field: 'reason' },
  ],
} as const;

/** Adds `simulator dispute`. */
export function defineDispute(noun: Command, context: ContextOf): void {
  const command = channelFlag(
    simulatorFlag(
      noun
        .command('dispute')
        .description('Dispute a payment as the payer, or decide the dispute as the channel. Takes the order number.')
        .argument('<orderNo>'),
    ),
  );
  command
    .addOption(choice('--act <act>', 'action of the payer or the channel; the default is open', DISPUTE_ACTS))
    .option('--amount <amount>', 'disputed amount, in major units; all if omitted', amount)
    .option('--reason <reason>', 'reason code of the channel')
    .addOption(choice('--refund <how>', 'how the channel reports a lost dispute', ['told', 'untold', 'payout']));
  examples(
    command,
    'payctl simulator dispute P202611210558007K2MQX9WBT',
    'payctl simulator dispute P202611210558007K2MQX9WBT --act escalate',
    'payctl simulator dispute P202611210558007K2MQX9WBT --act lose --json',
  ).action((orderNo: string, flags: PayerFlags) => runDispute(context(), orderNo, flags));
}

async function runDispute(context: Context, orderNo: string, flags: PayerFlags): Promise<void> {
  const body = { orderNo, act: 'open', ...given(flags, ['act', 'amount', 'reason', 'refund', 'payWay']) };
  await context.print.item(await postSimulator(context, flags, '/sim/dispute', body), DISPUTE);
}
