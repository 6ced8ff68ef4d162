import type { Claim, DueRow, DueRows } from '../../server/db/queries/due.ts';
import type { Store } from '../../server/db/store.ts';

/** Due rows in memory, oldest first, and a store that hands nothing over. */
export interface FakeRows {
  rows: DueRows;
  store: Store;
  due: DueRow[];
  claims: Claim[];
  /** Called before a claim answers. */
  beforeAnswer: (claim: Claim) => Promise<void> | void;
}

/** Rows of one kind that are due until they are claimed. */
export function fakeRows(due: DueRow[] = []): FakeRows {
  const fake: FakeRows = {
    due,
    claims: [],
    beforeAnswer: () => {},
    rows: {
      waiting: '0',
      oldestLag: 'null',
      async claim(_, claim) {
        fake.claims.push(claim);
        const { only = [], full = [], limit } = claim;
        const chosen = fake.due
          .filter(({ id, lane }) => !full.includes(lane) && (only.length === 0 || only.includes(id)))
          .slice(0, limit);
        fake.due = fake.due.filter((row) => !chosen.includes(row));
        await fake.beforeAnswer(claim);
        return chosen;
      },
    },
    store: {
      transaction: async (work) => work({} as never),
      read: async (work) => work({} as never),
      autocommit: async (work) => work({} as never),
    },
  };
  return fake;
}

/** `n` rows of each lane, in turns. */
export function rowsOf(n: number, ...lanes: string[]): DueRow[] {
  return Array.from({ length: n }, (_, at) => lanes.map((lane) => ({ id: `${lane}-${at}`, lane }))).flat();
}
