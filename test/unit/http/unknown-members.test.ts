import test from 'ava';
import { z } from 'zod';
import { unknownMembers } from '../../../server/http/strict-text.ts';

const Way = z.discriminatedUnion('by', [
  z.object({ by: z.literal('post'), address: z.string() }),
  z.object({ by: z.literal('mail'), mailbox: z.string(), copies: z.array(z.object({ to: z.string() })).optional() }),
]);
const Body = z
  .object({
    refundAmount: z.number().optional(),
    reason: z.string().nullable().default(null),
    way: Way.nullable().optional(),
    limits: z.record(z.string(), z.object({ perDay: z.number() })).optional(),
    either: z
      .union([z.literal('all'), z.array(z.object({ name: z.string() })), z.object({ only: z.string() })])
      .optional(),
    metadata: z.record(z.string(), z.json()).optional(),
    input: z.unknown().optional(),
    fields: z.looseObject({ mode: z.string().optional() }).optional(),
    later: z
      .object({ at: z.string() })
      .transform(({ at }) => at)
      .optional(),
  })
  .optional();

const found = (sent: unknown) => [...unknownMembers(Body, sent)].map(({ pointer, detail }) => `${pointer} ${detail}`);

for (const [what, sent, faults] of [
  ['no body', undefined, []],
  ['no object', 'text', []],
  ['only known members', { refundAmount: 1, way: { by: 'post', address: 'x' }, limits: { CNY: { perDay: 1 } } }, []],
  ['a misspelt member', { refundamount: 1 }, ['/refundamount is not known here; did you mean refundAmount?']],
  ['a member without a similar name', { colour: 'red' }, ['/colour is not known here']],
  [
    'a member of the other variant',
    { way: { by: 'post', address: 'x', mailbox: 'y' } },
    ['/way/mailbox is not known here'],
  ],
  [
    'a member in a list',
    { way: { by: 'mail', mailbox: 'x', copies: [{ to: 'a' }, { to: 'b', colour: 'c' }] } },
    ['/way/copies/1/colour is not known here'],
  ],
  [
    'a member below a free name',
    { limits: { 'a/b~c': { perDay: 1, perday: 2 } } },
    ['/limits/a~1b~0c/perday is not known here; did you mean perDay?'],
  ],
  [
    'a member of a union without a discriminator',
    { either: { only: 'x', all: true } },
    ['/either/all is not known here'],
  ],
  [
    'a member in a list of such a union',
    { either: [{ name: 'x', nam: 1 }] },
    ['/either/0/nam is not known here; did you mean name?'],
  ],
  ['a member before a transform', { later: { at: 'x', add: 1 } }, ['/later/add is not known here']],
  [
    'names of object members',
    JSON.parse('{"__proto__":1,"toString":2,"constructor":3}'),
    ['/__proto__ is not known here', '/toString is not known here', '/constructor is not known here'],
  ],
  ['free objects', { metadata: { a: { b: 1 } }, input: { c: [{ d: 1 }] }, fields: { mode: 'x', other: { e: 1 } } }, []],
  ['an unknown variant', { way: { by: 'pigeon', feed: 1 } }, []],
] as const)
  test(`unknown members in a body: ${what}`, (t) => t.deepEqual(found(sent), [...faults]));

test('a long name is shortened', (t) => {
  const [fault] = [...unknownMembers(Body, { ['x'.repeat(5000)]: 1 })];
  t.is(fault?.pointer.length, 65);
});
