const TAG = { integer: 0x02, octets: 0x04, sequence: 0x30 };
/** 1.3.6.1.4.1.11591.4.11 (RFC 7914 §7); its cost is a product of several numbers. */
const SCRYPT = Buffer.from('2b06010401da47040b', 'hex');

/**
 * How many rounds an encrypted PKCS #8 key (DER, RFC 5958 §3) wants before it opens, as its own text says, no less;
 * Infinity for scrypt, NaN when it is not such a key.
 */
export function roundsToOpen(der: Buffer): number {
  const [key, ...rest] = elementsOf(der) ?? [];
  const [algorithm, content] = (key?.tag === TAG.sequence && elementsOf(key.body)) || [];
  if (rest.length > 0 || algorithm?.tag !== TAG.sequence || content?.tag !== TAG.octets) return Number.NaN;
  return algorithm.body.includes(SCRYPT) ? Number.POSITIVE_INFINITY : Math.max(0, ...integersOf(algorithm.body));
}

interface Element {
  tag: number;
  body: Buffer;
}

/** The elements that stand one after the other; undefined when one has no definite length or is cut off. */
function elementsOf(der: Buffer): Element[] | undefined {
  const elements: Element[] = [];
  for (let at = 0; at < der.length;) {
    const first = der[at + 1] ?? 0x80;
    const more = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + more;
    if (first === 0x80 || more > 3 || start > der.length) return undefined;
    const length = more === 0 ? first : der.readUIntBE(at + 2, more);
    if (start + length > der.length) return undefined;
    elements.push({ tag: der[at] ?? 0, body: der.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

function integersOf(der: Buffer): number[] {
  return (elementsOf(der) ?? [{ tag: TAG.integer, body: Buffer.alloc(0) }]).flatMap(({ tag, body }) => {
    if (tag === TAG.sequence) return integersOf(body);
    // Parameters that cannot be read must not count as cheap ones.
    return tag === TAG.integer ? [body.length > 0 ? Number(`0x${body.toString('hex')}`) : Number.NaN] : [];
  });
}
