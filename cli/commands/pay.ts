import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { CHANNELS, ONLY_CURRENCIES, PAY_WAYS, inEnglish } from '../../server/domain.ts';
import type { Context, ContextOf } from '../context.ts';
import { Cancelled, CliError, EXIT, ignoreUnreachable } from '../errors.ts';
import { amount, changes, examples, integer, json, payCode, seconds } from '../options.ts';
import { drawQr } from '../qr.ts';
import { addFields, bodyOf, complete, segment, type Field } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { startSpinner } from '../terminal.ts';
import type { Row } from '../values.ts';
import { ORDER_VIEW, paymentPath } from './views.ts';

/** The channels that accept more than one currency. */
const free = PAY_WAYS.filter((payWay) => CHANNELS[payWay].onlyCurrency === undefined);

export const PAY_FIELDS: readonly Field[] = [
  { name: 'subject', value: 'text', help: 'description of the purchase', required: true },
  { name: 'amount', value: 'amount', help: 'amount in major units, e.g. 12.34', read: amount, required: true },
  { name: 'payWay', value: 'channel', help: 'channel', choices: PAY_WAYS, required: true },
  {
    name: 'currency',
    value: 'code',
    help: `${ONLY_CURRENCIES}; ${inEnglish(free, 'and')} ${free.length === 1 ? 'supports' : 'support'} others`,
  },
  {
    name: 'scene',
    value: 'scene',
    help: 'payment scene',
    choices: ['qr', 'page', 'wap', 'app', 'h5', 'jsapi', 'mini', 'code', 'redirect'],
  },
  { name: 'merchantOrderNo', value: 'no', help: 'your own order number; reusing it never charges twice' },
  { name: 'userId', value: 'id', help: 'paying user' },
  { name: 'orderType', value: 'text', help: 'business category' },
  { name: 'product', value: 'code', help: 'product code' },
  { name: 'expireSeconds', value: 'n', help: 'seconds until the order expires', read: integer(60, 604_800) },
  { name: 'returnUrl', value: 'url', help: 'page to return the payer to' },
  { name: 'notifyUrl', value: 'url', help: 'webhook URL for the events of this order' },
  { name: 'openId', value: 'id', help: 'open id of the payer in the app of the channel, for jsapi and mini' },
  { name: 'appId', value: 'id', help: 'WeChat appid that the openid belongs to, if not the default of the scene' },
  { name: 'payCode', value: 'code', help: 'code that the payer shows in a shop, for code', read: payCode },
  {
    name: 'channelOptions',
    value: 'json',
    help: 'further fields for the channel request, by channel: {"wechat":{"attach":"A1"}}',
    read: json,
  },
  { name: 'clientIp', value: 'ip', help: 'IP address of the payer, for h5, or of the till, for code' },
  { name: 'extra', value: 'text', help: 'custom data, returned unchanged' },
];

type PayFlags = Row & ChangeFlags & { wait?: boolean; interval?: number };

/** Defines `payctl pay`. */
export function define(command: Command, context: ContextOf): void {
  command.description(
    'Place a payment and show its QR code. An administrator places it from the console, a merchant as the application. With --wait, wait for the result; exits with 1 if it is not paid.',
  );
  addFields(command, PAY_FIELDS);
  command
    .option('--wait', 'wait until the order is paid, closed or failed')
    .option('--interval <seconds>', 'seconds between checks', seconds, 2);
  examples(
    changes(command, { money: true }),
    'payctl pay --subject "Test" --amount 0.01 --pay-way alipay --wait',
    'payctl pay --subject "Book" --amount 12.50 --pay-way wechat --fields orderNo,payUrl',
    'payctl pay --subject "Book" --amount 12.50 --pay-way paypal --currency USD --dry-run',
  ).action((options: PayFlags) => run(context(), options));
}

async function run(context: Context, options: PayFlags): Promise<void> {
  const { change, print } = context;
  const body = await complete(context, PAY_FIELDS, bodyOf(options, PAY_FIELDS));
  const what = `place a payment of ${String(body['amount'])} with ${String(body['payWay'])}`;
  const placed = await change(
    { what, method: 'POST', path: `${await paymentPath(context)}/pay`, body, money: true },
    options,
  );
  if (!placed) return;
  await showPayment(context, placed);
  if (!options.wait) return print.item(placed, ORDER_VIEW);
  const ended = await follow(context, String(placed['orderNo']), (options.interval ?? 2) * 1000);
  await print.item(ended, ORDER_VIEW);
  if (!isPaid(ended))
    throw new CliError(
      `order_${String(ended['status'])}`,
      EXIT.failed,
      `Order ${String(ended['orderNo'])} is ${String(ended['status'])}, not paid.`,
      {
        hint: `payctl explain ${String(ended['orderNo'])}`,
        extra: { orderNo: ended['orderNo'] },
      },
    );
}

async function showPayment({ terminal, print }: Context, placed: Row): Promise<void> {
  const payment = placed['payment'] as { qrCode?: unknown; url?: unknown } | undefined;
  const qrCode = payment?.qrCode;
  if (terminal.err.isTerminal && typeof qrCode === 'string') {
    const drawn = await drawQr(qrCode, terminal.err);
    await terminal.err.write(drawn ?? 'The QR code does not fit this terminal.\n');
  }
  const url = placed['payUrl'] ?? payment?.url;
  if (typeof url === 'string') await print.done(`Pay at ${url}`);
}

const ENDED = new Set(['paid', 'partially_refunded', 'refunded', 'closed', 'failed']);

function isPaid(order: Row): boolean {
  return ['paid', 'partially_refunded', 'refunded'].includes(String(order['status']));
}

/** An unreachable server does not end the polling. */
async function follow(context: Context, orderNo: string, pauseMs: number): Promise<Row> {
  const { api, terminal } = context;
  const path = `${await paymentPath(context)}/query/${segment(orderNo)}`;
  const spinner = startSpinner(
    terminal.err,
    `Waiting for payment of ${orderNo} (Ctrl-C stops waiting; the order stays open)`,
  );
  try {
    for (;;) {
      const order = await api.get(path).catch(ignoreUnreachable);
      if (order && ENDED.has(String(order['status']))) return order;
      await wait(pauseMs, undefined, { signal: terminal.signal });
    }
  } catch (error) {
    if (terminal.signal.aborted)
      throw new Cancelled(`Stopped waiting; order ${orderNo} stays open. Next: payctl order close ${orderNo}`);
    throw error;
  } finally {
    spinner.stop();
  }
}
