/** A value that an event can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined };

/** The members of an event's value. */
export type Facts = Readonly<Record<string, Json | undefined>>;

/** The actor: a client by its number, the fault injector, or the channel, which reports its ledger at the end. */
export type Actor = number | 'nemesis' | 'channel';

/** How an operation of a client ended: done, refused for certain, or unknown. */
export type Ending = 'ok' | 'fail' | 'info';

/** One line of a history, in the form that Jepsen's tools read. */
export interface HistoryEvent {
  index: number;
  type: 'invoke' | Ending;
  process: Actor;
  f: string;
  value: Facts;
  /** Nanoseconds since the recording began. */
  time: number;
}
