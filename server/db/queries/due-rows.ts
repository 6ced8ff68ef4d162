import type { ReadTx, Tx } from '../store.ts';
import { arrayText } from '../table.ts';
import { MOST_COUNTED } from './figures.ts';

/** A row that is due is somebody's for this long; who is still at it renews it, or another replica takes it. */
const LEASE_MS = 60_000;

/** A claimed row, in its lane: rows of one lane wait for the same outside party. */
export interface DueRow {
  id: string;
  lane: string;
  /** Until when it is the claimer's. */
  lease: Date;
}

/** When something is claimed or renewed, and for how long. */
interface Moment {
  now: Date;
  /** Another length than the service's own; for tests. */
  leaseMs?: number | undefined;
}

/** What to claim of a backlog: of each lane so many rows at most. */
export interface Claim extends Moment {
  rooms: ReadonlyMap<string, number>;
}

/** Rows to claim by name, but none of these lanes and groups. */
export interface NamedClaim extends Moment {
  ids: readonly string[];
  fullLanes?: readonly string[];
  fullGroups?: readonly string[];
}

/** Rows under way, each with the lease that its claim, or the last renewal, wrote. */
export interface Renewal extends Moment {
  rows: readonly Pick<DueRow, 'id' | 'lease'>[];
}

/**
 * What became of a lease: `renewed` to that instant; `over` when the work itself, or what was heard meanwhile, has planned the row
 * anew; `lost` when somebody else has claimed it; `busy` when the row is locked just now, or gone.
 */
export type Renewed = { kind: 'renewed'; lease: Date } | { kind: 'over' | 'lost' | 'busy' };

/** Rows of one table that can be due. */
export interface DueRows {
  /** The lanes that have rows which are due and nobody's. */
  lanes(tx: ReadTx, now: Date): Promise<string[]>;
  /** Leases rows that are due, the oldest of each lane, so that no other replica takes them too; one statement. */
  claim(tx: Tx, claim: Claim): Promise<DueRow[]>;
  /** The same for rows that are named. */
  claimNamed(tx: Tx, claim: NamedClaim): Promise<DueRow[]>;
  /** Prolongs the leases that are still as they were written, in one statement; gives what became of each. */
  renew(tx: Tx, renewal: Renewal): Promise<Renewed[]>;
  /** The SQL value, with `$1` for now, of the seconds since the oldest row was due that nobody has; null for none. */
  readonly oldestLag: string;
  /** The SQL value, with `$1` for now, of how many rows are due, somebody's or not; the oldest are counted, `MOST_DUE` and one more. */
  readonly dueCount: string;
  /** The SQL value, with `$1` for now, of how many rows are due that nobody has, `MOST_COUNTED` at most. */
  readonly waiting: string;
}

/** More due rows of a kind are not counted. */
export const MOST_DUE = 1_000;

/** A table that can have due rows; the texts are SQL about its row `d`. */
export interface DueTable {
  table: string;
  key: string;
  keyType?: 'text' | 'uuid';
  /** When it is due. */
  at: string;
  /** Until when it is somebody's: a column of its own, or `at` itself where a claim puts the attempt off. */
  lease: string;
  /** Which lane a row is in, as the table's index of lanes has it. */
  lane: string;
  /** The groups across lanes that a row belongs to, a `text[]`. */
  groups: string;
  /** What the index of lanes covers; only what it covers can be due. */
  covered?: string;
  condition: string;
  /** Which lanes count at all, about their name `s.lane`. */
  open?: string;
}

/** The statements over one table. */
export function dueRows(table: DueTable): DueRows {
  const texts = statementsOf(table);
  return {
    oldestLag: texts.oldestLag,
    dueCount: texts.dueCount,
    waiting: texts.waiting,
    lanes: async (tx, now) => (await tx.prepared<{ lane: string }>(texts.lanes, [now])).map(({ lane }) => lane),
    async claim(tx, { rooms, ...moment }) {
      const { now, lease } = bounds(moment);
      const names = [...rooms.keys()];
      const places = names.map((name) => String(rooms.get(name)));
      const found = await tx.prepared<Found>(texts.claim, [now, lease, arrayText(names), arrayText(places)]);
      return found.map((row) => ({ ...row, lease }));
    },
    async claimNamed(tx, { ids, fullLanes = [], fullGroups = [], ...moment }) {
      const { now, lease } = bounds(moment);
      const full = [arrayText(fullLanes), arrayText(fullGroups)];
      const found = await tx.prepared<Found>(texts.claimNamed, [now, lease, arrayText(ids), ...full]);
      return found.map((row) => ({ ...row, lease }));
    },
    async renew(tx, { rows, ...moment }) {
      const { now, lease } = bounds(moment);
      const ids = arrayText(rows.map(({ id }) => id));
      const leases = arrayText(rows.map((row) => row.lease.toISOString()));
      const found = await tx.prepared<{ place: string; became: 'renewed' | 'over' | 'lost' }>(texts.renew, [
        now,
        lease,
        ids,
        leases,
      ]);
      const became = new Map(found.map((one) => [Number(one.place), one.became]));
      return rows.map((_, at): Renewed => {
        const kind = became.get(at + 1) ?? 'busy';
        return kind === 'renewed' ? { kind, lease } : { kind };
      });
    },
  };

  function bounds({ now, leaseMs = LEASE_MS }: Moment): { now: Date; lease: Date } {
    return { now, lease: new Date(now.getTime() + leaseMs) };
  }
}

type Found = Pick<DueRow, 'id' | 'lane'>;

const NOW = 'cast($1 as timestamptz)';
const LEASE = 'cast($2 as timestamptz)';

function statementsOf(due: DueTable) {
  const { table, key, keyType = 'text', at, lease, lane, groups, condition, open = 'true' } = due;
  const covered = due.covered ?? `d.${at} is not null`;
  const hasOwnLease = lease !== at;
  const free = hasOwnLease ? `(d.${lease} is null or d.${lease} <= ${NOW})` : 'true';
  const reached = `${covered} and d.${at} <= ${NOW}`;
  const isDue = `${reached} and ${free} and ${condition}`;
  const leased = `update ${table} t set ${lease} = ${LEASE}
       from picked where t.${key} = picked.id`;
  const picked = `select d.${key} as id, ${lane} as lane from ${table} d`;
  const returned = `returning picked.id::text as id, ${laneOf(due, 't')} as lane`;
  return {
    oldestLag: `(select extract(epoch from ${NOW} - d.${at})::float8 from ${table} d
                  where ${isDue} order by d.${at} limit 1)`,
    dueCount: `(select count(*)::int from (select ${condition} as counts from ${table} d
                  where ${reached} order by d.${at} limit ${MOST_DUE + 1}) c where c.counts)`,
    waiting: `(select count(*)::int from (select 1 from ${table} d where ${isDue} limit ${MOST_COUNTED}) n)`,
    // From lane to lane by their index, and in each to the first row that is nobody's: what it costs depends on how many lanes
    // there are, not on how many rows wait in them.
    lanes: `with recursive seen(lane) as (
       (select ${lane} from ${table} d where ${covered} order by ${lane} limit 1)
       union all
       select (select ${lane} from ${table} d where ${covered} and ${lane} > s.lane order by ${lane} limit 1)
         from seen s where s.lane is not null)
     select s.lane from seen s, lateral (
         select d.${at} as at from ${table} d where ${lane} = s.lane and ${covered} and ${free} and ${condition}
          order by d.${at} limit 1) first
      where s.lane is not null and ${open} and first.at <= ${NOW}`,
    // Materialized: a plan that evaluates the limited part twice would lease more than the limit.
    claim: `with picked as materialized (
       select p.id from unnest(cast($3 as text[]), cast($4 as int[])) as l(lane, room), lateral (
         ${picked} where ${lane} = l.lane and ${isDue} order by d.${at} limit l.room for update of d skip locked) p)
     ${leased} ${returned}`,
    claimNamed: `with picked as materialized (
       ${picked} where d.${key} = any(cast($3 as ${keyType}[])) and ${isDue}
          and not (${lane} = any(cast($4 as text[]))) and not (${groups} && cast($5 as text[]))
        order by d.${at} for update of d skip locked)
     ${leased} ${returned}`,
    // Only a claim writes a lease that ends a whole lease after ours; one that the work itself has written ends earlier. Where a
    // claim puts the attempt off, what the work has planned may be as late, so it counts only when ours could have been taken.
    renew: `with mine as (
       select * from unnest(cast($3 as ${keyType}[]), cast($4 as timestamptz[])) with ordinality as m(id, lease, place)),
     held as materialized (
       select m.id, m.place, m.lease as mine, t.${lease} as lease from ${table} t join mine m on m.id = t.${key}
          for update of t skip locked),
     renewed as (
       update ${table} t set ${lease} = ${LEASE} from held h where t.${key} = h.id and h.lease = h.mine returning h.place)
     select h.place::text as place,
            case when h.lease = h.mine then 'renewed'
                 when h.lease >= h.mine + (${LEASE} - ${NOW})${hasOwnLease ? '' : ` and h.lease <= ${LEASE}`} then 'lost'
                 else 'over' end as became
       from held h`,
  };
}

/** The lane of a row by another name than `d`. */
function laneOf({ lane }: DueTable, row: string): string {
  return lane.replaceAll(/\bd\./g, `${row}.`);
}
