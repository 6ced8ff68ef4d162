/** One request to a channel. */
export interface WireRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** Sent instead of `body`: a form with files. */
  bytes?: Buffer;
  /** What it is about, for the timeline and the logs; never sent. */
  about: { call: string; orderNo?: string; refundNo?: string };
}

/** The raw answer; `body` is the bytes that were received (≤ 1 MB). Header names are lower-case. */
export interface WireAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Sends once, follows no redirect, gives up after Channels.TimeoutMs; throws TransportFailed. */
export type Transport = (request: WireRequest) => Promise<WireAnswer>;

/** A file that a channel hands out: its size is bounded by whoever reads it. */
export interface WireFile {
  status: number;
  headers: Record<string, string>;
  /** Throws TransportFailed when it ends early. Leaving the iteration ends the download. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Downloads a file, following no redirect; what takes longer than allowed between two pieces fails. Throws TransportFailed. */
export type Download = (request: WireRequest) => Promise<WireFile>;

/** Nothing usable came back; whether the channel acted is not known (unless `notSent`). */
export class TransportFailed extends Error {
  readonly why: 'timeout' | 'network' | 'too_large';
  constructor(why: TransportFailed['why'], detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'TransportFailed';
    this.why = why;
  }
}
