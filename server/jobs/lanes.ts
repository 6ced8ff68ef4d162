import type { Widths } from './due-kind.ts';
import { HELD_MS, type Lane, type Place, standingOf } from './lane.ts';
import { ALL, andHalf, Uses } from './uses.ts';

/** How many lanes of a group (none for kinds without) have all the rows that they may have, or are held. */
export interface LaneTally {
  group: string;
  state: 'full' | 'held';
  count: number;
}

/** Who may begin how much, and who has to wait for the rate of calls. */
export interface Rooms {
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
