/** Raw form parameters: the bytes of each value as they were sent, and the names that came twice. */
export interface RawForm {
  values: Map<string, Buffer>;
  repeated: string[];
}

/** Reads form text (query or body) without deciding on a charset; `+` is a blank. Goes on with a form that was begun. */
export function readForm(text: string, form: RawForm = { values: new Map(), repeated: [] }): RawForm {
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const name = percentDecode(pair.slice(0, end)).toString('latin1');
    if (form.values.has(name)) form.repeated.push(name);
    form.values.set(name, percentDecode(pair.slice(end + 1)));
  }
  return form;
}

/** The bytes that a signature covers: every value but `sign` and the empty ones, sorted by name, raw. */
export function signedBytes({ values }: RawForm): Buffer {
  const names = [...values.keys()].filter((name) => name !== 'sign' && values.get(name)!.length > 0).toSorted();
  const parts = names.map((name) => `${name}=${values.get(name)!.toString('latin1')}`);
  return Buffer.from(parts.join('&'), 'latin1');
}

/** Writes bytes as a form value. */
export function formEncode(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[^A-Za-z0-9*\-._ ]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
    .replaceAll(' ', '+');
}

function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1, length += 1) {
    const byte = bytes[at]!;
    const escaped = byte === PERCENT ? ESCAPED.get(text.slice(at + 1, at + 3).toUpperCase()) : undefined;
    if (escaped !== undefined) at += 2;
    bytes[length] = escaped ?? (byte === PLUS ? BLANK : byte);
  }
  return bytes.subarray(0, length);
}

const PERCENT = '%'.charCodeAt(0);
const PLUS = '+'.charCodeAt(0);
const BLANK = ' '.charCodeAt(0);
/** Each byte by its two digits. */
const ESCAPED = new Map(
  Array.from({ length: 256 }, (_, byte) => [byte.toString(16).toUpperCase().padStart(2, '0'), byte]),
);
