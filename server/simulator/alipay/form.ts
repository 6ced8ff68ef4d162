/** Raw form parameters: the bytes of each value as they were sent, and the names that came twice. */
export interface RawForm {
  values: Map<string, Buffer>;
  repeated: string[];
}

/** Reads form text (query or body) without deciding on a charset; `+` is a blank. */
export function readForm(...texts: readonly string[]): RawForm {
  const form: RawForm = { values: new Map(), repeated: [] };
  for (const pair of texts.flatMap((text) => text.split('&')).filter((part) => part !== '')) {
    const [rawName = '', ...rest] = pair.split('=');
    const name = percentDecode(rawName).toString('latin1');
    if (form.values.has(name)) form.repeated.push(name);
    form.values.set(name, percentDecode(rest.join('=')));
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
  const bytes = text
    .replaceAll('+', ' ')
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}
