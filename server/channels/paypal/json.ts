import { hasUniqueMembers } from '../unique-members.ts';

/** Text that must not be read: it is not JSON, or an object in it names a member twice. */
export class UnreadableJson extends Error {
  readonly why: 'unparsable' | 'duplicate_key';
  constructor(why: UnreadableJson['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableJson';
    this.why = why;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses UTF-8 JSON in which every member name is unique per object; throws UnreadableJson. */
export function readJson(bytes: Buffer): unknown {
  const text = decode(bytes);
  const value = parse(text);
  if (!hasUniqueMembers(text, value))
    throw new UnreadableJson('duplicate_key', `Duplicate member ${duplicateMember(text)}.`);
  return value;
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new UnreadableJson('unparsable', 'The text is not UTF-8.');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UnreadableJson('unparsable', 'The text is not JSON.');
  }
}

/** The first member name that an object of this (valid) JSON text has twice, quoted as written. */
function duplicateMember(text: string): string | undefined {
  const open: (Set<string> | null)[] = [];
  let lastString = '';
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token !== ':') lastString = token;
    else if (!remember(open.at(-1), lastString)) return lastString;
  }
  return undefined;
}

function remember(names: Set<string> | null | undefined, quoted: string): boolean {
  const name = JSON.parse(quoted) as string;
  if (names?.has(name)) return false;
  names?.add(name);
  return true;
}
