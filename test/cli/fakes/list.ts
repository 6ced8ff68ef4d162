/** A request as the fake service received it. */
export interface Seen {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | undefined>;
  body: unknown;
  text: string;
}

/** A JSON object of the API. */
export type Row = Record<string, unknown>;

/** The only page of a list. */
export function listOf(...rows: Row[]): unknown {
  return { data: rows, page: { nextCursor: null, hasMore: false } };
}
