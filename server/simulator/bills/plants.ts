import { randomUUID } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { isIn, type Scope } from './ledger-rows.ts';
import type { BillRow } from './row.ts';

/** Differences that are made in the bill alone: the ledger stays as it is. */
export const BILL_PLANTS = [
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
/** Differences that are made by money that moves and of which nobody is told. */
export const LEDGER_PLANTS = [
  'paid_unknown_to_us',
  'refund_unknown_to_us',
  'duplicate_payment',
  'dispute_unknown_to_us',
] as const;
/** Every difference that can be planted. */
export const PLANTS = [...BILL_PLANTS, ...LEDGER_PLANTS] as const;
/** One of them. */
export type PlantKind = (typeof PLANTS)[number];

/** A difference that was planted. */
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

/** The differences that were planted; those of the ledger cannot be taken back and are only remembered. */
export interface Plants {
  add(plant: Omit<Plant, 'id'>, foreign?: BillRow): Plant;
  list(): readonly Plant[];
  /** Forgets one, or all. */
  clear(id?: string): void;
  /** The rows of a bill with whatever was planted in them. */
  apply(rows: readonly BillRow[], scope: Scope): BillRow[];
  /** The planted rows of a time that are about no order of the ledger. */
  foreign(scope: Scope): BillRow[];
}

/** Each plant turns a row into none, another one, or two. */
const CHANGES: Readonly<Partial<Record<PlantKind, (row: BillRow) => BillRow[]>>> = {
  paid_missing_at_channel: () => [],
  refund_missing_at_channel: () => [],
  amount_differs: (row) => [{ ...row, minor: row.minor + 1 }],
  refund_amount_differs: (row) => [{ ...row, minor: row.minor + 1 }],
  currency_differs: (row) => [{ ...row, currency: row.currency === 'USD' ? 'EUR' : 'USD' }],
  // More than the rounding of a rate.
  fee_differs: (row) => [{ ...row, fee: row.fee + 5 }],
  line_twice: (row) => [row, row],
  line_unreadable: (row) => [{ ...row, isUnreadable: true }],
};

/** Plants, none at first. They do not outlive the process. */
export function createPlants(): Plants {
  let known: { plant: Plant; foreign?: BillRow }[] = [];
  const foreign: Plants['foreign'] = (scope) =>
    known.flatMap(({ plant, foreign: row }) =>
      row && plant.payWay === scope.payWay && isIn(scope, plant.account) && row.at >= scope.from && row.at < scope.to
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
