import { randomBytes } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import type { Clock } from '../clock.ts';
import type { Ledger } from '../ledger.ts';
import { createConditions, type ConditionName, type Conditions } from './conditions.ts';
import { dayOf, daysIn, spanOfDay, type Span } from './days.ts';
import { fillerRow, type Filler } from './filler.ts';
import { ledgerRows, type Scope } from './ledger-rows.ts';
import { createPlants, type Plants } from './plants.ts';
import type { BillRow } from './row.ts';

/** A file that was promised: whose, until when, and how it is written. */
export interface BillFile {
  payWay: PayWay;
  account: string;
  /** On the simulated clock. */
  expiresAt: number;
  write(): AsyncIterable<Buffer>;
}

/** What a bill is made of, as it was when it was asked for: the same rows each time that they are read. Days that are to be empty have none. */
export interface BillContent {
  rows: readonly BillRow[];
  fillers: readonly Filler[];
  has(name: ConditionName): boolean;
}

/** The bills of all channels: what was planted in them, what they are like, and the files that were promised. */
export interface Bills {
  readonly plants: Plants;
  readonly conditions: Conditions;
  contentOf(scope: Scope): BillContent;
  /** Promises a file; the returned token opens it. */
  promise(file: BillFile): string;
  /** The file of a token, over or not; undefined for a token that was never given or is long over. */
  find(token: string): BillFile | undefined;
}

/** How long a promise that is over is remembered. */
const MEMORY_MS = 3_600_000;

/** The bills of a ledger. */
export function createBills(ledger: Ledger, clock: Clock): Bills {
  const plants = createPlants();
  const conditions = createConditions();
  const files = new Map<string, BillFile>();
  const forget = (now: number) => {
    for (const [token, { expiresAt }] of files) if (expiresAt + MEMORY_MS < now) files.delete(token);
  };
  const isFull = (payWay: PayWay, day: string) => !conditions.has(payWay, 'empty', [day]);
  return {
    plants,
    conditions,
    contentOf(scope) {
      const { payWay } = scope;
      const days = daysIn(payWay, scope);
      return {
        rows: plants
          .apply(ledgerRows(ledger.trades, scope), scope)
          .filter(({ at }) => isFull(payWay, dayOf(payWay, at))),
        fillers: days
          .filter((day) => isFull(payWay, day))
          .flatMap((day) => fillerOf(payWay, day, conditions.fillerOn(payWay, day))),
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

/** Every row: those of the ledger, then the filler's. */
export function* rowsOf({ rows, fillers }: Pick<BillContent, 'rows' | 'fillers'>): Iterable<BillRow> {
  yield* rows;
  for (const filler of fillers) for (let index = 0; index < filler.count; index += 1) yield fillerRow(filler, index);
}

/** Whether there is nothing to tell. */
export function isEmpty({ rows, fillers }: BillContent): boolean {
  return rows.length === 0 && fillers.length === 0;
}

function fillerOf(payWay: PayWay, day: string, count: number): Filler[] {
  const span: Span | undefined = spanOfDay(payWay, day);
  return span && count > 0 ? [{ payWay, count, ...span }] : [];
}
