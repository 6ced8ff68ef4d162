import test from 'ava';
import fc from 'fast-check';
import { canonicalJson, digest } from '../../../server/payments/idempotency.ts';

test('the canonical form is that of RFC 8785: sorted members, no space, ECMAScript numbers', (t) => {
  t.is(canonicalJson({ b: [1, 2.5, null, true], a: 'ü"', '€': 1e21 }), '{"a":"ü\\"","b":[1,2.5,null,true],"€":1e+21}');
});

test('the order of members does not matter, and any other difference does', (t) => {
  t.is(digest({ a: 1, b: 2 }), digest({ b: 2, a: 1 }));
  t.not(digest({ a: 1 }), digest({ a: '1' }));
  t.not(digest([1, 2]), digest([2, 1]));
});

test('the canonical form reads back as the same value', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      t.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});
