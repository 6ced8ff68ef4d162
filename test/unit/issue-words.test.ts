import test from 'ava';
import { z } from 'zod';
import { issueWords } from '../../server/issue-words.ts';

const SAID: readonly [schema: z.ZodType, value: unknown, words: string][] = [
  [z.string(), undefined, 'is required'],
  [z.union([z.string(), z.number()]), undefined, 'is required'],
  [z.union([z.string(), z.number()]), true, 'is not accepted'],
  [z.string(), 1, 'must be a string'],
  [z.int(), 1.5, 'must be an integer'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.array(z.string()), {}, 'must be a list'],
  [z.object({}), null, 'must be an object'],
  [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [z.literal('a'), 'c', 'must be a'],
  [z.string().min(1), '', 'must have at least 1 character'],
  [z.string().max(3), 'abcd', 'must have at most 3 characters'],
  [z.array(z.int()).length(2), [1], 'must have exactly 2 items'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.iso.datetime(), 'now', 'must be a time such as 2026-01-31T08:00:00Z'],
  [z.uuid(), '1', 'must be a UUID'],
  [z.string().regex(/^a/), 'b', 'does not have the expected form'],
  [z.strictObject({}), { a: 1 }, 'has unknown members: a'],
  [z.number().multipleOf(5), 3, 'must be a multiple of 5'],
  [z.string('must be our own'), 1, 'must be our own'],
];

test("a schema fault is reported in our words, or in the schema's own words where it has some", (t) => {
  for (const [schema, value, words] of SAID)
    t.is(schema.safeParse(value, { error: issueWords }).error?.issues[0]?.message, words, words);
});
