import { InvalidRequest } from '../errors.ts';

/**
 * For `JSON.parse`: throws a 400 when a number has more digits than its value keeps, because what is checked later would not be
 * what was sent (`4.349999999999999999` would be 4.35). Other spellings of the same value are that value.
 */
export function requireExactNumber(name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  if (Number.isFinite(value) && digitsOf(context.source) === digitsOf(String(value))) return value;
  const shown = name.slice(0, 64);
  const detail = 'has more digits than a JSON number keeps; send a decimal string';
  throw new InvalidRequest(`The number ${shown} is too precise or too large.`, [
    { pointer: `/${escape(shown)}`, code: 'number_inexact', detail },
  ]);
}

/** Sign, significant digits and place of the point; the same for every spelling of one decimal number. */
function digitsOf(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const bare = digits.replace(/0+$/, '');
  if (bare === '') return '0';
  const place = Number(exponent) - fraction.length + (digits.length - bare.length);
  return `${text.startsWith('-') ? '-' : ''}${bare}e${place}`;
}

/** Strings, and what opens, closes or separates; numbers and words are of no interest. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/**
 * Throws a 400 when an object of a JSON text names a member twice: the parser takes the last one, and whoever looked at the body
 * before may have taken the first. The text is known to be valid JSON.
 */
export function requireUniqueMembers(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let candidate: string | undefined;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') note(open.at(-1), candidate);
    candidate = token.startsWith('"') ? token : undefined;
  }
}

function note(members: Set<string> | undefined, written: string | undefined): void {
  if (!members || written === undefined) return;
  const name = JSON.parse(written) as string;
  if (!members.has(name)) return void members.add(name);
  const shown = name.slice(0, 64);
  throw new InvalidRequest('A member of the body was sent more than once.', [
    { pointer: `/${escape(shown)}`, code: 'duplicate', detail: 'sent more than once' },
  ]);
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
