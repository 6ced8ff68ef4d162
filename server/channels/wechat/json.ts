import type { UnknownCause } from '../../payments/channel.ts';

/** Bytes that are not one JSON object with unique member names; `why` is the stable word for it. */
export class UnreadableJson extends Error {
  readonly why: Extract<UnknownCause, 'unparsable' | 'duplicate_key'>;
  constructor(why: UnreadableJson['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableJson';
    this.why = why;
  }
}

/** Members of an object that came from outside; nothing is known about their values. */
export type Members = Readonly<Record<string, unknown>>;

/** Reads UTF-8 bytes as one JSON object; throws UnreadableJson, also when a member name occurs twice in one object. */
export function readObject(bytes: Buffer | string): Members {
  const { value, members, text } = parse(bytes);
  if (!isObject(value)) throw new UnreadableJson('unparsable', 'The text is not a JSON object.');
  // Of two members with one name JSON.parse keeps one, so the text then has more colons than the value has members.
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/gs, '').split(':').length - 1;
  if (colons !== members) throw new UnreadableJson('duplicate_key', 'Duplicate member name.');
  return value;
}

/** The object below a member; empty when it is not one. */
export function objectIn(members: Members, name: string): Members {
  const value = members[name];
  return isObject(value) ? value : {};
}

/** The text of a member; empty when it is not text. */
export function textIn(members: Members, name: string): string {
  const value = members[name];
  return typeof value === 'string' ? value : '';
}

function parse(bytes: Buffer | string): { value: unknown; members: number; text: string } {
  try {
    const text = typeof bytes === 'string' ? bytes : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    let members = -1;
    const value: unknown = JSON.parse(text, function count(this: unknown, _name, member: unknown) {
      if (!Array.isArray(this)) members += 1;
      return member;
    });
    return { value, members, text };
  } catch {
    throw new UnreadableJson('unparsable', `The text (${bytes.length} bytes) is not UTF-8 JSON.`);
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
