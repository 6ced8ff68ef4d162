/**
 * Returns one line of CSV (RFC 4180: CRLF, quotes doubled). Text that a spreadsheet would read as a formula gets a
 * leading apostrophe; numbers stay numbers, null is empty.
 */
export function csvLine(cells: readonly (string | number | boolean | null | undefined)[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

/**
 * Full-width and small forms are included: in East Asian languages a spreadsheet reads them like the ASCII characters.
 */
const FORMULA = /^\s*[=+\-@\t\r＝＋－＠﹦﹢﹣﹫]/;

function cell(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
