/** The file of a PayPal bill: its format, its reader, and the meaning of its transaction codes. */
import { z } from 'zod';
import {
  type BillLine,
  type BillLineKind,
  BillMalformed,
  type BillPart,
  type BillTotals,
} from '../../payments/channel.ts';
import { exponentOf } from '../../money.ts';
import { fileBytes, textBlocks } from '../bill-bytes.ts';
import { type Rows, type Unread, createRows, daySpan, readClock, readDecimal, wrongCell } from '../bill-rows.ts';

/**
 * The first line of a bill. PayPal has no bill files, only pages, so the service writes one with a JSON text per line: this head, each
 * transaction_info as PayPal sent it, and the number of transactions, which shows a truncated file.
 */
export interface BillHead {
  bill: typeof FORMAT;
  /** The account of the transactions (account_number). */
  account: string;
  /** The first instant of the day and of the next one. */
  startDate: string;
  endDate: string;
  /** The balances of the account before and after the day; absent = PayPal returned none. */
  balances?: BalanceOfDay[];
}

/** The balances of one currency, in minor units as text. */
export interface BalanceOfDay {
  currency: string;
  opening: string;
  closing: string;
}

/** The last line. */
export interface BillTail {
  end: typeof FORMAT;
  rows: number;
}

/** The name of the format in the first and the last line. */
export const FORMAT = 'paypal-transactions-1';

/** Reads an instant of PayPal's reports, 2026-03-01T10:00:00+0000; NaN for anything else. */
export function readInstant(text: string): number {
  if (text[10] !== 'T') return NaN;
  const clock = readClock(`${text.slice(0, 10)} ${text.slice(11, 19)}`);
  const zone = text.slice(19);
  // Almost all instants end like this; a regular expression for each of a million lines would be slow.
  if (zone === '+0000' || zone === 'Z') return clock;
  const [, sign, hours, minutes] = /^(?:\.\d{1,9})?(?:Z|([+-])([01]\d):?([0-5]\d))$/.exec(zone) ?? [undefined, 'x'];
  if (sign === 'x') return NaN;
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return clock - (sign === '-' ? -offset : offset);
}

/**
 * Codes of received payments (T00nn of "Transaction event codes", developer.paypal.com), without payouts, postage and other transactions with
 * PayPal itself.
 */
const PAYMENTS: ReadonlySet<string> = new Set([
  'T0000',
  'T0002',
  'T0003',
  'T0004',
  'T0005',
  'T0006',
  'T0007',
  'T0010',
  'T0011',
  'T0012',
  'T0013',
]);
const REFUND = 'T1107';
/** Fees that PayPal returned; fees without a payment are T01nn. */
const FEES_BACK: ReadonlySet<string> = new Set(['T1108', 'T1109']);

/**
 * Codes of disputes: a reversal by PayPal, which completes a chargeback; money held for a dispute and released; a chargeback, its reversal,
 * reimbursement, rejection and cancellation. T1200, T1203 and T1204 are adjustments of other kinds.
 */
const DISPUTES: ReadonlySet<string> = new Set(['T1106', 'T1110', 'T1111', 'T1201', 'T1202', 'T1205', 'T1207', 'T1208']);

/** S: success; V: success, and later reversed in full by a separate transaction. */
const DONE: ReadonlySet<string> = new Set(['S', 'V']);

/**
 * Whether PayPal holds or releases money: "part of your total balance" and "not available for withdrawal" (same page, T2103 and T2107); for
 * disputes (T1110, T1111) and for the account (T15nn, reserves in T21nn, and T1105, which ends one of T15nn).
 */
function isHold(code: string): boolean {
  return code === 'T1110' || code === 'T1111' || code === 'T1105' || code.startsWith('T15') || code.startsWith('T21');
}

/** The kind of a transaction, by its code, its status and the sign of its amount. */
function kindOf(code: string, status: string, amount: number): BillLineKind {
  if (!hasMoved(status)) return 'other';
  if (PAYMENTS.has(code)) return amount > 0 ? 'payment' : 'other';
  // Neither a reversed refund nor its reversal counts as a refund.
  if (isRefund(code)) return amount < 0 && status === 'S' ? 'refund' : 'other';
  if (DISPUTES.has(code)) return 'dispute';
  return code.startsWith('T01') || FEES_BACK.has(code) ? 'fee' : 'other';
}

/** Whether a code is a refund by the merchant. */
function isRefund(code: string): boolean {
  return code === REFUND;
}

/** Whether money has moved; a pending (P) or denied (D) transaction moves none. */
function hasMoved(status: string): boolean {
  return DONE.has(status);
}

/** The account in the first line of a bill; throws BillMalformed. */
export async function readAccount(file: string): Promise<string> {
  for await (const { lines } of textBlocks(fileBytes(file), 'utf-8')) {
    const head = membersOf(lines[0] ?? '') as Partial<BillHead> | undefined;
    if (head?.bill === FORMAT && typeof head.account === 'string') return head.account;
    break;
  }
  throw new BillMalformed('not_a_bill', `The first line does not begin a bill (${FORMAT}).`, { line: 1 });
}

/** Reads a file of transactions (format: `BillHead`); throws BillMalformed. PayPal reports no sums of a day, only balances. */
export async function* readTransactions(file: string, day: string, isLenient = false): AsyncGenerator<BillPart> {
  const rows = createRows(isLenient, daySpan(day, 0).begin);
  const reader = createReader(day, rows);
  for await (const { from, lines } of textBlocks(fileBytes(file), 'utf-8')) {
    const read = reader.take(lines, from);
    if (read.length > 0) yield { kind: 'lines', lines: read };
  }
  reader.end();
  const totals = reader.totals();
  if (totals) yield rows.end(...totals);
}

const Minor = z.string().regex(/^-?\d{1,18}$/);
const Balances = z.array(z.object({ currency: z.string(), opening: Minor, closing: Minor })).optional();

type Members = Readonly<Record<string, unknown>>;

function createReader(day: string, rows: Rows) {
  const { begin, end } = daySpan(day, 0);
  let isBegun = false;
  let isEnded = false;
  let broken = 0;
  let count = 0;
  let balances: BalanceOfDay[] | undefined;
  const holds = new Map<string, bigint>();

  return {
    take(lines: readonly string[], from: number): BillLine[] {
      const read: BillLine[] = [];
      for (let at = 0; at < lines.length; at += 1) {
        const text = lines[at]!;
        const line = from + at;
        if (isEnded) {
          if (text !== '')
            throw new BillMalformed('wrong_columns', 'There is a line after the end of the bill.', { line });
          continue;
        }
        if (broken > 0) throw wrongCell(broken, 0, 'A line that is not a JSON object', '');
        const members = membersOf(text);
        if (!isBegun) requireHead(members, line);
        else if (!members) broken = line;
        else if (members['end'] === FORMAT) requireTail(members, line);
        else {
          count += 1;
          const at = count;
          const one = rows.read(
            text,
            () => readRow(members, text, line, at),
            () => unread(members, at),
          );
          if (isHold(one.event.slice(0, 5))) holds.set(one.currency, (holds.get(one.currency) ?? 0n) + one.amount);
          read.push(one);
        }
      }
      return read;
    },
    totals(): BillTotals[] | undefined {
      if (!balances) return undefined;
      const known = new Map(balances.map((one) => [one.currency, one]));
      return [...new Set([...known.keys(), ...holds.keys()])].map((currency) => {
        // PayPal lists only the currencies of the account, so a missing one has no balance.
        const { opening, closing } = known.get(currency) ?? { opening: 0, closing: 0 };
        const balance = { opening: BigInt(opening), closing: BigInt(closing), holds: holds.get(currency) ?? 0n };
        return { ...NO_SUMS, currency, balance };
      });
    },
    end(): void {
      if (!isBegun) throw new BillMalformed('not_a_bill', 'The bill is empty.');
      if (!isEnded) throw new BillMalformed('cut_short', 'The bill ends before its last line.');
      rows.requireOne();
    },
  };

  function requireHead(members: Members | undefined, line: number): void {
    if (members?.['bill'] !== FORMAT)
      throw new BillMalformed('not_a_bill', `The first line does not begin a bill (${FORMAT}).`, { line });
    const head = members as Partial<BillHead>;
    if (head.startDate !== begin.toISOString() || head.endDate !== end.toISOString())
      throw new BillMalformed('wrong_day', `The bill is not of ${day}.`, { line });
    const parsed = Balances.safeParse(head.balances);
    if (!parsed.success) throw new BillMalformed('wrong_columns', 'The balances cannot be read.', { line });
    balances = parsed.data;
    isBegun = true;
  }

  function requireTail(members: Members, line: number): void {
    const { rows } = members as Partial<BillTail>;
    if (rows !== count)
      throw new BillMalformed('wrong_sums', `The bill states ${String(rows)} transactions, but it has ${count}.`, {
        line,
      });
    isEnded = true;
  }
}

const NO_SUMS = { payments: null, paid: null, refunds: null, refunded: null, fees: null, net: null };

function readRow(info: Members, text: string, line: number, count: number): BillLine {
  const wrong = (name: string): BillMalformed =>
    wrongCell(line, Math.max(text.indexOf(`"${name}"`), 0), name, JSON.stringify(info[name]) ?? 'nothing');
  const required = (name: string): string => textIn(info, name) ?? raise(wrong(name));
  for (const name of MEMBERS)
    if (info[name] === undefined) throw new BillMalformed('wrong_columns', `The member ${name} is missing.`, { line });
  const code = required('transaction_event_code');
  const status = required('transaction_status');
  const id = required('transaction_id');
  const at = readInstant(required('transaction_initiation_date'));
  if (Number.isNaN(at)) throw wrong('transaction_initiation_date');
  const amount = moneyIn(info['transaction_amount']) ?? raise(wrong('transaction_amount'));
  const { currency } = amount;
  const fee = info['fee_amount'] === undefined ? { minor: 0, currency } : moneyIn(info['fee_amount']);
  if (fee?.currency !== currency) throw wrong('fee_amount');

  const kind = kindOf(code, status, amount.minor);
  const moved = hasMoved(status) ? amount.minor : 0;
  const kept = hasMoved(status) ? -fee.minor : 0;
  // A pending or reversed refund keeps its numbers, because it is in the bill; a denied one does not.
  const isBack = kind === 'refund' || (isRefund(code) && status !== 'D');
  const isNumbered = isBack || kind === 'dispute';
  const isOwn = kind === 'payment' || (kind === 'other' && code.startsWith('T00'));
  const custom = textIn(info, 'custom_field') ?? null;
  const invoice = textIn(info, 'invoice_id') ?? null;
  return {
    line: count,
    kind,
    event: `${code} ${status}`,
    // The order number is in custom_field and invoice_id. The refund number is in invoice_id, unless the refund was not
    // made through this service.
    orderNo: isBack ? custom : (custom ?? invoice),
    refundNo: isBack && invoice !== custom ? invoice : null,
    channelTradeNo: isOwn ? id : referenceIn(info),
    channelRefundNo: isNumbered ? id : null,
    currency,
    discount: 0n,
    share: 0n,
    amount: BigInt(kind === 'fee' ? 0 : kind === 'refund' ? -moved : moved),
    fee: BigInt(kind === 'fee' ? kept - moved : kept),
    at: new Date(at),
    raw: text,
  };
}

/** The numbers of an unreadable transaction. */
function unread(info: Members, line: number): Unread {
  const isBack = isRefund(textIn(info, 'transaction_event_code') ?? '');
  const id = textIn(info, 'transaction_id') ?? null;
  const [custom, invoice] = [textIn(info, 'custom_field') ?? null, textIn(info, 'invoice_id') ?? null];
  return {
    line,
    orderNo: isBack ? custom : (custom ?? invoice),
    refundNo: isBack && invoice !== custom ? invoice : null,
    channelTradeNo: isBack ? referenceIn(info) : id,
    channelRefundNo: isBack ? id : null,
  };
}

/** The fields that every transaction has. */
const MEMBERS = [
  'transaction_event_code',
  'transaction_status',
  'transaction_id',
  'transaction_initiation_date',
  'transaction_amount',
] as const;

/** The payment of a refund or chargeback; references to other objects are ignored. */
function referenceIn(info: Members): string | null {
  const type = textIn(info, 'paypal_reference_id_type') ?? 'TXN';
  return (type === 'TXN' && textIn(info, 'paypal_reference_id')) || null;
}

function moneyIn(value: unknown): { minor: number; currency: string } | undefined {
  const { currency_code: currency, value: text } = (value ?? {}) as Members;
  if (typeof currency !== 'string' || typeof text !== 'string') return undefined;
  const exponent = exponentOf(currency);
  const minor = exponent === undefined ? NaN : readDecimal(text, exponent);
  return Number.isNaN(minor) ? undefined : { minor, currency };
}

function textIn(info: Members, name: string): string | undefined {
  const value = info[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function membersOf(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

function raise(error: Error): never {
  throw error;
}
