/** A row under way, in its lane. */
export interface Place {
  readonly lane: Lane;
  /** When it began (ms). */
  readonly since: number;
}

/** Who is waited for. */
export interface Lane {
  readonly name: string;
  readonly groups: readonly string[];
  /** Under way, the oldest first. */
  readonly places: Set<Place>;
  /** Whether the last row that ended took long; undefined = none has ended lately. */
  wasSlow: boolean | undefined;
  endedAt: number;
}

/** What is known of whoever a lane waits for. */
export type Standing = 'quick' | 'untried' | 'held';

/** A row that is under way for longer than this holds its lane: whoever it waits for may be silent. */
export const HELD_MS = 3_000;

/** `held` from the moment at which a row takes long until one ends sooner; `untried` when none has ended lately. */
export function standingOf({ places, wasSlow }: Lane, now: number): Standing {
  const [oldest] = places;
  if (wasSlow === true || (oldest !== undefined && now - oldest.since > HELD_MS)) return 'held';
  return wasSlow === undefined ? 'untried' : 'quick';
}
