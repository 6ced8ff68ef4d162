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
    // What is no digit, or not there, has no value, and so has nothing that is reckoned with it.
    const escaped = byte === PERCENT ? digitOf(bytes[at + 1]) * 16 + digitOf(bytes[at + 2]) : NaN;
    if (escaped >= 0) at += 2;
    bytes[length] = escaped >= 0 ? escaped : byte === PLUS ? BLANK : byte;
  }
  return bytes.subarray(0, length);
}

const PERCENT = '%'.charCodeAt(0);
const PLUS = '+'.charCodeAt(0);
const BLANK = ' '.charCodeAt(0);
/** The value of each hexadecimal digit by its code. */
const DIGITS = Array.from({ length: 256 }, (_, code) => {
  const sign = String.fromCharCode(code);
  return /[0-9A-Fa-f]/.test(sign) ? Number.parseInt(sign, 16) : NaN;
});

function digitOf(code: number | undefined): number {
  return code === undefined ? NaN : DIGITS[code]!;
}
