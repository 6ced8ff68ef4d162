import { z } from 'zod';

/** JSON texts of a value that hardly any member may have; what a contract does accept of them is left out by its schema. */
export const BAD_VALUES: readonly string[] = [
  'null',
  'true',
  '[]',
  '["a"]',
  '{}',
  '{"$ne":""}',
  '{"$gt":0,"length":3}',
  '{"__proto__":{"role":"admin"}}',
  '{"toString":"x"}',
  '-1',
  '0',
  '1e400',
  '-0',
  '1e21',
  '9007199254740993',
  '0.1',
  '""',
  '" "',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udfff x"',
  '"\\u202e\\u0007"',
  '"../../etc/passwd"',
  '"a\'; drop table orders; --"',
  '"%00"',
  `"${'x'.repeat(70_000)}"`,
  `"${'😀'.repeat(3000)}"`,
  '"__proto__"',
  '"NaN"',
  '"1e3"',
  '"javascript:alert(1)"',
];

/** Bodies that no operation takes: JSON that is no object, no JSON, too deep, text that cannot be kept. */
export const BAD_BODIES: Readonly<Record<string, string | Uint8Array>> = {
  list: '[]',
  text: '"text"',
  number: '1',
  'half of JSON': '{"a":',
  'two values': '{}{}',
  'not a number': '{"a":NaN}',
  comment: '{/**/}',
  'too deep': `{"a":${'['.repeat(25)}${']'.repeat(25)}}`,
  'a hundred thousand deep': '['.repeat(100_000),
  'NUL in a key': '{"a\\u0000":1}',
  'NUL in an unknown member': '{"unknown":"\\u0000"}',
  'a lone surrogate in a key': '{"\\ud800":1}',
  'a lone surrogate deep inside': '{"unknown":[{"a":"\\udc00"}]}',
  'bytes that are no UTF-8': Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'more than 100 KB': `{"a":"${'x'.repeat(101 * 1024)}"}`,
};

/** Media types that no JSON operation takes. */
export const BAD_TYPES = [
  'text/plain',
  'application/xml',
  'application/octet-stream',
  'application/json; charset=utf-16',
  'multipart/related; boundary=x',
  'json',
] as const;

/** Ids that no id can be, as they stand in a path. */
export const BAD_IDS = [
  '..%2f..%2fetc%2fpasswd',
  '%00',
  'a%00b',
  '%',
  '%zz',
  '%ff%fe',
  '%ED%A0%80',
  'a%20b',
  "'%20or%201=1--",
  '1;2',
  'x'.repeat(65),
  '%F0%9F%98%80',
  '%0d%0aSet-Cookie:a=b',
  '[object%20Object]',
] as const;

/** Texts of a query parameter; what a contract accepts of them is left out by its schema. */
export const BAD_QUERIES = [
  '',
  '0',
  '-1',
  '201',
  '1e3',
  '0x10',
  ' 5',
  '5 ',
  '1.5',
  '٣',
  '99999999999999999999999999',
  'abc',
  'null',
  'a b',
  "' or 1=1--",
  '%',
  '../..',
  'x'.repeat(300),
  '2030-01-31',
  '2030-13-01T00:00:00Z',
  '9999999-01-01T00:00:00Z',
  'Mars/Olympus',
  'eyJ9',
  '\u0000',
] as const;

/** Amounts that are none, in any currency. */
export const BAD_AMOUNTS: readonly string[] = [
  ['0', '-0', '-1', '0.001', '12.345', '1e9', '100000000.01', '100000001', '1e-7', '1e400', '0.1e1000'],
  ['"0"', '"0.00"', '"-1"', '"+1"', '"1e1"', '"1E1"', '" 1"', '"1 "', '"1,000"', '"1,5"', '".5"', '"1."', '"0x10"'],
  ['"١٢"', '"１"', '""', '"NaN"', '"Infinity"', '"1_0"', '"0.001"', '"1.000000000000000000001"', '"1234567890"'],
  ['null', 'true', '[]', '[1]', '{}', '{"$gt":0}', `"${'1'.repeat(40)}"`, '"1\\u0000"', '"0b1"', '"1n"', '"½"'],
].flat();

/** The names of the members that a body may have, seen through what is around its object. */
export function membersOf(schema: unknown): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return membersOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return membersOf(schema.in);
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.flatMap(membersOf))];
  return [];
}

/** Whether a text holds what no body may hold, whatever its schema: NUL or a lone surrogate. */
export function isUnkeepable(text: string): boolean {
  let found = false;
  try {
    JSON.parse(text, (key, value: unknown) => {
      for (const part of [key, value])
        found ||= typeof part === 'string' && (part.includes('\u0000') || !part.isWellFormed());
      return value;
    });
  } catch {
    return true;
  }
  return found;
}
