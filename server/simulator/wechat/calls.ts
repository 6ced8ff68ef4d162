import type { Core } from '../half.ts';
import type { Answer } from '../exchange.ts';
import type { Call as CallName, FaultName } from '../faults.ts';
import type { Caller } from './gate.ts';

/** One request that was let in. */
export interface Asked extends Caller {
  core: Core;
  /** By which of the two sets of paths: a partner's have /partner in them. */
  mode: 'direct' | 'partner';
  /** The decoded parts of the path that the route names. */
  parts: readonly string[];
  query: URLSearchParams;
  /** Where the channel was asked, without a slash at the end. */
  base: string;
  rawBody: Buffer;
  contentType: string;
}

/** What a request is about, and what it does. */
export interface Planned {
  orderNo?: string;
  act(fault: FaultName | undefined): Answer | Promise<Answer>;
}

/** One route: a verb, a path, the word that faults are set on, and what it does. */
export interface CallRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: RegExp;
  call: CallName;
  plan(asked: Asked): Planned;
}

/** A request that can only be answered in one way. */
export function settled(answer: Answer, orderNo?: string): Planned {
  return { orderNo, act: () => answer };
}
