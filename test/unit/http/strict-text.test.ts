import test from 'ava';
import fc from 'fast-check';
import { requireExactNumber, requireUniqueMembers } from '../../../server/http/strict-text.ts';

const read = (text: string): unknown => JSON.parse(text, requireExactNumber);

test('a number that the parser would round is refused anywhere in a body', (t) => {
  const inexact = [
    '4.349999999999999999',
    '1.00000000000000001',
    '0.1000000000000000055511151231257827',
    '9007199254740993',
    '123456789012345678901',
    '1e400',
    '-1e400',
    '1e-400',
    '-4.349999999999999999',
  ];
  for (const text of inexact)
    for (const body of [text, `{"amount":${text}}`, `{"a":[1,{"b":${text}}]}`])
      t.throws(() => read(body), { code: 'invalid_request' }, body);
});

test('every spelling of an exact number is accepted as that number', (t) => {
  const exact = [
    '0',
    '-0',
    '0.0',
    '1',
    '12.50',
    '4.35',
    '0.01',
    '1e2',
    '1E+2',
    '100000000',
    '1.5e-3',
    '9007199254740991',
    '1e21',
  ];
  for (const text of exact) t.is(read(text), Number(text), text);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = JSON.stringify(value);
      t.is(read(text), Number(text));
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (cents) => {
      const text = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
      t.is(read(text), Number(text));
    }),
  );
});

test('a duplicate member is refused in every spelling and at every depth', (t) => {
  const twice = [
    '{"amount":1,"amount":2}',
    '{"amount":1,"b":2,"\\u0061mount":2}',
    '{"a":{"b":1,"b":1}}',
    '[{"a":1},{"b":[],"b":{}}]',
    '{"__proto__":1,"__proto__":2}',
    '{"":1,"":2}',
  ];
  for (const text of twice) t.throws(() => requireUniqueMembers(text), { code: 'invalid_request' }, text);
});

test('equal names in different objects or in text are not duplicates', (t) => {
  const once = [
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":"a","b":"a"}',
    '{"a":"{\\"x\\":1,\\"x\\":2}"}',
    '{"a\\\\":1,"a\\"":2,"a":3}',
    '["a","a"]',
    '"a"',
    '{"a":["a","a"],"b":[{"a":"a"}]}',
  ];
  for (const text of once) t.notThrows(() => requireUniqueMembers(text), text);
  fc.assert(
    fc.property(fc.json(), (text) => t.notThrows(() => requireUniqueMembers(JSON.stringify(JSON.parse(text))))),
  );
});
