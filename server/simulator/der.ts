/** Tags of ASN.1 (X.690) that a certificate needs. */
const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, null: 0x05, oid: 0x06, utf8: 0x0c, sequence: 0x30, set: 0x31 };

/** One DER element: tag, length, contents. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

/** SEQUENCE of the given elements. */
export function sequence(...items: readonly Uint8Array[]): Buffer {
  return element(TAG.sequence, ...items);
}

/** SET of one element. */
export function setOf(item: Uint8Array): Buffer {
  return element(TAG.set, item);
}

/** Non-negative INTEGER from big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const sign = (bytes[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return element(TAG.integer, sign, bytes);
}

/** OBJECT IDENTIFIER from its dotted form. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** BIT STRING without unused bits. */
export function bitString(bytes: Uint8Array): Buffer {
  return element(TAG.bits, Buffer.from([0]), bytes);
}

/** OCTET STRING. */
export function octetString(bytes: Uint8Array): Buffer {
  return element(TAG.octets, bytes);
}

/** Text as a DER UTF8String. */
export function utf8String(text: string): Buffer {
  return element(TAG.utf8, Buffer.from(text, 'utf8'));
}

/** The DER value NULL. */
export function nothing(): Buffer {
  return element(TAG.null);
}

/** BOOLEAN TRUE. */
export function yes(): Buffer {
  return element(0x01, Buffer.from([0xff]));
}

/** UTCTime or, from 2050 on, GeneralizedTime, as RFC 5280 §4.1.2.5 asks. */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, '');
  return at.getUTCFullYear() < 2050
    ? element(0x17, Buffer.from(digits.slice(2), 'ascii'))
    : element(0x18, Buffer.from(digits, 'ascii'));
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes =
    length < 0x100
      ? [length]
      : length < 0x10000
        ? [length >> 8, length & 0xff]
        : [length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) groups.unshift((rest & 0x7f) | 0x80);
  return groups;
}
