import type { SkillPair } from '../pair.ts';
import type { Asked, Call, Dialect } from './dialect.ts';

/**
 * Most bytes of the headers that dialects add to a 402. With the service's other headers, some 660 bytes and 350 more for
 * pages of other origins, they stay below 4 KB, which is all that common reverse proxies read of an answer's head.
 */
export const HEADER_ROOM = 3_050;

/**
 * What all dialects together add to the 402 of an order. When it is too much, dialects that can be brief become so, the
 * last first, until it fits; of the same order it is always the same.
 */
export function askAll(dialects: readonly Dialect[], pair: SkillPair, call: Call): Asked {
  const asked = dialects.map((dialect) => dialect.ask(pair, call));
  for (let last = dialects.length - 1; last >= 0 && sizeOf(asked) > HEADER_ROOM; last -= 1)
    asked[last] = dialects[last]?.brief?.(pair, call) ?? asked[last] ?? { headers: {} };
  return {
    headers: Object.assign({}, ...asked.map(({ headers }) => headers)) as Asked['headers'],
    members: Object.assign({}, ...asked.map(({ members }) => members)) as NonNullable<Asked['members']>,
  };
}

/** Each header has its name, a colon, a space and a line end. */
function sizeOf(asked: readonly Asked[]): number {
  const pairs = asked.flatMap(({ headers }) => Object.entries(headers));
  return pairs.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}
