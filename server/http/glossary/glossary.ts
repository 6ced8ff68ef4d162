/** What a member means, and a value that it may have; without one an example takes the first that its schema allows. */
export type Entry = readonly [words: string, example?: unknown];

/** In the place of an example: what may be left out is left out. */
export const LEFT_OUT: unique symbol = Symbol('left out');

/** By the name of a member, or by what it belongs to and its name (`Refund.status`, `failure.code`), which goes before. */
export type Glossary = Readonly<Record<string, Entry>>;
