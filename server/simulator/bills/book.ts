/**
 * The bills of all channels: planted differences (deliberate deviations that the service must find), conditions of
 * whole bills (such as `late`), and files for download.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import type { Clock } from '../clock.ts';
import type { Ledger } from '../ledger.ts';
import { SimulatorRefusal } from '../requests.ts';
import {
  type BillRow,
  type BillRules,
  type Filler,
  type Scope,
  type Span,
  dayOf,
  daysIn,
  fillerRow,
  isIn,
  ledgerRows,
  spanOfDay,
} from './rows.ts';

/** Test conditions of bills; `BillRules.lacks` lists those that a channel cannot have. */
export const CONDITIONS = [
  /** There is no bill until the condition is removed. */
  'late',
  /** The channel reports a day without transactions. */
  'empty',
  'cut',
  'wrong-hash',
  'expired-url',
  'wrong-charset',
  'foreign-account',
  /** A column or field of the bill is renamed. */
  'other-columns',
  /** The file is a megabyte when packed and a gigabyte when unpacked. */
  'zip-bomb',
  /** The bill contains texts that a spreadsheet would execute as formulas. */
  'formula',
  /** A bill exists only after the hour at which the real channel publishes it. */
  'real-hours',
  /** The bill contains additional payments that another system of the merchant made. */
  'filler',
] as const;

type RulesOf = (payWay: PayWay) => BillRules;

type ConditionName = (typeof CONDITIONS)[number];

/** If `date` is null, the condition applies to every day. */
interface Condition {
  id: string;
  payWay: PayWay;
  condition: ConditionName;
  date: string | null;
  /** Only for `filler`: the number of payments. */
  rows: number | null;
}

interface Conditions {
  set(condition: Omit<Condition, 'id'>): Condition;
  unset(condition: Pick<Condition, 'payWay' | 'condition' | 'date'>): void;
  list(): readonly Condition[];
  /** Removes the condition with this id; without an id, removes all conditions. */
  clear(id?: string): void;
  has(payWay: PayWay, name: ConditionName, days: readonly string[]): boolean;
  fillerOn(payWay: PayWay, day: string): number;
}

/** The conditions are lost when the process ends. */
function createConditions(rulesOf: RulesOf): Conditions {
  let known: Condition[] = [];
  const holding = (payWay: PayWay, name: ConditionName, days: readonly string[]) =>
    known.filter(
      (one) => one.payWay === payWay && one.condition === name && (one.date === null || days.includes(one.date)),
    );
  const unset: Conditions['unset'] = ({ payWay, condition, date }) => {
    known = known.filter((one) => one.payWay !== payWay || one.condition !== condition || one.date !== date);
  };
  return {
    set(draft) {
      const rules = rulesOf(draft.payWay);
      if (rules.lacks.includes(draft.condition))
        throw new SimulatorRefusal(
          400,
          'condition_unknown_here',
          `The simulator cannot apply the condition ${draft.condition} to the bills of ${draft.payWay}.`,
        );
      if ((draft.condition === 'filler') !== (draft.rows !== null))
        throw new SimulatorRefusal(
          400,
          'rows_invalid',
          'The condition filler requires the field rows; other conditions must not have it.',
        );
      if (draft.date !== null && !spanOfDay(rules, draft.date))
        throw new SimulatorRefusal(400, 'date_invalid', `The date ${draft.date} does not exist.`);
      unset(draft);
      const condition = { id: randomUUID(), ...draft };
      known.push(condition);
      return condition;
    },
    unset,
    list: () => known,
    clear(id) {
      known = id === undefined ? [] : known.filter((one) => one.id !== id);
    },
    has: (payWay, name, days) => holding(payWay, name, days).length > 0,
    fillerOn: (payWay, day) => holding(payWay, 'filler', [day]).reduce((sum, { rows }) => sum + (rows ?? 0), 0),
  };
}

/** Kinds of planted differences that change only the bill, not the orders and payments in the simulator. */
const BILL_PLANTS = [
  'paid_missing_at_channel',
  'amount_differs',
  'currency_differs',
  'refund_missing_at_channel',
  'refund_amount_differs',
  'fee_differs',
  'line_twice',
  'order_not_ours',
  'order_unknown_here',
  'line_unreadable',
  'withdrawal',
] as const;
/** Kinds of planted differences that change the simulator's own data, without notifying the merchant. */
const LEDGER_PLANTS = [
  'paid_unknown_to_us',
  'refund_unknown_to_us',
  'duplicate_payment',
  'dispute_unknown_to_us',
] as const;
export const PLANTS = [...BILL_PLANTS, ...LEDGER_PLANTS] as const;
export type PlantKind = (typeof PLANTS)[number];

/** A difference that the simulator created on purpose, so that a test can check whether the service finds it. */
export interface Plant {
  id: string;
  kind: PlantKind;
  payWay: PayWay;
  account: string;
  /** The day whose bill shows the difference. */
  date: string;
  orderNo: string;
  number: string;
}

interface Plants {
  add(plant: Omit<Plant, 'id'>, foreign?: BillRow): Plant;
  list(): readonly Plant[];
  /** Removes the difference with this id; without an id, removes all. Orders and refunds made for them stay. */
  clear(id?: string): void;
  /** Returns the rows of a bill with the planted differences. `rows` are the correct rows. */
  apply(rows: readonly BillRow[], scope: Scope): BillRow[];
  /** Returns the planted rows that have no order in the simulator, if their time and account are in `scope`. */
  foreign(scope: Scope): BillRow[];
}

/** Returns the rows that replace a correct row of the bill, by kind of planted difference. */
const CHANGES: Readonly<Partial<Record<PlantKind, (row: BillRow) => BillRow[]>>> = {
  paid_missing_at_channel: () => [],
  refund_missing_at_channel: () => [],
  amount_differs: (row) => [{ ...row, minor: row.minor + 1 }],
  refund_amount_differs: (row) => [{ ...row, minor: row.minor + 1 }],
  currency_differs: (row) => [{ ...row, currency: row.currency === 'USD' ? 'EUR' : 'USD' }],
  // The service tolerates a fee difference of one minor unit, because rounding can cause it. It reports a difference of
  // five minor units.
  fee_differs: (row) => [{ ...row, fee: row.fee + 5 }],
  line_twice: (row) => [row, row],
  line_unreadable: (row) => [{ ...row, isUnreadable: true }],
};

/** The planted differences are lost when the process ends. */
function createPlants(): Plants {
  let known: { plant: Plant; foreign?: BillRow }[] = [];
  const foreign: Plants['foreign'] = (scope) =>
    known.flatMap(({ plant, foreign: row }) =>
      row &&
      plant.payWay === scope.rules.payWay &&
      isIn(scope, plant.account) &&
      row.at >= scope.from &&
      row.at < scope.to
        ? [row]
        : [],
    );
  return {
    foreign,
    add(draft, row) {
      if (known.some(({ plant }) => plant.kind === draft.kind && plant.number === draft.number))
        throw new SimulatorRefusal(
          409,
          'planted_already',
          `The payment or refund ${draft.number} already has this planted difference.`,
        );
      const plant = { id: randomUUID(), ...draft };
      known.push({ plant, ...(row ? { foreign: row } : {}) });
      return plant;
    },
    list: () => known.map(({ plant }) => plant),
    clear(id) {
      known = id === undefined ? [] : known.filter(({ plant }) => plant.id !== id);
    },
    apply(rows, scope) {
      const changed = rows.flatMap((row) => changedBy(row, known));
      return [...changed, ...foreign(scope)].toSorted((a, b) => a.at - b.at);
    },
  };
}

function changedBy(row: BillRow, known: readonly { plant: Plant }[]): BillRow[] {
  const own = known.filter(({ plant }) => plant.number === row.number && plant.payWay === row.trade?.payWay);
  return own.reduce((rows, { plant }) => rows.flatMap((one) => CHANGES[plant.kind]?.(one) ?? [one]), [row]);
}

export interface BillFile {
  payWay: PayWay;
  account: string;
  /** The time from which the file can no longer be downloaded: milliseconds on the simulated clock. */
  expiresAt: number;
  write(): AsyncIterable<Buffer>;
}

/** The content of a bill, fixed when the merchant requests the bill. */
export interface BillContent {
  rows: readonly BillRow[];
  fillers: readonly Filler[];
  has(name: ConditionName): boolean;
}

export interface Bills {
  readonly plants: Plants;
  readonly conditions: Conditions;
  contentOf(scope: Scope): BillContent;
  /** Stores a bill file for a later download. Returns the token by which `find` returns the file. */
  promise(file: BillFile): string;
  /** Returns the file, even if it has expired. Undefined = an unknown token, or a file that expired long ago. */
  find(token: string): BillFile | undefined;
}

/** How long an expired file can still be found by its token (ms). */
const MEMORY_MS = 3_600_000;

/** Creates the bills of all channels; planted differences, conditions and files are lost when the process ends. */
export function createBills(ledger: Ledger, clock: Clock, rulesOf: RulesOf): Bills {
  const plants = createPlants();
  const conditions = createConditions(rulesOf);
  const files = new Map<string, BillFile>();
  const forget = (now: number) => {
    for (const [token, { expiresAt }] of files) if (expiresAt + MEMORY_MS < now) files.delete(token);
  };
  const isFull = (payWay: PayWay, day: string) => !conditions.has(payWay, 'empty', [day]);
  return {
    plants,
    conditions,
    contentOf(scope) {
      const { rules } = scope;
      const { payWay } = rules;
      const days = daysIn(rules, scope);
      return {
        rows: plants
          .apply(ledgerRows(ledger.trades, scope), scope)
          .filter(({ at }) => isFull(payWay, dayOf(rules, at))),
        fillers: days
          .filter((day) => isFull(payWay, day))
          .flatMap((day) => fillerOf(rules, day, conditions.fillerOn(payWay, day))),
        has: (name) => conditions.has(payWay, name, days),
      };
    },
    promise(file) {
      forget(clock.now());
      const token = randomBytes(24).toString('base64url');
      files.set(token, file);
      return token;
    },
    find: (token) => files.get(token),
  };
}

/** Yields every row of a bill: first the simulator's trades, then the fillers (payments of another system). */
export function* rowsOf({ rows, fillers }: Pick<BillContent, 'rows' | 'fillers'>): Iterable<BillRow> {
  yield* rows;
  for (const filler of fillers) for (let index = 0; index < filler.count; index += 1) yield fillerRow(filler, index);
}

/** Whether the bill has no rows. */
export function isEmpty({ rows, fillers }: BillContent): boolean {
  return rows.length === 0 && fillers.length === 0;
}

function fillerOf(rules: BillRules, day: string, count: number): Filler[] {
  const span: Span | undefined = spanOfDay(rules, day);
  return span && count > 0 ? [{ rules, count, ...span }] : [];
}
