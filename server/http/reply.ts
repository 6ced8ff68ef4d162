import type { Readable } from 'node:stream';

/** A cookie to set; `value: null` removes it. */
export interface ReplyCookie {
  name: string;
  value: string | null;
  httpOnly?: boolean;
  secure?: boolean;
  /** Sent too when a link of another site leads here; by default it is not. */
  sameSite?: 'lax';
  /** Where the service is reached by https, set once more under a name that only this host can set. */
  hostToo?: boolean;
  maxAgeSeconds?: number;
}

/** A body in each content coding that it was made in. */
export type Encoded = Readonly<Partial<Record<(typeof CODINGS)[number], Buffer>>>;

/** Content codings, the one that makes the least of a file first. */
export const CODINGS = ['br', 'gzip'] as const;

/** What a handler may say besides its data. */
export interface ReplyParts<T> {
  status?: number;
  headers?: Record<string, string>;
  cookies?: ReplyCookie[];
  /** Sent as it is; set `content-type` among the headers. */
  body?: Buffer | string | Readable;
  /** The same body in content codings that a client may accept. */
  encoded?: Encoded;
  data?: T;
  /** Members beside `data`, as the contract names them. */
  beside?: Record<string, unknown> | undefined;
}

/** An answer that is more than its data: a status, headers, cookies, or a body that is not JSON. */
export class Reply<T = never> {
  readonly parts: ReplyParts<T>;

  constructor(parts: ReplyParts<T>) {
    this.parts = parts;
  }
}
