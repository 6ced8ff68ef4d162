import { hash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { DICTIONARIES, NEWEST } from './message-dictionary.ts';

/** What was said, as the timeline shows it. */
export interface MessageTexts {
  request: string | null;
  answer: string | null;
}

/** Messages are short: a small window costs a fraction of the memory and loses nothing. */
const WINDOW_BITS = 14;
const MEM_LEVEL = 6;

/**
 * Both texts in a quarter of their bytes: deflated (RFC 1951) behind one byte that names the dictionary. Channels say the same
 * words again and again, so most of a message is in the dictionary. Null when there is no text.
 */
export function packTexts({ request, answer }: MessageTexts): Buffer | null {
  if (request === null && answer === null) return null;
  const text = [request, answer].map(marked).join(BETWEEN);
  const dictionary = DICTIONARIES[NEWEST];
  return Buffer.concat([
    Buffer.of(NEWEST),
    deflateRawSync(text, { dictionary, windowBits: WINDOW_BITS, memLevel: MEM_LEVEL }),
  ]);
}

/** The texts of a row (its column `texts`); none when a later release packed them with a dictionary of its own. */
export function readTexts(texts: Uint8Array | null): MessageTexts {
  const dictionary = texts && DICTIONARIES[texts[0]!];
  if (!dictionary) return { request: null, answer: null };
  const [asked = '', answered = ''] = inflateRawSync(texts.subarray(1), { dictionary }).toString().split(BETWEEN);
  return { request: unmarked(asked), answer: unmarked(answered) };
}

/** No text of a message has it. */
const BETWEEN = '\0';

function marked(text: string | null): string {
  return text === null ? '' : `+${text}`;
}

function unmarked(text: string): string | null {
  return text === '' ? null : text.slice(1);
}

/** What of an answer is another one each time, though it says the same. */
const VOLATILE = /"(?:debug_id|trace_id)"\s*:\s*"[^"]*"/g;

/** The same for answers that say the same: the first 64 bits of SHA-256, as PostgreSQL writes a bigint. */
export function digestOf(answer: string | null): string | null {
  if (answer === null) return null;
  return Buffer.from(hash('sha256', answer.replaceAll(VOLATILE, ''), 'buffer'))
    .readBigInt64BE()
    .toString();
}
