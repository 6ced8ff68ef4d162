/** The charsets that Alipay's messages come in. */
export type Charset = 'utf-8' | 'GBK';

/** The charset that a `charset` parameter names; undefined when Alipay has none such. */
export function charsetOf(name: string): Charset | undefined {
  if (/^utf-?8$/i.test(name)) return 'utf-8';
  return /^gb(k|2312|18030)$/i.test(name) ? 'GBK' : undefined;
}

/** Decodes text in a charset. */
export function decode(bytes: Uint8Array, charset: Charset): string {
  return new TextDecoder(charset === 'GBK' ? 'gb18030' : 'utf-8').decode(bytes);
}

/** Encodes text in a charset; what GBK does not have becomes `?`, as in Alipay's own messages. */
export function encode(text: string, charset: Charset): Buffer {
  if (charset === 'utf-8') return Buffer.from(text, 'utf8');
  const table = gbkTable();
  return Buffer.concat(
    Array.from(text, (char) => (char < '\u0080' ? Buffer.from(char) : (table.get(char) ?? Buffer.from('?')))),
  );
}

let gbk: Map<string, Buffer> | undefined;

/** Node decodes GBK but does not encode it, so the table is the decoder turned around. */
function gbkTable(): Map<string, Buffer> {
  if (gbk !== undefined) return gbk;
  const decoder = new TextDecoder('gbk');
  gbk = new Map();
  for (let lead = 0x81; lead <= 0xfe; lead += 1) {
    for (let trail = 0x40; trail <= 0xfe; trail += 1) {
      const bytes = Buffer.from([lead, trail]);
      const text = decoder.decode(bytes);
      if (text.length === 1 && text !== '\uFFFD' && !gbk.has(text)) gbk.set(text, bytes);
    }
  }
  return gbk;
}
