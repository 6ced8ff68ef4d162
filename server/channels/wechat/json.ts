import type { UnknownCause } from '../../payments/channel.ts';
import { hasUniqueMembers } from '../unique-members.ts';

/** Bytes that are not one JSON object with unique member names; `why` is the stable word for it. */
export class UnreadableJson extends Error {
  readonly why: Extract<UnknownCause, 'unparsable' | 'duplicate_key'>;
  constructor(why: UnreadableJson['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableJson';
    this.why = why;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Members of an object that came from outside; nothing is known about their values. */
export type Members = Readonly<Record<string, unknown>>;

/** Reads UTF-8 bytes as one JSON object; throws UnreadableJson, also when a member name occurs twice in one object. */
export function readObject(bytes: Buffer | string): Members {
  const { value, text } = parse(bytes);
  if (!isObject(value)) throw new UnreadableJson('unparsable', 'The text is not a JSON object.');
  if (!hasUniqueMembers(text, value)) throw new UnreadableJson('duplicate_key', 'Duplicate member name.');
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

function parse(bytes: Buffer | string): { value: unknown; text: string } {
  try {
    const text = typeof bytes === 'string' ? bytes : utf8.decode(bytes);
    return { value: JSON.parse(text), text };
  } catch {
    throw new UnreadableJson('unparsable', `The text (${bytes.length} bytes) is not UTF-8 JSON.`);
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
