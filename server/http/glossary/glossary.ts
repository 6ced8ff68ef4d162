/** What a member means, and a value that it may have; without one an example takes the first that its schema allows. */
export type Entry = readonly [words: string, example?: unknown];

/** In the place of an example: what may be left out is left out. */
export const LEFT_OUT: unique symbol = Symbol('left out');

/**
 * The members that several owners have in common, by the names of all these owners, separated by blanks. An owner is a named schema
 * (`Order`), an anonymous one by the path of members from the nearest schema that has a name (`Order.settlement.fee`), an operation by its
 * `operationId`, or the place of a parameter (`path`, `query`, `header`).
 */
export type Glossary = Readonly<Record<string, Readonly<Record<string, Entry>>>>;
