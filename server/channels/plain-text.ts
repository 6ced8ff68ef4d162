/** In what a channel counts a length: UTF-16 units, or bytes of UTF-8. */
export type LengthUnit = 'characters' | 'bytes';

/** A text as channels take it: controls and what is no character become blanks, and it is cut to `most` without splitting a character. */
export function plainText(text: string, most: number, unit: LengthUnit = 'characters'): string {
  const clean = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\ufffd]+/gu, ' ')
    .trim();
  let cut = '';
  let length = 0;
  for (const character of clean) {
    length += unit === 'bytes' ? Buffer.byteLength(character) : character.length;
    if (length > most) break;
    cut += character;
  }
  return cut.trimEnd();
}
