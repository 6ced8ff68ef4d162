import { sql } from 'kysely';
import type { DueRow, DueRows } from '../../../server/db/queries/due.ts';
import type { Store, Tx } from '../../../server/db/store.ts';

/** A due row of a test; its lease never ends. */
type FakeRow = Pick<DueRow, 'id' | 'queueKey'>;

/** Due rows in memory, oldest first, with an empty store. */
export interface FakeRows {
  rows: DueRows;
  store: Store;
  due: FakeRow[];
  /** The row count or ids of each claim. */
  claims: (number | readonly string[])[];
  /** Called before a look or a claim returns. */
  beforeAnswer: () => Promise<void> | void;
}

const NEVER = new Date(8.64e15);

/** Returns rows of one kind that stay due until they are claimed. */
export function fakeRows(due: FakeRow[] = []): FakeRows {
  const take = async (asked: FakeRows['claims'][number], isWanted: (row: FakeRow) => boolean): Promise<DueRow[]> => {
    fake.claims.push(asked);
    const chosen = fake.due.filter(isWanted);
    fake.due = fake.due.filter((row) => !chosen.includes(row));
    await fake.beforeAnswer();
    return chosen.map((row) => ({ ...row, lease: NEVER }));
  };
  const fake: FakeRows = {
    due,
    claims: [],
    beforeAnswer: () => {},
    rows: {
      waiting: () => sql`0`,
      oldestLag: () => sql`null`,
      dueCount: () => sql`0`,
      async queues() {
        const found = [...new Set(fake.due.map(({ queueKey }) => queueKey))];
        await fake.beforeAnswer();
        return found;
      },
      claim(_, { capacity }) {
        const left = new Map(capacity);
        const asked = [...capacity.values()].reduce((sum, room) => sum + room, 0);
        return take(asked, ({ queueKey }) => {
          const room = left.get(queueKey) ?? 0;
          left.set(queueKey, room - 1);
          return room > 0;
        });
      },
      claimNamed: (_, { ids, fullQueues = [] }) =>
        take(ids, ({ id, queueKey }) => ids.includes(id) && !fullQueues.includes(queueKey)),
      renew: async (_, { rows }) => rows.map(() => ({ kind: 'busy' })),
    },
    store: {
      transaction: async (work) => work({} as never),
      read: async (work) => work({} as never),
      autocommit: async (work) => work({} as never),
    },
  };
  return fake;
}

/** Returns `n` rows of each queue, interleaved. */
export function rowsOf(n: number, ...queues: string[]): FakeRow[] {
  return Array.from({ length: n }, (_, at) => queues.map((queueKey) => ({ id: `${queueKey}-${at}`, queueKey }))).flat();
}

/** Claims the due rows of a table from every queue, at most `room` of each. */
export async function claimDue(tx: Tx, rows: DueRows, now: Date, room = 100): Promise<DueRow[]> {
  const queues = await rows.queues(tx, now);
  return rows.claim(tx, { now, capacity: new Map(queues.map((queueKey) => [queueKey, room])) });
}
