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

/** The conditions of bills; `BillRules.lacks` names the conditions that a channel cannot have. */
export const CONDITIONS = [
  /** There is no bill until the condition is removed. */
  'late',
  /** The channel reports that nothing happened. */
  'empty',
  /** The file ends in the middle. */
  'cut',
  /** The reported hash is not the file's. */
  'wrong-hash',
  /** The address has already expired when it is returned. */
  'expired-url',
  'wrong-charset',
  'foreign-account',
  /** A column or field has another name. */
  'other-columns',
  /** A file of a gigabyte, packed into a megabyte. */
  'zip-bomb',
  /** Texts that a spreadsheet would read as formulas. */
  'formula',
  /** A bill exists only once the channel would have published it. */
  'real-hours',
  /** Additional payments of another system. */
  'filler',
] as const;

type RulesOf = (payWay: PayWay) => BillRules;

/** The name of a condition. */
type ConditionName = (typeof CONDITIONS)[number];

/** A condition that is set; without a date it holds for every day. */
interface Condition {
  id: string;
  payWay: PayWay;
  condition: ConditionName;
  date: string | null;
  /** Only for `filler`: the number of payments. */
  rows: number | null;
}

/** The conditions that are set for the bills of the channels. */
interface Conditions {
  set(condition: Omit<Condition, 'id'>): Condition;
  /** Removes the conditions with this channel, name and date. */
  unset(condition: Pick<Condition, 'payWay' | 'condition' | 'date'>): void;
  list(): readonly Condition[];
  /** Removes one condition, or all. */
  clear(id?: string): void;
  /** Whether the condition holds for any of these days. */
  has(payWay: PayWay, name: ConditionName, days: readonly string[]): boolean;
  /** The number of filler rows of a day. */
  fillerOn(payWay: PayWay, day: string): number;
}

/** Creates an empty set of conditions; it is not persistent. */
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
          `The bills of ${draft.payWay} have no ${draft.condition}.`,
        );
      if ((draft.condition === 'filler') !== (draft.rows !== null))
        throw new SimulatorRefusal(400, 'rows_invalid', 'rows is required for filler and not allowed otherwise.');
      if (draft.date !== null && !spanOfDay(rules, draft.date))
        throw new SimulatorRefusal(400, 'date_invalid', `There is no day ${draft.date}.`);
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

/** Differences in the bill alone: the ledger stays unchanged. */
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
/** Differences by payments and refunds without a notification. */
const LEDGER_PLANTS = [
  'paid_unknown_to_us',
  'refund_unknown_to_us',
  'duplicate_payment',
  'dispute_unknown_to_us',
] as const;
/** All differences that can be planted. */
export const PLANTS = [...BILL_PLANTS, ...LEDGER_PLANTS] as const;
/** The kind of a planted difference. */
export type PlantKind = (typeof PLANTS)[number];

/** A planted difference. */
export interface Plant {
  id: string;
  kind: PlantKind;
  payWay: PayWay;
  account: string;
  /** The day of the bill that shows it. */
  date: string;
  orderNo: string;
  /** The channel's number of the payment or refund. */
  number: string;
}

/** The planted differences. Those in the ledger cannot be undone; removing them only removes them from this list. */
interface Plants {
  add(plant: Omit<Plant, 'id'>, foreign?: BillRow): Plant;
  list(): readonly Plant[];
  /** Removes one planted difference, or all. */
  clear(id?: string): void;
  /** Returns the rows of a bill with the planted differences. */
  apply(rows: readonly BillRow[], scope: Scope): BillRow[];
  /** Returns the planted rows in a span that belong to no order of the ledger. */
  foreign(scope: Scope): BillRow[];
}

/** The rows that replace a row with a planted difference: none, a changed row, or two rows. */
const CHANGES: Readonly<Partial<Record<PlantKind, (row: BillRow) => BillRow[]>>> = {
  paid_missing_at_channel: () => [],
  refund_missing_at_channel: () => [],
  amount_differs: (row) => [{ ...row, minor: row.minor + 1 }],
  refund_amount_differs: (row) => [{ ...row, minor: row.minor + 1 }],
  currency_differs: (row) => [{ ...row, currency: row.currency === 'USD' ? 'EUR' : 'USD' }],
  // More than the rounding of a fee rate.
  fee_differs: (row) => [{ ...row, fee: row.fee + 5 }],
  line_twice: (row) => [row, row],
  line_unreadable: (row) => [{ ...row, isUnreadable: true }],
};

/** Creates an empty list of planted differences; it is not persistent. */
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
        throw new SimulatorRefusal(409, 'planted_already', `${draft.number} has this difference already.`);
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

/** A bill file for download: its account, expiry and content. */
export interface BillFile {
  payWay: PayWay;
  account: string;
  /** On the simulated clock. */
  expiresAt: number;
  write(): AsyncIterable<Buffer>;
}

/** The rows of a bill, fixed when it was requested. Days with the condition `empty` have none. */
export interface BillContent {
  rows: readonly BillRow[];
  fillers: readonly Filler[];
  has(name: ConditionName): boolean;
}

/** The bills of all channels: planted differences, conditions and files. */
export interface Bills {
  readonly plants: Plants;
  readonly conditions: Conditions;
  contentOf(scope: Scope): BillContent;
  /** Registers a file for download and returns its token. */
  promise(file: BillFile): string;
  /** Returns the file of a token, expired or not; undefined for an unknown token or one that expired long ago. */
  find(token: string): BillFile | undefined;
}

/** How long the token of an expired file is remembered (ms). */
const MEMORY_MS = 3_600_000;

/** Creates the bills of a ledger. */
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

/** Yields every row: first those of the ledger, then the filler payments of another system. */
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
