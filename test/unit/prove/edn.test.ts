import test from 'ava';
import fc from 'fast-check';
import { writeEdn } from '../../prove/histories/edn.ts';
import type { HistoryEvent } from '../../prove/histories/event.ts';

test('an event is written in the EDN that Elle reads', (t) => {
  const value = { orderNo: 'P1', amount: 400, key: null, refunds: [{ replayed: true }], note: 'a "word"\n' };
  t.is(
    writeEdn({ index: 3, type: 'ok', process: 1, f: 'refund', value, time: 5 }),
    '{:index 3 :type :ok :process 1 :f :refund :value {:orderNo "P1" :amount 400 :key nil :refunds [{:replayed true}] :note "a \\"word\\"\\n"} :time 5}',
  );
  t.is(
    writeEdn({ index: 4, type: 'info', process: 'nemesis', f: 'kill', value: {}, time: 6 }),
    '{:index 4 :type :info :process :nemesis :f :kill :value {} :time 6}',
  );
});

const name = fc.stringMatching(/^[a-z][a-zA-Z-]{0,12}$/);
const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null));
const value = fc.dictionary(name, fc.oneof(scalar, fc.array(scalar), fc.array(fc.dictionary(name, scalar))));
const event = fc.record({
  index: fc.nat(),
  type: fc.constantFrom('invoke', 'ok', 'fail', 'info'),
  process: fc.oneof(fc.nat(), fc.constantFrom('nemesis', 'channel')),
  f: name,
  value,
  time: fc.nat(),
}) as fc.Arbitrary<HistoryEvent>;

test('every JSON value survives a round trip through EDN', (t) => {
  fc.assert(
    fc.property(event, (one) => {
      t.deepEqual(readEdn(writeEdn(one)), JSON.parse(JSON.stringify(one)));
    }),
    { numRuns: 2_000 },
  );
});

/** Reads the EDN that a history uses; a keyword is read as its name. */
function readEdn(text: string): unknown {
  const tokens = [...text.matchAll(/[{}[\]]|"(?:[^"\\]|\\[^])*"|[^\s{}[\]"]+/g)].map(([token]) => token);
  const read = (): unknown => {
    const token = tokens.shift()!;
    if (token === '{') {
      const members: [string, unknown][] = [];
      while (tokens[0] !== '}') members.push([read() as string, read()]);
      tokens.shift();
      return Object.fromEntries(members);
    }
    if (token === '[') {
      const items: unknown[] = [];
      while (tokens[0] !== ']') items.push(read());
      tokens.shift();
      return items;
    }
    if (token === 'nil') return null;
    return token.startsWith(':') ? token.slice(1) : (JSON.parse(token) as unknown);
  };
  return read();
}
