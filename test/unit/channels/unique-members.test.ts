import test from 'ava';
import { hasUniqueMembers } from '../../../server/channels/unique-members.ts';

const isUnique = (text: string) => hasUniqueMembers(text, JSON.parse(text));

test('a duplicate member name is found at any depth and in any spelling', (t) => {
  for (const text of ['{"a":1,"a":1}', '[{"b":{"a":1,"a":2}}]', '{"a":1,"\\u0061":2}', '{"__proto__":1,"__proto__":2}'])
    t.false(isUnique(text), text);
});

test('names in different objects, and colons and quotes inside strings, are not duplicates', (t) => {
  const odd = JSON.stringify({
    'a:"\\': ':"a":1,\\',
    b: ['":"', { a: '\\"', 'a:': '\\\\' }],
    __proto: {},
    c: { a: 1, b: {} },
  });
  for (const text of ['{}', '[]', '"a:b"', '1', '{"a":{"a":{"a":[{"a":1},{"a":2}]}}}', '{"__proto__":{"a":1}}', odd])
    t.true(isUnique(text), text);
});

test('a text of any depth is accepted', (t) => {
  const deep = `${'['.repeat(100_000)}{"a":1}${']'.repeat(100_000)}`;
  t.true(isUnique(deep));
  t.false(isUnique(deep.replace('1}', '1,"a":2}')));
});
