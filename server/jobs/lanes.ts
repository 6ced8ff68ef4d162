import type { DueRows } from '../db/queries/due.ts';

/** How many rows of one kind a replica works at the same time: of one lane, of one group of lanes, and in all. */
interface Widths {
  laneWidth: number;
  groupWidth?: number;
  /** Absent = as many as all groups have. */
  width?: number;
  /** The groups that a lane belongs to, such as the channel of an account. */
  groupsOf?: (lane: string) => readonly string[];
  /** Whether all lanes of a group wait for one party, so that none of them may be expected to answer sooner than the others. */
  isOneParty?: (group: string) => boolean;
}

/** One kind of row that can be due, and how much of it one replica works at the same time. */
export interface DueKind extends Widths {
  name: string;
  rows: DueRows;
  /** What its id is the number of, for the log. */
  about?: 'orderNo' | 'refundNo';
  /** Does what is due for one claimed row; a row that is still due afterwards is taken again. */
  run: (id: string) => Promise<unknown>;
  /** What `tx.wake` calls the commit that makes a row of this kind due at once; it may find half as many places more. */
  wokenBy?: string;
  /** Its rows ask a channel: the figures tell its groups apart, and its lanes keep to the rate of calls. */
  asksChannel?: boolean;
}

/** Where jobs write what went wrong. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;

/** Places of the rows that ask a channel, as configured (`Jobs.*`). */
export function placesOfChannels(jobs: { perAccount: number; perChannel: number }) {
  return {
    asking: placesOfAccounts(jobs),
    /** Rare work takes a quarter of the places. */
    asksLittle: placesOfAccounts({
      perAccount: Math.ceil(jobs.perAccount / 4),
      perChannel: Math.max(2, Math.ceil(jobs.perChannel / 4)),
    }),
    /** A file may be a gigabyte. */
    readsFiles: { ...placesOfAccounts({ perAccount: 1, perChannel: 2 }), width: 4 },
  };
}

/** Places of the rows that ask a channel: a lane is an account, a group its channel, and no channel takes another's places. */
export function placesOfAccounts({ perAccount, perChannel }: { perAccount: number; perChannel: number }) {
  return {
    laneWidth: perAccount,
    groupWidth: perChannel,
    groupsOf: (lane) => [lane.split(' ', 1)[0]!],
    asksChannel: true,
  } satisfies Widths & { asksChannel: true };
}

/** Places of deliveries: a lane is an application and a receiver, and each of these is a group across the other. */
export function placesOfReceivers(perReceiver: number) {
  return {
    width: 12 * perReceiver,
    laneWidth: perReceiver,
    groupWidth: perReceiver,
    groupsOf: (lane) => lane.split(' '),
    isOneParty: (group) => group.startsWith('//'),
  } satisfies Widths;
}

/** A row under way, in its lane. */
interface Place {
  readonly lane: Lane;
  /** When it began (ms). */
  readonly since: number;
}

/** Who is waited for. */
interface Lane {
  readonly name: string;
  readonly groups: readonly string[];
  /** Under way, the oldest first. */
  readonly places: Set<Place>;
  /** Whether the last row that ended took long; undefined = none has ended lately. */
  wasSlow: boolean | undefined;
  endedAt: number;
}

/** What is known of whoever a lane waits for. */
type Standing = 'quick' | 'untried' | 'held';

/** A row that is under way for longer than this holds its lane: whoever it waits for may be silent. */
const HELD_MS = 3_000;

/** `held` from the moment at which a row takes long until one ends sooner; `untried` when none has ended lately. */
function standingOf({ places, wasSlow }: Lane, now: number): Standing {
  const [oldest] = places;
  if (wasSlow === true || (oldest !== undefined && now - oldest.since > HELD_MS)) return 'held';
  return wasSlow === undefined ? 'untried' : 'quick';
}

/** The group that all lanes belong to; no name of a group has a blank. */
const ALL = ' ';

/** The places that are taken in each group, by the standing of their lanes. */
class Uses {
  readonly #widths: Widths;
  readonly #now: number;
  readonly #taken = new Map<string, Record<Standing, number>>();

  constructor(widths: Widths, now: number) {
    this.#widths = widths;
    this.#now = now;
  }

  /** The groups that have rows under way. */
  groups(): string[] {
    return [...this.#taken.keys()].filter((group) => group !== ALL);
  }

  /** One more row of a lane. */
  add(lane: Lane): void {
    const standing = standingOf(lane, this.#now);
    for (const group of [ALL, ...lane.groups]) this.#of(group)[standing] += 1;
  }

  /** Whether one more may begin in a lane that has so many. */
  hasRoom(lane: Lane, own: number): boolean {
    const standing = standingOf(lane, this.#now);
    return [ALL, ...lane.groups].every((group) => {
      const { quick, untried, held } = this.#of(group);
      const width = this.#widthOf(group);
      const half = Math.max(1, Math.floor(width / 2));
      if (this.#widths.isOneParty?.(group)) return quick + untried + held < width;
      // Those who answer leave the others one half at most; whoever is held counts for no more than that.
      if (standing === 'quick') return quick + Math.min(untried + held, half) < width;
      if (standing === 'untried') return quick + untried + Math.min(held, half) < width;
      // A lane that has nothing under way is tried again although others fill the half.
      return quick + untried + held < width && (own === 0 || held < half);
    });
  }

  /** What is left for rows that a commit has just made due. */
  reserved(group: string): number {
    const { quick, untried, held } = this.#of(group);
    return andHalf(this.#widthOf(group)) - quick - untried - held;
  }

  #widthOf(group: string): number {
    const { width = Number.POSITIVE_INFINITY, groupWidth = width } = this.#widths;
    return group === ALL ? width : groupWidth;
  }

  #of(group: string): Record<Standing, number> {
    const known = this.#taken.get(group) ?? { quick: 0, untried: 0, held: 0 };
    this.#taken.set(group, known);
    return known;
  }
}

/** Half as many again: for rows that a commit has just made due. */
function andHalf(places: number): number {
  return places + Math.ceil(places / 2);
}

/** How many lanes of a group (none for kinds without) have all the rows that they may have, or are held. */
export interface LaneTally {
  group: string;
  state: 'full' | 'held';
  count: number;
}

/** Who may begin how much, and who has to wait for the rate of calls. */
interface Rooms {
  rooms: ReadonlyMap<string, number>;
  limited: ReadonlySet<string>;
}

/** For how long it is remembered how the last row of a lane ended. */
const REMEMBERED_MS = 600_000;
/**
 * The lanes of one kind: what is under way in each, what waits, and who may begin. A lane has `laneWidth` places, a group
 * of lanes `groupWidth`, all together `width`. Lanes that are held share one half of these, and count for no more, so that the
 * other half is always there for those that answer, however many do not.
 */
export class Lanes {
  readonly #widths: Widths;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that have due rows as far as is known; who got something goes behind the others. */
  readonly #waiting = new Set<string>();
  #underWay = 0;

  constructor(widths: Widths) {
    this.#widths = widths;
  }

  /** Rows under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Whether anything waits as far as is known. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Nothing is known to wait any more. */
  forgetWaiting(): void {
    this.#waiting.clear();
  }

  /** These lanes have due rows. */
  found(names: readonly string[]): void {
    for (const name of names) this.#waiting.add(name);
  }

  /** A lane has nothing due any more. */
  exhausted(name: string): void {
    this.#waiting.delete(name);
  }

  /** Forgets lanes of which nothing was under way for a while. */
  tidy(now: number): void {
    for (const { name, places, endedAt } of this.#lanes.values())
      if (places.size === 0 && now - endedAt > REMEMBERED_MS) this.#lanes.delete(name);
  }

  /** A row begins. */
  begin(name: string, now: number): Place {
    const lane = this.#laneOf(name);
    const place = { lane, since: now };
    lane.places.add(place);
    this.#underWay += 1;
    return place;
  }

  /** Its work is over; how long it took says whether the lane is held. */
  end(place: Place, now: number): void {
    const { lane } = place;
    lane.places.delete(place);
    lane.wasSlow = now - place.since > HELD_MS;
    lane.endedAt = now;
    this.#underWay -= 1;
  }

  /**
   * How many rows of each lane may begin now, in turns one for each lane that waits until there is no room left; and the lanes
   * that could begin more if their `allowance` were larger.
   */
  rooms(now: number, allowance: (lane: string) => number = () => Number.POSITIVE_INFINITY): Rooms {
    const uses = this.#uses(now);
    const rooms = new Map<string, number>();
    const limited = new Set<string>();
    for (let goesOn = true; goesOn;) {
      goesOn = false;
      for (const name of this.#waiting) {
        const lane = this.#laneOf(name);
        const got = rooms.get(name) ?? 0;
        if (lane.places.size + got >= this.#widths.laneWidth || !uses.hasRoom(lane, lane.places.size + got)) continue;
        if (got >= allowance(name)) {
          limited.add(name);
          continue;
        }
        uses.add(lane);
        rooms.set(name, got + 1);
        goesOn = true;
      }
    }
    for (const name of rooms.keys()) {
      this.#waiting.delete(name);
      this.#waiting.add(name);
    }
    return { rooms, limited };
  }

  /** For rows that a commit has just made due, which may take half as many places more: how many, and where none. */
  reserve(now: number): { limit: number; fullLanes: string[]; fullGroups: string[] } {
    const { laneWidth } = this.#widths;
    const uses = this.#uses(now);
    const fullLanes = [...this.#lanes.values()].filter(({ places }) => places.size >= andHalf(laneWidth));
    return {
      limit: uses.reserved(ALL),
      fullLanes: fullLanes.map(({ name }) => name),
      fullGroups: uses.groups().filter((group) => uses.reserved(group) <= 0),
    };
  }

  /** Which lanes have all that they may have while more is waiting, and which are held. */
  tally(now: number): LaneTally[] {
    const tallies = new Map<string, LaneTally>();
    const count = (group: string, state: LaneTally['state']) => {
      const tally = tallies.get(`${state} ${group}`) ?? { group, state, count: 0 };
      tallies.set(`${state} ${group}`, { ...tally, count: tally.count + 1 });
    };
    const uses = this.#uses(now);
    for (const lane of this.#lanes.values()) {
      const [group = ''] = lane.groups;
      const own = lane.places.size;
      if (standingOf(lane, now) === 'held') count(group, 'held');
      const isFull = own >= this.#widths.laneWidth || !uses.hasRoom(lane, own);
      if (isFull && this.#waiting.has(lane.name)) count(group, 'full');
    }
    return [...tallies.values()];
  }

  #laneOf(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) {
      const groups = this.#widths.groupsOf?.(name) ?? [];
      lane = { name, groups, places: new Set(), wasSlow: undefined, endedAt: 0 };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #uses(now: number): Uses {
    const uses = new Uses(this.#widths, now);
    for (const lane of this.#lanes.values()) for (const _ of lane.places) uses.add(lane);
    return uses;
  }
}
