import type { z } from 'zod';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMS: Readonly<Record<string, string>> = {
  datetime: 'a time such as 2026-01-31T08:00:00Z',
  date: 'a day such as 2026-01-31',
  uuid: 'a UUID',
  url: 'a URL',
  email: 'an email address',
  base64: 'base64',
};

/** The schema's own message if it has one, otherwise a text of this file; never a text of Zod. */
export const issueWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? 'of another type'}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return bound(issue, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return bound(issue, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return FORMS[issue.format] === undefined ? 'does not have the expected form' : `must be ${FORMS[issue.format]}`;
    case 'unrecognized_keys':
      return `has unknown members: ${issue.keys.join(', ')}`;
    default:
      return issue.input === undefined ? 'is required' : 'is not accepted';
  }
};

const COUNTED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  object: ['member', 'members'],
  map: ['member', 'members'],
};

function bound(
  { origin, exact }: { origin: string; exact?: boolean },
  relation: string,
  limit: number | bigint,
): string {
  const counted = COUNTED[origin];
  const how = exact ? 'exactly' : relation;
  if (counted === undefined) return `must be ${how} ${limit}`;
  return `must have ${how} ${limit} ${Number(limit) === 1 ? counted[0] : counted[1]}`;
}
