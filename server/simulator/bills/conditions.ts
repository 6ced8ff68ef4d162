import { randomUUID } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { spanOfDay } from './days.ts';

const CHINA: readonly PayWay[] = ['alipay', 'wechat'];
const ALL: readonly PayWay[] = ['alipay', 'wechat', 'paypal'];

/** What can be different about bills, and at which channels. */
const WHERE = {
  /** There is no bill yet, until the condition is taken away. */
  late: ALL,
  /** The channel says that nothing happened. */
  empty: ALL,
  /** The file ends in its middle. */
  cut: ALL,
  /** The hash that is told is not that of the file. */
  'wrong-hash': ['wechat'],
  /** The address is over when it is told. */
  'expired-url': CHINA,
  'wrong-charset': ALL,
  'foreign-account': ALL,
  /** A column, or a member, has another name. */
  'other-columns': ALL,
  /** A file of a gigabyte, packed into one of a megabyte. */
  'zip-bomb': CHINA,
  /** Texts that a spreadsheet would take for formulas. */
  formula: ALL,
  /** A bill is there when the channel's would be, and not before. */
  'real-hours': ALL,
  /** So many payments of another system more. */
  filler: ALL,
} as const satisfies Record<string, readonly PayWay[]>;

/** The name of a condition. */
export type ConditionName = keyof typeof WHERE;
/** Every condition by its stable name. */
export const CONDITIONS = Object.keys(WHERE) as [ConditionName, ...ConditionName[]];

/** A condition that was set; without a date for every day. */
export interface Condition {
  id: string;
  payWay: PayWay;
  condition: ConditionName;
  date: string | null;
  /** Of `filler`. */
  rows: number | null;
}

/** What a channel's bills are like at present. */
export interface Conditions {
  set(condition: Omit<Condition, 'id'>): Condition;
  /** Takes away what has this channel, name and date. */
  unset(condition: Pick<Condition, 'payWay' | 'condition' | 'date'>): void;
  list(): readonly Condition[];
  /** Takes one away, or all. */
  clear(id?: string): void;
  /** Whether it holds for any of these days. */
  has(payWay: PayWay, name: ConditionName, days: readonly string[]): boolean;
  /** How many rows more a day has. */
  fillerOn(payWay: PayWay, day: string): number;
}

/** Conditions, none at first. They do not outlive the process. */
export function createConditions(): Conditions {
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
      const where: readonly PayWay[] = WHERE[draft.condition];
      if (!where.includes(draft.payWay))
        throw new SimulatorRefusal(
          400,
          'condition_unknown_here',
          `The bills of ${draft.payWay} have no ${draft.condition}; those of ${where.join(' and ')} have.`,
        );
      if ((draft.condition === 'filler') !== (draft.rows !== null))
        throw new SimulatorRefusal(400, 'rows_invalid', 'rows belongs to filler, and filler needs rows.');
      if (draft.date !== null && !spanOfDay(draft.payWay, draft.date))
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
