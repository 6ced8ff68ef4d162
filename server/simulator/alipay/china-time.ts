const OFFSET_MS = 8 * 3_600_000;

/** An instant as Alipay writes it: `yyyy-MM-dd HH:mm:ss` in UTC+8. */
export function chinaTime(at: number): string {
  return new Date(at + OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Reads `yyyy-MM-dd HH:mm:ss` in UTC+8 into milliseconds; undefined when it is not that or no such day. */
export function readChinaTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return undefined;
  const at = Date.parse(`${text.replace(' ', 'T')}Z`) - OFFSET_MS;
  return Number.isNaN(at) || chinaTime(at) !== text ? undefined : at;
}
