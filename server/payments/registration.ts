/** Where this service is reached, as channels and payers see it. */
export interface Addresses {
  publicUrl: string;
  /** Where the channel sends its notices about this project. */
  notifyUrl: string;
}

/** Something that must be known to a channel before it can be used in some scenes. */
export interface Registration<Scene extends string = string> {
  name: string;
  /** The page of the channel where it is registered, in words. */
  where: string;
  /** What exactly is registered; empty = not an address of this service, the note says whose. */
  values: readonly string[];
  scenes: readonly Scene[];
  /** Who registers it: a person, or `payctl channel set`. */
  by: 'hand' | 'payctl';
  note: string | null;
}
