import type { Widths } from './due-kind.ts';
import { type Lane, type Standing, standingOf } from './lane.ts';

/** The group that all lanes belong to; no name of a group has a blank. */
export const ALL = ' ';

/** The places that are taken in each group, by the standing of their lanes. */
export class Uses {
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
export function andHalf(places: number): number {
  return places + Math.ceil(places / 2);
}
