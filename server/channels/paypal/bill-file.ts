/** The file format of a PayPal bill, its reader, and the meaning of PayPal's transaction codes. */
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
 * The first line of a bill file. PayPal offers no bill files, only pages of transactions, so the service writes the
 * file itself, with one JSON object per line. After this first line follow the transactions (transaction_info) as
 * PayPal sent them. The last line has the number of transactions, so that a truncated file is detected.
 */
export interface BillHead {
  bill: typeof FORMAT;
  /** The number of the PayPal account that the transactions belong to (account_number). */
  account: string;
  /** The first instant of the day (`startDate`) and of the next day (`endDate`). */
  startDate: string;
  endDate: string;
  /** The account's balances before and after the day; absent if PayPal returned none. */
  balances?: BalanceOfDay[];
}

/** The opening and closing balance of one currency, as text in minor units. */
export interface BalanceOfDay {
  currency: string;
  opening: string;
  closing: string;
}

export interface BillTail {
  end: typeof FORMAT;
  rows: number;
}

export const FORMAT = 'paypal-transactions-1';

/** Reads a time of PayPal's reports, for example 2026-03-01T10:00:00+0000. Returns NaN for any other text. */
export function readInstant(text: string): number {
  if (text[10] !== 'T') return NaN;
  const clock = readClock(`${text.slice(0, 10)} ${text.slice(11, 19)}`);
  const zone = text.slice(19);
  // Almost all times end with one of these zones. A regular expression for each of a million lines would be slow.
  if (zone === '+0000' || zone === 'Z') return clock;
  const [, sign, hours, minutes] = /^(?:\.\d{1,9})?(?:Z|([+-])([01]\d):?([0-5]\d))$/.exec(zone) ?? [undefined, 'x'];
  if (sign === 'x') return NaN;
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return clock - (sign === '-' ? -offset : offset);
}

/**
 * Transaction codes of payments that the merchant received (T00nn of "Transaction event codes", developer.paypal.com).
 * Codes for payouts, postage and similar transactions are left out.
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
/** Transaction codes of fees that PayPal returned. Fees that belong to no payment have the codes T01nn. */
const FEES_BACK: ReadonlySet<string> = new Set(['T1108', 'T1109']);

/**
 * Transaction codes of disputes. T1106: PayPal reverses a payment, which completes a chargeback. T1110: money is held
 * for a dispute. T1111: the held money is released. T1201: chargeback. T1202: reversal, T1205: reimbursement, T1207:
 * rejection, T1208: cancellation of a chargeback. T1200, T1203 and T1204 are other adjustments.
 */
const DISPUTES: ReadonlySet<string> = new Set(['T1106', 'T1110', 'T1111', 'T1201', 'T1202', 'T1205', 'T1207', 'T1208']);

/** `S` means success. `V` means success that a separate transaction later reversed in full. */
const DONE: ReadonlySet<string> = new Set(['S', 'V']);

/**
 * Whether a transaction holds money or releases held money. PayPal says that held money is "part of your total balance"
 * but "not available for withdrawal" ("Transaction event codes", T2103 and T2107). T1110 and T1111 hold and release
 * money for a dispute. T15nn and T21nn (reserves) hold and release money of the account, and T1105 ends a hold of
 * T15nn.
 */
function isHold(code: string): boolean {
  return code === 'T1110' || code === 'T1111' || code === 'T1105' || code.startsWith('T15') || code.startsWith('T21');
}

function kindOf(code: string, status: string, amount: number): BillLineKind {
  if (!hasMoved(status)) return 'other';
  if (PAYMENTS.has(code)) return amount > 0 ? 'payment' : 'other';
  // A refund that was reversed and the reversal itself do not count as refunds.
  if (isRefund(code)) return amount < 0 && status === 'S' ? 'refund' : 'other';
  if (DISPUTES.has(code)) return 'dispute';
  return code.startsWith('T01') || FEES_BACK.has(code) ? 'fee' : 'other';
}

function isRefund(code: string): boolean {
  return code === REFUND;
}

function hasMoved(status: string): boolean {
  return DONE.has(status);
}

/** Returns the account in the first line of a bill file. Throws BillMalformed. */
export async function readAccount(file: string): Promise<string> {
  for await (const { lines } of textBlocks(fileBytes(file), 'utf-8')) {
    const head = membersOf(lines[0] ?? '') as Partial<BillHead> | undefined;
    if (head?.bill === FORMAT && typeof head.account === 'string') return head.account;
    break;
  }
  throw new BillMalformed('not_a_bill', `The first line is not that of a PayPal bill (${FORMAT}).`, { line: 1 });
}

/** Reads a bill file (format: `BillHead`). PayPal reports no sums of a day, so the totals contain only balances. */
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
            throw new BillMalformed('wrong_columns', 'The bill has a line after its last line.', { line });
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
        // PayPal's report contains a balance for every currency of the account. So a currency that is missing in the
        // report has a zero balance.
        const { opening, closing } = known.get(currency) ?? { opening: 0, closing: 0 };
        const balance = { opening: BigInt(opening), closing: BigInt(closing), holds: holds.get(currency) ?? 0n };
        return { ...NO_SUMS, currency, balance };
      });
    },
    end(): void {
      if (!isBegun) throw new BillMalformed('not_a_bill', 'The bill file is empty.');
      if (!isEnded) throw new BillMalformed('cut_short', 'The bill is truncated: its last line is missing.');
      rows.requireOne();
    },
  };

  function requireHead(members: Members | undefined, line: number): void {
    if (members?.['bill'] !== FORMAT)
      throw new BillMalformed('not_a_bill', `The first line is not that of a PayPal bill (${FORMAT}).`, { line });
    const head = members as Partial<BillHead>;
    if (head.startDate !== begin.toISOString() || head.endDate !== end.toISOString())
      throw new BillMalformed('wrong_day', `The bill is not for the day ${day}.`, { line });
    const parsed = Balances.safeParse(head.balances);
    if (!parsed.success)
      throw new BillMalformed('wrong_columns', 'The balances in the first line cannot be read.', { line });
    balances = parsed.data;
    isBegun = true;
  }

  function requireTail(members: Members, line: number): void {
    const { rows } = members as Partial<BillTail>;
    if (rows !== count)
      throw new BillMalformed(
        'wrong_sums',
        `The last line states ${String(rows)} transactions, but the bill has ${count}.`,
        { line },
      );
    isEnded = true;
  }
}

const NO_SUMS = { payments: null, paid: null, refunds: null, refunded: null, fees: null, net: null };

function readRow(info: Members, text: string, line: number, count: number): BillLine {
  const wrong = (name: string): BillMalformed =>
    wrongCell(line, Math.max(text.indexOf(`"${name}"`), 0), name, JSON.stringify(info[name]) ?? 'nothing');
  const required = (name: string): string => textIn(info, name) ?? raise(wrong(name));
  for (const name of MEMBERS)
    if (info[name] === undefined)
      throw new BillMalformed('wrong_columns', `A transaction has no field ${name}.`, { line });
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
  // A refund that is pending or was reversed later keeps its refund number, so that the line shows which refund it is
  // about. A denied refund (status D) gets no refund number.
  const isBack = kind === 'refund' || (isRefund(code) && status !== 'D');
  const isNumbered = isBack || kind === 'dispute';
  const isOwn = kind === 'payment' || (kind === 'other' && code.startsWith('T00'));
  const custom = textIn(info, 'custom_field') ?? null;
  const invoice = textIn(info, 'invoice_id') ?? null;
  return {
    line: count,
    kind,
    event: `${code} ${status}`,
    // A payment has the order number in custom_field and in invoice_id. A refund that this service made has the order
    // number in custom_field and the refund number in invoice_id.
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

const MEMBERS = [
  'transaction_event_code',
  'transaction_status',
  'transaction_id',
  'transaction_initiation_date',
  'transaction_amount',
] as const;

/** Returns the id of the payment that a refund or chargeback belongs to. References to other objects are ignored. */
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
