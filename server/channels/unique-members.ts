/**
 * Whether every object in a text has each of its names once; `value` is what JSON.parse made of it. Of two members with one name it keeps one, so
 * the text then has more colons than the value has members.
 */
export function hasUniqueMembers(text: string, value: unknown): boolean {
  return colonsIn(text) === membersIn(value);
}

/** Colons outside strings. */
function colonsIn(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === COLON) colons += 1;
    else if (sign === QUOTE) at = endOfString(text, at);
  }
  return colons;
}

const COLON = ':'.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);

/** Where the string that begins there ends. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Not by recursion: texts from outside may be as deep as they are long. */
function membersIn(value: unknown): number {
  let members = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== 'object' || one === null) continue;
    if (Array.isArray(one)) {
      for (const below of one) left.push(below);
      continue;
    }
    for (const name in one) {
      members += 1;
      left.push((one as Record<string, unknown>)[name]);
    }
  }
  return members;
}
